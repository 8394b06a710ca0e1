/* Grammar of herd's x86 tests (remora-litmus(5), X86 TESTS). It takes any word for an instruction: which there are, and
 * what they do, is decided in x86.c, so that what is not supported is refused by its name. */
%require "3.8"
%define api.pure full
%define api.prefix {x86_yy}
%define api.location.type {struct lm_pos}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {void *scanner}
%parse-param {struct scan *scan} {struct x86_test *test}

%code requires {
#include "litmus/scan.h"
#include "litmus/x86.h"
}

%code {
#include "base/arena.h"
#include "litmus/grammar.h"

#include <stdlib.h>
#include <string.h>

int x86_yylex(union X86_YYSTYPE *, struct lm_pos *, void *scanner);
static void x86_yyerror(struct lm_pos *, void *scanner, struct scan *, struct x86_test *, const char *message);
static struct x86_init *new_init(struct scan *, const char *type, struct raw_atom *);
static struct x86_operand operand(enum x86_operand_kind, const char *name, uint64_t value, struct lm_pos);
static struct raw_atom *new_atom(struct scan *, struct raw_word);
static bool thread_number(struct scan *, const struct raw_word *, struct raw_integer *);
static const char *one_line(struct scan *, const char *text);
}

%union {
    struct raw_word word;
    struct raw_integer integer;
    struct { struct raw_docs *first, *last; } docs;
    struct { struct x86_init *first, *last; } inits;
    struct { struct x86_proc *first, *last; } procs;
    struct { struct x86_row *first, *last; } rows;
    struct { struct x86_cell *first, *last; } cells;
    struct { struct raw_atom *first, *last; } atoms;
    struct x86_init *init;
    struct x86_cell *cell;
    struct x86_instr *instr;
    struct x86_operand operand;
    struct raw_atom *atom;
    struct raw_cond *cond;
    enum lm_quantifier quantifier;
}

%token <word> ARCH "architecture" TEST_NAME "test name" STRING "string" WORD_TOKEN "name" THREAD "thread"
%token <word> REGISTER "register"
%token <integer> INTEGER "integer" IMMEDIATE "immediate"
%token <word> LOCK "LOCK"
%token EXISTS "exists" FORALL "forall" FINAL "final" LOCATIONS "locations" NOT "not" TRUE_KEYWORD "true"
%token FALSE_KEYWORD "false" FILTER "filter" OBSERVED "observed"
%token AND "/\\" OR "\\/" EQUAL "=" NOT_EQUAL "<>"
%token END 0 "end of file"

%type <docs> docs
%type <inits> inits
%type <init> init
%type <atom> place atom
%type <word> type reg_name
%type <integer> thread
%type <procs> procs
%type <rows> rows
%type <cells> row
%type <cell> cell
%type <instr> instr
%type <operand> operand
%type <atoms> locations atoms
%type <quantifier> quantifier
%type <cond> prop conjunction negation

%%

test: ARCH TEST_NAME docs '{' inits '}' opt_semi procs ';' rows locations condition
    {
        test->name = $TEST_NAME;
        test->docs = $docs.first;
        test->inits = $inits.first;
        test->procs = $procs.first;
        test->rows = $rows.first;
        test->locations = $locations.first;
    };

docs: %empty { $$.first = $$.last = NULL; }
    | docs STRING
    {
        struct raw_docs *doc = NEW(struct raw_docs);
        doc->text = one_line(scan, $STRING.text);
        $$ = $1;
        APPEND($$, doc);
    };

opt_semi: %empty | ';';

/* Initial state */
inits: %empty { $$.first = $$.last = NULL; }
    | init { $$.first = $$.last = $init; }
    | inits ';' { $$ = $1; }
    | inits ';' init { $$ = $1; APPEND($$, $init); };

init: place { $$ = new_init(scan, NULL, $place); }
    | place EQUAL INTEGER { $$ = new_init(scan, NULL, $place); $$->value = $INTEGER.value; }
    | place EQUAL WORD_TOKEN { $$ = new_init(scan, NULL, $place); $$->address = $WORD_TOKEN.text; }
    | place EQUAL '&' WORD_TOKEN { $$ = new_init(scan, NULL, $place); $$->address = $WORD_TOKEN.text; }
    | type place { $$ = new_init(scan, $type.text, $place); }
    | type place EQUAL INTEGER { $$ = new_init(scan, $type.text, $place); $$->value = $INTEGER.value; }
    | type place EQUAL WORD_TOKEN { $$ = new_init(scan, $type.text, $place); $$->address = $WORD_TOKEN.text; }
    | type place EQUAL '&' WORD_TOKEN { $$ = new_init(scan, $type.text, $place); $$->address = $WORD_TOKEN.text; };

type: WORD_TOKEN
    | type WORD_TOKEN { $$.text = arena_printf(scan->source->arena, "%s %s", $1.text, $2.text); }
    | type '*';

place: WORD_TOKEN { $$ = new_atom(scan, $1); }
    | '[' WORD_TOKEN ']' { $$ = new_atom(scan, $2); }
    | thread ':' reg_name
    {
        $$ = new_atom(scan, $reg_name);
        $$->has_thread = true;
        $$->thread = $thread;
    };

thread: INTEGER
    | THREAD
    {
        if (!thread_number(scan, &$1, &$$))
            YYABORT;
    };

reg_name: WORD_TOKEN | REGISTER;

/* The table */
procs: THREAD
    {
        $$.first = $$.last = NEW(struct x86_proc);
        $$.first->name = $1;
    }
    | procs '|' THREAD
    {
        struct x86_proc *proc = NEW(struct x86_proc);
        proc->name = $3;
        $$ = $1;
        APPEND($$, proc);
    };

rows: %empty { $$.first = $$.last = NULL; }
    | rows row ';'
    {
        struct x86_row *next = NEW(struct x86_row);
        next->cells = $row.first;
        $$ = $1;
        APPEND($$, next);
    };

row: cell { $$.first = $$.last = $cell; }
    | row '|' cell { $$ = $1; APPEND($$, $cell); };

cell: %empty { $$ = NEW(struct x86_cell); }
    | instr
    {
        $$ = NEW(struct x86_cell);
        $$->instr = $instr;
        $$->pos = @$;
    };

instr: WORD_TOKEN
    {
        $$ = NEW(struct x86_instr);
        $$->mnemonic = $1;
    }
    | WORD_TOKEN ':'
    {
        $$ = NEW(struct x86_instr);
        $$->mnemonic = $1;
        $$->label = true;
    }
    | WORD_TOKEN operand
    {
        $$ = NEW(struct x86_instr);
        $$->mnemonic = $1;
        $$->operands[$$->n_operands++] = $operand;
    }
    | WORD_TOKEN operand[a] ',' operand[b]
    {
        $$ = NEW(struct x86_instr);
        $$->mnemonic = $1;
        $$->operands[$$->n_operands++] = $a;
        $$->operands[$$->n_operands++] = $b;
    }
    | LOCK instr { $$ = $2; $$->lock = true; }
    | LOCK ';' instr { $$ = $3; $$->lock = true; };

operand: REGISTER { $$ = operand(X86_REGISTER, $1.text, 0, @$); }
    | WORD_TOKEN { $$ = operand(X86_NAME, $1.text, 0, @$); }
    | INTEGER { $$ = operand(X86_IMMEDIATE, NULL, $1.value, @$); }
    | IMMEDIATE { $$ = operand(X86_IMMEDIATE, NULL, $1.value, @$); }
    | '[' WORD_TOKEN ']' { $$ = operand(X86_MEMORY, $2.text, 0, @2); }
    | '(' WORD_TOKEN ')' { $$ = operand(X86_MEMORY, $2.text, 0, @2); }
    | '[' REGISTER ']' { $$ = operand(X86_INDIRECT, $2.text, 0, @2); }
    | '(' REGISTER ')' { $$ = operand(X86_INDIRECT, $2.text, 0, @2); }
    | INTEGER '[' REGISTER ']' { $$ = operand(X86_INDIRECT, $3.text, $1.value, @3); }
    | INTEGER '(' REGISTER ')' { $$ = operand(X86_INDIRECT, $3.text, $1.value, @3); };

/* Condition */
locations: %empty { $$.first = $$.last = NULL; }
    | LOCATIONS '[' atoms ']' { $$ = $atoms; }
    | LOCATIONS '[' atoms atom ']' { $$ = $atoms; APPEND($$, $atom); };

atoms: %empty { $$.first = $$.last = NULL; }
    | atoms atom ';' { $$ = $1; APPEND($$, $atom); };

atom: place
    | place type { $$ = $1; };

condition: %empty
    {
        test->quantifier = LM_FORALL;
        test->cond = raw_new_cond(scan, LM_C_TRUE);
    }
    | quantifier prop opt_semi
    {
        test->quantifier = $quantifier;
        test->cond = $prop;
    }
    | FILTER { scan_error(scan, @1, NULL, "`filter` is not supported"); YYABORT; }
    | OBSERVED { scan_error(scan, @1, NULL, "`observed` is not supported"); YYABORT; };

quantifier: EXISTS { $$ = LM_EXISTS; }
    | '~' EXISTS { $$ = LM_NOT_EXISTS; }
    | NOT EXISTS { $$ = LM_NOT_EXISTS; }
    | FORALL { $$ = LM_FORALL; }
    | FINAL { $$ = LM_FINAL; };

prop: conjunction
    | prop OR conjunction { $$ = raw_combine(scan, LM_C_OR, $1, $3); };

conjunction: negation
    | conjunction AND negation { $$ = raw_combine(scan, LM_C_AND, $1, $3); };

negation: place EQUAL INTEGER { $$ = raw_equal(scan, $place, $INTEGER.value); }
    | place NOT_EQUAL INTEGER { $$ = raw_combine(scan, LM_C_NOT, raw_equal(scan, $place, $INTEGER.value), NULL); }
    | TRUE_KEYWORD { $$ = raw_new_cond(scan, LM_C_TRUE); }
    | FALSE_KEYWORD { $$ = raw_new_cond(scan, LM_C_FALSE); }
    | '(' prop ')' { $$ = $prop; }
    | '~' negation { $$ = raw_combine(scan, LM_C_NOT, $2, NULL); }
    | NOT negation { $$ = raw_combine(scan, LM_C_NOT, $2, NULL); };

%%

static struct raw_atom *new_atom(struct scan *scan, struct raw_word name)
{
    struct raw_atom *atom = NEW(struct raw_atom);
    atom->name = name;
    return atom;
}

static struct x86_init *new_init(struct scan *scan, const char *type, struct raw_atom *place)
{
    struct x86_init *init = NEW(struct x86_init);
    init->type = type;
    init->place = place;
    return init;
}

static struct x86_operand operand(enum x86_operand_kind kind, const char *name, uint64_t value, struct lm_pos pos)
{
    return (struct x86_operand){.kind = kind, .name = name, .value = value, .pos = pos};
}

/* The number in P0 */
static bool thread_number(struct scan *scan, const struct raw_word *word, struct raw_integer *number)
{
    number->pos = word->pos;
    number->value = scan_integer(scan, word->pos, word->text + 1);
    return !scan->failed;
}

/* herd's docs may run over several lines, ours may not. */
static const char *one_line(struct scan *scan, const char *text)
{
    char *copy = arena_strdup(scan->source->arena, text);
    for (char *p = copy; *p; p++)
        if (*p == '\n' || *p == '\r')
            *p = ' ';
    return copy;
}

static void x86_yyerror(struct lm_pos *pos, void *scanner, struct scan *scan, struct x86_test *test,
                        const char *message)
{
    (void)scanner;
    (void)test;
    (void)message; /* the only message that comes here is that the parser's stack is exhausted */
    scan_error(scan, *pos, NULL, "this is nested too deeply");
}

enum { MOST_EXPECTED = 64, MOST_LISTED = 6 };

static const char *symbol_text(struct scan *scan, yysymbol_kind_t symbol)
{
    const char *name = yysymbol_name(symbol);
    if (*name == '\'')
        return arena_printf(scan->source->arena, "`%c`", name[1]);
    if (symbol >= YYSYMBOL_LOCK)
        return arena_printf(scan->source->arena, "`%s`", name);
    return symbol == YYSYMBOL_YYEOF ? name : arena_printf(scan->source->arena, "%s %s", strchr("aei", *name) ? "an" : "a", name);
}

static int yyreport_syntax_error(const yypcontext_t *context, void *scanner, struct scan *scan, struct x86_test *test)
{
    (void)scanner;
    (void)test;
    yysymbol_kind_t expected[MOST_EXPECTED], found = yypcontext_token(context);
    int n = yypcontext_expected_tokens(context, expected, MOST_EXPECTED);
    const char *what = found == YYSYMBOL_WORD_TOKEN ? arena_printf(scan->source->arena, "`%s`", scan->word)
                                                    : symbol_text(scan, found == YYSYMBOL_YYEMPTY ? YYSYMBOL_YYEOF : found);
    const char *list = "";
    for (int i = 0; i < n && n <= MOST_LISTED; i++)
        list = arena_printf(scan->source->arena, "%s%s%s", list, i == 0 ? ", expected " : i == n - 1 ? " or " : ", ",
                            symbol_text(scan, expected[i]));
    scan_error(scan, *yypcontext_location(context), NULL, "unexpected %s%s", what, list);
    return 0;
}
