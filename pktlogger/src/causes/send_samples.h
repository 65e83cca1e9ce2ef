/* Samples of the senders' socket queues, taken while they sent (FORMAT.md section 3, "Samples"). Captures do not show
 * these queues, which distinguish a silence of the application from a full send buffer. */
#ifndef PL_SEND_SAMPLES_H
#define PL_SEND_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "nc_error.h"
#include "vector.h"

enum { PL_NO_TOTAL_RTO = UINT16_MAX + 1, PL_SSTHRESH_FIRST = INT32_MAX };
#define PL_NO_UNACKED UINT32_MAX
#define PL_NO_GIVEN UINT64_MAX
#define PL_NOT_COUNTED UINT64_MAX

enum pl_answer { PL_UNKNOWN, PL_NO, PL_YES };

/* The kernel's counters: how long the receiver's window, or the send buffer, limited a connection. */
enum pl_counter { PL_RWND_LIMITED, PL_SNDBUF_LIMITED, PL_COUNTER_N };

/* A sample of a sender's socket:
 * - sndbuf_bytes: 0: not known, and queued_bytes is not known either.
 * - total_rto: the connection's time-outs so far; PL_NO_TOTAL_RTO: not known.
 * - opening_bytes: octets that the program sent with waits for answers, before it always had data; 0: not known yet.
 * - pace_bytes_per_s: the payload rate that the program allows (SO_MAX_PACING_RATE). kernel_pace_bytes_per_s: the one
 *   that congestion control has set. 0: not known.
 * - ssthresh: PL_SSTHRESH_FIRST: never reduced; 0: not known. cwnd: 0: not known.
 * - unacked: packets that are not acknowledged; PL_NO_UNACKED: not known. window: the peer's window in octets; 0: none,
 *   or not known. window_fixed: the largest window that the peer ever offers; 0: its program did not fix it, or not known.
 * - counted_us: PL_NOT_COUNTED: not known.
 * - written_ns: when the program had given its last octet; 0: not known, or not yet.
 * - given_bytes: octets that the program has given, sent or not; PL_NO_GIVEN: not known.
 * - transfer: connections with the same number are streams of one transfer; 0: not known.
 * - waits: by its own account, the program has data that the kernel has not taken; PL_NO: it has given everything that
 *   it has to send now. */
struct pl_send_sample {
    int64_t t_ns, written_ns;
    uint64_t opening_bytes, pace_bytes_per_s, kernel_pace_bytes_per_s, given_bytes, counted_us[PL_COUNTER_N];
    uint32_t notsent_bytes, queued_bytes, sndbuf_bytes, total_rto, cwnd, ssthresh, unacked, window, window_fixed,
        transfer;
    uint16_t local_port, remote_port;
    uint8_t ca_state, control;
    bool stands;    /* for some time the program wrote nothing although it had data, while less than a third of the
                     * buffer was free */
    bool near_full; /* the send buffer was full at this sample or near it, so a writer may wait for a third of it */
    uint8_t always, waits; /* each an enum pl_answer; always: the program always has data to send */
};

/* In order of ports, and then of time. It starts as {0}. */
struct pl_send_samples {
    PL_VECTOR(struct pl_send_sample) list;
};

/* The samples of one connection. `at`: the first sample that is not over, for pl_samples_over. `written_ns`: when the
 * program had given its last octet; 0: not known. `transfer`: the number of its transfer; 0: not known. `window_fixed`: as
 * of the last sample. `always`: until written_ns the program always has data. */
struct pl_samples_of {
    const struct pl_send_sample *first;
    size_t n, at;
    uint32_t transfer, window_fixed;
    int64_t written_ns;
    enum pl_answer always;
};

/* Counts of the samples in a span of time, by what each shows. "Unsent" means a full segment while the program has more
 * to give, because Nagle's rule keeps a smaller rest until it gives more (RFC 9293, 3.7.4). Once the program has given
 * everything, any octet left counts as unsent, unless both windows have room for it, it is less than a segment, and the
 * program allows any rate. */
struct pl_samples_seen {
    uint32_t n;
    uint32_t slow, past; /* in slow start; past slow start. A sample may be neither, for example with BBR */
    uint32_t waits;      /* the program had more to give, by its own account */
    uint32_t given;      /* it had given everything, by its own account, and all of it was sent */
    uint32_t unsent;     /* had data unsent: a full segment or more */
    uint32_t filled;     /* had data unsent, and as many packets outstanding as cwnd allows */
    uint32_t roomy; /* had data unsent, and both windows had room for a segment: pacing or the machine held it back */
    uint32_t kept;  /* less than a segment unsent that the program's own rate limit kept back */
    uint32_t room;  /* had nothing unsent, and no writer was waiting for room */
    uint32_t idle;  /* the same, and the program had no more to give */
    uint32_t late;  /* had room in both windows and the buffer, but nothing unsent: its processor was busy, say */
    uint32_t spent; /* had nothing unsent, and a waiting writer would find no room in the buffer */
    bool sized;     /* all samples show whether a writer was waiting for room */
    bool full;      /* at the last sample, a waiting writer would find no room in the buffer */
    uint64_t pace_bytes_per_s; /* by the last sample up to the end of the span, or else by the first of all; 0: not
                                * known */
    uint64_t
        kernel_pace_bytes_per_s; /* likewise; also 0 before the first sample, and where a window limits the sender */
    bool unpaced;                /* likewise: neither the congestion control nor an option paces the connection */
    bool sets_rate;              /* likewise: congestion control is known to send at a rate that it sets */
};

/* These read the text at [at, end), or a file. `name`: the file's name, for errors. They return 0, or -1 with a
 * one-line reason. pl_send_samples_free is allowed after either. */
int pl_send_samples_parse(struct pl_send_samples *samples, const char *name, const uint8_t *at, const uint8_t *end,
                          struct nc_error *error);
int pl_send_samples_read(struct pl_send_samples *samples, const char *path, struct nc_error *error);
void pl_send_samples_free(struct pl_send_samples *samples);

/* The samples of the connection between these ports. */
struct pl_samples_of pl_send_samples_of(const struct pl_send_samples *samples, uint16_t local_port,
                                        uint16_t remote_port);

/* True when the connection's congestion control is known to ignore marks. */
bool pl_samples_heed_no_marks(const struct pl_samples_of *samples);

/* True when congestion control is known to send at a rate that it sets, as BBR does, by the first sample and the last
 * one. */
bool pl_samples_set_rate(const struct pl_samples_of *samples);

/* Octets that the program sent in its opening; 0: not known. */
uint64_t pl_samples_opening(const struct pl_samples_of *samples);

/* Counts the samples from t0_ns to t1_ns. Spans come in order of time. */
struct pl_samples_seen pl_samples_over(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss);

/* The same; without a sample in the span, the nearest sample counts. */
struct pl_samples_seen pl_samples_near(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss);

/* Whether the counter advanced for more than half of the time from t0_ns to t1_ns. */
enum pl_answer pl_samples_counted(const struct pl_samples_of *samples, enum pl_counter counter, int64_t t0_ns,
                                  int64_t t1_ns);

/* Whether the kernel counted a time-out at t_ns, by the samples before and after it. */
enum pl_counted { PL_COUNTED_NONE, PL_COUNTED_ONE, PL_COUNTED_UNKNOWN };
enum pl_counted pl_samples_timeout(const struct pl_samples_of *samples, int64_t t_ns);

#endif
