/* A line whose rate changes with time. From the time at which a packet may start and its size, it computes when the
 * packet's last bit is out.
 *
 * The rate may change in steps. A packet that is on the line when the rate changes continues at the new rate, and a
 * rate of 0 stops the line. Or the rate follows a Mahimahi trace (Netravali et al. 2015, "Mahimahi"). Each line of the
 * file is a delivery opportunity: the millisecond at which 1,500 bytes may leave. After the last opportunity the file
 * repeats, shifted by that number of milliseconds. A packet leaves with the opportunity that takes its last byte. The
 * rest of an opportunity goes to other waiting packets; without such packets it is lost. The framing determines a
 * packet's bytes.
 *
 * Mahimahi's own program, mm-link, counts differently, and `mm-link:` counts like it: an opportunity has 1,504 bytes, a
 * packet takes its IP length plus the 4 bytes of a TUN header whatever the framing, and a packet that arrives exactly
 * at the time of an opportunity misses it.
 * Rejected: averaging a trace into rates. Its gaps and bursts are the reason to use it.
 * Rejected: mm-link's count for every trace; packets of 40 bytes would be 9 % slower than in the trace.
 *
 * Text forms:
 *   45Mbit                       constant; 0bit for none
 *   rate:0s=10Mbit,5s=1Mbit      steps, relative to when the model was set; first at 0s, ascending, last rate above 0
 *   mahimahi:FILE
 *   mm-link:FILE                 the same file, as mm-link counts */
#ifndef COMET_RATE_TRACE_H
#define COMET_RATE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table.h"

enum rate_kind {
    RATE_CONSTANT, /* rate_bps 0: no rate, packets pass at once */
    RATE_STEPS,
    RATE_MAHIMAHI,
    RATE_MM_LINK,
    RATE_KINDS
};

enum { RATE_PACKET_BYTES_MAX = 1 << 24 };
#define RATE_MAX_BPS UINT64_C(400000000000)

struct rate_trace {
    enum rate_kind kind;
    uint64_t rate_bps;   /* constant */
    struct table *table; /* steps: pairs (ns, bit/s); opportunities: ns of each of a cycle; owned */
};

struct rate_trace_state {
    uint64_t origin_ns;         /* time 0 of the schedule */
    uint64_t exit_ns;           /* of the last packet */
    uint64_t owed;              /* bits that are not out at exit_ns, less than the line sends in a nanosecond; in 1e-9
                                 * bit */
    size_t step;                /* steps: where exit_ns lies */
    uint64_t opportunity, left; /* the current opportunity (counted over all cycles) and its remaining bytes */
    bool begun;
};

/* The same four functions as in loss_model.h. The parser reads the file, if the text names one. */
int rate_trace_parse(const char *text, struct rate_trace *trace, struct nc_error *error);
const char *rate_trace_format(const struct rate_trace *trace, char *buf, size_t size);
struct rate_trace rate_trace_share(const struct rate_trace *trace);
void rate_trace_free(struct rate_trace *trace);

/* The rate that determines the size of memory: the highest step, or the mean of opportunities. */
uint64_t rate_trace_planning_bps(const struct rate_trace *trace);

void rate_trace_init(struct rate_trace_state *state, uint64_t now_ns);
/* Call it after the parameters have changed: the schedule counts from now, and no packet overtakes those still on the
 * line, which is empty at `exit_ns`. */
void rate_trace_restart(struct rate_trace_state *state, uint64_t now_ns, uint64_t exit_ns);

/* The bytes that a packet takes, from its bytes by the framing and its IP length. */
uint32_t rate_trace_bytes(const struct rate_trace *trace, uint32_t line_bytes, uint32_t ip_bytes);

/* When the last bit of a packet is out that has `bytes` (at most RATE_PACKET_BYTES_MAX) and arrived at `arrival_ns`. It
 * starts after the previous packet, if that is still on the line. Arrival times never decrease. */
uint64_t rate_trace_exit(struct rate_trace_state *state, const struct rate_trace *trace, uint64_t arrival_ns,
                         uint32_t bytes);

#endif
