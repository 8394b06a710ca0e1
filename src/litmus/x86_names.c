/* Names in herd's x86 tests. Registers that are parts of one another (al, ax, eax, rax) are one register of
 * the native form; it is called as the condition calls it, else as the program does first, in herd's case:
 * upper for X86, lower for X86_64. Locations keep their names as far as the native language has such names.
 */
#include "litmus/x86_names.h"

#include "base/arena.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_REGISTER = 5 };

uint64_t x86_truncate(uint64_t value, unsigned width)
{
    return width >= 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

/* The key is the same for all parts of a register: "ax" for al, ax, eax and rax. */
static bool parse_register(bool is_64, const char *word, char key[LONGEST_REGISTER + 1], unsigned *width)
{
    static const char *const words[] = {"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"};
    static const char *const bytes[] = {"al", "bl", "cl", "dl", "sil", "dil", "bpl", "spl"};
    char lower[LONGEST_REGISTER + 1] = {0};
    word += *word == '%';
    if (strlen(word) > LONGEST_REGISTER)
        return false;
    for (size_t i = 0; word[i]; i++)
        lower[i] = (char)tolower((unsigned char)word[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool prefixed = *lower && !strcmp(lower + 1, words[i]);
        *width = !strcmp(lower, bytes[i]) ? 8 : !strcmp(lower, words[i]) ? 16 : 0;
        if (prefixed && *lower == 'e')
            *width = 32;
        else if (prefixed && *lower == 'r' && is_64)
            *width = 64;
        if (*width) {
            strcpy(key, words[i]);
            return true;
        }
    }
    unsigned number;
    int length = 0;
    if (!is_64 || sscanf(lower, "r%2u%n", &number, &length) != 1 || number < 8 || number > 15 ||
        lower[1] == '0')
        return false;
    const char *part = lower + length;
    *width = !*part ? 64 : !strcmp(part, "d") ? 32 : !strcmp(part, "w") ? 16 : !strcmp(part, "b") ? 8 : 0;
    snprintf(key, LONGEST_REGISTER + 1, "r%u", number);
    return *width != 0;
}

bool x86_is_register(const struct x86_names *names, const char *word, unsigned *width)
{
    char key[LONGEST_REGISTER + 1];
    *width = names->is_64 ? 64 : 32;
    unsigned parsed;
    if (parse_register(names->is_64, word, key, &parsed)) {
        *width = parsed;
        return true;
    }
    return *word == '%'; /* one of herd's symbolic registers */
}

const char *x86_location_name(const struct x86_names *names, const char *word)
{
    unsigned number = names_find(&names->locations, word);
    return number == NAMES_NONE ? NULL : names->shown.list[number];
}

unsigned x86_location_width(const struct x86_names *names, const char *word)
{
    unsigned number = names_find(&names->locations, word);
    return number == NAMES_NONE ? 64 : names->location_width[number];
}

/* A name of the native language, not yet that of a location, as near to the word as can be. */
static const char *native_name(struct x86_names *names, const char *word)
{
    char *name = arena_strdup(names->source->arena, word);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p))
            *p = '_';
    if (raw_is_reserved(name))
        name = arena_printf(names->source->arena, "%s_", name);
    const char *unique = name;
    for (unsigned n = names->shown.n; names_find(&names->shown, unique) != NAMES_NONE; n++)
        unique = arena_printf(names->source->arena, "%s_%u", name, n);
    return unique;
}

static const char *shown_register(struct x86_names *names, const char *word, bool real)
{
    word += *word == '%';
    if (!real)
        return native_name(names, word);
    char *shown = arena_strdup(names->source->arena, word);
    for (char *p = shown; *p; p++)
        *p = (char)(names->is_64 ? tolower((unsigned char)*p) : toupper((unsigned char)*p));
    return shown;
}

static void refuse_register(struct x86_names *names, const char *word, struct lm_pos pos)
{
    static const char *const registers[] = {"EAX", "EBX", "ECX", "EDX", "ESI",
                                            "EDI", "RAX", "RBX", "RCX", "RDX"};
    struct guess guess = guess_start(word);
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        guess_consider(&guess, registers[i]);
    source_error(names->source, pos, guess_hint(&guess, names->source->arena), "`%s` is not a register",
                 word);
}

static bool is_shown_register(const struct x86_thread_names *of, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(of->registers[i].shown, name))
            return true;
    return false;
}

struct x86_register *x86_find_register(struct x86_names *names, unsigned thread, const char *word,
                                       struct lm_pos pos)
{
    char key[LONGEST_REGISTER + 1];
    unsigned width;
    bool real = parse_register(names->is_64, word, key, &width);
    if (!real && *word != '%') {
        refuse_register(names, word, pos);
        return NULL;
    }
    struct x86_thread_names *of = &names->threads[thread];
    const char *name = real ? key : word;
    unsigned number = names_find(&of->keys, name);
    if (number != NAMES_NONE)
        return &of->registers[number];
    if (of->keys.n == X86_MAX_REGISTERS) {
        source_error(names->source, pos, NULL, "P%u has more than %d registers", thread, X86_MAX_REGISTERS);
        return NULL;
    }
    number = names_add(&of->keys, names->source->arena, arena_strdup(names->source->arena, name));
    const char *shown = shown_register(names, word, real);
    while (is_shown_register(of, number, shown))
        shown = arena_printf(names->source->arena, "%s_", shown);
    of->registers[number].shown = shown;
    return &of->registers[number];
}

static unsigned type_width(const struct x86_names *names, const char *type)
{
    if (!type)
        return names->is_64 ? 64 : 32;
    static const struct {
        const char *part;
        unsigned width;
    } parts[] = {{"64", 64},    {"long", 64}, {"32", 32},  {"16", 16},
                 {"short", 16}, {"8", 8},     {"char", 8}, {"int", 32}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(type, parts[i].part))
            return parts[i].width;
    return 64;
}

static void add_location(struct x86_names *names, const char *word, const char *type)
{
    unsigned number = names_find(&names->locations, word);
    if (number != NAMES_NONE)
        return;
    number = names_add(&names->locations, names->source->arena, word);
    names->location_width[number] = type_width(names, type);
    names_add(&names->shown, names->source->arena, native_name(names, word));
}

static void visit_rows(struct x86_names *names, const struct x86_test *test,
                       void (*visit)(struct x86_names *, unsigned thread, const struct x86_operand *))
{
    for (const struct x86_row *row = test->rows; row; row = row->next) {
        unsigned thread = 0;
        for (const struct x86_cell *cell = row->cells; cell; cell = cell->next, thread++)
            for (unsigned i = 0; cell->instr && i < cell->instr->n_operands; i++)
                visit(names, thread, &cell->instr->operands[i]);
    }
}

static void visit_location(struct x86_names *names, unsigned thread, const struct x86_operand *operand)
{
    unsigned width;
    (void)thread;
    if (operand->kind == X86_MEMORY && !x86_is_register(names, operand->name, &width))
        add_location(names, operand->name, NULL);
}

static size_t count_operands(const struct x86_test *test)
{
    size_t count = 0;
    for (const struct x86_row *row = test->rows; row; row = row->next)
        for (const struct x86_cell *cell = row->cells; cell; cell = cell->next)
            count += cell->instr ? cell->instr->n_operands : 0;
    return count;
}

static void collect_locations(struct x86_names *names, const struct x86_test *test)
{
    size_t most = count_operands(test);
    for (const struct x86_init *init = test->inits; init; init = init->next)
        most += 2;
    names->location_width = ARENA_ARRAY(names->source->arena, unsigned, most);
    for (const struct x86_init *init = test->inits; init; init = init->next)
        if (!init->place->has_thread)
            add_location(names, init->place->name.text, init->type);
    for (const struct x86_init *init = test->inits; init; init = init->next)
        if (init->address)
            add_location(names, init->address, NULL);
    visit_rows(names, test, visit_location);
}

static void name_atom(struct x86_names *names, const struct raw_atom *atom)
{
    if (atom->has_thread && atom->thread.value < names->n_threads)
        x86_find_register(names, (unsigned)atom->thread.value, atom->name.text, atom->name.pos);
}

static void name_condition(struct x86_names *names, const struct raw_cond *cond)
{
    for (; cond; cond = cond->next) {
        if (cond->kind == LM_C_EQ)
            name_atom(names, cond->atom);
        name_condition(names, cond->parts);
    }
}

bool x86_collect_names(struct x86_names *names, const struct x86_test *test)
{
    for (const struct x86_proc *proc = test->procs; proc; proc = proc->next)
        names->n_threads++;
    if (names->n_threads > LM_MAX_THREADS) {
        source_error(names->source, test->procs->name.pos, NULL, "a test has at most %d threads",
                     LM_MAX_THREADS);
        return false;
    }
    names->threads = ARENA_ARRAY(names->source->arena, struct x86_thread_names, names->n_threads);
    collect_locations(names, test);
    for (const struct raw_atom *atom = test->locations; atom; atom = atom->next)
        name_atom(names, atom);
    name_condition(names, test->cond);
    return true;
}
