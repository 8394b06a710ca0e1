/* The canonical form of a test, in the layout of remora-litmus(5): initial state in the order of
 * declaration, one statement a line, decimal integers, as few brackets in expressions as C allows. Whatever
 * this prints, the parser reads back as the same tree. */
#include "litmus/print.h"

#include "base/arena.h"
#include "litmus/litmus.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, WIDEST = 100 /* of a line of locations */ };

/* The loosest binds at 1; a unary operator, a name or an integer binds tightest. */
static int precedence(const struct lm_expr *expr)
{
    static const int levels[] = {
        [LM_LOR] = 1, [LM_LAND] = 2, [LM_OR] = 3,   [LM_XOR] = 4,  [LM_AND] = 5,   [LM_EQ] = 6,  [LM_NE] = 6,
        [LM_LT] = 7,  [LM_LE] = 7,   [LM_GT] = 7,   [LM_GE] = 7,   [LM_SHL] = 8,   [LM_SHR] = 8, [LM_ADD] = 9,
        [LM_SUB] = 9, [LM_MUL] = 10, [LM_NEG] = 11, [LM_NOT] = 11, [LM_LNOT] = 11,
    };
    return expr->kind == LM_INT || expr->kind == LM_REG ? 12 : levels[expr->op];
}

static const char *operator_text(enum lm_op op)
{
    static const char *const texts[] = {
        [LM_ADD] = "+",  [LM_SUB] = "-",  [LM_MUL] = "*",  [LM_AND] = "&", [LM_OR] = "|",
        [LM_XOR] = "^",  [LM_SHL] = "<<", [LM_SHR] = ">>", [LM_EQ] = "==", [LM_NE] = "!=",
        [LM_LT] = "<",   [LM_LE] = "<=",  [LM_GT] = ">",   [LM_GE] = ">=", [LM_LAND] = "&&",
        [LM_LOR] = "||", [LM_LNOT] = "!", [LM_NOT] = "~",  [LM_NEG] = "-",
    };
    return texts[op];
}

/* An operand is put in brackets if it binds looser than `least`. */
static void print_expr(FILE *out, const struct lm_thread *thread, const struct lm_expr *expr, int least)
{
    int own = precedence(expr);
    if (own < least)
        fputc('(', out);
    switch (expr->kind) {
    case LM_INT:
        fprintf(out, "%" PRIu64, expr->value);
        break;
    case LM_REG:
        fputs(thread->regs[expr->reg], out);
        break;
    case LM_UNARY: /* -(1) is not -1, which is an integer */
        fputs(operator_text(expr->op), out);
        print_expr(out, thread, expr->a, own);
        break;
    case LM_BINARY:
        print_expr(out, thread, expr->a, own);
        fprintf(out, " %s ", operator_text(expr->op));
        print_expr(out, thread, expr->b, own + 1);
        break;
    }
    if (own < least)
        fputc(')', out);
}

static void print_nodes(FILE *out, uint64_t nodes)
{
    const char *separator = "{";
    for (unsigned node = 0; node < LM_MAX_NODES; node++) {
        if (nodes >> node & 1) {
            fprintf(out, "%s%u", separator, node);
            separator = ", ";
        }
    }
    fputc('}', out);
}

static const char *call_name(enum lm_stmt_kind kind)
{
    static const char *const names[] = {
        [LM_CAS] = "cas",         [LM_FAA] = "faa",         [LM_XCHG] = "xchg",
        [LM_MFENCE] = "mfence",   [LM_PUT] = "put",         [LM_GET] = "get",
        [LM_RCAS] = "rcas",       [LM_RFAA] = "rfaa",       [LM_RFENCE] = "rfence",
        [LM_POLL] = "poll",       [LM_WAIT] = "wait",       [LM_SVWAIT] = "sv_wait",
        [LM_BCAST] = "bcast",     [LM_GFENCE] = "gfence",   [LM_ACQUIRE] = "acquire",
        [LM_RELEASE] = "release", [LM_SC_READ] = "sc_read", [LM_SC_WRITE] = "sc_write",
        [LM_SC_CAS] = "sc_cas",   [LM_SC_FAA] = "sc_faa",
    };
    return names[kind];
}

/* Arguments in the order that all calls have: local, remote (for put the other way round), values, node or
 * nodes, work id. */
static void print_call(FILE *out, const struct lm_thread *thread, const struct lm_stmt *s)
{
    const char *separator = "";
    const struct lm_decl *first = s->kind == LM_PUT ? s->decl : s->local,
                         *second = s->kind == LM_PUT ? s->local : s->decl;
    const struct lm_decl *decls[] = {first, second};
    const struct lm_expr *values[] = {s->e, s->v};
    if (s->reg != LM_NO_REG)
        fprintf(out, "%s = ", thread->regs[s->reg]);
    fprintf(out, "%s(", call_name(s->kind));
    for (int i = 0; i < 2; i++) {
        if (decls[i]) {
            fprintf(out, "%s%s", separator, decls[i]->name);
            separator = ", ";
        }
    }
    for (int i = 0; i < 2; i++) {
        if (values[i]) {
            fputs(separator, out);
            print_expr(out, thread, values[i], 0);
            separator = ", ";
        }
    }
    if (s->kind == LM_RFENCE || s->kind == LM_POLL)
        fprintf(out, "%u", s->node);
    if (s->kind == LM_BCAST || (s->kind == LM_GFENCE && !s->all_nodes)) {
        fputs(separator, out);
        print_nodes(out, s->nodes);
    }
    if (s->wid != LM_NO_WID) {
        bool sv = s->kind == LM_BCAST || s->kind == LM_SVWAIT,
             alone = s->kind == LM_WAIT || s->kind == LM_SVWAIT;
        fprintf(out, "%s%s", alone ? "" : ", ", sv ? thread->svwids[s->wid] : thread->wids[s->wid]);
    }
    fputc(')', out);
}

static void print_bracketed(FILE *out, const struct lm_thread *thread, const char *word,
                            const struct lm_expr *expr)
{
    fprintf(out, "%s (", word);
    print_expr(out, thread, expr, 0);
    fputc(')', out);
}

/* The statement itself, without blocks, semicolon and indentation. */
static void print_head(FILE *out, const struct lm_thread *thread, const struct lm_stmt *s)
{
    switch (s->kind) {
    case LM_ASSIGN:
        fprintf(out, "%s = ", thread->regs[s->reg]);
        print_expr(out, thread, s->e, 0);
        break;
    case LM_LOAD:
        fprintf(out, "%s = %s", thread->regs[s->reg], s->decl->name);
        break;
    case LM_STORE:
        fprintf(out, "%s = ", s->decl->name);
        print_expr(out, thread, s->e, 0);
        break;
    case LM_IF:
        print_bracketed(out, thread, "if", s->e);
        break;
    case LM_ASSUME:
        fputs("assume(", out);
        print_expr(out, thread, s->e, 0);
        fputc(')', out);
        break;
    case LM_AWAIT: /* a comparison in the value would otherwise be read as the await's own */
        fprintf(out, "await(%s %s ", s->decl->name, operator_text(s->cmp));
        print_expr(out, thread, s->e, s->cmp <= LM_NE ? 7 : 8);
        fputc(')', out);
        break;
    case LM_DO:
        print_bracketed(out, thread, "until", s->e);
        break;
    case LM_REPEAT:
        fprintf(out, "repeat (%" PRIu64 ")", s->count);
        break;
    default:
        print_call(out, thread, s);
    }
}

static void print_block(FILE *out, const struct lm_thread *thread, const struct lm_stmt *block, int indent);

static void print_stmt(FILE *out, const struct lm_thread *thread, const struct lm_stmt *s, int indent)
{
    fprintf(out, "%*s", indent, "");
    if (s->kind == LM_DO) {
        fputs("do ", out);
        print_block(out, thread, s->body, indent);
        fputc(' ', out);
    }
    print_head(out, thread, s);
    if (s->kind == LM_IF || s->kind == LM_REPEAT) {
        fputc(' ', out);
        print_block(out, thread, s->body, indent);
        if (s->other) {
            fputs(" else ", out);
            print_block(out, thread, s->other, indent);
        }
        fputc('\n', out);
    } else {
        fputs(";\n", out);
    }
}

static void print_block(FILE *out, const struct lm_thread *thread, const struct lm_stmt *block, int indent)
{
    fputs("{\n", out);
    for (const struct lm_stmt *s = block; s; s = s->next)
        print_stmt(out, thread, s, indent + INDENT);
    fprintf(out, "%*s}", indent, "");
}

/* A run of locations of one node, as one line or several; returns the index after it. */
static unsigned print_locations(FILE *out, const struct lm_test *test, unsigned i)
{
    unsigned node = test->decls[i]->node;
    int column = fprintf(out, "  node %u: ", node);
    for (const char *separator = ""; i < test->n_decls && column < WIDEST; i++, separator = ", ") {
        const struct lm_decl *decl = test->decls[i];
        if (decl->kind != LM_LOC || decl->node != node)
            break;
        column += fprintf(out, "%s%s = %" PRIu64, separator, decl->name, decl->init);
    }
    fputs(";\n", out);
    return i;
}

static void print_decl(FILE *out, const struct lm_decl *decl)
{
    static const char *const words[] = {[LM_SHARED] = "shared",
                                        [LM_WLOCK] = "wlock",
                                        [LM_SLOCK] = "slock",
                                        [LM_NLOCK] = "nlock",
                                        [LM_SC] = "sc"};
    fprintf(out, "  %s %s", words[decl->kind], decl->name);
    if (decl->kind != LM_SHARED)
        fprintf(out, " on %u", decl->node);
    if (decl->kind == LM_SC || (decl->kind == LM_SHARED && decl->init))
        fprintf(out, " = %" PRIu64, decl->init);
    fputs(";\n", out);
}

/* `nodes` stands where the locations end and the declarations of libraries begin. */
static void print_initial_state(FILE *out, const struct lm_test *test)
{
    bool nodes_printed = false;
    fputs("{\n", out);
    for (unsigned i = 0; i < test->n_decls;) {
        if (test->decls[i]->kind == LM_LOC) {
            i = print_locations(out, test, i);
            continue;
        }
        if (!nodes_printed)
            fprintf(out, "  nodes %u;\n", test->nodes);
        nodes_printed = true;
        print_decl(out, test->decls[i++]);
    }
    if (!nodes_printed)
        fprintf(out, "  nodes %u;\n", test->nodes);
    fputs("}\n", out);
}

static void print_atom(FILE *out, const struct lm_test *test, const struct lm_atom *atom)
{
    if (atom->is_reg)
        fprintf(out, "%u:%s", atom->thread, test->threads[atom->thread].regs[atom->reg]);
    else if (atom->decl->kind == LM_SHARED)
        fprintf(out, "%s@%u", atom->decl->name, atom->node);
    else
        fputs(atom->decl->name, out);
}

/* Parts of one kind follow each other without brackets. In the canonical form anything within another kind
 * gets them; in the condition line of a report, they are only where herd puts them. */
static bool is_bracketed(const struct lm_cond *cond, enum lm_cond_kind within, bool report)
{
    if ((cond->kind != LM_C_AND && cond->kind != LM_C_OR) || within == cond->kind || within == LM_C_TRUE)
        return false;
    return !report || within != LM_C_OR;
}

static void print_prop(FILE *out, const struct lm_test *test, const struct lm_cond *cond,
                       enum lm_cond_kind within, bool report)
{
    bool bracketed = is_bracketed(cond, within, report);
    if (bracketed)
        fputc('(', out);
    switch (cond->kind) {
    case LM_C_TRUE:
        fputs("true", out);
        break;
    case LM_C_FALSE:
        fputs("false", out);
        break;
    case LM_C_EQ:
        print_atom(out, test, &cond->atom);
        fprintf(out, "%s%" PRIu64, report ? "=" : " = ", cond->value);
        break;
    case LM_C_NOT:
        fputs(report ? "not (" : "~", out);
        print_prop(out, test, cond->a, report ? LM_C_TRUE : LM_C_NOT, report);
        fputs(report ? ")" : "", out);
        break;
    case LM_C_AND:
    case LM_C_OR:
        print_prop(out, test, cond->a, cond->kind, report);
        fputs(cond->kind == LM_C_AND ? " /\\ " : " \\/ ", out);
        print_prop(out, test, cond->b, cond->kind, report);
        break;
    }
    if (bracketed)
        fputc(')', out);
}

static void print_cond(FILE *out, const struct lm_test *test, bool report)
{
    static const char *const words[] = {
        [LM_EXISTS] = "exists", [LM_NOT_EXISTS] = "~exists", [LM_FORALL] = "forall", [LM_FINAL] = "final"};
    fprintf(out, "%s (", words[test->quantifier]);
    print_prop(out, test, test->cond, LM_C_TRUE, report);
    fputc(')', out);
}

void print_test(FILE *out, const struct lm_test *test, bool with_docs)
{
    fprintf(out, "%s %s\n", test->arch == LM_RDMA_TSO ? "RDMA_TSO" : "RDMA_WAIT", test->name);
    for (unsigned i = 0; with_docs && i < test->n_docs; i++)
        fprintf(out, "\"%s\"\n", test->docs[i]);
    print_initial_state(out, test);
    for (unsigned t = 0; t < test->n_threads; t++) {
        fprintf(out, "P%u on %u ", t, test->threads[t].node);
        print_block(out, &test->threads[t], test->threads[t].body, 0);
        fputc('\n', out);
    }
    if (test->n_locations) {
        fputs("locations [", out);
        for (unsigned i = 0; i < test->n_locations; i++) {
            print_atom(out, test, &test->locations[i]);
            fputs(i + 1 < test->n_locations ? "; " : ";]\n", out);
        }
    }
    print_cond(out, test, false);
    fputc('\n', out);
}

struct text {
    FILE *out;
    char *data;
    size_t length;
};

/* On the heap, since the C library writes to it until the stream is closed. */
static struct text *text_open(void)
{
    struct text *text = xcalloc(1, sizeof *text);
    text->out = open_memstream(&text->data, &text->length);
    if (!text->out)
        out_of_memory();
    return text;
}

static char *text_close(struct text *text, struct arena *arena)
{
    if (fclose(text->out))
        out_of_memory();
    char *copy = arena_strndup(arena, text->data, text->length);
    free(text->data);
    free(text);
    return copy;
}

char *lm_print_test(struct arena *arena, const struct lm_test *test)
{
    struct text *text = text_open();
    print_test(text->out, test, true);
    return text_close(text, arena);
}

char *lm_print_cond(struct arena *arena, const struct lm_test *test)
{
    struct text *text = text_open();
    print_cond(text->out, test, true);
    return text_close(text, arena);
}

char *lm_print_stmt(struct arena *arena, const struct lm_test *test, unsigned thread,
                    const struct lm_stmt *stmt)
{
    struct text *text = text_open();
    print_head(text->out, &test->threads[thread], stmt);
    return text_close(text, arena);
}

char *lm_print_atom(struct arena *arena, const struct lm_test *test, const struct lm_atom *atom)
{
    struct text *text = text_open();
    print_atom(text->out, test, atom);
    return text_close(text, arena);
}
