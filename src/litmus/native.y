/* Grammar of the native litmus language (remora-litmus(5)). It only builds the raw tree: what names mean, which
 * operations there are and what they take is decided in resolve*.c. */
%require "3.8"
%define api.pure full
%define api.prefix {native_yy}
%define api.location.type {struct lm_pos}
%define parse.error custom
%define parse.lac full
%locations
%expect 0
%param {void *scanner}
%parse-param {struct scan *scan} {struct raw_test *test}

%code requires {
#include "litmus/raw.h"
#include "litmus/scan.h"
}

%code {
#include "base/arena.h"
#include "litmus/grammar.h"
#include "litmus/names.h"

#include <stdlib.h>
#include <string.h>

static struct raw_expr *binary(struct scan *, enum lm_op, struct lm_pos, struct raw_expr *, struct raw_expr *);
static struct raw_expr *unary(struct scan *, enum lm_op, struct lm_pos, struct raw_expr *);
static struct raw_expr *leaf(struct scan *, enum raw_expr_kind, struct lm_pos);
static struct raw_stmt *new_stmt(struct scan *, enum raw_stmt_kind, struct lm_pos, struct raw_expr *);
static void set_blocks(struct scan *, struct raw_stmt *, struct raw_stmt *body, struct raw_stmt *other);
static struct raw_decl *new_decl(struct scan *, enum lm_decl_kind, struct raw_word, struct raw_integer node, uint64_t);
int native_yylex(union NATIVE_YYSTYPE *, struct lm_pos *, void *scanner);
static void native_yyerror(struct lm_pos *, void *scanner, struct scan *, struct raw_test *, const char *message);
}

%union {
    struct raw_word word;
    struct raw_integer integer;
    struct raw_expr *expr;
    struct raw_stmt *stmt;
    struct { struct raw_stmt *first, *last; } stmts;
    struct { struct raw_arg *first, *last; } args;
    struct { struct raw_integers *first, *last; } integers;
    struct { struct raw_decl *first, *last; } decls;
    struct { struct raw_thread *first, *last; } threads;
    struct { struct raw_docs *first, *last; } docs;
    struct { struct raw_atom *first, *last; } atoms;
    struct raw_thread *thread;
    struct raw_arg *arg;
    struct raw_decl *decl;
    struct raw_atom *atom;
    struct raw_cond *cond;
    enum lm_quantifier quantifier;
    enum lm_decl_kind lock;
}

%token <word> ARCH "architecture" TEST_NAME "test name" STRING "string" WORD_TOKEN "name" THREAD "thread"
%token END_OF_NAME "end of line"
%token <integer> INTEGER "integer"
%token <word> NODE "node" NODES "nodes" SHARED "shared" WLOCK_KEYWORD "wlock" SLOCK_KEYWORD "slock"
%token <word> NLOCK_KEYWORD "nlock" SC_KEYWORD "sc" ON "on"
%token IF "if" ELSE "else" ASSUME "assume" AWAIT "await" DO "do" UNTIL "until" REPEAT "repeat"
%token EXISTS "exists" FORALL "forall" FINAL "final" LOCATIONS "locations" NOT "not" TRUE_KEYWORD "true"
%token FALSE_KEYWORD "false"
%token AND "/\\" OR "\\/" EQ "==" NE "!=" LE "<=" GE ">=" SHL "<<" SHR ">>" LAND "&&" LOR "||" NOT_EQUAL "<>"
%token END 0 "end of file"

%left LOR
%left LAND
%left '|'
%left '^'
%left '&'
%left EQ NE
%left '<' '>' LE GE
%left SHL SHR
%left '+' '-'
%left '*'
%precedence UNARY

%type <word> name
%type <integer> value
%type <docs> docs
%type <decls> item items locs
%type <decl> loc
%type <lock> lock
%type <integer> init
%type <threads> threads
%type <thread> thread
%type <stmts> stmts
%type <stmt> block stmt if call else
%type <args> args some_args
%type <arg> arg
%type <integers> integers
%type <expr> expr
%type <atoms> locations atoms
%type <atom> atom cond_atom
%type <quantifier> quantifier
%type <cond> prop conjunction negation

%%

test: ARCH header docs '{' items '}' threads locations quantifier prop
    {
        test->arch = $ARCH;
        test->docs = $docs.first;
        test->decls = $items.first;
        test->threads = $threads.first;
        test->locations = $locations.first;
        test->quantifier = $quantifier;
        test->cond = $prop;
    };

header: TEST_NAME END_OF_NAME { test->name = $1; }
    | TEST_NAME TEST_NAME
    {
        scan_error(scan, @2, "a comment goes on a line of its own", "the name of a test has no white space in it");
        YYABORT;
    }
    | END_OF_NAME
    {
        scan_error(scan, @1, "the name follows the architecture on the first line", "the test has no name");
        YYABORT;
    };

docs: %empty { $$.first = $$.last = NULL; }
    | docs STRING
    {
        struct raw_docs *doc = NEW(struct raw_docs);
        doc->text = $STRING.text;
        $$ = $1;
        APPEND($$, doc);
    };

/* Initial state */
items: %empty { $$.first = $$.last = NULL; }
    | items item ';'
    {
        $$ = $1;
        if ($item.first) {
            APPEND($$, $item.first);
            $$.last = $item.last;
        }
    };

item: NODES INTEGER
    {
        if (test->has_nodes) {
            scan_error(scan, @$, NULL, "the number of nodes is given twice");
            YYABORT;
        }
        test->has_nodes = true;
        test->nodes = $INTEGER;
        $$.first = $$.last = NULL;
    }
    | NODE INTEGER ':' locs
    {
        $$ = $locs;
        for (struct raw_decl *decl = $$.first; decl; decl = decl->next)
            decl->node = $INTEGER;
    }
    | SHARED name init
    { $$.first = $$.last = new_decl(scan, LM_SHARED, $name, (struct raw_integer){0}, $init.value); }
    | lock name ON INTEGER { $$.first = $$.last = new_decl(scan, $lock, $name, $INTEGER, 0); }
    | SC_KEYWORD name ON INTEGER init { $$.first = $$.last = new_decl(scan, LM_SC, $name, $INTEGER, $init.value); };

locs: loc { $$.first = $$.last = $loc; }
    | locs ',' loc { $$ = $1; APPEND($$, $loc); };

loc: name init { $$ = new_decl(scan, LM_LOC, $name, (struct raw_integer){0}, $init.value); };

init: %empty { $$ = (struct raw_integer){0}; }
    | '=' value { $$ = $value; };

lock: WLOCK_KEYWORD { $$ = LM_WLOCK; }
    | SLOCK_KEYWORD { $$ = LM_SLOCK; }
    | NLOCK_KEYWORD { $$ = LM_NLOCK; };

value: INTEGER
    | '-' INTEGER { $$ = (struct raw_integer){.value = 0 - $INTEGER.value, .pos = @$}; };

/* The words of the initial state are names anywhere else. */
name: WORD_TOKEN | THREAD | NODE | NODES | SHARED | WLOCK_KEYWORD | SLOCK_KEYWORD | NLOCK_KEYWORD | SC_KEYWORD | ON;

/* Threads */
threads: thread { $$.first = $$.last = $thread; }
    | threads thread { $$ = $1; APPEND($$, $thread); };

thread: THREAD ON INTEGER block
    {
        $$ = NEW(struct raw_thread);
        $$->name = $THREAD;
        $$->node = $INTEGER;
        $$->body = $block;
    };

block: '{' stmts '}' { $$ = $stmts.first; };

stmts: %empty { $$.first = $$.last = NULL; }
    | stmts stmt { $$ = $1; APPEND($$, $stmt); };

stmt: name '=' expr ';'
    {
        $$ = new_stmt(scan, RAW_ASSIGN, @$, $expr);
        $$->target = $name;
    }
    | name '=' call ';'
    {
        $$ = $call;
        $$->pos = @$;
        $$->target = $name;
    }
    | call ';'
    | if
    | ASSUME '(' expr ')' ';' { $$ = new_stmt(scan, RAW_ASSUME, @$, $expr); }
    | AWAIT '(' expr ')' ';' { $$ = new_stmt(scan, RAW_AWAIT, @$, $expr); }
    | DO block UNTIL '(' expr ')' ';'
    {
        $$ = new_stmt(scan, RAW_DO, @$, $expr);
        set_blocks(scan, $$, $block, NULL);
    }
    | REPEAT '(' INTEGER ')' block
    {
        $$ = new_stmt(scan, RAW_REPEAT, @$, NULL);
        $$->count = $INTEGER;
        set_blocks(scan, $$, $block, NULL);
    };

if: IF '(' expr ')' block else
    {
        $$ = new_stmt(scan, RAW_IF, @$, $expr);
        set_blocks(scan, $$, $block, $else);
    };

else: %empty { $$ = NULL; }
    | ELSE block { $$ = $block; }
    | ELSE if { $$ = $if; };

call: name '(' args ')'
    {
        $$ = new_stmt(scan, RAW_CALL, @$, NULL);
        $$->callee = $name;
        scan->callee = $name.text;
        $$->args = $args.first;
    };

args: %empty { $$.first = $$.last = NULL; }
    | some_args;

some_args: arg { $$.first = $$.last = $arg; }
    | some_args ',' arg { $$ = $1; APPEND($$, $arg); };

arg: expr
    {
        $$ = NEW(struct raw_arg);
        $$->expr = $expr;
        $$->pos = @$;
    }
    | '{' integers '}'
    {
        $$ = NEW(struct raw_arg);
        $$->set = $integers.first;
        $$->pos = @$;
    };

integers: INTEGER
    {
        $$.first = $$.last = NEW(struct raw_integers);
        $$.first->integer = $INTEGER;
    }
    | integers ',' INTEGER
    {
        struct raw_integers *item = NEW(struct raw_integers);
        item->integer = $INTEGER;
        $$ = $1;
        APPEND($$, item);
    };

expr: INTEGER
    {
        $$ = leaf(scan, RAW_INT, @$);
        $$->value = $INTEGER.value;
    }
    | name
    {
        $$ = leaf(scan, RAW_NAME, @$);
        $$->name = $name.text;
    }
    | '(' expr ')' { $$ = $2; }
    | '-' expr %prec UNARY { $$ = unary(scan, LM_NEG, @$, $2); }
    | '!' expr %prec UNARY { $$ = unary(scan, LM_LNOT, @$, $2); }
    | '~' expr %prec UNARY { $$ = unary(scan, LM_NOT, @$, $2); }
    | expr '+' expr { $$ = binary(scan, LM_ADD, @2, $1, $3); }
    | expr '-' expr { $$ = binary(scan, LM_SUB, @2, $1, $3); }
    | expr '*' expr { $$ = binary(scan, LM_MUL, @2, $1, $3); }
    | expr '&' expr { $$ = binary(scan, LM_AND, @2, $1, $3); }
    | expr '|' expr { $$ = binary(scan, LM_OR, @2, $1, $3); }
    | expr '^' expr { $$ = binary(scan, LM_XOR, @2, $1, $3); }
    | expr SHL expr { $$ = binary(scan, LM_SHL, @2, $1, $3); }
    | expr SHR expr { $$ = binary(scan, LM_SHR, @2, $1, $3); }
    | expr EQ expr { $$ = binary(scan, LM_EQ, @2, $1, $3); }
    | expr NE expr { $$ = binary(scan, LM_NE, @2, $1, $3); }
    | expr '<' expr { $$ = binary(scan, LM_LT, @2, $1, $3); }
    | expr LE expr { $$ = binary(scan, LM_LE, @2, $1, $3); }
    | expr '>' expr { $$ = binary(scan, LM_GT, @2, $1, $3); }
    | expr GE expr { $$ = binary(scan, LM_GE, @2, $1, $3); }
    | expr LAND expr { $$ = binary(scan, LM_LAND, @2, $1, $3); }
    | expr LOR expr { $$ = binary(scan, LM_LOR, @2, $1, $3); };

/* Condition */
locations: %empty { $$.first = $$.last = NULL; }
    | LOCATIONS '[' atoms ']' { $$ = $atoms; }
    | LOCATIONS '[' atoms atom ']' { $$ = $atoms; APPEND($$, $atom); };

atoms: %empty { $$.first = $$.last = NULL; }
    | atoms atom ';' { $$ = $1; APPEND($$, $atom); };

atom: name
    {
        $$ = NEW(struct raw_atom);
        $$->name = $name;
    }
    | name '@' INTEGER
    {
        $$ = NEW(struct raw_atom);
        $$->name = $name;
        $$->has_copy = true;
        $$->copy = $INTEGER;
    }
    | INTEGER ':' name
    {
        $$ = NEW(struct raw_atom);
        $$->name = $name;
        $$->has_thread = true;
        $$->thread = $INTEGER;
    };

quantifier: EXISTS { $$ = LM_EXISTS; }
    | '~' EXISTS { $$ = LM_NOT_EXISTS; }
    | NOT EXISTS { $$ = LM_NOT_EXISTS; }
    | FORALL { $$ = LM_FORALL; }
    | FINAL { $$ = LM_FINAL; };

prop: conjunction
    | prop OR conjunction { $$ = raw_combine(scan, LM_C_OR, $1, $3); };

conjunction: negation
    | conjunction AND negation { $$ = raw_combine(scan, LM_C_AND, $1, $3); };

negation: cond_atom equal value { $$ = raw_equal(scan, $cond_atom, $value.value); }
    | cond_atom unequal value { $$ = raw_combine(scan, LM_C_NOT, raw_equal(scan, $cond_atom, $value.value), NULL); }
    | TRUE_KEYWORD { $$ = raw_new_cond(scan, LM_C_TRUE); }
    | FALSE_KEYWORD { $$ = raw_new_cond(scan, LM_C_FALSE); }
    | '(' prop ')' { $$ = $prop; }
    | '~' negation { $$ = raw_combine(scan, LM_C_NOT, $2, NULL); }
    | NOT negation { $$ = raw_combine(scan, LM_C_NOT, $2, NULL); };

cond_atom: atom;

equal: '=' | EQ;

unequal: NE | NOT_EQUAL;

%%

static struct raw_expr *leaf(struct scan *scan, enum raw_expr_kind kind, struct lm_pos pos)
{
    struct raw_expr *expr = NEW(struct raw_expr);
    expr->kind = kind;
    expr->pos = pos;
    return expr;
}

static struct raw_expr *limit_height(struct scan *scan, struct raw_expr *expr)
{
    if (expr->height > RAW_MAX_EXPR_HEIGHT)
        scan_error(scan, expr->pos, "split it over several registers", "an expression has more than %d operators in a row",
                   RAW_MAX_EXPR_HEIGHT);
    return expr;
}

static struct raw_expr *binary(struct scan *scan, enum lm_op op, struct lm_pos pos, struct raw_expr *a,
                               struct raw_expr *b)
{
    struct raw_expr *expr = leaf(scan, RAW_BINARY, pos);
    expr->op = op;
    expr->a = a;
    expr->b = b;
    expr->height = 1 + (a->height > b->height ? a->height : b->height);
    return limit_height(scan, expr);
}

/* A minus before an integer makes a negative integer, so that -1 is the value 2^64-1 and not an operation. */
static struct raw_expr *unary(struct scan *scan, enum lm_op op, struct lm_pos pos, struct raw_expr *a)
{
    if (op == LM_NEG && a->kind == RAW_INT) {
        struct raw_expr *integer = leaf(scan, RAW_INT, pos);
        integer->value = 0 - a->value;
        return integer;
    }
    struct raw_expr *expr = leaf(scan, RAW_UNARY, pos);
    expr->op = op;
    expr->a = a;
    expr->height = 1 + a->height;
    return limit_height(scan, expr);
}

static struct raw_stmt *new_stmt(struct scan *scan, enum raw_stmt_kind kind, struct lm_pos pos, struct raw_expr *expr)
{
    struct raw_stmt *stmt = NEW(struct raw_stmt);
    stmt->kind = kind;
    stmt->pos = pos;
    stmt->expr = expr;
    return stmt;
}

static void set_blocks(struct scan *scan, struct raw_stmt *stmt, struct raw_stmt *body, struct raw_stmt *other)
{
    stmt->body = body;
    stmt->other = other;
    unsigned height = 0;
    for (const struct raw_stmt *s = body; s; s = s->next)
        height = s->height > height ? s->height : height;
    for (const struct raw_stmt *s = other; s; s = s->next)
        height = s->height > height ? s->height : height;
    stmt->height = height + 1;
    if (stmt->height > RAW_MAX_NESTING)
        scan_error(scan, stmt->pos, NULL, "blocks are nested more than %d deep", RAW_MAX_NESTING);
}

static struct raw_decl *new_decl(struct scan *scan, enum lm_decl_kind kind, struct raw_word name,
                                 struct raw_integer node, uint64_t init)
{
    struct raw_decl *decl = NEW(struct raw_decl);
    decl->kind = kind;
    decl->name = name;
    decl->node = node;
    decl->init = init;
    return decl;
}

static void native_yyerror(struct lm_pos *pos, void *scanner, struct scan *scan, struct raw_test *test,
                           const char *message)
{
    (void)scanner;
    (void)test;
    (void)message; /* the only message that comes here is that the parser's stack is exhausted */
    scan_error(scan, *pos, NULL, "this is nested too deeply");
}

/* Is it the token that is written as this one character? */
static bool is_character(yysymbol_kind_t symbol, char character)
{
    const char *name = yysymbol_name(symbol);
    return name[0] == '\'' && name[1] == character;
}

static bool is_operator(yysymbol_kind_t symbol)
{
    const char *name = yysymbol_name(symbol);
    return (symbol >= YYSYMBOL_EQ && symbol <= YYSYMBOL_LOR) || (name[0] == '\'' && strchr("|^&<>+-*", name[1]));
}

static bool expects(const yysymbol_kind_t *expected, int n, char character)
{
    for (int i = 0; i < n; i++)
        if (is_character(expected[i], character))
            return true;
    return false;
}

static const char *keyword_hint(struct scan *scan, const char *word)
{
    static const char *const keywords[] = {"if",     "else",   "assume", "await",     "do", "until",
                                           "repeat", "exists", "forall", "locations"};
    struct guess guess = guess_start(word ? word : "");
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        guess_consider(&guess, keywords[i]);
    return guess_hint(&guess, scan->source->arena);
}

/* Is the word that the parser stumbled over, or one before it, a slip of the keyboard for a keyword? Is a semicolon missing?
 * Is a call in the middle of an expression? */
static const char *find_hint(struct scan *scan, yysymbol_kind_t found, const yysymbol_kind_t *expected, int n)
{
    struct guess guess = guess_start(scan->word ? scan->word : "");
    for (int i = 0; i < n; i++)
        if (strchr("abcdefghijklmnopqrstuvwxyz", *yysymbol_name(expected[i])))
            guess_consider(&guess, yysymbol_name(expected[i]));
    const char *hint = guess_hint(&guess, scan->source->arena);
    if (!hint && !scan->word)
        hint = keyword_hint(scan, scan->last_word);
    if (!hint && is_character(found, '{') && expects(expected, n, ';'))
        hint = keyword_hint(scan, scan->callee);
    if (!hint && is_character(found, '(') && scan->last_word)
        hint = arena_printf(scan->source->arena, "the result goes to a register first: r = %s(…);", scan->last_word);
    if (!hint && expects(expected, n, ';') && scan->last.line && scan->last.line < scan->here.line)
        hint = arena_printf(scan->source->arena, "is a `;` missing in line %u?", scan->last.line);
    return hint;
}

/* How a symbol is written in a message: a description as it is, anything else in backquotes. */
static const char *symbol_text(struct scan *scan, yysymbol_kind_t symbol)
{
    const char *name = yysymbol_name(symbol);
    switch (symbol) {
    case YYSYMBOL_WORD_TOKEN:
        return "a name";
    case YYSYMBOL_INTEGER:
        return "an integer";
    case YYSYMBOL_STRING:
        return "a string";
    case YYSYMBOL_THREAD:
        return "a thread";
    case YYSYMBOL_ARCH:
    case YYSYMBOL_TEST_NAME:
    case YYSYMBOL_END_OF_NAME:
    case YYSYMBOL_YYEOF:
        return name;
    default:
        if (*name == '\'')
            return arena_printf(scan->source->arena, "`%c`", name[1]);
        return arena_printf(scan->source->arena, "`%s`", name);
    }
}

enum { MOST_EXPECTED = 64, MOST_LISTED = 8 };

/* What is expected, as words: the words of the initial state are left out where any name will do, and operators after an
 * operand are named together. Returns how many there are, or 0 if they are too many to list. */
static int list_expected(struct scan *scan, const yysymbol_kind_t *expected, int n, const char *listed[MOST_LISTED + 1])
{
    int count = 0, operators = 0;
    bool any_name = false;
    for (int i = 0; i < n; i++) {
        any_name |= expected[i] == YYSYMBOL_WORD_TOKEN;
        operators += is_operator(expected[i]);
    }
    for (int i = 0; i < n; i++) {
        bool is_word = (expected[i] >= YYSYMBOL_NODE && expected[i] <= YYSYMBOL_ON) || expected[i] == YYSYMBOL_THREAD;
        if ((any_name && is_word) || (operators > 2 && is_operator(expected[i])))
            continue;
        if (count == MOST_LISTED)
            return 0;
        listed[count++] = symbol_text(scan, expected[i]);
    }
    if (operators > 2)
        listed[count++] = "an operator";
    return count;
}

static const char *expected_text(struct scan *scan, const yysymbol_kind_t *expected, int n)
{
    const char *listed[MOST_LISTED + 1], *text = "";
    int count = list_expected(scan, expected, n, listed);
    for (int i = 0; i < count; i++)
        text = arena_printf(scan->source->arena, "%s%s%s", text,
                            i == 0 ? ", expected " : i == count - 1 ? " or " : ", ", listed[i]);
    return text;
}

static int yyreport_syntax_error(const yypcontext_t *context, void *scanner, struct scan *scan, struct raw_test *test)
{
    (void)scanner;
    (void)test;
    yysymbol_kind_t expected[MOST_EXPECTED], found = yypcontext_token(context);
    int n = yypcontext_expected_tokens(context, expected, MOST_EXPECTED);
    if (n < 0)
        n = 0;
    const char *what = found == YYSYMBOL_WORD_TOKEN || found == YYSYMBOL_THREAD
                           ? arena_printf(scan->source->arena, "`%s`", scan->word ? scan->word : "name")
                           : symbol_text(scan, found == YYSYMBOL_YYEMPTY ? YYSYMBOL_YYEOF : found);
    scan_error(scan, *yypcontext_location(context), find_hint(scan, found, expected, n), "unexpected %s%s", what,
               expected_text(scan, expected, n));
    return 0;
}
