/* Captures that come through a pipe. They are copied into a file without a name, so that every command can read them
 * as it reads files, several times where it has to. */
#ifndef PL_SPOOL_H
#define PL_SPOOL_H

#include "nc_error.h"

enum { PL_SPOOL_NAME = 40 };

/* What to open instead of `path`: for "-" (standard input) and for pipes a name of the copy, written to `name` and
 * valid as long as the process; else `path` itself. NULL with a reason. The copy lies in $TMPDIR, or in /var/tmp. */
const char *pl_spooled(const char *path, char name[PL_SPOOL_NAME], struct nc_error *error);

#endif
