#include "search/operational.h"

enum effect reduce(struct worker *w, unsigned *n_steps)
{
    const struct machine *m = w->search->machine;
    worker_reserve(w, state_size(m, w->state));
    *n_steps = machine_steps(m, w->state, w->steps);
    return EFFECT_OK;
}
