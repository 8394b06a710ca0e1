/* Clients as litmus tests. */
#include "verify/clients_letters.h"

#include "base/arena.h"
#include "litmus/litmus.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const loc_names[] = {"x", "y", "z", "w"}, *const object_names[] = {"l", "m", "n"},
                         *const sc_names[] = {"v", "u", "t"};

struct writer {
    FILE *out;
    const struct client_word *client;
    unsigned t, regs, written;
};

/* Of a location; different from all that is written. */
static unsigned initial(unsigned loc)
{
    return 90 + loc;
}

static unsigned fresh_value(struct writer *w)
{
    return 1 + w->t + MAX_CLIENT_THREADS * w->written++;
}

static void write_remote(struct writer *w, uint8_t l, char d)
{
    unsigned v = in(writes, l) && kind_of(l) != L_PUT_FROM ? fresh_value(w) : 0;
    const char *x = loc_names[location(l)];
    switch ((enum letter_kind)kind_of(l)) {
    case L_PUT:
        fprintf(w->out, "put(%s, %u, %c);", x, v, d);
        break;
    case L_PUT_FROM:
        fprintf(w->out, "put(%s, p%u, %c);", x, w->t, d);
        break;
    case L_GET:
        fprintf(w->out, "get(p%u, %s, %c);", w->t, x, d);
        break;
    case L_GET_INTO:
        fprintf(w->out, "get(%s, %s, %c);", loc_names[argument(l) >> 1], x, d);
        break;
    case L_PUT_COPY:
        fprintf(w->out, "put(%s, %s, %c);", x, loc_names[argument(l) >> 1], d);
        break;
    case L_RFAA:
        fprintf(w->out, "rfaa(p%u, %s, %u, %c);", w->t, x, v, d);
        break;
    default:
        fprintf(w->out, "rcas(p%u, %s, %u, %u, %c);", w->t, x, initial(location(l)), v, d);
        break;
    }
}

static void write_library(struct writer *w, uint8_t l)
{
    bool valued = in(ALL(L_SV_WRITE) | ALL(L_SC_WRITE) | ALL(L_SC_CAS) | ALL(L_SC_FAA), l);
    unsigned v = valued ? fresh_value(w) : 0, arg = argument(l);
    switch ((enum letter_kind)kind_of(l)) {
    case L_ACQUIRE:
        fprintf(w->out, "acquire(%s);", object_names[arg]);
        break;
    case L_RELEASE:
        fprintf(w->out, "release(%s);", object_names[arg]);
        break;
    case L_SV_READ:
        fprintf(w->out, "r%u = s;", w->regs++);
        break;
    case L_SV_WRITE:
        fprintf(w->out, "s = %u;", v);
        break;
    case L_BCAST:
        fprintf(w->out, "bcast(s, {%u}, b);", arg);
        break;
    case L_SV_WAIT:
        fprintf(w->out, "sv_wait(b);");
        break;
    case L_SC_READ:
        fprintf(w->out, "r%u = sc_read(%s);", w->regs++, sc_names[arg]);
        break;
    case L_SC_WRITE:
        fprintf(w->out, "sc_write(%s, %u);", sc_names[arg], v);
        break;
    case L_SC_CAS:
        fprintf(w->out, "r%u = sc_cas(%s, 0, %u);", w->regs++, sc_names[arg], v);
        break;
    default:
        fprintf(w->out, "r%u = sc_faa(%s, %u);", w->regs++, sc_names[arg], v);
        break;
    }
}

static void write_letter(struct writer *w, unsigned place)
{
    const uint8_t *letters = &w->client->threads[w->t][2];
    uint8_t l = letters[place];
    unsigned arg = argument(l);
    switch ((enum letter_kind)kind_of(l)) {
    case L_LOAD:
        fprintf(w->out, "r%u = %s;", w->regs++, loc_names[arg]);
        break;
    case L_STORE:
        fprintf(w->out, "%s = %u;", loc_names[arg], fresh_value(w));
        break;
    case L_PRIVATE:
        fprintf(w->out, "r%u = p%u;", w->regs++, w->t);
        break;
    case L_MFENCE:
        fprintf(w->out, "mfence();");
        break;
    case L_WAIT:
        fprintf(w->out, "wait(%c);", "de"[arg & 1]);
        break;
    case L_RFENCE:
        fprintf(w->out, "rfence(%u);", arg);
        break;
    case L_GFENCE:
        fprintf(w->out, "gfence({%u});", arg);
        break;
    default:
        if (in(remote, l))
            write_remote(w, l, "de"[work_of(w->client->family, letters, place) & 1]);
        else
            write_library(w, l);
        break;
    }
}

static bool uses(const struct client_word *client, unsigned t, uint32_t kinds, int arg)
{
    for (unsigned i = 0; i < client->threads[t][1]; i++) {
        uint8_t l = client->threads[t][2 + i];
        if (in(kinds, l) && (arg < 0 || argument(l) == (unsigned)arg))
            return true;
    }
    return false;
}

static bool anyone_uses(const struct client_word *client, uint32_t kinds, int arg)
{
    for (unsigned t = 0; t < client->n_threads; t++)
        if (uses(client, t, kinds, arg))
            return true;
    return false;
}

static bool names_location(const struct client_word *client, unsigned loc)
{
    bool other = loc < 2 && n_locs(client->family) == 2 &&
                 (anyone_uses(client, of_two, 1) || anyone_uses(client, of_two, 2));
    return other || anyone_uses(client, of_location, (int)loc);
}

static void write_node(struct writer *w, unsigned node)
{
    const struct client_word *client = w->client;
    const char *before = "";
    char text[128] = "";
    size_t length = 0;
    for (unsigned loc = 0; loc < n_locs(client->family); loc++)
        if (home(client->family, loc) == node && names_location(client, loc)) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s = %u", before,
                                       loc_names[loc], initial(loc));
            before = ", ";
        }
    for (unsigned t = 0; t < client->n_threads; t++)
        if (client->threads[t][0] == node &&
            uses(client, t, to_private | ALL(L_PRIVATE) | ALL(L_PUT_FROM), -1)) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%sp%u", before, t);
            before = ", ";
        }
    if (length)
        fprintf(w->out, " node %u: %s;", node, text);
}

const char *clients_text(struct arena *arena, const struct clients *c, size_t i)
{
    static const char *const lock_kinds[] = {
        [VERIFY_WLOCK] = "wlock", [VERIFY_SLOCK] = "slock", [VERIFY_NLOCK] = "nlock"};
    const struct client_word *client = &c->all[i];
    const struct family *f = client->family;
    char *text = NULL;
    size_t size = 0;
    struct writer w = {.out = open_memstream(&text, &size), .client = client};
    if (!w.out)
        out_of_memory();
    fprintf(w.out, "RDMA_WAIT %s-%zu\n{ nodes %u;", library_names[c->library], i, f->nodes);
    for (unsigned n = 0; n < f->nodes; n++)
        write_node(&w, n);
    if (anyone_uses(client, of_sv, -1))
        fprintf(w.out, " shared s;");
    for (unsigned object = 0; object < f->objects; object++)
        if (f->sections)
            fprintf(w.out, " %s %s on %u;", lock_kinds[c->library], object_names[object], object);
        else if (anyone_uses(client, of_sc, (int)object))
            fprintf(w.out, " sc %s on %u;", sc_names[object], object);
    fprintf(w.out, " }\n");
    for (w.t = 0; w.t < client->n_threads; w.t++) {
        w.regs = w.written = 0;
        fprintf(w.out, "P%u on %u {", w.t, client->threads[w.t][0]);
        for (unsigned k = 0; k < client->threads[w.t][1]; k++) {
            fputc(' ', w.out);
            write_letter(&w, k);
        }
        fprintf(w.out, " }\n");
    }
    fprintf(w.out, "exists (true)\n");
    fclose(w.out);
    const char *copy = arena_strndup(arena, text, size);
    free(text);
    return copy;
}

struct lm_test *clients_test(struct arena *arena, const struct clients *c, size_t i)
{
    const char *text = clients_text(arena, c, i);
    return lm_parse_text(arena, library_names[c->library], text, strlen(text)).test;
}
