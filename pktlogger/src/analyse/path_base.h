/* The delays of a transfer's path without queues, over time: for data by the captures, for data by the record of the
 * delay box where there is one, and for acknowledgements. */
#ifndef PL_PATH_BASE_H
#define PL_PATH_BASE_H

#include "passages.h"

/* Finds seen_base of `whole`, by the captures alone, and typical_queue_ns, which depends on it. `service`: the
 * bottleneck's time for a byte in ns; 0: not known. Returns 0, or -1 without memory. */
int pl_path_base_see(const struct pl_together *of, const struct pl_tables *tables, double service);

/* Sets typical_queue_ns, of a path that has changed: the queue that parts met when it was long. Returns 0, or -1 without
 * memory. */
int pl_path_base_long_queue(struct pl_transfer *t, const struct pl_tables *tables);

/* Appends the levels of a base to another one. Returns 0, or -1 without memory. */
int pl_path_base_copy(struct pl_base *to, const struct pl_base *from);

/* Finds ack_base. Returns 0, or -1 without memory. */
int pl_path_base_of_acks(struct pl_transfer *t, const struct pl_tables *tables);

/* Finds base and ack_base of `whole`, after seen_base. Returns 0, or -1 without memory. */
int pl_path_base_find(const struct pl_together *of, const struct pl_tables *tables, double service);

/* Whether other connections of the captures share the line. */
bool pl_path_base_shared(const struct pl_transfer *t);

/* The bottleneck's time for a byte of any flow. If other connections of the captures share the bottleneck, a byte of
 * this flow takes longer there, namely `service`, because the line serves other octets in between. Two lower bounds are
 * known. In the quickest rows the flow's share of all octets was above its average, so the time is at least service ×
 * share. And it is at least the time of a packet that follows another at once (serial_ns), unless time stamps are late.
 * The larger bound is returned. The path without queues is no shorter than a packet's delay minus its time by this
 * value. */
double pl_path_base_line(const struct pl_transfer *t, double service);

/* How long a part waited in the box before its first bit was sent, by the record. The wait ends at the later of two
 * times: when the flow's previous part left (`before_exit_ns`), and when the part's own bits had to begin so that it
 * left when it did. These bits take work_ns (0: not known). */
int64_t pl_path_base_wait_ns(const struct pl_segment *segment, int64_t before_exit_ns, double work_ns);

#endif
