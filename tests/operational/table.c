/* See table.h. */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct table *of(const struct program *p)
{
    return (const struct table *)(const void *)p;
}

static void next(const struct program *p, unsigned t, uint32_t *point, uint64_t *regs, struct op *op)
{
    const struct table *table = of(p);
    for (;; ++*point) {
        if (*point == table->n_rows[t]) {
            *op = (struct op){.kind = OP_END};
            return;
        }
        const struct row *row = &table->rows[t][*point];
        bool holds = row->reg == NO_REG || regs[row->reg] == row->value;
        switch (row->kind) {
        case ROW_OP:
            *op = row->op;
            op->where = t * TABLE_ROWS + *point;
            if (row->reg != NO_REG) {
                op->v += regs[row->reg];
                op->e += regs[row->reg];
            }
            return;
        case ROW_SPIN:
            *op = (struct op){.kind = OP_SPIN_BEGIN, .where = t * TABLE_ROWS + *point};
            return;
        case ROW_SKIP_UNLESS:
            if (!holds)
                *point += row->skip;
            break;
        default:
            if (!holds) {
                *op = (struct op){.kind = row->kind == ROW_ASSUME ? OP_DROP : OP_SPIN_FAIL};
                return;
            }
        }
    }
}

static void observe(const struct program *p, unsigned t, uint32_t *point, uint64_t *regs, uint64_t result)
{
    const struct row *row = &of(p)->rows[t][*point];
    if (row->kind == ROW_OP && row->dst != NO_REG)
        regs[row->dst] = result;
    ++*point;
}

static const struct future *future(const struct program *p, unsigned t, uint32_t point)
{
    return &of(p)->futures[t][point];
}

static const uint64_t *live(const struct program *p, unsigned t, uint32_t point)
{
    return &of(p)->live[t][point];
}

static unsigned max_events(const struct program *p, unsigned t)
{
    return 4 * of(p)->n_rows[t];
}

static const char *describe(const struct program *p, uint32_t where, uint32_t *line)
{
    (void)p;
    static const char *const names[] = {"end", "drop", "spin", "fail",   "load",  "store",
                                        "cas", "faa",  "xchg", "mfence", "await", "put",
                                        "get", "rcas", "rfaa", "rfence", "poll",  "wait"};
    const struct row *row = &of(p)->rows[where / TABLE_ROWS][where % TABLE_ROWS];
    *line = where % TABLE_ROWS + 1;
    return row->kind == ROW_OP ? names[row->op.kind] : "spin";
}

static const struct prog_ops table_ops = {next, observe, future, live, max_events, describe};

void table_init(struct table *table, unsigned threads, unsigned nodes, unsigned locs)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    memset(table, 0, sizeof *table);
    table->program.ops = &table_ops;
    table->program.n_threads = threads;
    table->program.n_nodes = nodes;
    table->program.n_locs = locs;
    table->program.loc_words = (locs + 63) / 64;
    table->program.locs = table->locs;
    table->program.tso = true;
    for (unsigned x = 0; x < locs; x++)
        table->locs[x] = (struct prog_loc){.name = x < 6 ? names[x] : "x", .owner = UINT16_MAX};
    for (unsigned t = 0; t < threads; t++) {
        table->program.n_regs[t] = TABLE_REGS;
        table->program.thread_class[t] = (uint8_t)t;
        table->shown[t] = (1 << TABLE_REGS) - 1;
    }
}

void table_add(struct table *table, unsigned t, struct row row)
{
    table->rows[t][table->n_rows[t]++] = row;
}

static void set(uint64_t *words, unsigned bit)
{
    words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static void future_of_op(const struct program *p, const struct op *op, struct future *f)
{
    switch (op->kind) {
    case OP_LOAD:
        set(f->cpu_reads, op->loc);
        break;
    case OP_AWAIT:
        for (unsigned i = 0; i < op->n_any; i++)
            set(f->cpu_reads, op->any[i]);
        if (!op->n_any)
            set(f->cpu_reads, op->loc);
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        set(f->cpu_reads, op->loc);
        set(f->cpu_writes, op->loc);
        break;
    case OP_STORE:
        set(f->cpu_writes, op->loc);
        break;
    case OP_PUT:
        if (op->local != PROG_NO_LOC)
            set(f->nic_reads, op->local);
        set(f->nic_writes, op->loc);
        f->put_nodes |= UINT64_C(1) << p->locs[op->loc].node;
        f->nic_nodes |= UINT64_C(1) << p->locs[op->loc].node;
        break;
    case OP_RCAS:
    case OP_RFAA:
        set(f->nic_writes, op->loc);
        f->rmw_nodes |= UINT64_C(1) << p->locs[op->loc].node;
        /* fall through */
    case OP_GET:
        set(f->nic_reads, op->loc);
        set(f->nic_writes, op->local);
        f->nic_nodes |= UINT64_C(1) << p->locs[op->loc].node;
        break;
    case OP_RFENCE:
        f->nic_nodes |= UINT64_C(1) << op->node;
        break;
    default:
        break;
    }
}

static void find_future(struct table *table, unsigned t, unsigned i)
{
    struct future *f = &table->futures[t][i];
    f->cpu_reads = table->sets[t][i][0];
    f->cpu_writes = table->sets[t][i][1];
    f->nic_reads = table->sets[t][i][2];
    f->nic_writes = table->sets[t][i][3];
    if (i == table->n_rows[t])
        return;
    const struct future *after = &table->futures[t][i + 1];
    memcpy(table->sets[t][i], table->sets[t][i + 1], sizeof table->sets[t][i]);
    f->nic_nodes = after->nic_nodes;
    f->put_nodes = after->put_nodes;
    f->rmw_nodes = after->rmw_nodes;
    const struct row *row = &table->rows[t][i];
    if (row->kind == ROW_OP)
        future_of_op(&table->program, &row->op, f);
}

static void find_live(struct table *table, unsigned t, unsigned i)
{
    uint64_t *regs = &table->live[t][i];
    *regs = table->shown[t];
    if (i == table->n_rows[t])
        return;
    const struct row *row = &table->rows[t][i];
    *regs |= table->live[t][i + 1];
    if (row->kind == ROW_OP && row->dst != NO_REG)
        *regs &= ~(UINT64_C(1) << row->dst);
    if (row->kind == ROW_SKIP_UNLESS)
        *regs |= table->live[t][i + 1 + row->skip];
    if (row->reg != NO_REG)
        *regs |= UINT64_C(1) << row->reg;
    *regs |= table->shown[t];
}

void table_done(struct table *table)
{
    table->n_observables = 0;
    for (unsigned t = 0; t < table->program.n_threads; t++) {
        for (unsigned i = table->n_rows[t] + 1; i-- > 0;) {
            find_future(table, t, i);
            find_live(table, t, i);
        }
        for (unsigned r = 0; r < TABLE_REGS; r++)
            if (table->shown[t] >> r & 1)
                table->observables[table->n_observables++] = (struct observable){true, t, r};
    }
    for (unsigned x = 0; x < table->program.n_locs; x++)
        table->observables[table->n_observables++] = (struct observable){false, 0, x};
}

struct result table_explore(const struct table *table, bool no_reduction, unsigned jobs)
{
    struct query query = {.program = &table->program,
                          .observables = table->observables,
                          .n_observables = table->n_observables,
                          .limits = {.max_states = 400000, .jobs = jobs}};
    return explore_operational(&query, &(struct operational_options){.no_reduction = no_reduction});
}

void table_print(const struct table *table)
{
    for (unsigned x = 0; x < table->program.n_locs; x++)
        printf("  %s on %u\n", table->locs[x].name, table->locs[x].node);
    for (unsigned t = 0; t < table->program.n_threads; t++) {
        printf("  P%u on %u:\n", t, table->program.thread_node[t]);
        for (unsigned i = 0; i < table->n_rows[t]; i++) {
            const struct row *row = &table->rows[t][i];
            static const char *const kinds[] = {"", "assume", "spin", "until", "skip unless"};
            uint32_t line;
            if (row->kind != ROW_OP)
                printf("    %s r%u == %" PRIu64 " (skip %u)\n", kinds[row->kind], row->reg, row->value,
                       row->skip);
            else
                printf("    r%d = %s loc %u local %d node %u v %" PRIu64 "+r%d e %" PRIu64 " cmp %u wid %u\n",
                       row->dst == NO_REG ? -1 : row->dst,
                       describe(&table->program, t * TABLE_ROWS + i, &line), row->op.loc,
                       row->op.local == PROG_NO_LOC ? -1 : row->op.local, row->op.node, row->op.v,
                       row->reg == NO_REG ? -1 : row->reg, row->op.e, row->op.cmp, row->op.wid);
        }
    }
}

/* --- random programs --- */

struct dice {
    uint64_t state;
};

static unsigned roll(struct dice *dice, unsigned n)
{
    dice->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = dice->state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ z >> 31) % n);
}

static uint16_t some_loc(const struct table *table, struct dice *dice, unsigned node)
{
    uint16_t x;
    do
        x = (uint16_t)roll(dice, table->program.n_locs);
    while (table->locs[x].node != node);
    return x;
}

static struct row cpu_row(struct table *table, struct dice *dice, unsigned t, uint16_t *reg)
{
    struct row row = {.kind = ROW_OP, .dst = NO_REG, .reg = NO_REG};
    row.op.loc = some_loc(table, dice, table->program.thread_node[t]);
    row.op.v = 1 + roll(dice, 2);
    switch (roll(dice, 11)) {
    case 0:
    case 1:
    case 2:
    case 3:
        row.op.kind = OP_LOAD;
        row.dst = (*reg)++;
        break;
    case 4:
    case 5:
    case 6:
        row.op.kind = OP_STORE;
        if (*reg && roll(dice, 4) == 0)
            row.reg = (uint16_t)roll(dice, *reg);
        break;
    case 7:
        row.op.kind = (uint8_t)(roll(dice, 2) ? OP_FAA : OP_XCHG);
        row.dst = (*reg)++;
        break;
    case 8:
        row.op.kind = OP_CAS;
        row.op.e = roll(dice, 2);
        row.dst = (*reg)++;
        break;
    case 9:
        row.op.kind = OP_MFENCE;
        break;
    default:
        row.op.kind = OP_AWAIT;
        row.op.cmp = (uint8_t)roll(dice, 3);
        row.op.v = roll(dice, 2);
        row.dst = (*reg)++;
    }
    return row;
}

static struct row nic_row(struct table *table, struct dice *dice, unsigned t, uint16_t *reg, bool wait)
{
    struct row row = {.kind = ROW_OP, .dst = NO_REG, .reg = NO_REG};
    unsigned node = roll(dice, table->program.n_nodes);
    row.op.node = (uint8_t)node;
    row.op.loc = some_loc(table, dice, node);
    row.op.local = some_loc(table, dice, table->program.thread_node[t]);
    row.op.v = 1 + roll(dice, 2);
    row.op.wid = (uint8_t)(wait ? roll(dice, 3) : PROG_NO_WID);
    switch (roll(dice, 12)) {
    case 0:
    case 1:
    case 2:
        row.op.kind = OP_PUT;
        break;
    case 3:
        row.op.kind = OP_PUT;
        row.op.local = PROG_NO_LOC;
        if (*reg && roll(dice, 3) == 0)
            row.reg = (uint16_t)roll(dice, *reg);
        break;
    case 4:
    case 5:
    case 6:
        row.op.kind = OP_GET;
        break;
    case 7:
        row.op.kind = OP_RCAS;
        row.op.e = roll(dice, 2);
        break;
    case 8:
        row.op.kind = OP_RFAA;
        break;
    case 9:
        row.op.kind = OP_RFENCE;
        break;
    default:
        row.op.kind = (uint8_t)(wait ? OP_WAIT : OP_POLL);
        row.op.wid = (uint8_t)(wait ? 1 + roll(dice, 2) : PROG_NO_WID);
    }
    return row;
}

/* do { r = x } until (r == v), or do { get(x, y); wait; r = x } until (r == v) */
static void add_spin(struct table *table, struct dice *dice, unsigned t, uint16_t *reg, bool wait)
{
    uint16_t r = (*reg)++;
    table_add(table, t, (struct row){.kind = ROW_SPIN, .dst = NO_REG, .reg = NO_REG});
    uint16_t x = some_loc(table, dice, table->program.thread_node[t]);
    if (roll(dice, 2)) {
        unsigned node = roll(dice, table->program.n_nodes);
        table_add(table, t,
                  (struct row){.kind = ROW_OP,
                               .dst = NO_REG,
                               .reg = NO_REG,
                               .op = {.kind = OP_GET,
                                      .loc = some_loc(table, dice, node),
                                      .local = x,
                                      .node = (uint8_t)node,
                                      .wid = (uint8_t)(wait ? 2 : 0)}});
        table_add(table, t,
                  (struct row){.kind = ROW_OP,
                               .dst = NO_REG,
                               .reg = NO_REG,
                               .op = {.kind = (uint8_t)(wait ? OP_WAIT : OP_POLL),
                                      .node = (uint8_t)node,
                                      .wid = (uint8_t)(wait ? 2 : 0)}});
    }
    table_add(table, t,
              (struct row){.kind = ROW_OP, .dst = r, .reg = NO_REG, .op = {.kind = OP_LOAD, .loc = x}});
    table_add(table, t, (struct row){.kind = ROW_UNTIL, .dst = NO_REG, .reg = r, .value = roll(dice, 2)});
}

static void random_thread(struct table *table, struct dice *dice, unsigned t, unsigned length, bool wait)
{
    uint16_t reg = 0;
    for (unsigned i = 0; i < length; i++) {
        unsigned kind = roll(dice, 20);
        if (kind == 0)
            add_spin(table, dice, t, &reg, wait);
        else if (kind == 1 && reg)
            table_add(table, t,
                      (struct row){.kind = ROW_ASSUME,
                                   .dst = NO_REG,
                                   .reg = (uint16_t)roll(dice, reg),
                                   .value = roll(dice, 2)});
        else if (kind == 2 && reg && i + 1 < length)
            table_add(table, t,
                      (struct row){.kind = ROW_SKIP_UNLESS,
                                   .dst = NO_REG,
                                   .reg = (uint16_t)roll(dice, reg),
                                   .value = roll(dice, 2),
                                   .skip = 1}),
                table_add(table, t, nic_row(table, dice, t, &reg, wait));
        else
            table_add(table, t,
                      kind < 11 ? cpu_row(table, dice, t, &reg) : nic_row(table, dice, t, &reg, wait));
    }
}

/* Thread t becomes the same as an earlier one. */
static void copy_thread(struct table *table, unsigned t, unsigned of)
{
    table->program.thread_node[t] = table->program.thread_node[of];
    table->program.thread_class[t] = table->program.thread_class[of];
    table->n_rows[t] = table->n_rows[of];
    memcpy(table->rows[t], table->rows[of], sizeof table->rows[t]);
    table->shown[t] = table->shown[of];
}

void table_random(struct table *table, uint64_t seed, bool wait)
{
    struct dice dice = {seed * UINT64_C(0xd1342543de82ef95) + wait};
    unsigned nodes = 1 + roll(&dice, 3), threads = 1 + roll(&dice, 3);
    unsigned locs = nodes + roll(&dice, 3);
    table_init(table, threads, nodes, locs);
    table->program.tso = !wait;
    for (unsigned x = 0; x < locs; x++)
        table->locs[x].node = (uint16_t)(x < nodes ? x : roll(&dice, nodes));
    unsigned total = 4 + roll(&dice, 4);
    for (unsigned t = 0; t < threads; t++) {
        table->program.thread_node[t] = (uint8_t)(roll(&dice, 3) ? t % nodes : roll(&dice, nodes));
        random_thread(table, &dice, t, (total + threads - 1) / threads, wait);
        if (roll(&dice, 3) == 0)
            table->shown[t] = roll(&dice, 1 << TABLE_REGS);
        if (t > 0 && roll(&dice, 4) == 0)
            copy_thread(table, t, roll(&dice, t));
    }
    table_done(table);
}
