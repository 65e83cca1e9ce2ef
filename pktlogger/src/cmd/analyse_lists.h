/* The options of analyse and export that are lists: --scales and --ruled-out. */
#ifndef PL_ANALYSE_LISTS_H
#define PL_ANALYSE_LISTS_H

#include "clock.h"
#include "nc_options.h"
#include "send_samples.h"
#include "transfer.h"

struct pl_lists {
    struct pl_pace pace;
    struct pl_clock clock;
    unsigned ruled_out; /* causes of losses, as bits 1 << cause */
    struct pl_send_samples samples;
};

/* `ruled_out`: NULL: not given. Returns 0, or -1 with a reason. */
int pl_lists_read(struct pl_lists *lists, const char *scales, const char *ruled_out, struct nc_error *error);

#endif
