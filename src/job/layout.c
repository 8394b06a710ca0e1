/* Creation and mapping of a job's memory. */
#include "job/layout.h"
#include "job/futex.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int fill(int descriptor, unsigned nodes, unsigned heaps, unsigned threads, size_t heap,
                const char *provider)
{
    size_t size = layout_control_size() + heaps * heap;
    if (ftruncate(descriptor, (off_t)size) != 0)
        return REM_ESYSTEM;
    if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return REM_ESYSTEM;
    struct control *control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (control == MAP_FAILED)
        return REM_ESYSTEM;
    control->magic = CONTROL_MAGIC;
    control->nodes = nodes;
    control->threads = threads;
    control->heap = heap;
    control->heaps = heaps;
    control->patience = DEFAULT_PATIENCE;
    bool secret = getrandom(control->secret, SECRET, 0) == SECRET;
    snprintf(control->provider, sizeof control->provider, "%s", provider ? provider : "");
    munmap(control, sizeof *control);
    return secret ? 0 : REM_ESYSTEM;
}

int layout_create(unsigned nodes, unsigned heaps, const struct rem_options *options, const char *provider)
{
    size_t heap = options && options->heap ? options->heap : DEFAULT_HEAP;
    unsigned threads = options && options->threads ? options->threads : DEFAULT_THREADS;
    if (nodes == 0 || nodes > REM_MAX_NODES || threads > REM_MAX_THREADS ||
        heap > SIZE_MAX / 2 / REM_MAX_NODES)
        return REM_EINVAL;
    heap = (heap + 4095) & ~(size_t)4095;
    int descriptor = memfd_create("remora job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return REM_ESYSTEM;
    int error = fill(descriptor, nodes, heaps, threads, heap, provider);
    if (error) {
        int saved = errno;
        close(descriptor);
        errno = saved;
        return error;
    }
    return descriptor;
}

struct control *layout_map(int descriptor, size_t *size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return NULL;
    *size = (size_t)status.st_size;
    if (*size < layout_control_size()) {
        errno = EINVAL;
        return NULL;
    }
    struct control *control =
        mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (control == MAP_FAILED)
        return NULL;
    if (control->magic != CONTROL_MAGIC || *size != layout_control_size() + control->heaps * control->heap) {
        munmap(control, *size);
        errno = EINVAL;
        return NULL;
    }
    return control;
}

/* Of several that fail at once one writes the text; the others' codes may win, but the text is of the same
 * moment. */
static void tell_failure(struct control *control, const char *text)
{
    if (!text || atomic_exchange(&control->telling, 1) != 0)
        return;
    snprintf(control->failure_text, sizeof control->failure_text, "%s", text);
    atomic_store(&control->told, 1);
}

void layout_fail(struct control *control, int code, unsigned node, const char *text)
{
    unsigned none = 0;
    tell_failure(control, text);
    atomic_compare_exchange_strong(&control->failed, &none, failure_word(code, node));
    futex_wake(&control->generation, INT_MAX);
    for (unsigned i = 0; i < NAP_SLOTS; i++) {
        atomic_fetch_add(&control->nap[i].sequence, 1);
        futex_wake(&control->nap[i].sequence, INT_MAX);
    }
}
