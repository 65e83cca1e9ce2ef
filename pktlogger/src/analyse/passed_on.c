/* Implements passed_on.h. */
#include "passed_on.h"

#include <string.h>

#include "thresholds.h"

enum { MOST = 1000 }; /* limit on connections, because each is compared with each other */

static bool at(const struct pl_side *a, const struct pl_side *b)
{
    return memcmp(a->address, b->address, sizeof a->address) == 0;
}

/* Whether direction `dir` of `out` may pass on what side `sender` of `in` sent. */
static bool carries(const struct pl_flow *in, unsigned sender, const struct pl_flow *out, unsigned dir)
{
    const struct pl_side *from = &in->side[sender], *gateway = &in->side[!sender];
    double came = (double)from->bytes, went = (double)out->side[dir].bytes;
    bool same = at(&out->side[dir], gateway);
    bool back = at(&out->side[0], from) || at(&out->side[1], from);
    return !back && came > 0 && went <= PL_PASSED_MOST * came &&
           went >= (same ? PL_PASSED_OWN : PL_PASSED_OTHER) * came;
}

static void find(struct pl_transfer *t, const struct pl_flow *in, const struct pl_flow *out)
{
    if (out->first_ns < in->first_ns || out->first_ns > in->last_ns)
        return;
    for (unsigned dir = 0; dir < 2; dir++)
        if (carries(in, t->receiver_dir, out, dir)) {
            t->signs.behind = out;
            t->signs.behind_dir = dir;
        }
}

void pl_passed_on_note(struct pl_analysis *analysis)
{
    const struct pl_flows *flows = &analysis->surveys[PL_RECEIVER].index.flows;
    const uint32_t *numbers = analysis->numbers[PL_RECEIVER];
    if (analysis->ends != PL_BOTH_ENDS || !analysis->unmatched[PL_RECEIVER] || flows->n > MOST)
        return;
    for (uint32_t i = 0; i < flows->n; i++)
        for (uint32_t k = 0; numbers[i] != UINT32_MAX && k < flows->n; k++)
            if (numbers[k] == UINT32_MAX)
                find(&analysis->transfers[numbers[i]], &flows->at[i], &flows->at[k]);
}
