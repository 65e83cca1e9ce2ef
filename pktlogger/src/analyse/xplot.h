/* Draws a transfer as a time-sequence graph in the language of xplot, as tcptrace does. */
#ifndef PL_XPLOT_H
#define PL_XPLOT_H

#include <stdio.h>

#include "tables.h"
#include "time_range.h"
#include "transfer.h"

/* Writes the graph. Each segment is a white line. A retransmitted segment is red with an "R", a lost one purple with an
 * "X". Acknowledgements, when they reached the sender, are green; the edge of the window is yellow. Errors stay in the
 * stream. */
void pl_xplot_write(FILE *out, const struct pl_transfer *transfer, const struct pl_tables *tables,
                    const struct pl_time_range *range);

#endif
