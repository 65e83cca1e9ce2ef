/* Copies captures from a pipe into a file without a name, so that every command can read them like files, several times
 * if needed. */
#ifndef PL_SPOOL_H
#define PL_SPOOL_H

#include "nc_error.h"

enum { PL_SPOOL_NAME = 40 };

/* The path to open instead of `path`. For "-" (standard input) and for pipes it is the name of a copy in $TMPDIR, or in
 * /var/tmp. The name is written to `name` and is valid as long as the process. For other files it is `path` itself.
 * NULL with a reason. */
const char *pl_spooled(const char *path, char name[PL_SPOOL_NAME], struct nc_error *error);

#endif
