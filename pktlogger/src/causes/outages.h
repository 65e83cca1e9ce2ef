/* When outages of the path were: as they are known, or as what they took shows, which is at least so long. */
#ifndef PL_OUTAGES_H
#define PL_OUTAGES_H

#include "time_spans.h"
#include "transfer.h"

/* Adds when the path was down, by outages that took what was sent from `first_ns` to `last_ns`: that time at least. Of
 * outages that are known, it is their own time, which begins with what they took if nothing was sent shortly before. What
 * one took behind a queue was sent before it began. `back_ns`: how much later the sender felt begin and end. Returns 0,
 * or -1 without memory. */
int pl_down_add(struct pl_time_spans *spans, const struct pl_outages *known, int64_t first_ns, int64_t last_ns,
                bool sent_before, const int64_t back_ns[2]);

#endif
