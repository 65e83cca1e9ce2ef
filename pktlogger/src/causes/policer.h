/* Whether a policer dropped what was lost: a token bucket that has no queue. While its bucket is empty, it lets octets
 * through at its rate and drops the rest, whatever comes. So where losses are dense (at most PL_POLICED_BETWEEN parts
 * pass between two of them), what passes is of one rate, and no part waits.
 * A full queue delivers at one rate as well, but parts wait in it. Chance takes parts of a share and not of a rate:
 * what passes follows what is sent. So either more is sent than what passes by a quarter, or what is sent varies while
 * what passes does not.
 * A sender that halves its window soon leaves few losses side by side. Then the quickest windows tell, whatever passes
 * between two losses: where at least PL_POLICED_QUICK of them agree on what passes and not on what was sent. Slower ones
 * are those in which the bucket filled up.
 * The burst is what passed beyond the rate at most: the depth of the bucket, where it was full before.
 * Rejected: the line through all losses (Flach and others, SIGCOMM 2016), because a bucket that fills up between two
 * recoveries moves it. */
#ifndef PL_POLICER_H
#define PL_POLICER_H

#include <stdbool.h>
#include <stdint.h>

#include "sample.h"

enum {
    PL_POLICED_BETWEEN = 10,
    PL_POLICED_LOSSES = 8,
    PL_POLICED_PARTS = 40,
    PL_POLICED_WINDOWS = 5,
    PL_POLICED_QUICK = 3
};

/* Octets per second and octets; rate 0: no policer shows. */
struct pl_policed {
    double rate, burst;
};

/* From a loss to a later one: octets per second that passed, and that were sent. */
struct pl_policed_window {
    double rate, sent;
};

/* Starts as {0}. */
struct pl_policer {
    struct pl_sample rates, sent; /* of windows from one loss to a later one: what passed, and what was sent */
    int64_t first_ns;
    double bytes, lost_bytes;          /* that passed, and were lost, since the window began */
    uint64_t passed;                   /* parts, since the last loss */
    uint64_t parts;                    /* that passed in the window */
    unsigned losses;                   /* in the window; 0: none is open */
    struct pl_policed_window quick[8]; /* the quickest ones with PL_POLICED_PARTS, however many losses are in them */
    unsigned quick_n;
    int64_t wide_ns; /* when the present one of these began; `wide`: one is open */
    double wide_bytes, wide_lost;
    uint64_t wide_parts;
    bool wide;
};

/* Take the next part in order of sending. Returns 0, or -1 without memory. */
int pl_policer_add(struct pl_policer *policer, int64_t t_sent_ns, uint32_t bytes, bool lost);

/* Frees it. The rate, or 0. */
double pl_policer_end(struct pl_policer *policer);

/* The burst in octets, given the rate: call it with each part that passed, in order; *level starts as 0. */
static inline void pl_policer_burst(double rate, double seconds, uint32_t bytes, double *level, double *most)
{
    *level -= rate * seconds;
    *level = (*level > 0 ? *level : 0) + bytes;
    *most = *level > *most ? *level : *most;
}

#endif
