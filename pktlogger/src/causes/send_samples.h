/* What was queued in the senders' sockets, sampled while they sent (FORMAT.md section 3, "Samples"). Captures do not
 * show it, and it tells a silence of the application from one of the send buffer. */
#ifndef PL_SEND_SAMPLES_H
#define PL_SEND_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"
#include "vector.h"

enum { PL_NO_TOTAL_RTO = UINT16_MAX + 1, PL_SSTHRESH_FIRST = INT32_MAX };

/* sndbuf_bytes 0: not known, nor is queued_bytes. total_rto: the connection's time-outs so far; PL_NO_TOTAL_RTO: not
 * known. opening_bytes: what its program sent with waits for answers before it always had data; 0: not known yet.
 * pace_bytes_per_s: the rate of payload that its program allows (SO_MAX_PACING_RATE), and kernel_pace_bytes_per_s: the
 * one that its congestion control has set; 0: not known. ssthresh: PL_SSTHRESH_FIRST: never reduced; 0: not known. */
struct pl_send_sample {
    int64_t t_ns;
    uint64_t opening_bytes, pace_bytes_per_s, kernel_pace_bytes_per_s;
    uint32_t notsent_bytes, queued_bytes, sndbuf_bytes, total_rto, ssthresh;
    uint16_t local_port, remote_port;
};

/* In order of ports, and then of time. It starts as {0}. */
struct pl_send_samples {
    PL_VECTOR(struct pl_send_sample) list;
};

/* Some of the samples, of one connection. `at`: the first that is not over, for pl_samples_over. */
struct pl_samples_of {
    const struct pl_send_sample *first;
    size_t n, at;
};

/* What the samples of a span of time show. */
struct pl_samples_seen {
    uint32_t n;
    uint32_t unsent; /* had a full segment or more unsent */
    uint32_t idle;   /* had less than a segment unsent, and a buffer with room: the program had given no more */
    uint32_t spent;  /* had less than a segment unsent, and a buffer in which a waiting writer finds no room */
    bool sized;      /* the buffer's size is known in all of them */
    bool full;       /* the last one had a buffer in which a waiting writer finds no room */
    uint64_t pace_bytes_per_s;        /* of the last sample up to the end of the span; 0: not known */
    uint64_t kernel_pace_bytes_per_s; /* likewise; 0, too, where ssthresh has been reduced */
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

/* What the program sent of its opening; 0: not known. */
uint64_t pl_samples_opening(const struct pl_samples_of *samples);

/* What the samples from t0_ns to t1_ns show. Spans come in order of time. */
struct pl_samples_seen pl_samples_over(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss);

/* The same; where there is none in the span, what the nearest one shows. */
struct pl_samples_seen pl_samples_near(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss);

/* Whether the kernel counted a time-out at t_ns, as the samples before and behind it say. */
enum pl_counted { PL_COUNTED_NONE, PL_COUNTED_ONE, PL_COUNTED_UNKNOWN };
enum pl_counted pl_samples_timeout(const struct pl_samples_of *samples, int64_t t_ns);

#endif
