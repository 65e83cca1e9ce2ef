/* Draws a transfer as a time-sequence graph in the language of xplot, as tcptrace does. */
#ifndef PL_XPLOT_H
#define PL_XPLOT_H

#include <stdio.h>

#include "tables.h"
#include "transfer.h"

/* The times that are drawn, since the transfer's first data was sent. 0: from the start; to the end. */
struct pl_xplot_range {
    int64_t from_ns, to_ns;
};

/* Writes the graph. Each segment is a white line, red with "R" when it was sent again, purple with "X" where it
 * was lost. Acknowledgements as they reached the sender are green, the edge of the window is yellow. Errors stay in the
 * stream. */
void pl_xplot_write(FILE *out, const struct pl_transfer *transfer, const struct pl_tables *tables,
                    const struct pl_xplot_range *range);

#endif
