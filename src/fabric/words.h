/* Bytes that others may access at the same time, copied in whole words. */
#ifndef REMORA_FABRIC_WORDS_H
#define REMORA_FABRIC_WORDS_H

#include <stddef.h>

/* Each aligned word by one load and one store where both sides have it at the same place; in ascending order. */
void words_copy(void *to, const void *from, size_t size);

#endif
