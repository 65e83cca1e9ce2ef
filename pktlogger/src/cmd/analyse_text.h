/* What `analyse --human` says of a transfer, in sentences to read out. */
#ifndef PL_ANALYSE_TEXT_H
#define PL_ANALYSE_TEXT_H

#include "transfer.h"

void pl_analyse_print(const struct pl_transfer *transfer);

#endif
