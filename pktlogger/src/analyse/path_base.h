/* The delays of a transfer's path without queues, over time: for data by the captures, for data by the record of the
 * delay box where there is one, and for acknowledgements. */
#ifndef PL_PATH_BASE_H
#define PL_PATH_BASE_H

#include "tables.h"
#include "transfer.h"

/* Finds seen_base, by the captures alone, and typical_queue_ns, which depends on it. `service`: the bottleneck's time
 * for a byte in ns; 0: not known. Returns 0, or -1 without memory. */
int pl_path_base_see(struct pl_transfer *t, const struct pl_tables *tables, double service);

/* Finds base and ack_base, after seen_base. Returns 0, or -1 without memory. */
int pl_path_base_find(struct pl_transfer *t, const struct pl_tables *tables, double service);

/* Whether other connections of the captures share the line. */
bool pl_path_base_shared(const struct pl_transfer *t);

/* The bottleneck's time for a byte of any flow. Where other connections of the captures share it, the flow's own bytes
 * take longer (`service`), by the inverse of its share of all octets while the line is busy. In the quickest rows the
 * flow's share was above average, so the line's time is at least service × share. It is also at least the time of a
 * packet that follows another at once (serial_ns), unless time stamps are late. Both are lower bounds; the larger one
 * counts. The path is no shorter than a packet's delay minus this time for it. */
double pl_path_base_line(const struct pl_transfer *t, double service);

/* How long a part waited in the box before its first bit was sent, by the record. The end of that wait is the later of
 * two times: when the flow's previous part left, at `before_exit_ns`, and when its own bits, which take work_ns (0: not
 * known), had to begin for the part to leave when it did. */
int64_t pl_path_base_wait_ns(const struct pl_segment *segment, int64_t before_exit_ns, double work_ns);

#endif
