/* How the second capture's clock is related to the first's: by how much it is ahead, how fast it drifts, where it was
 * stepped. Every time of the second capture is mapped to the first's clock before the captures are joined. */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum { PL_CLOCK_PIECES = 16 };
#define PL_CLOCK_APART_NS                                                                                              \
    (INT64_C(1) << 61) /* clocks are at most this far apart: 73 years, as one that began in 1970 */

enum pl_clock_kind {
    PL_CLOCK_SAME,    /* the user said so */
    PL_CLOCK_GIVEN,   /* the user gave offset and drift */
    PL_CLOCK_UNKNOWN, /* to be estimated; afterwards: too few packets are in both captures */
    PL_CLOCK_ONE,     /* estimated: nothing contradicts one clock, so no time is changed */
    PL_CLOCK_TWO,     /* estimated */
};

/* Between two steps of a capture's clock: from `from_frame` of it on, and of the frames behind `after_frame` those that
 * are on the step's side of `turn_ns` by that clock. `t_ns` is when that was, by the first's clock. */
struct pl_clock_piece {
    uint64_t after_frame, from_frame;
    int64_t turn_ns, t_ns, offset_ns;
};

/* The second capture shows t + offset_ns + drift (t - at_ns) when the first's clock shows t. */
struct pl_clock {
    enum pl_clock_kind kind;
    int64_t at_ns;
    double drift;
    struct pl_clock_piece pieces[PL_CLOCK_PIECES];
    unsigned piece_n; /* 0: the times stay */
    int stepped;      /* the capture whose clock was stepped, where there are several pieces */
    /* of an estimate: */
    double drift_error;  /* below 0: not known */
    int64_t error_ns;    /* of the offsets if both directions of the path take equally long */
    int64_t bound_ns;    /* of the offsets, whatever the directions take */
    uint64_t packets[2]; /* compared, by direction: from the first capture's machine, and to it */
};

/* The time at the first capture's clock when a capture (`end`: 0 the first, 1 the second) showed `t_ns` in its frame.
 * The first's clock is that of its beginning: what it was stepped by is taken out. */
int64_t pl_clock_map(const struct pl_clock *clock, int end, uint64_t frame, int64_t t_ns);

/* Reads "same", "estimate" or "OFFSET,PPM". Returns 0, or -1 with a reason. */
int pl_clock_parse(struct pl_clock *clock, const char *text, struct nc_error *error);

/* "same", "given", "unknown", "one", "two" */
const char *pl_clock_name(const struct pl_clock *clock);

#endif
