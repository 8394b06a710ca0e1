/* The fake RDMA device (fake_verbs.h). One thread executes for all queue pairs, by random choice. */
#include "fake_verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* queue pairs, regions */

enum stage { QUEUED, STARTED, EXECUTED, RETIRED };

struct request {
    struct ibv_send_wr wr;
    struct ibv_sge sge;
    enum stage stage;
    unsigned char *data; /* of a write: what is written; of a read: what was read */
    size_t size;
    bool captured, fails;
    uint64_t old;
    unsigned long landing; /* its place among the writes on their way; 0: none */
};

struct pair {
    struct ibv_qp qp; /* first */
    struct ibv_qp_cap cap;
    struct ibv_qp_attr told;
    bool broken, checked;
    /* Counted from 0: posted, started, retired in order; freed: whose slots are free again. */
    unsigned long posted, started, retired, freed, landed;
    unsigned reads; /* started, not retired */
    struct request *ring;
};

struct queue {
    struct ibv_cq cq; /* first */
    struct entry {
        struct ibv_wc wc;
        struct pair *pair;
        unsigned long number;
    } * entries;
    unsigned size, count, first;
};

struct region {
    struct ibv_mr mr; /* first */
    unsigned access;
};

static struct fake_device device;
static struct fake_counts counts;
static struct ibv_qp_attr last;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct pair *pairs[MOST];
static struct region *regions[MOST];
static unsigned pair_count, region_count, contexts;
static bool paused;
static uintptr_t openings; /* that have ended */
static pthread_t engine;
static uint64_t random_state;
static unsigned long fail_after;
static enum ibv_wc_status fail_status;

const struct fake_device fake_good = {
    .names = {"fake0"},
    .atomics = IBV_ATOMIC_HCA,
    .port = IBV_PORT_ACTIVE,
    .link_layer = IBV_LINK_LAYER_ETHERNET,
    .max_qp_wr = 1024,
    .max_cqe = 65536,
    .initiates = 16,
    .answers = 16,
    .max_inline = 64,
    .max_message = 1u << 23,
    .gids = {{0, IBV_GID_TYPE_ROCE_V2, "fe80::1"}, {1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1"}},
    .seed = 1,
    .laziness = 3,
};

__attribute__((format(printf, 1, 2))) static void fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (counts.faults++ == 0)
        vsnprintf(counts.fault, sizeof counts.fault, format, arguments);
    va_end(arguments);
}

static unsigned chance(unsigned among)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % among;
}

/* ---- Memory ---- */

static void copy(unsigned char *to, const unsigned char *from, size_t size, bool shared_target)
{
    size_t i = 0;
    const unsigned char *shared = shared_target ? to : from;
    for (; i < size && (uintptr_t)(shared + i) % 8; i++)
        __atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        if (shared_target) {
            memcpy(&word, from + i, 8);
            __atomic_store_n((uint64_t *)(void *)(to + i), word, __ATOMIC_RELEASE);
        } else {
            word = __atomic_load_n((const uint64_t *)(const void *)(from + i), __ATOMIC_ACQUIRE);
            memcpy(to + i, &word, 8);
        }
    }
    for (; i < size; i++)
        __atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static bool is_inside(uint32_t key, uint64_t address, size_t size, unsigned access)
{
    for (unsigned i = 0; i < region_count; i++) {
        const struct region *r = regions[i];
        if (r && r->mr.lkey == key)
            return (r->access & access) == access && address >= (uintptr_t)r->mr.addr &&
                   address + size <= (uintptr_t)r->mr.addr + r->mr.length;
    }
    return false;
}

/* ---- Execution ---- */

static struct request *request_of(struct pair *pair, unsigned long number)
{
    return &pair->ring[number % pair->cap.max_send_wr];
}

static bool is_write(const struct request *request)
{
    return request->wr.opcode == IBV_WR_RDMA_WRITE;
}

static bool is_atomic(const struct request *request)
{
    return request->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           request->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static unsigned char *remote_of(const struct request *request)
{
    return (unsigned char *)(uintptr_t)(is_atomic(request) ? request->wr.wr.atomic.remote_addr
                                                           : request->wr.wr.rdma.remote_addr);
}

/* Writes wait in order on their way into memory; everything up to `number` lands. */
static bool land_up_to(struct pair *pair, unsigned long number)
{
    bool any = false;
    for (; pair->landed < number; pair->landed++) {
        struct request *request = request_of(pair, pair->landed);
        if (is_write(request) && request->stage < EXECUTED)
            return any;
        if (is_write(request) && request->data) {
            copy(remote_of(request), request->data, request->size, true);
            free(request->data);
            request->data = NULL;
        }
        any = true;
    }
    return any;
}

static bool start(struct pair *pair)
{
    if (pair->started == pair->posted)
        return false;
    struct request *request = request_of(pair, pair->started);
    if (request->wr.send_flags & IBV_SEND_FENCE && pair->reads)
        return false;
    if (!is_write(request)) {
        if (pair->reads >= pair->told.max_rd_atomic)
            return false;
        pair->reads++;
        if (pair->reads > counts.most_reads)
            counts.most_reads = pair->reads;
    } else if (!request->captured && request->size) {
        copy(request->data, (unsigned char *)(uintptr_t)request->sge.addr, request->size, false);
        request->captured = true;
    }
    request->stage = STARTED;
    pair->started++;
    return true;
}

static void execute_atomic(struct request *request)
{
    uint64_t *word = (uint64_t *)(void *)remote_of(request), add = request->wr.wr.atomic.compare_add;
    request->old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (request->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        __atomic_store_n(word, request->old + add, __ATOMIC_RELEASE);
    else if (request->old == add)
        __atomic_store_n(word, request->wr.wr.atomic.swap, __ATOMIC_RELEASE);
}

/* Nothing passes an earlier write or atomic; a write, or another read, may pass an earlier read. */
static bool execute(struct pair *pair)
{
    for (unsigned long i = pair->retired; i < pair->started; i++) {
        struct request *request = request_of(pair, i);
        if (request->stage == EXECUTED)
            continue;
        bool read = !is_write(request) && !is_atomic(request);
        if (read && chance(2))
            continue;
        if (!is_write(request)) {
            /* A read pushes the writes before it; those after it may have to be pushed along. */
            unsigned long end = i;
            for (unsigned long k = i + 1; k < pair->started; k++)
                if (is_write(request_of(pair, k)) && request_of(pair, k)->stage == EXECUTED)
                    end = k + 1;
            land_up_to(pair, end);
        }
        if (is_atomic(request))
            execute_atomic(request);
        else if (read)
            copy(request->data, remote_of(request), request->size, false);
        request->stage = EXECUTED;
        return true;
    }
    return false;
}

static void push_entry(struct pair *pair, struct request *request, enum ibv_wc_status status)
{
    struct queue *queue = (struct queue *)(void *)pair->qp.send_cq;
    if (queue->count == queue->size) {
        fault("completion queue overrun at %u entries", queue->size);
        return;
    }
    struct entry *entry = &queue->entries[(queue->first + queue->count++) % queue->size];
    *entry = (struct entry){.pair = pair, .number = pair->retired};
    entry->wc = (struct ibv_wc){.wr_id = request->wr.wr_id, .status = status, .qp_num = pair->qp.qp_num};
    counts.entries++;
    if (queue->count > counts.fullest)
        counts.fullest = queue->count;
}

static void put_result(struct request *request)
{
    unsigned char *local = (unsigned char *)(uintptr_t)request->sge.addr;
    uint64_t old = device.swapped ? __builtin_bswap64(request->old) : request->old;
    if (is_atomic(request))
        __atomic_store_n((uint64_t *)(void *)local, old, __ATOMIC_RELEASE);
    else
        copy(local, request->data, request->size, true);
    free(request->data);
    request->data = NULL;
}

static void flush(struct pair *pair, enum ibv_wc_status status)
{
    pair->broken = true;
    land_up_to(pair, pair->retired);
    for (; pair->retired < pair->posted; pair->retired++) {
        struct request *request = request_of(pair, pair->retired);
        push_entry(pair, request, status);
        status = IBV_WC_WR_FLUSH_ERR;
        free(request->data);
        request->data = NULL;
    }
    pair->started = pair->landed = pair->posted;
    pair->reads = 0;
}

static bool retire(struct pair *pair)
{
    if (pair->retired == pair->started)
        return false;
    struct request *request = request_of(pair, pair->retired);
    if (request->fails) {
        flush(pair, fail_status);
        return true;
    }
    if (request->stage != EXECUTED)
        return false;
    if (!is_write(request)) {
        put_result(request);
        pair->reads--;
    }
    if (request->wr.send_flags & IBV_SEND_SIGNALED)
        push_entry(pair, request, IBV_WC_SUCCESS);
    request->stage = RETIRED;
    pair->retired++;
    return true;
}

static bool is_active(const struct pair *pair)
{
    return pair->retired < pair->posted || pair->landed < pair->posted;
}

static void step(struct pair *pair)
{
    switch (chance(4 * device.laziness)) {
    case 0:
        start(pair);
        break;
    case 1:
        execute(pair);
        break;
    case 2:
        if (pair->landed < pair->started)
            land_up_to(pair, pair->landed + 1);
        break;
    case 3:
        while (retire(pair) && chance(3)) /* in batches */
            ;
        break;
    }
}

static bool run_some(void)
{
    struct pair *active[MOST];
    unsigned count = 0;
    for (unsigned i = 0; i < pair_count; i++)
        if (pairs[i] && is_active(pairs[i]))
            active[count++] = pairs[i];
    for (unsigned i = 0; count && i < 64; i++)
        step(active[chance(count)]);
    return count > 0;
}

/* The device may be opened anew while the engine of its last opening still ends: each has its own number. */
static void *run_engine(void *argument)
{
    uintptr_t opening = (uintptr_t)argument;
    pthread_mutex_lock(&mutex);
    while (openings == opening) {
        if (paused || !run_some()) {
            pthread_cond_wait(&work, &mutex);
            continue;
        }
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* ---- Posting and polling ---- */

static struct pair *find_pair(uint32_t number)
{
    return number > 0 && number <= pair_count ? pairs[number - 1] : NULL;
}

/* Both ends know each other, and agree. */
static void check_connection(struct pair *pair)
{
    const struct ibv_qp_attr *a = &pair->told;
    const struct pair *peer = find_pair(a->dest_qp_num);
    pair->checked = true;
    if (!peer || peer->told.dest_qp_num != pair->qp.qp_num) {
        fault("queue pair %u is connected with one that is not connected with it", pair->qp.qp_num);
        return;
    }
    const struct ibv_qp_attr *b = &peer->told;
    if (b->qp_state < IBV_QPS_RTS)
        fault("a request before the other end is ready");
    if (a->path_mtu != b->path_mtu || a->sq_psn != b->rq_psn || a->max_rd_atomic > b->max_dest_rd_atomic)
        fault("the ends disagree: mtu %d %d, first number %u %u, reads %d of %d", a->path_mtu, b->path_mtu,
              a->sq_psn, b->rq_psn, a->max_rd_atomic, b->max_dest_rd_atomic);
    if (a->max_rd_atomic > device.initiates || a->max_dest_rd_atomic > device.answers)
        fault("more reads at once than the device can");
}

static int refuse(int error, const char *why)
{
    fault("%s", why);
    return error;
}

static int check_request(struct pair *pair, const struct ibv_send_wr *wr)
{
    bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    bool write = wr->opcode == IBV_WR_RDMA_WRITE, is_inline = wr->send_flags & IBV_SEND_INLINE;
    size_t size = wr->num_sge ? wr->sg_list->length : 0;
    uint64_t remote = atomic ? wr->wr.atomic.remote_addr : wr->wr.rdma.remote_addr;
    uint32_t key = atomic ? wr->wr.atomic.rkey : wr->wr.rdma.rkey;
    unsigned access = write    ? IBV_ACCESS_REMOTE_WRITE
                      : atomic ? IBV_ACCESS_REMOTE_ATOMIC
                               : IBV_ACCESS_REMOTE_READ;
    if (pair->posted - pair->freed >= pair->cap.max_send_wr)
        return refuse(ENOMEM, "send queue overrun");
    if (wr->num_sge > 1 || size > device.max_message || (!write && size == 0))
        return refuse(EINVAL, "a request of a wrong size");
    if (atomic && (size != 8 || remote % 8 || wr->sg_list->addr % 8))
        return refuse(EINVAL, "an atomic of other than an aligned word");
    if (wr->send_flags & IBV_SEND_FENCE && device.vendor == 0xffffff)
        return refuse(EINVAL, "a fence that this device does not keep");
    if (is_inline && (!write || size > pair->cap.max_inline_data))
        return refuse(EINVAL, "too much inline data");
    if (size && !is_inline &&
        !is_inside(wr->sg_list->lkey, wr->sg_list->addr, size, write ? 0 : IBV_ACCESS_LOCAL_WRITE))
        return refuse(EINVAL, "local memory that is not registered");
    if (size && !is_inside(key, remote, size, access))
        return refuse(EINVAL, "remote memory that is not registered");
    return 0;
}

static void count_request(const struct pair *pair, const struct ibv_send_wr *wr)
{
    counts.requests++;
    counts.inlined += (wr->send_flags & IBV_SEND_INLINE) != 0;
    counts.fenced += (wr->send_flags & IBV_SEND_FENCE) != 0;
    counts.empty += wr->num_sge == 0;
    if (pair->posted - pair->freed > counts.deepest)
        counts.deepest = (unsigned)(pair->posted - pair->freed);
}

static void take(struct pair *pair, const struct ibv_send_wr *wr)
{
    struct request *request = request_of(pair, pair->posted);
    while (pair->landed + pair->cap.max_send_wr <= pair->posted)
        land_up_to(pair, pair->landed + 1);
    *request = (struct request){.wr = *wr};
    if (wr->num_sge)
        request->sge = wr->sg_list[0];
    request->size = request->sge.length;
    request->data = request->size && !is_atomic(request) ? malloc(request->size) : NULL;
    if (wr->send_flags & IBV_SEND_INLINE) {
        memcpy(request->data, (void *)(uintptr_t)request->sge.addr, request->size);
        request->captured = true;
    }
    request->fails = fail_after && --fail_after == 0;
    pair->posted++;
    count_request(pair, wr);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct pair *pair = (struct pair *)(void *)qp;
    int error = 0;
    pthread_mutex_lock(&mutex);
    counts.calls++;
    if (!pair->checked)
        check_connection(pair);
    for (; wr && !error; wr = wr->next) {
        *bad = wr;
        error = check_request(pair, wr);
        if (!error)
            take(pair, wr);
    }
    if (pair->broken)
        flush(pair, IBV_WC_WR_FLUSH_ERR);
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    return error;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    struct queue *queue = (struct queue *)(void *)cq;
    int count = 0;
    pthread_mutex_lock(&mutex);
    if (!paused)
        run_some();
    for (; count < most && queue->count && !(count && chance(4) == 0); count++) {
        struct entry *entry = &queue->entries[queue->first];
        wc[count] = entry->wc;
        entry->pair->freed = entry->number + 1;
        queue->first = (queue->first + 1) % queue->size;
        queue->count--;
    }
    pthread_mutex_unlock(&mutex);
    return count;
}

/* ---- Objects ---- */

struct context {
    struct ibv_context context; /* first */
    struct ibv_device device;
};

static void *allocate(size_t size)
{
    void *object = calloc(1, size);
    if (!object)
        abort();
    counts.objects++;
    return object;
}

static void release(void *object)
{
    counts.objects--;
    free(object);
}

struct ibv_device **ibv_get_device_list(int *count)
{
    pthread_mutex_lock(&mutex);
    struct ibv_device **list = allocate(5 * sizeof *list);
    *count = 0;
    for (; *count < 4 && device.names[*count]; ++*count) {
        list[*count] = allocate(sizeof **list);
        snprintf(list[*count]->name, sizeof list[*count]->name, "%s", device.names[*count]);
    }
    pthread_mutex_unlock(&mutex);
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; list[i]; i++)
        release(list[i]);
    release(list);
    pthread_mutex_unlock(&mutex);
}

const char *ibv_get_device_name(struct ibv_device *which)
{
    return which->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *which)
{
    pthread_mutex_lock(&mutex);
    struct context *context = allocate(sizeof *context);
    context->device = *which;
    context->context.device = &context->device;
    context->context.ops.poll_cq = poll_cq;
    context->context.ops.post_send = post_send;
    if (contexts++ == 0 && pthread_create(&engine, NULL, run_engine, (void *)openings) != 0)
        abort();
    pthread_mutex_unlock(&mutex);
    return &context->context;
}

int ibv_close_device(struct ibv_context *context)
{
    pthread_mutex_lock(&mutex);
    release(context);
    bool last_one = --contexts == 0;
    pthread_t ending = engine;
    openings += last_one;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    if (last_one)
        pthread_join(ending, NULL);
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attributes)
{
    (void)context;
    *attributes = (struct ibv_device_attr){.max_qp_wr = device.max_qp_wr,
                                           .max_cqe = device.max_cqe,
                                           .max_qp_rd_atom = device.answers,
                                           .max_qp_init_rd_atom = device.initiates,
                                           .atomic_cap = device.atomics,
                                           .vendor_id = device.vendor,
                                           .phys_port_cnt = 1};
    return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attributes)
{
    struct ibv_port_attr full = {.state = device.port,
                                 .active_mtu = IBV_MTU_1024,
                                 .gid_tbl_len = 8,
                                 .max_msg_sz = device.max_message,
                                 .lid = 7,
                                 .link_layer = device.link_layer};
    (void)context;
    if (port != 1)
        return EINVAL;
    memcpy(attributes, &full, offsetof(struct ibv_port_attr, port_cap_flags2));
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most,
                             uint32_t flags, size_t size)
{
    ssize_t count = 0;
    (void)context, (void)flags;
    if (size != sizeof *entries)
        abort();
    for (; (size_t)count < most && count < 8 && device.gids[count].text; count++) {
        entries[count] = (struct ibv_gid_entry){
            .gid_index = device.gids[count].index, .port_num = 1, .gid_type = device.gids[count].type};
        if (inet_pton(AF_INET6, device.gids[count].text, entries[count].gid.raw) != 1)
            abort();
    }
    return count;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    pthread_mutex_lock(&mutex);
    struct ibv_pd *pd = allocate(sizeof *pd);
    pd->context = context;
    pthread_mutex_unlock(&mutex);
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    pthread_mutex_lock(&mutex);
    release(pd);
    pthread_mutex_unlock(&mutex);
    return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                unsigned access)
{
    pthread_mutex_lock(&mutex);
    struct region *region = allocate(sizeof *region);
    if (region_count == MOST || iova != (uintptr_t)address)
        abort();
    regions[region_count++] = region;
    region->mr = (struct ibv_mr){.context = pd->context,
                                 .pd = pd,
                                 .addr = address,
                                 .length = length,
                                 .lkey = 1000 + region_count,
                                 .rkey = 1000 + region_count};
    region->access = access;
    pthread_mutex_unlock(&mutex);
    return &region->mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < region_count; i++)
        if (regions[i] && &regions[i]->mr == mr)
            regions[i] = NULL;
    release(mr);
    pthread_mutex_unlock(&mutex);
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int size, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    (void)cq_context, (void)channel, (void)vector;
    if (size > device.max_cqe) {
        errno = EINVAL;
        return NULL;
    }
    pthread_mutex_lock(&mutex);
    struct queue *queue = allocate(sizeof *queue);
    queue->cq.context = context;
    queue->size = (unsigned)size;
    queue->entries = allocate((size_t)size * sizeof *queue->entries);
    pthread_mutex_unlock(&mutex);
    return &queue->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    pthread_mutex_lock(&mutex);
    release(((struct queue *)(void *)cq)->entries);
    release(cq);
    pthread_mutex_unlock(&mutex);
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *wish)
{
    if (wish->cap.max_inline_data > device.max_inline || wish->cap.max_send_wr > (unsigned)device.max_qp_wr) {
        errno = EINVAL;
        return NULL;
    }
    pthread_mutex_lock(&mutex);
    struct pair *pair = allocate(sizeof *pair);
    if (pair_count == MOST)
        abort();
    pairs[pair_count++] = pair;
    pair->qp.context = pd->context;
    pair->qp.send_cq = wish->send_cq;
    pair->qp.qp_num = pair_count;
    pair->cap = wish->cap;
    pair->ring = allocate(wish->cap.max_send_wr * sizeof *pair->ring);
    pthread_mutex_unlock(&mutex);
    return &pair->qp;
}

static void take_over(struct ibv_qp_attr *told, const struct ibv_qp_attr *new, int mask)
{
    told->qp_state = new->qp_state;
    if (mask & IBV_QP_DEST_QPN) {
        told->dest_qp_num = new->dest_qp_num;
        told->path_mtu = new->path_mtu;
        told->rq_psn = new->rq_psn;
        told->max_dest_rd_atomic = new->max_dest_rd_atomic;
        told->min_rnr_timer = new->min_rnr_timer;
        told->ah_attr = new->ah_attr;
    }
    if (mask & IBV_QP_SQ_PSN) {
        told->sq_psn = new->sq_psn;
        told->max_rd_atomic = new->max_rd_atomic;
        told->timeout = new->timeout;
        told->retry_cnt = new->retry_cnt;
        told->rnr_retry = new->rnr_retry;
    }
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *new, int mask)
{
    static const int needed[] = {
        [IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
        [IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
        [IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                        IBV_QP_MAX_QP_RD_ATOMIC};
    struct pair *pair = (struct pair *)(void *)qp;
    pthread_mutex_lock(&mutex);
    bool ends = new->qp_state == IBV_QPS_ERR;
    bool right = ends || (new->qp_state == pair->told.qp_state + 1 &&
                          new->qp_state <= IBV_QPS_RTS &&mask == needed[new->qp_state]);
    if (ends)
        flush(pair, IBV_WC_WR_FLUSH_ERR);
    take_over(&pair->told, new, mask);
    last = pair->told;
    pthread_mutex_unlock(&mutex);
    return right ? 0 : EINVAL;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    struct pair *pair = (struct pair *)(void *)qp;
    pthread_mutex_lock(&mutex);
    pairs[qp->qp_num - 1] = NULL;
    land_up_to(pair, pair->posted);
    for (unsigned i = 0; i < pair->cap.max_send_wr; i++)
        free(pair->ring[i].data);
    release(pair->ring);
    release(pair);
    pthread_mutex_unlock(&mutex);
    return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_RETRY_EXC_ERR ? "transport retry counter exceeded" : "some error";
}

/* ---- The tests' side ---- */

void fake_become(const struct fake_device *new)
{
    pthread_mutex_lock(&mutex);
    device = *new;
    counts = (struct fake_counts){0};
    random_state = device.seed;
    pair_count = region_count = 0;
    fail_after = 0;
    paused = false;
    pthread_mutex_unlock(&mutex);
}

void fake_fail(unsigned long after, enum ibv_wc_status status)
{
    pthread_mutex_lock(&mutex);
    fail_after = after;
    fail_status = status;
    pthread_mutex_unlock(&mutex);
}

void fake_pause(bool pause)
{
    pthread_mutex_lock(&mutex);
    paused = pause;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
}

struct fake_counts fake_counts(void)
{
    pthread_mutex_lock(&mutex);
    struct fake_counts copy_of_counts = counts;
    pthread_mutex_unlock(&mutex);
    return copy_of_counts;
}

struct ibv_qp_attr fake_last_attributes(void)
{
    return last;
}

/* Programs that know nothing of the fake device find a good one. */
static __attribute__((constructor)) void set_up(void)
{
    fake_become(&fake_good);
}
