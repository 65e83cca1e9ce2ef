/* Captures in unsupported formats, recognised by their first bytes. Wireshark's editcap converts them. */
#ifndef PL_FOREIGN_H
#define PL_FOREIGN_H

#include <stddef.h>
#include <stdint.h>

/* The name of the format, or NULL for any other file. */
const char *pl_foreign_format(const uint8_t *data, size_t len);

#endif
