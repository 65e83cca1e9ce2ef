/* What `pktlogger match` prints: a line for each hit, and the counts at the end. */
#ifndef PL_MATCH_OUTPUT_H
#define PL_MATCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "nc_error.h"
#include "stream_matcher.h"

/* Prints a hit as a JSON line, or as text for people. It is formatted by hand, because a rule may have millions of
 * hits. */
void pl_match_print_hit(FILE *out, bool human, const struct pl_hit *hit);

/* How the input ended. */
struct pl_match_input {
    bool truncated;         /* a capture ends inside a packet */
    uint64_t unknown_links; /* frames of a link type that is not decoded */
    uint64_t dropped;       /* live: packets that found the kernel's ring full */
};

void pl_match_print_end(bool human, const struct pl_matcher *matcher, const struct pl_match_input *input);

#endif
