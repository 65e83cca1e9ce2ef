/* The text that `analyse --human` prints about the clocks and a transfer, in whole sentences. */
#ifndef PL_ANALYSE_TEXT_H
#define PL_ANALYSE_TEXT_H

#include "analyse.h"
#include "clock.h"

/* Prints the relation of the clocks. `began_ns`: when the sender's capture began. */
void pl_clock_print(const struct pl_clock *clock, int64_t began_ns);

/* Prints which captures there are, and what stays unknown without the other one. */
void pl_analyse_print_ends(const struct pl_analysis *analysis);

/* Prints one line: ends, octets, rate, and the verdict. */
void pl_analyse_print_line(const struct pl_transfer *transfer);

/* Prints the verdict in a sentence or two, or nothing if no cause is known. */
void pl_analyse_print_verdict(const struct pl_transfer *transfer);

void pl_analyse_print(const struct pl_transfer *transfer);

/* Names the connections that only one of the captures has, the first ten of each. */
void pl_analyse_print_left_out(const struct pl_analysis *analysis);

#endif
