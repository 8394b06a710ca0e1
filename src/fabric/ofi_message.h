/* Messages of the ofi provider: the operations of a thread towards a node, in the order of the pipe. (Section 2 of
 * the specification.)
 *
 * A message is a head and items. All of it is multiples of 8 bytes, so a receiver that gets the stream in pieces
 * never sees a word in halves. The nodes of a job run on one kind of machine, so fields are in its byte order. */
#ifndef REMORA_FABRIC_OFI_MESSAGE_H
#define REMORA_FABRIC_OFI_MESSAGE_H

#include "fabric/fabric.h"

enum message_kind {
    MESSAGE_HELLO = 1,  /* a thread's first to a node: the address of its endpoint */
    MESSAGE_OPERATIONS, /* items, executed in order */
    MESSAGE_CONFIRM,    /* MESSAGE_OPERATIONS that is answered even if nothing in it has a result */
    MESSAGE_REPLY       /* the results, in order */
};

struct message_head {
    uint64_t secret;      /* the job's; a message without it is dropped */
    uint32_t sender;      /* of requests: the thread, as thread_number; of replies: the node */
    uint16_t kind, count; /* count: items */
    uint64_t number;      /* of the sender's messages to this node, from 0; of replies: of what they answer */
};

struct message_item {
    uint16_t kind; /* enum fabric_kind: PUT, PUT_VALUE, GET, RCAS, RFAA */
    uint16_t padding;
    uint32_t size; /* PUT, GET: bytes */
    uint64_t offset;
};

/* Bytes stand at the same place within a word as at their target, so that whole words are copied whole. */
static inline size_t bytes_in_words(uint64_t offset, size_t size)
{
    return (offset % 8 + size + 7) / 8 * 8;
}

/* What follows an item: PUT: the bytes; PUT_VALUE, RFAA: a word; RCAS: expected, new. */
static inline size_t operand_size(const struct message_item *item)
{
    switch ((enum fabric_kind)item->kind) {
    case FABRIC_PUT:
        return bytes_in_words(item->offset, item->size);
    case FABRIC_PUT_VALUE:
    case FABRIC_RFAA:
        return sizeof(uint64_t);
    case FABRIC_RCAS:
        return 2 * sizeof(uint64_t);
    case FABRIC_GET:
    case FABRIC_RFENCE:
        break;
    }
    return 0;
}

/* What an item adds to the reply. */
static inline size_t result_size(const struct message_item *item)
{
    switch ((enum fabric_kind)item->kind) {
    case FABRIC_GET:
        return bytes_in_words(item->offset, item->size);
    case FABRIC_RCAS:
    case FABRIC_RFAA:
        return sizeof(uint64_t);
    case FABRIC_PUT:
    case FABRIC_PUT_VALUE:
    case FABRIC_RFENCE:
        break;
    }
    return 0;
}

static inline bool has_result(unsigned kind)
{
    return kind == FABRIC_GET || kind == FABRIC_RCAS || kind == FABRIC_RFAA;
}

#endif
