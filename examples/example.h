/* What the examples share: a call that fails ends the program with the reason. */
#ifndef REMORA_EXAMPLE_H
#define REMORA_EXAMPLE_H

#include <remora/remora.h>

#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        int try_error = (call);                                                                              \
        if (try_error < 0) {                                                                                 \
            fprintf(stderr, "%s: %s\n", #call, rem_strerror(try_error));                                     \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
