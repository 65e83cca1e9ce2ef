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

/* The kernel's counters of the time that a connection has spent so. */
enum pl_counter { PL_RWND_LIMITED, PL_SNDBUF_LIMITED, PL_COUNTER_N };

/* sndbuf_bytes 0: not known, nor is queued_bytes. total_rto: the connection's time-outs so far; PL_NO_TOTAL_RTO: not
 * known. opening_bytes: what its program sent with waits for answers before it always had data; 0: not known yet.
 * pace_bytes_per_s: the rate of payload that its program allows (SO_MAX_PACING_RATE), and kernel_pace_bytes_per_s: the
 * one that its congestion control has set; 0: not known. ssthresh: PL_SSTHRESH_FIRST: never reduced; 0: not known, nor
 * is a cwnd of 0. `unacked`: packets that are not acknowledged; PL_NO_UNACKED: not known; `window`: octets, the
 * peer's; 0: none, or not known. counted_us: PL_NOT_COUNTED: not known. written_ns: when its program had given its last
 * octet; 0: not known, or not yet. given_bytes: octets that the program has given, sent or not; PL_NO_GIVEN: not known.
 * `transfer`: connections with the same number are streams of one transfer; 0: not known. `waits`: its program has data
 * that the kernel has not taken, by its own account; PL_NO: it has given all that it has to send now. */
struct pl_send_sample {
    int64_t t_ns, written_ns;
    uint64_t opening_bytes, pace_bytes_per_s, kernel_pace_bytes_per_s, given_bytes, counted_us[PL_COUNTER_N];
    uint32_t notsent_bytes, queued_bytes, sndbuf_bytes, total_rto, cwnd, ssthresh, unacked, window, transfer;
    uint16_t local_port, remote_port;
    uint8_t ca_state, control;
    bool stands;    /* the program wrote nothing for a while, and less than a third of the buffer was free */
    bool near_full; /* the send buffer was full then, or at samples near it: a writer may wait for a third of it */
    uint8_t always, waits; /* each an enum pl_answer; always: its program always has data to send */
};

/* In order of ports, and then of time. It starts as {0}. */
struct pl_send_samples {
    PL_VECTOR(struct pl_send_sample) list;
};

/* Some of the samples, of one connection. `at`: the first that is not over, for pl_samples_over. written_ns: when its
 * program had given its last octet; 0: not known. `transfer`: of which it is a stream; 0: not known. `always`: until then it
 * always has data. */
struct pl_samples_of {
    const struct pl_send_sample *first;
    size_t n, at;
    uint32_t transfer;
    int64_t written_ns;
    enum pl_answer always;
};

/* What the samples of a span of time show. A writer that has given all waits for no room, and any octet that is left
 * then is unsent, as a full segment is while it has more to give; but less than a segment, of a program that allows any
 * rate, for which both windows have room waits by Nagle's rule until the writer gives more (RFC 9293, 3.7.4). */
struct pl_samples_seen {
    uint32_t n;
    uint32_t slow, past;       /* in slow start, or past it; neither: BBR, for example */
    uint32_t waits;            /* the program had more to give, by its own account */
    uint32_t given;            /* it had given all, by its own account, and all was sent */
    uint32_t unsent;           /* had data unsent: a full segment or more */
    uint32_t filled;           /* had data unsent, and as many packets outstanding as cwnd allows */
    uint32_t roomy;            /* had data unsent, and both windows had room for a segment: a pace held it back,
                                         or the machine */
    uint32_t kept;             /* the rate that the program allows kept back less than a segment that both windows
                                         have room for, of a program that waits for no room in its buffer; where it had
                                         given all, that counts as unsent, too */
    uint32_t room;             /* had none unsent, and no writer that waited for room */
    uint32_t idle;             /* the same, and no program that had more to give: this had given no more */
    uint32_t late;             /* had room in both windows and the buffer, and yet none unsent, whatever the
                                         program had to give: its processor was busy, say */
    uint32_t spent;            /* had none unsent, and a buffer in which a waiting writer finds no room */
    bool sized;                /* whether a writer waited for room is known in all of them */
    bool full;                 /* the last one had a buffer in which a waiting writer finds no room */
    uint64_t pace_bytes_per_s; /* of the last sample up to the end of the span, or else the first; 0: not known */
    uint64_t kernel_pace_bytes_per_s; /* likewise; 0, too, before the first, and where a window bounds it */
    bool unpaced;                     /* likewise: neither the congestion control nor an option paces the connection */
    bool sets_rate;                   /* likewise: its control is known to send at a rate that it sets */
};

/* Read the text at [at, end) or a file of it. `name`: of the file, for errors. They return 0, or -1 with a one-line
 * reason. pl_send_samples_free is allowed after either. */
int pl_send_samples_parse(struct pl_send_samples *samples, const char *name, const uint8_t *at, const uint8_t *end,
                          struct nc_error *error);
int pl_send_samples_read(struct pl_send_samples *samples, const char *path, struct nc_error *error);
void pl_send_samples_free(struct pl_send_samples *samples);

/* Those of the connection between these ports. */
struct pl_samples_of pl_send_samples_of(const struct pl_send_samples *samples, uint16_t local_port,
                                        uint16_t remote_port);

/* True when its congestion control is known to go on as before when its packets are marked. */
bool pl_samples_heed_no_marks(const struct pl_samples_of *samples);

/* True when its congestion control is known to send at a rate that it sets, as BBR does, by its first sample and its last one. */
bool pl_samples_set_rate(const struct pl_samples_of *samples);

/* Octets that the program sent in its opening; 0: not known. */
uint64_t pl_samples_opening(const struct pl_samples_of *samples);

/* What the samples from t0_ns to t1_ns show. Spans come in order of time. */
struct pl_samples_seen pl_samples_over(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss);

/* The same; without a sample in the span, the nearest sample counts. */
struct pl_samples_seen pl_samples_near(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss);

/* Whether the counter went on for more than half of the time from t0_ns to t1_ns. */
enum pl_answer pl_samples_counted(const struct pl_samples_of *samples, enum pl_counter counter, int64_t t0_ns,
                                  int64_t t1_ns);

/* Whether the kernel counted a time-out at t_ns, as the samples before and behind it say. */
enum pl_counted { PL_COUNTED_NONE, PL_COUNTED_ONE, PL_COUNTED_UNKNOWN };
enum pl_counted pl_samples_timeout(const struct pl_samples_of *samples, int64_t t_ns);

#endif
