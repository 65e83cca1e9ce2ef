/* A file with a secret: a regular file of the user who runs the tool, which nobody else may read. A key that others can
 * read protects nothing, so such a file is an error and not a warning. */
#ifndef NC_SECRET_H
#define NC_SECRET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nc_error.h"

/* Reads at most `room` octets of the file. Returns their number, or -1 with a reason that begins with the option. The
 * caller wipes the octets. */
ssize_t nc_secret_read(const char *option, const char *path, uint8_t *octets, size_t room, struct nc_error *error);

#endif
