/* Which options the user gave, and which of these have no effect with the others. An option without effect is refused,
 * because the user expects it to have one. */
#ifndef PL_GIVEN_H
#define PL_GIVEN_H

#include <stdbool.h>
#include <stddef.h>

#include "nc_option.h"

/* A table of `n` options, and for each of them whether the user gave it (nc_options_parse). */
struct pl_given {
    const struct nc_option *table;
    size_t n;
    const bool *flags;
};

/* Whether the user gave the option `name`. */
bool pl_is_given(const struct pl_given *given, const char *name);

struct pl_idle {
    const char *option; /* the option's name without dashes */
    bool idle;          /* the option has no effect … */
    const char *why;    /* the rest of the error, for example "without --interface" */
};

/* Reports the first of the `n` rows whose option the user gave although it has no effect. Returns
 * NC_EXIT_USAGE, or NC_EXIT_OK where there is none. */
int pl_refuse_idle(const struct pl_given *given, const struct pl_idle *rows, size_t n, bool human);

#endif
