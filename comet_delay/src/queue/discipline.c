#include "discipline.h"

#define ADDRESS(number, name, file) [AQM_##number] = &discipline_##file,
static const struct discipline *const disciplines[] = {AQM_DISCIPLINES(ADDRESS)};

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
