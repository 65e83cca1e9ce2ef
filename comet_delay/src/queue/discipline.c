#include "discipline.h"

static const struct discipline *const disciplines[] = {
    [AQM_NONE] = &discipline_plain,      [AQM_RED] = &discipline_red,           [AQM_CODEL] = &discipline_codel,
    [AQM_PIE] = &discipline_pie,         [AQM_FQ_CODEL] = &discipline_fq_codel, [AQM_POLICER] = &discipline_policer,
    [AQM_DUALPI2] = &discipline_dualpi2, [AQM_STEP] = &discipline_step,
};
_Static_assert(sizeof disciplines / sizeof disciplines[0] == AQM_N, "a discipline for every algorithm");

const struct discipline *discipline_of(int algorithm)
{
    return disciplines[algorithm];
}

void *queue_change(struct queue *queue, const struct queue_settings *settings, void *own)
{
    struct queued_list waiting = {0};
    void *before = queue->own;
    if (queue->discipline)
        queue->discipline->leave(queue, &waiting);
    queue->algorithm = settings->aqm->algorithm;
    queue->discipline = discipline_of(queue->algorithm);
    queue->own = own;
    queue->discipline->start(queue, settings, &waiting);
    return before;
}
