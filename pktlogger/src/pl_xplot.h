/* A transfer as a time-sequence graph in the language of xplot, drawn as tcptrace draws it. */
#ifndef PL_XPLOT_H
#define PL_XPLOT_H

#include <stdio.h>

#include "pl_transfer.h"

/* Writes the whole graph: a white line a segment, red with "R" when sent again, purple with "X" where it was lost; green
 * the acknowledgements as they reached the sender, yellow the edge of the window. Errors stay in the stream. */
void pl_xplot_write(FILE *out, const struct pl_transfer *transfer);

#endif
