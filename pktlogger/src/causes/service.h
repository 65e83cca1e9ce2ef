/* Estimates the bottleneck's time per byte from arrivals alone: the rate at which parts arrive while the bottleneck
 * always has parts waiting. A late machine shifts single arrivals by milliseconds, so the rate is measured over rows of
 * many parts. Jitter and bunching make the fastest tenth of the rows faster than the bottleneck. This tenth is used
 * where an estimate that is too slow would do harm. Texts for people use the mean over all busy rows, which shifted
 * arrivals do not change. Other traffic on the line makes the estimate slower, so it gives a lower bound of the line's
 * rate.
 *
 * The mean gives a lower bound, too, because the least delay d of all parts decides what idle time is subtracted. No
 * part takes less than d, so a part that arrived at r had left the bottleneck's queue by r - d on the sender's clock.
 * The bottleneck was idle from then until the next part was sent, at s. If s > r - d, the time s - (r - d) is
 * subtracted and the octets of the next part, which arrived at a, are not counted: what is left of the time from r to a
 * is a - s - d, which is never negative. If s <= r - d, all of the time and all of the octets count. With a 5th
 * percentile of the delays instead of d, more time than was idle would be subtracted; that percentile only decides
 * which rows were busy. */
#ifndef PL_SERVICE_H
#define PL_SERVICE_H

#include "sample.h"
#include "transfer.h"

enum { PL_SERVICE_LENGTHS = 3, PL_SERVICE_RING = 256, PL_HEADERS = 52 };

struct pl_service_mark {
    int64_t t_ns;
    double bytes, idle_ns; /* since the beginning */
    double surely_idle_ns; /* idle time computed from the least delay of all parts */
    double queued_bytes;   /* counts parts that found the bottleneck busy; other parts' delay includes their own time at
                            * it */
};

/* It starts as {0}. */
struct pl_service {
    struct pl_service_mark marks[PL_SERVICE_RING]; /* of the latest parts that arrived */
    struct pl_service_mark now;
    uint64_t n;
    uint64_t rows[PL_SERVICE_LENGTHS];                                  /* rows of parts examined */
    struct pl_sample ns_a_byte[PL_SERVICE_LENGTHS];                     /* rows that kept the bottleneck busy */
    struct pl_sample all[PL_SERVICE_LENGTHS];                           /* of all of them */
    double busy_ns[PL_SERVICE_LENGTHS], busy_bytes[PL_SERVICE_LENGTHS]; /* sums over busy rows, without idle time and
                                                                         * without the parts that arrived after it */
    double slow; /* set by pl_service_end: the time for a byte in the slowest busy rows; 0: not known */
    double mean; /* set by pl_service_end: the time for a byte in all busy rows together; 0: not known */
};

/* Takes the next part in order of sending that arrived. `low_delay_ns`: the delay of parts that meet no queue;
 * `least_delay_ns`: the least delay of all. Returns 0, or -1 without memory. */
int pl_service_add(struct pl_service *service, const struct pl_segment *segment, int64_t low_delay_ns,
                   int64_t least_delay_ns);

/* The time for a byte in the quickest rows, busy or not; 0: not known. It is an upper bound of the bottleneck's time.
 * Call it before pl_service_end. */
double pl_service_quickest(struct pl_service *service);

/* Frees `service`. Returns the time for a byte in ns; 0: the bottleneck was hardly ever busy. */
double pl_service_end(struct pl_service *service);

#endif
