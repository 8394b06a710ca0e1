/* What a device sends again of what is lost between two devices, by bare libibverbs: chains of a few requests, the last of which is
 * waited for with nothing else going on. Without fences all must complete. Whether they do with fences is only told: Soft-RoCE of
 * Linux 6.1 forgets some for ever (docs/soft-roce.md). Run it where the network loses packets. Speaks TAP.
 *
 * usage: loss_test DEVICE DEVICE TIMES */
#include "bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READS = 4, RETRIES = 6, LONGEST = 4 };

/* By then a device has answered or given up, which it may do after seven tries of 67 ms, or up to four times that. */
static const double dead_after = 4.0, late_after = 0.05;

struct pair {
    struct bare near, far;
    struct ibv_qp *here, *there;
};

static void connect_both(struct pair *pair)
{
    pair->here = bare_create(&pair->near);
    pair->there = bare_create(&pair->far);
    bare_connect(pair->here, &pair->near, &pair->far, pair->there->qp_num, READS, RETRIES);
    bare_connect(pair->there, &pair->far, &pair->near, pair->here->qp_num, READS, RETRIES);
}

/* A letter a request: w, r, a for write, read, atomic; W, R, A for the same behind a fence. */
static struct bare_request request_of(struct pair *pair, char letter, bool last)
{
    unsigned flags = (letter < 'a' ? IBV_SEND_FENCE : 0) | (last ? IBV_SEND_SIGNALED : 0);
    uint64_t *local = pair->near.words, *remote = pair->far.words;
    if (letter == 'a' || letter == 'A')
        return bare_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, &pair->near, local, &pair->far, remote, 1, 0, flags);
    return bare_copy(letter == 'w' || letter == 'W' ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, &pair->near,
                     local + 8, &pair->far, remote + 8, sizeof *local, flags);
}

static int run(struct pair *pair, const char *chain, double seconds)
{
    struct bare_request requests[LONGEST];
    int count = (int)strlen(chain);
    for (int i = 0; i < count; i++)
        requests[i] = request_of(pair, chain[i], i + 1 == count);
    return bare_post(pair->here, requests, count) == 0 ? bare_completion(&pair->near, seconds) : -1;
}

/* Whether all complete; and how it went, in words. */
static bool repeat(struct pair *pair, const char *chain, unsigned long times, char *words, size_t size)
{
    unsigned long late = 0;
    connect_both(pair);
    for (unsigned long i = 0; i < times; i++) {
        int status = run(pair, chain, late_after);
        if (status < 0) {
            late++;
            status = bare_completion(&pair->near, dead_after);
        }
        if (status != 0) {
            snprintf(words, size, "chain %lu of %lu %s; %lu were late", i + 1, times,
                     status < 0 ? "never completes, nor fails"
                                : ibv_wc_status_str((enum ibv_wc_status)status),
                     late);
            return false;
        }
    }
    snprintf(words, size, "all %lu complete, %lu late", times, late);
    return true;
}

int main(int argc, char **argv)
{
    static const char *const plain[] = {"w", "r", "a", "awr"}, *const fenced[] = {"aW", "R", "A", "aWa"};
    static struct pair pair;
    char words[200];
    if (argc != 4)
        bare_give_up("usage: loss_test DEVICE DEVICE TIMES");
    unsigned long times = strtoul(argv[3], NULL, 10);
    bare_open(&pair.near, argv[1], 16);
    bare_open(&pair.far, argv[2], 16);
    for (int i = 0; i < 4; i++) {
        bool passed = repeat(&pair, plain[i], times, words, sizeof words);
        printf("%sok %d - %s: %s\n", passed ? "" : "not ", i + 1, plain[i], words);
    }
    for (int i = 0; i < 4; i++) {
        repeat(&pair, fenced[i], times, words, sizeof words);
        printf("# with fences, %s: %s\n", fenced[i], words);
    }
    printf("1..4\n");
    return 0;
}
