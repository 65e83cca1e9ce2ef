/* Implements punctuality.h. */
#include "punctuality.h"

void pl_punctuality_add(struct pl_punctuality *punctuality, uint64_t due_ns, uint64_t at_ns)
{
    struct pl_punctuality *p = punctuality;
    if (p->n == 0) {
        p->first_due_ns = due_ns;
        p->first_ns = at_ns;
    }
    if (p->timed) {
        int64_t error = (int64_t)(at_ns - p->last_ns) - (int64_t)(due_ns - p->last_due_ns);
        nc_spread_add(&p->late, at_ns > due_ns ? at_ns - due_ns : 0);
        if (p->n)
            nc_spread_add(&p->gap, (uint64_t)(error < 0 ? -error : error));
    }
    p->n++;
    p->n_first += p->timed ? due_ns == p->first_due_ns : at_ns == p->first_ns;
    p->last_due_ns = due_ns;
    p->last_ns = at_ns;
}

void pl_punctuality_add_untimed(struct pl_punctuality *punctuality, uint64_t at_ns, uint64_t n)
{
    struct pl_punctuality *p = punctuality;
    if (p->n == 0)
        p->first_ns = at_ns;
    p->n += n;
    p->n_first += at_ns == p->first_ns ? n : 0;
    p->last_ns = at_ns;
}

double pl_punctuality_pps(const struct pl_punctuality *punctuality)
{
    const struct pl_punctuality *p = punctuality;
    if (p->last_ns <= p->first_ns)
        return 0;
    return (double)(p->n - p->n_first) * 1e9 / (double)(p->last_ns - p->first_ns);
}
