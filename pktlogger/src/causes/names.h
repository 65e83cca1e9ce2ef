/* Every cause that pktlogger names: of limits, of losses and of stops. One table holds the names and texts of a cause
 * for files, people and `pktlogger --causes-json`. */
#ifndef PL_NAMES_H
#define PL_NAMES_H

#include <stddef.h>

/* `role`: what is responsible for it, for colours and groups: congestion, recovery, host, pacing, path, emulator or
 * unknown. */
struct pl_cause_row {
    const char *name, *words, *role, *description, *advice; /* advice: what to change; NULL: nothing */
};

enum pl_cause_list { PL_CAUSES_LIMITS, PL_CAUSES_LOSSES, PL_CAUSES_STOPS, PL_CAUSES_VERDICTS, PL_CAUSES_N };

/* The rows of a list, in the order of their numbers; *n: how many. */
const struct pl_cause_row *pl_cause_rows(enum pl_cause_list list, size_t *n);

#endif
