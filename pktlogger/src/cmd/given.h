/* Which options the user gave, and options that have no effect beside the others. Such an option is refused, because
 * who gives one expects something of it. */
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

/* Whether the user gave the option of this name. */
bool pl_is_given(const struct pl_given *given, const char *name);

struct pl_idle {
    const char *option; /* its name without dashes */
    bool idle;          /* it has no effect … */
    const char *why;    /* … "without --interface" */
};

/* Reports the first of the `n` rows that is idle and whose option was given. Returns NC_EXIT_USAGE, or NC_EXIT_OK where
 * there is none. */
int pl_refuse_idle(const struct pl_given *given, const struct pl_idle *rows, size_t n, bool human);

#endif
