/* The options of analyse and export that are lists: --scales, --ruled-out and --outages. */
#ifndef PL_ANALYSE_LISTS_H
#define PL_ANALYSE_LISTS_H

#include "clock.h"
#include "nc_options.h"
#include "send_samples.h"
#include "transfer.h"

enum { PL_OUTAGES_MAX = 1024 };

struct pl_lists {
    struct pl_pace pace;
    struct pl_clock clock;
    int64_t down_ns[PL_OUTAGES_MAX], up_ns[PL_OUTAGES_MAX];
    size_t outage_n;
    unsigned ruled_out; /* loss causes, as bits 1 << cause */
    struct pl_send_samples samples;
    struct pl_lines lines;
};

/* `ruled_out`, `outages`: NULL if not given. Returns 0, or -1 with a reason. */
int pl_lists_read(struct pl_lists *lists, const char *scales, const char *ruled_out, const char *outages,
                  struct nc_error *error);

#endif
