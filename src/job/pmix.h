/* PMIx: how mpirun, prterun and srun tell a process which node of which job it is, and let the nodes meet. */
#ifndef REMORA_JOB_PMIX_H
#define REMORA_JOB_PMIX_H

#include "job/wire.h"

#include <stdbool.h>

struct rem_node;

struct meeting_place;

/* The environment says that a PMIx server waits for this process. */
bool pmix_called(void);

/* Sets node->self, nodes, meeting, and the wire, so that the nodes can exchange; undone by the wire's close.
 *   REM_EENVIRONMENT, REM_EOPENED, REM_ENOMEM */
int pmix_open(struct rem_node *node, struct meeting_place *place);

#endif
