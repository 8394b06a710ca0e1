/* A bank: accounts spread over all nodes, each with a node lock beside it. Threads of every node move money between random accounts,
 * under both accounts' locks, taken in the order of the accounts so that nobody waits in a circle; and auditors take all locks and
 * add everything up. Money is neither made nor lost, so every audit must find the same total.
 *
 * A node lock is enough: an account is read and written on its lock's own node, so what a transfer put is there when the next
 * holder of that lock gets in. That the two puts go to different nodes does not matter, since each has its own lock.
 *
 *   remora launch -n 3 -- ./bank [SECONDS [THREADS]] */
#include "example.h"

#include <pthread.h>

enum { ACCOUNTS_A_NODE = 4, START = 1000, MOST = 64 * ACCOUNTS_A_NODE };

struct account {
    uint64_t balance, rest[7];
};

static struct bank {
    rem_job job;
    int count;                /* accounts; number a lives on node a modulo the nodes */
    struct account *accounts; /* symmetric */
    rem_nlock locks[MOST];
    uint64_t end;
    _Atomic uint64_t transfers, audits, wrong;
} bank;

static int home(int a)
{
    return a % rem_node_count(&bank.job);
}

static uint64_t balance(rem_thread *thread, int a)
{
    uint64_t value;
    TRY(rem_get_value(thread, &value, home(a), &bank.accounts[a].balance));
    return value;
}

static void transfer(rem_thread *thread, int from, int to, uint64_t amount)
{
    int first = from < to ? from : to, second = from < to ? to : from;
    TRY(rem_nlock_acquire(thread, &bank.locks[first]));
    TRY(rem_nlock_acquire(thread, &bank.locks[second]));
    uint64_t rich = balance(thread, from), poor = balance(thread, to);
    if (rich >= amount) {
        TRY(rem_put_value(thread, home(from), &bank.accounts[from].balance, rich - amount, 0));
        TRY(rem_put_value(thread, home(to), &bank.accounts[to].balance, poor + amount, 0));
    }
    TRY(rem_nlock_release(thread, &bank.locks[second]));
    TRY(rem_nlock_release(thread, &bank.locks[first]));
    bank.transfers++;
}

static void audit(rem_thread *thread)
{
    uint64_t total = 0;
    for (int a = 0; a < bank.count; a++)
        TRY(rem_nlock_acquire(thread, &bank.locks[a]));
    for (int a = 0; a < bank.count; a++)
        total += balance(thread, a);
    for (int a = bank.count - 1; a >= 0; a--)
        TRY(rem_nlock_release(thread, &bank.locks[a]));
    bank.audits++;
    bank.wrong += total != (uint64_t)bank.count * START;
}

static void *clerk(void *argument)
{
    rem_thread thread;
    unsigned random = *(unsigned *)argument;
    TRY(rem_attach(&bank.job, &thread));
    while (rem_clock() < bank.end) {
        int from = rand_r(&random) % bank.count, to = rand_r(&random) % bank.count;
        if (rand_r(&random) % 50 == 0)
            audit(&thread);
        else if (from != to)
            transfer(&thread, from, to, (uint64_t)(rand_r(&random) % 100));
    }
    TRY(rem_detach(&thread));
    return NULL;
}

static void set_up(double seconds)
{
    void *memory;
    TRY(rem_open(&bank.job));
    bank.count = ACCOUNTS_A_NODE * rem_node_count(&bank.job);
    TRY(rem_alloc(&bank.job, (size_t)bank.count * sizeof(struct account), &memory));
    bank.accounts = memory;
    for (int a = 0; a < bank.count; a++) {
        bank.accounts[a].balance = home(a) == rem_node_self(&bank.job) ? START : 0;
        TRY(rem_nlock_init(&bank.job, &bank.locks[a], home(a)));
    }
    TRY(rem_barrier(&bank.job));
    bank.end = rem_clock() + (uint64_t)(seconds * 1e9);
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 2, self;
    pthread_t ids[16];
    unsigned seeds[16];
    set_up(argc > 1 ? atof(argv[1]) : 1);
    self = rem_node_self(&bank.job);
    for (int i = 0; i < threads && i < 16; i++) {
        seeds[i] = (unsigned)(self * 16 + i + 1);
        pthread_create(&ids[i], NULL, clerk, &seeds[i]);
    }
    for (int i = 0; i < threads && i < 16; i++)
        pthread_join(ids[i], NULL);
    printf("node %d: %d transfers, %d audits, %d of them wrong\n", self, (int)bank.transfers,
           (int)bank.audits, (int)bank.wrong);
    TRY(rem_barrier(&bank.job));
    TRY(rem_close(&bank.job));
    return bank.wrong ? 1 : 0;
}
