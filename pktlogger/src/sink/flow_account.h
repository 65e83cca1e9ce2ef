/* Accounts for the arrivals of one flow by sequence number and time stamp. Times are passed in.
 *
 * | figure | definition |
 * |---|---|
 * | loss | RFC 7680: numbers that never came, below the flow's total or, without an end packet, the largest seen |
 * | duplicates | RFC 5560: packets whose number had come before |
 * | reordered | RFC 4737, section 4.1: packets whose number is below the largest seen before them, plus one |
 * | extent | RFC 4737, section 4.2.2: how many arrivals before a reordered packet the first larger number came |
 * | jitter | RFC 3550, section 6.4.1: smoothed |difference of transit times| of packets in a row |
 *
 * A packet more than PL_ACCOUNT_WINDOW numbers behind the largest cannot be distinguished from a duplicate. It is
 * counted as `late` and in no other count. Extents cover the last PL_ACCOUNT_RUNS runs of arrivals in order. For
 * earlier arrivals the extent is a lower bound. */
#ifndef PL_FLOW_ACCOUNT_H
#define PL_FLOW_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

enum { PL_ACCOUNT_WINDOW = 65536, PL_ACCOUNT_RUNS = 256 };

/* A run of arrivals in order: numbers first, first + 1, and so on. Each is the largest number so far, and no other
 * arrival lies between them. */
struct pl_account_run {
    uint64_t first, arrival, n;
};

struct pl_flow_account {
    uint64_t received; /* number of different sequence numbers, without late ones */
    uint64_t duplicates, reordered, late, bytes;
    uint64_t extent_max;
    double extent_sum;
    uint64_t next; /* largest number seen, plus 1 */
    uint64_t total;
    bool ended; /* `total` is known */
    double jitter_ns;
    int64_t last_transit_ns;
    uint64_t arrivals;
    uint64_t seen[PL_ACCOUNT_WINDOW / 64]; /* for the numbers below `next` */
    struct pl_account_run runs[PL_ACCOUNT_RUNS];
    uint64_t runs_n; /* number of runs so far; only the last ones are kept */
};

/* How a packet arrived. */
enum pl_arrival { PL_ARRIVAL_IN_ORDER, PL_ARRIVAL_REORDERED, PL_ARRIVAL_DUPLICATE, PL_ARRIVAL_LATE };

/* Takes a packet with `len` octets and a one-way delay of `transit_ns`. */
enum pl_arrival pl_flow_account_take(struct pl_flow_account *account, uint64_t sequence, int64_t transit_ns,
                                     uint64_t len);

/* Takes the end packet of the flow, which has `total` packets. */
void pl_flow_account_end(struct pl_flow_account *account, uint64_t total);

uint64_t pl_flow_account_lost(const struct pl_flow_account *account);

#endif
