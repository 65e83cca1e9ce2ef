/* The summary that `analyse --human` prints of many connections: totals, the ten largest, and what they share. */
#ifndef PL_ANALYSE_MANY_H
#define PL_ANALYSE_MANY_H

#include "analyse.h"

enum { PL_MANY = 10 }; /* if there are more connections than this, they are summarised */

/* The number of the transfer with the most octets; there must be one. */
uint32_t pl_analyse_main(const struct pl_analysis *analysis);

void pl_analyse_print_many(const struct pl_analysis *analysis);

#endif
