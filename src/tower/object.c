/* Objects over nlock and wait: any sequential data structure on one node, linearisable. (Section 8 of the
 * specification, last sentence.)
 *
 *   acquire; get(parts); wait; run the function on the copy; put(what changed); release; wait
 *
 * The last wait is for the sources: the next call of this thread writes into the copy that the puts still
 * read. It stands after the release, which it does not lengthen. */
#include "job/node.h"
#include "tower/thread.h"

#include <remora/object.h>

#include <string.h>

#define OBJECT_MAGIC UINT64_C(0x6f626a656374)

static int check(const rem_thread *thread, const rem_object *object)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    return object && object->magic == OBJECT_MAGIC ? 0 : REM_EDESTROYED;
}

static unsigned char *copy_of(const rem_thread *thread, const rem_object *object)
{
    return object->copies + (size_t)thread->slot * 2 * object->size;
}

/* Whole words around the part. */
static struct rem_part widen(struct rem_part part)
{
    size_t end = (part.offset + part.size + 7) & ~(size_t)7;
    part.offset &= ~(size_t)7;
    part.size = end - part.offset;
    return part;
}

static int fetch(rem_thread *thread, const rem_object *object, const struct rem_part *parts, size_t count)
{
    unsigned char *copy = copy_of(thread, object);
    for (size_t i = 0; i < count; i++) {
        struct rem_part part = widen(parts[i]);
        struct fabric_op op;
        op_get(&op, 0, copy + part.offset, object->lock.tickets.home, object->data + part.offset, part.size);
        int error = thread_post(thread, &op, 1, 1, WORK_OBJECT);
        if (error)
            return error;
    }
    thread_wait(thread, WORK_OBJECT);
    for (size_t i = 0; i < count; i++) {
        struct rem_part part = widen(parts[i]);
        rem_plain_in(thread, copy + part.offset, part.size);
        memcpy(copy + object->size + part.offset, copy + part.offset, part.size);
    }
    return thread_failure(thread);
}

static bool word_changed(const unsigned char *copy, size_t size, size_t offset)
{
    return memcmp(copy + offset, copy + size + offset, sizeof(uint64_t)) != 0;
}

static int put_run(rem_thread *thread, const rem_object *object, size_t first, size_t end)
{
    struct fabric_op op;
    rem_plain_out(thread, copy_of(thread, object) + first, end - first);
    op_put(&op, object->lock.tickets.home, object->data + first, copy_of(thread, object) + first,
           end - first);
    return thread_post(thread, &op, 1, 1, WORK_OBJECT);
}

/* Runs of changed words, one put for each. */
static int put_back(rem_thread *thread, const rem_object *object, struct rem_part part)
{
    const unsigned char *copy = copy_of(thread, object);
    size_t end = part.offset + part.size;
    for (size_t at = part.offset; at < end;) {
        size_t first = at;
        while (at < end && word_changed(copy, object->size, at))
            at += sizeof(uint64_t);
        int error = at > first ? put_run(thread, object, first, at) : 0;
        if (error)
            return error;
        if (at == first)
            at += sizeof(uint64_t);
    }
    return 0;
}

static int run(rem_thread *thread, const rem_object *object, rem_object_function *function, void *argument,
               const struct rem_part *parts, size_t count)
{
    int error = fetch(thread, object, parts, count);
    if (error)
        return error;
    int result = function(copy_of(thread, object), argument);
    for (size_t i = 0; i < count && result >= 0 && !error; i++)
        error = put_back(thread, object, widen(parts[i]));
    return error ? error : result;
}

static bool are_inside(const rem_object *object, const struct rem_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].size == 0 || parts[i].size > object->size ||
            parts[i].offset > object->size - parts[i].size)
            return false;
    return true;
}

int rem_object_call_parts(rem_thread *thread, rem_object *object, rem_object_function *function,
                          void *argument, const struct rem_part *parts, size_t count)
{
    int error = check(thread, object);
    if (error)
        return error;
    if (!function || !parts || !are_inside(object, parts, count))
        return REM_EINVAL;
    error = rem_nlock_acquire(thread, &object->lock);
    if (error)
        return error;
    int result = run(thread, object, function, argument, parts, count);
    error = rem_nlock_release(thread, &object->lock);
    thread_wait(thread, WORK_OBJECT);
    return error ? error : result;
}

int rem_object_call(rem_thread *thread, rem_object *object, rem_object_function *function, void *argument)
{
    int error = check(thread, object);
    if (error)
        return error;
    struct rem_part whole = {0, object->size};
    return rem_object_call_parts(thread, object, function, argument, &whole, 1);
}

int rem_object_init(rem_job *job, rem_object *object, size_t size, int home)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!object || size == 0)
        return REM_EINVAL;
    if (size > SIZE_MAX / 4 / REM_MAX_THREADS)
        return REM_ENOMEM;
    *object = (rem_object){.size = (size + LINE - 1) & ~(size_t)(LINE - 1)};
    int error = rem_nlock_init(job, &object->lock, home);
    if (error)
        return error;
    void *memory = NULL;
    error = node_alloc(node, object->size * (1 + 2 * (size_t)node->threads), OBJECT_MAGIC, &memory);
    if (error) {
        rem_nlock_destroy(job, &object->lock);
        return error;
    }
    object->data = memory;
    object->copies = object->data + object->size;
    object->magic = OBJECT_MAGIC;
    return 0;
}

int rem_object_destroy(rem_job *job, rem_object *object)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!object || object->magic != OBJECT_MAGIC)
        return REM_EDESTROYED;
    object->magic = 0;
    int error = node_free(node, object->data);
    int other = rem_nlock_destroy(job, &object->lock);
    return error ? error : other;
}
