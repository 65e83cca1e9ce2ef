/* The properties of a path's line over time, if they are known: the delay box recorded them, or the person who built
 * the path gives them (FORMAT.md section 6, "line"). Captures alone give only an estimate (causes/service.h). */
#ifndef PL_LINE_H
#define PL_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"
#include "vector.h"

/* INFINITY: not bounded. A rate of 0: nothing passes. */
struct pl_line_step {
    int64_t t_ns;
    double rate_bps, packets_per_s;
    uint32_t overhead_bytes; /* octets of the line's rate that a packet takes in addition to its IP packet */
    bool queues_behind;      /* packets may also queue behind the bottleneck */
};

/* What marks ECN-capable packets on a path. */
enum pl_marker { PL_MARKER_UNKNOWN, PL_MARKER_AQM, PL_MARKER_POLICER };

struct pl_line {
    PL_VECTOR(struct pl_line_step) steps; /* in order of time; the first one also holds before. None: not known */
    bool per_flow;                        /* each flow has its own queue and its own share */
    bool in_front;                        /* the slowest stage of the path is in front of the box, and the record does
                                           * not show when it is busy */
    double policed_bps;                   /* a policer's rate, which only its bursts exceed; 0: there is no policer */
    bool police_marks;                    /* the policer marks ECN-capable packets and lets them pass */
    enum pl_marker marker;
};

struct pl_lines {
    struct pl_line way[2]; /* 0: a to b, 1: b to a */
    double hosts_bps;      /* payload per second that the hosts handle at most; INFINITY: not bounded, or not known */
};

/* Reads the object that FORMAT.md describes; NULL gives nothing. Returns 0, or -1 with a one-line reason. pl_lines_free
 * is allowed after either. */
int pl_lines_parse(struct pl_lines *lines, const json_t *object, struct nc_error *error);
int pl_lines_read(struct pl_lines *lines, const char *path, struct nc_error *error);
void pl_lines_free(struct pl_lines *lines);

static inline bool pl_line_known(const struct pl_line *line)
{
    return line && line->steps.n > 0;
}

/* The step that holds at t_ns, of a line that is known. */
const struct pl_line_step *pl_line_at(const struct pl_line *line, int64_t t_ns);

/* Whether packets may ever queue behind the bottleneck of a line that is known. */
bool pl_line_queues_behind(const struct pl_line *line);

/* The time in ns that the line takes for an IP packet at t_ns; 0 if its rate has no bound, or if it lets nothing
 * pass. */
double pl_line_packet_ns(const struct pl_line *line, int64_t t_ns, uint32_t ip_bytes);

/* The payload per second from t0_ns to t1_ns, for packets with so much payload and so many octets of headers (from IP
 * on): at the slowest moment, on average, and at the fastest moment. INFINITY: not bounded. */
struct pl_line_rates {
    double least_bps, mean_bps, most_bps;
};
struct pl_line_rates pl_line_carries(const struct pl_line *line, int64_t t0_ns, int64_t t1_ns, uint32_t payload,
                                     uint32_t headers);

/* The same rate for the policer of a known line and a connection with or without ECN. INFINITY: there is no policer, or
 * it only marks this connection's packets. */
double pl_line_policed(const struct pl_line *line, bool ecn, uint32_t payload, uint32_t headers);

#endif
