/* Copies captures from a pipe into a file without a name, so that every command can read them like files, several times
 * if needed. */
#ifndef PL_SPOOL_H
#define PL_SPOOL_H

#include "nc_error.h"

enum { PL_SPOOL_NAME = 40 };

/* The path to open in place of `path`. For "-" (standard input) and for pipes it is a name of the copy, written to
 * `name` and valid as long as the process; otherwise it is `path` itself. NULL with a reason. The copy is in $TMPDIR,
 * or in /var/tmp. */
const char *pl_spooled(const char *path, char name[PL_SPOOL_NAME], struct nc_error *error);

#endif
