/* See clients.h. Left out are clients with
 *
 *  - a location that only one thread names, or that nobody writes;
 *  - a wait, sv_wait, remote or global fence that no earlier operation of its thread can be concerned by, or
 *    that nothing follows (the end of a critical section counts);
 *  - a load of the thread's private place with no operation before it that writes there;
 *  - an mfence without a store before it and a load behind it;
 *  - no call of the library at all.
 *
 * The k-th write or add of thread t, k from 0, writes or adds 1 + t + 3k, every compare expects
 * the initial value (of an sc location: 0): other values
 * would only rename these. Results of remote operations go to a private place of the thread, p0, p1, …; the final state of
 * everything is compared. */
#include "verify/clients_letters.h"

#include "base/arena.h"

#include <stdlib.h>

const char *const library_names[] = {"wait", "sv", "wlock", "slock", "nlock", "sc", "object", "shm"};
const char *const library_over[] = {"tso",  "wait",       "wait+sv",    "wlock+sv",
                                    "wait", "nlock+wait", "nlock+wait", "x86-tso"};

/* --- words --- */

unsigned work_of(const struct family *family, const uint8_t *letters, unsigned place)
{
    unsigned before = 0;
    for (unsigned i = 0; i < place; i++)
        before += in(remote, letters[i]);
    return family->works > 1 ? before % family->works : 0;
}

/* Whether the letter makes sense behind what the word has so far. */
static bool makes_sense(const struct family *family, const struct word *w, uint8_t l)
{
    unsigned k = kind_of(l);
    bool needed =
        k == L_PRIVATE || k == L_WAIT || k == L_RFENCE || k == L_GFENCE || k == L_SV_WAIT || k == L_PUT_FROM;
    if (!needed)
        return true;
    for (unsigned i = w->n; i-- > 0;) {
        uint8_t before = w->at[i];
        if (k == L_PRIVATE    ? in(to_private, before)
            : k == L_PUT_FROM ? in(to_private, before)
            : k == L_WAIT     ? in(remote, before) && work_of(family, w->at, i) == argument(l)
            : k == L_SV_WAIT  ? kind_of(before) == L_BCAST
                              : goes_to(family, before, argument(l)))
            return true;
        if (before == l && k != L_PUT_FROM)
            return false;
    }
    return false;
}

static bool followed(const struct word *w)
{
    if (!w->n)
        return true;
    uint32_t idle = ALL(L_WAIT) | ALL(L_SV_WAIT) | ALL(L_RFENCE) | ALL(L_GFENCE) | ALL(L_MFENCE);
    bool stored = false, fenced = false;
    for (unsigned i = 0; i < w->n; i++) {
        stored |= kind_of(w->at[i]) == L_STORE || kind_of(w->at[i]) == L_SV_WRITE;
        if (kind_of(w->at[i]) == L_MFENCE) {
            if (!stored || fenced)
                return false;
            fenced = true;
        }
        if (in(ALL(L_LOAD) | ALL(L_PRIVATE) | ALL(L_SV_READ), w->at[i]))
            fenced = false;
    }
    return !fenced && !in(idle, w->at[w->n - 1]);
}

static void keep_word(struct clients *c, const struct word *w)
{
    if (!followed(w))
        return;
    if (c->n_words == c->words_capacity) {
        c->words_capacity = c->words_capacity ? 2 * c->words_capacity : 256;
        c->words = xrealloc(c->words, c->words_capacity * sizeof *c->words);
    }
    c->words[c->n_words++] = *w;
}

struct spelling {
    struct clients *clients;
    const struct family *family;
    struct word word;
    int holds;         /* a lock, or -1 */
    unsigned sections; /* behind it or in it */
    uint32_t locked;
    unsigned outside;
};

static void spell(struct spelling *s);

static void spell_letter(struct spelling *s, unsigned kind, unsigned arg)
{
    const struct family *f = s->family;
    uint8_t l = letter(kind, arg);
    if (s->word.letters == f->one || (s->holds < 0 && f->sections && s->outside == f->outside) ||
        !makes_sense(f, &s->word, l))
        return;
    struct spelling next = *s;
    next.word.at[next.word.n++] = l;
    next.word.letters++;
    next.outside += s->holds < 0;
    spell(&next);
}

static void spell_lock(struct spelling *s)
{
    struct spelling next = *s;
    if (s->holds >= 0) {
        next.word.at[next.word.n++] = letter(L_RELEASE, (unsigned)s->holds);
        next.holds = -1;
        spell(&next);
        return;
    }
    for (unsigned lock = 0; lock < s->family->objects && s->sections < s->family->sections; lock++) {
        if (s->locked >> lock & 1)
            continue;
        next = *s;
        next.word.at[next.word.n++] = letter(L_ACQUIRE, lock);
        next.holds = (int)lock;
        next.locked |= ALL(lock);
        next.sections++;
        spell(&next);
    }
}

static void spell(struct spelling *s)
{
    const struct family *f = s->family;
    if (s->word.n && s->holds < 0)
        keep_word(s->clients, &s->word);
    if (s->word.n + 2u > MAX_WORD)
        return;
    if (f->sections)
        spell_lock(s);
    for (unsigned k = 1; k < N_LETTERS; k++) {
        if (!(f->alphabet >> k & 1))
            continue;
        if (of_two >> k & 1) {
            for (unsigned arg = 0; arg < 4; arg++)
                if (n_locs(f) == 2 && (arg >> 1) != (arg & 1) && home(f, arg >> 1) == s->word.node)
                    spell_letter(s, k, arg);
        } else if (of_location >> k & 1) {
            for (unsigned loc = 0; loc < n_locs(f); loc++)
                if ((k != L_LOAD && k != L_STORE) || home(f, loc) == s->word.node)
                    spell_letter(s, k, loc);
        } else if (of_node >> k & 1) {
            for (unsigned n = 0; n < f->nodes; n++)
                if (k != L_BCAST || n != s->word.node)
                    spell_letter(s, k, n);
        } else if (of_sc >> k & 1) {
            for (unsigned object = 0; object < f->objects; object++)
                spell_letter(s, k, object);
        } else if (k == L_WAIT) {
            for (unsigned work = 0; work < (f->works > 1 ? f->works : 1); work++)
                spell_letter(s, k, work);
        } else {
            spell_letter(s, k, 0);
        }
    }
}

/* --- clients --- */

struct use {
    unsigned threads, last; /* how many threads name it; the last one, plus one */
    bool written;
};

static void note_named(struct use *use, unsigned t, bool written)
{
    use->threads += use->last != t + 1;
    use->last = t + 1;
    use->written |= written;
}

/* Each location, sc location and shared variable that is named is named by two threads, and written. */
static bool is_shared(const struct client_word *c)
{
    struct use use[2 * 8 + 1] = {{0}};
    for (unsigned t = 0; t < c->n_threads; t++)
        for (unsigned i = 0; i < c->threads[t][1]; i++) {
            uint8_t l = c->threads[t][2 + i];
            unsigned what = in(of_location | of_two, l) ? location(l) : in(of_sc, l) ? 8 + argument(l) : 16;
            if (!in(of_location | of_two | of_sc | of_sv, l))
                continue;
            note_named(&use[what], t, in(writing, l));
            if (in(of_two, l))
                note_named(&use[argument(l) >> 1], t, kind_of(l) == L_GET_INTO);
        }
    bool any = false;
    for (unsigned what = 0; what <= 16; what++) {
        if (use[what].threads == 1 || (use[what].threads && !use[what].written))
            return false;
        any |= use[what].threads > 0;
    }
    return any;
}

static bool is_mutual(const struct client_word *c)
{
    static const uint32_t reading = ALL(L_LOAD) | ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS) | ALL(L_PUT_COPY);
    for (unsigned t = 0; t < c->n_threads; t++) {
        bool reads = false, stores = false;
        for (unsigned i = 0; i < c->threads[t][1]; i++) {
            reads |= in(reading, c->threads[t][2 + i]);
            stores |= in(writing | ALL(L_GET_INTO), c->threads[t][2 + i]);
        }
        if (!reads || !stores)
            return false;
    }
    return true;
}

/* At least two threads with a critical section of the first lock; a second lock by at least two. */
static bool is_locked(const struct client_word *c, unsigned objects)
{
    for (unsigned lock = 0; lock < objects; lock++) {
        unsigned users = 0;
        for (unsigned t = 0; t < c->n_threads; t++)
            for (unsigned i = 0; i < c->threads[t][1]; i++)
                users += c->threads[t][2 + i] == letter(L_ACQUIRE, lock);
        if (users < 2)
            return false;
    }
    return true;
}

static bool calls_library(enum verified library, const struct client_word *c)
{
    static const uint32_t calls[N_VERIFIED] = {
        [VERIFY_WAIT] = ALL(L_WAIT) | ALL(L_PUT) | ALL(L_PUT_FROM) | ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS) |
                        ALL(L_GET_INTO) | ALL(L_PUT_COPY),
        [VERIFY_SHM] = ALL(L_WAIT) | ALL(L_PUT) | ALL(L_PUT_FROM) | ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS) |
                       ALL(L_GET_INTO) | ALL(L_PUT_COPY),
        [VERIFY_SV] = ALL(L_SV_READ) | ALL(L_SV_WRITE) | ALL(L_BCAST) | ALL(L_GFENCE),
        [VERIFY_WLOCK] = ALL(L_ACQUIRE),
        [VERIFY_SLOCK] = ALL(L_ACQUIRE),
        [VERIFY_NLOCK] = ALL(L_ACQUIRE),
        [VERIFY_SC] = ALL(L_SC_READ) | ALL(L_SC_WRITE) | ALL(L_SC_CAS) | ALL(L_SC_FAA),
        [VERIFY_OBJECT] = ALL(L_SC_READ) | ALL(L_SC_WRITE) | ALL(L_SC_CAS) | ALL(L_SC_FAA)};
    for (unsigned t = 0; t < c->n_threads; t++)
        for (unsigned i = 0; i < c->threads[t][1]; i++)
            if (in(calls[library], c->threads[t][2 + i]))
                return true;
    return false;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, 2 + MAX_WORD);
}

/* The client with nodes and locations renamed, its threads sorted. */
static void rename_client(const struct client_word *from, const unsigned *node, const unsigned *loc,
                          struct client_word *to)
{
    *to = *from;
    for (unsigned t = 0; t < to->n_threads; t++) {
        uint8_t *thread = to->threads[t];
        thread[0] = (uint8_t)node[thread[0]];
        for (unsigned i = 0; i < thread[1]; i++) {
            uint8_t *l = &thread[2 + i];
            if (in(of_location, *l))
                *l = letter(kind_of(*l), loc[argument(*l)]);
            else if (in(of_two, *l))
                *l = letter(kind_of(*l), loc[argument(*l) >> 1] << 1 | loc[argument(*l) & 1]);
            else if (in(of_node | of_sc | ALL(L_ACQUIRE) | ALL(L_RELEASE), *l))
                *l = letter(kind_of(*l), node[argument(*l)]);
        }
    }
    qsort(to->threads, to->n_threads, sizeof to->threads[0], by_bytes);
}

struct renaming {
    const struct client_word *client;
    unsigned node[MAX_CLIENT_NODES], loc[MAX_CLIENT_LOCS];
    bool least;
};

static void rename_locs(struct renaming *r, unsigned from, unsigned used)
{
    const struct family *f = r->client->family;
    if (!r->least)
        return;
    if (from == n_locs(f) || from == MAX_CLIENT_LOCS) {
        struct client_word other;
        rename_client(r->client, r->node, r->loc, &other);
        r->least = memcmp(other.threads, r->client->threads, sizeof other.threads) >= 0;
        return;
    }
    for (unsigned to = 0; to < n_locs(f); to++)
        if (!(used >> to & 1) && home(f, to) == r->node[home(f, from)]) {
            r->loc[from] = to;
            rename_locs(r, from + 1, used | 1u << to);
        }
}

/* Objects live on the nodes of their numbers: nodes without one, or all sc locations, may be exchanged. */
static void rename_nodes(struct renaming *r, unsigned from, unsigned used)
{
    const struct family *f = r->client->family;
    if (from == f->nodes || from == MAX_CLIENT_NODES) {
        rename_locs(r, 0, 0);
        return;
    }
    for (unsigned to = 0; to < f->nodes; to++)
        if (!(used >> to & 1) && (from < f->objects) == (to < f->objects)) {
            r->node[from] = to;
            rename_nodes(r, from + 1, used | 1u << to);
        }
}

static bool is_least(const struct client_word *client)
{
    struct renaming r = {.client = client, .least = true};
    rename_nodes(&r, 0, 0);
    return r.least;
}

static void keep_client(struct clients *c, const struct family *f, const struct word *const *words)
{
    struct client_word client;
    memset(&client, 0, sizeof client);
    client.family = f;
    client.n_threads = (uint8_t)f->threads;
    for (unsigned t = 0; t < f->threads; t++) {
        client.threads[t][0] = words[t]->node;
        client.threads[t][1] = words[t]->n;
        memcpy(&client.threads[t][2], words[t]->at, words[t]->n);
        client.letters = (uint8_t)(client.letters + words[t]->letters);
    }
    qsort(client.threads, client.n_threads, sizeof client.threads[0], by_bytes);
    if ((f->mutual && !is_mutual(&client)) || !is_shared(&client) || !calls_library(c->library, &client) ||
        (f->sections && !is_locked(&client, f->objects)) || !is_least(&client))
        return;
    if (c->n == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 256;
        c->all = xrealloc(c->all, c->capacity * sizeof *c->all);
    }
    c->all[c->n++] = client;
}

static void combine(struct clients *c, const struct family *f, const struct word **words, unsigned t,
                    size_t from, unsigned letters)
{
    if (t == f->threads || t == MAX_CLIENT_THREADS) {
        keep_client(c, f, words);
        return;
    }
    for (size_t i = from; i < c->n_words; i++)
        if (letters + c->words[i].letters <= f->letters) {
            words[t] = &c->words[i];
            combine(c, f, words, t + 1, i, letters + c->words[i].letters);
        }
}

static void add_family(struct clients *c, const struct family *f)
{
    c->n_words = 0;
    for (unsigned node = 0; node < f->nodes; node++) {
        struct spelling s = {.clients = c, .family = f, .word = {.node = (uint8_t)node}, .holds = -1};
        spell(&s);
    }
    const struct word *words[MAX_CLIENT_THREADS];
    combine(c, f, words, 0, 0, 0);
}

/* --- all of them --- */

static int by_size(const void *a, const void *b)
{
    const struct client_word *x = a, *y = b;
    if (x->letters != y->letters)
        return x->letters < y->letters ? -1 : 1;
    if (x->n_threads != y->n_threads)
        return x->n_threads < y->n_threads ? -1 : 1;
    int order = memcmp(x->threads, y->threads, sizeof x->threads);
    if (order)
        return order;
    return x->family < y->family ? -1 : x->family > y->family;
}

/* As far as both have locations, on the same nodes. */
static bool same_homes(const struct family *a, const struct family *b)
{
    size_t common = n_locs(a) < n_locs(b) ? n_locs(a) : n_locs(b);
    return strncmp(a->homes, b->homes, common) == 0;
}

/* Clients of two families. */
static void drop_doubles(struct clients *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (!n || c->all[i].family->nodes != c->all[n - 1].family->nodes ||
            c->all[i].family->objects != c->all[n - 1].family->objects ||
            c->all[i].n_threads != c->all[n - 1].n_threads ||
            !same_homes(c->all[i].family, c->all[n - 1].family) ||
            memcmp(c->all[i].threads, c->all[n - 1].threads, sizeof c->all[i].threads) != 0)
            c->all[n++] = c->all[i];
    c->n = n;
}

struct clients *clients_new(enum verified library, enum bound bound)
{
    struct clients *c = xcalloc(1, sizeof *c);
    c->library = library;
    c->families = clients_families(library, bound);
    for (const struct family *f = c->families; f->nodes; f++)
        add_family(c, f);
    if (c->n)
        qsort(c->all, c->n, sizeof *c->all, by_size);
    drop_doubles(c);
    free(c->words);
    c->words = NULL;
    return c;
}

void clients_free(struct clients *c)
{
    free(c->all);
    free(c);
}

size_t clients_count(const struct clients *c)
{
    return c->n;
}

unsigned clients_threads(const struct clients *c, size_t i)
{
    return c->all[i].n_threads;
}
