/* Implements given.h. */
#include "given.h"

#include <string.h>

#include "command.h"

bool pl_is_given(const struct pl_given *given, const char *name)
{
    for (size_t i = 0; i < given->n; i++)
        if (strcmp(given->table[i].name, name) == 0 && given->flags[i])
            return true;
    return false;
}

int pl_refuse_idle(const struct pl_given *given, const struct pl_idle *rows, size_t n, bool human)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].idle && pl_is_given(given, rows[i].option))
            return pl_fail(human, NC_EXIT_USAGE, "--%s has no effect %s; leave --%s out", rows[i].option, rows[i].why,
                           rows[i].option);
    return NC_EXIT_OK;
}
