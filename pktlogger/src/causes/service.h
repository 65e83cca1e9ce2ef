/* Estimates the bottleneck's time per byte from arrivals alone: the rate at which parts arrive while the bottleneck
 * always has parts waiting. A late machine shifts single arrivals by milliseconds, so the rate is measured over rows of
 * many parts. Jitter and bunching make the fastest tenth of the rows faster than the bottleneck; it is used where an
 * estimate that is too slow would do harm. Texts for people use the mean over all busy rows, which shifted arrivals do
 * not change. Other traffic on the line makes the estimate slower, so it is a lower bound of the line's rate.
 *
 * The mean is a lower bound, too, because idle time is subtracted by the least delay d of all parts. No part takes less
 * than d, so a part that arrived at r had left the bottleneck's queue by r - d on the sender's clock. The bottleneck was
 * idle from then until the next part was sent, at s. If s > r - d, the time s - (r - d) is subtracted and the octets of
 * the next part, which arrived at a, are not counted: what is left of the time from r to a is a - s - d, which is never
 * negative. If s <= r - d, all of the time and all of the octets count. A 5th percentile of the delays in the place of d
 * subtracts more time than was idle; it decides only which rows were busy. */
#ifndef PL_SERVICE_H
#define PL_SERVICE_H

#include "sample.h"
#include "transfer.h"

enum { PL_SERVICE_LENGTHS = 3, PL_SERVICE_RING = 256, PL_HEADERS = 52 };

struct pl_service_mark {
    int64_t t_ns;
    double bytes, idle_ns; /* since the beginning */
    double surely_idle_ns; /* the same by the least delay of all */
    double queued_bytes;   /* counts parts that found the bottleneck busy: the delay of other parts includes their own
                            * time */
};

/* It starts as {0}. */
struct pl_service {
    struct pl_service_mark marks[PL_SERVICE_RING]; /* of the last parts that arrived */
    struct pl_service_mark now;
    uint64_t n;
    uint64_t rows[PL_SERVICE_LENGTHS];                                  /* rows of parts examined */
    struct pl_sample ns_a_byte[PL_SERVICE_LENGTHS];                     /* rows that kept the bottleneck busy */
    struct pl_sample all[PL_SERVICE_LENGTHS];                           /* of all of them */
    double busy_ns[PL_SERVICE_LENGTHS], busy_bytes[PL_SERVICE_LENGTHS]; /* of the busy ones, without what was idle and
                                                                           the parts that came then */
    double slow; /* pl_service_end sets it: of the slowest busy ones; 0 */
    double mean; /* and this: of all busy ones together; 0 */
};

/* Takes the next part in order of sending that arrived. `low_delay_ns`: the delay of such a part that meets no queue;
 * `least_delay_ns`: the least of all. Returns 0, or -1 without memory. */
int pl_service_add(struct pl_service *service, const struct pl_segment *segment, int64_t low_delay_ns,
                   int64_t least_delay_ns);

/* The time for a byte that the quickest rows of all show, busy or not; 0: not known. The bottleneck takes no longer.
 * Call it before pl_service_end. */
double pl_service_quickest(struct pl_service *service);

/* Frees `service`. Returns the time for a byte in ns; 0: the bottleneck was hardly ever busy. */
double pl_service_end(struct pl_service *service);

#endif
