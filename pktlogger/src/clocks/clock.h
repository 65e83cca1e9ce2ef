/* The relation between the clocks of two captures: the offset of the second clock from the first, its drift, and its
 * steps. Every time of the second capture is mapped to the first clock before the captures are joined. */
#ifndef PL_CLOCK_H
#define PL_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum { PL_CLOCK_PIECES = 16 };
#define PL_CLOCK_APART_NS                                                                                              \
    (INT64_C(1) << 61) /* largest offset between clocks: 73 years, for a clock that started in 1970 */

enum pl_clock_kind {
    PL_CLOCK_SAME,    /* the user says that both captures have one clock */
    PL_CLOCK_GIVEN,   /* the user gave offset and drift */
    PL_CLOCK_UNKNOWN, /* before the estimate: to be estimated; after it: too few packets are in both captures for an
                       * estimate */
    PL_CLOCK_ONE,     /* estimated: the packets agree with one clock, so no time is changed */
    PL_CLOCK_TWO,     /* estimated: two clocks */
};

/* A part of a capture's time between two steps of its clock. It begins at frame `from_frame`. Around the step, times
 * decide: of the frames after `after_frame`, only those on this side of `turn_ns` (by the stepped clock) belong to it.
 * `t_ns` is the same moment on the first clock. */
struct pl_clock_piece {
    uint64_t after_frame, from_frame;
    int64_t turn_ns, t_ns, offset_ns;
};

/* When the first clock shows t, the second shows t + offset_ns + drift (t - at_ns). */
struct pl_clock {
    enum pl_clock_kind kind;
    int64_t at_ns;
    double drift;
    struct pl_clock_piece pieces[PL_CLOCK_PIECES];
    unsigned piece_n; /* number of pieces; 0: times are not changed */
    int stepped;      /* which capture's clock was stepped, if there are several pieces */
    /* results of an estimate: */
    double drift_error;  /* below 0: not known */
    int64_t error_ns;    /* error of the offsets, if both directions of the path take equally long */
    int64_t bound_ns;    /* bound of that error, however long each direction takes */
    uint64_t packets[2]; /* packets compared in each direction: from the first capture's machine, and to it */
};

/* The time on the first clock when a capture (`end`: 0 the first, 1 the second) showed `t_ns` in its frame `frame`. If
 * the first clock was stepped, the result has no steps: it is the clock's time as if it had never been stepped. */
int64_t pl_clock_map(const struct pl_clock *clock, int end, uint64_t frame, int64_t t_ns);

/* Reads "same", "estimate" or "OFFSET,PPM". Returns 0, or -1 with a reason. */
int pl_clock_parse(struct pl_clock *clock, const char *text, struct nc_error *error);

/* "same", "given", "unknown", "one", "two" */
const char *pl_clock_name(const struct pl_clock *clock);

#endif
