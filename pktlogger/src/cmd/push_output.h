/* What `pktlogger push` prints. */
#ifndef PL_PUSH_OUTPUT_H
#define PL_PUSH_OUTPUT_H

#include <stdbool.h>

#include "pusher.h"

void pl_push_print_ready(bool human, const struct pl_pusher *pusher);
void pl_push_print_end(bool human, const struct pl_pusher *pusher);

#endif
