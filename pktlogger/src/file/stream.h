/* Text and JSON files that are written through stdio. A stream does not keep the reason of a failed write, and a file
 * system may report that it is full only when the file is closed. One function checks both. */
#ifndef PL_STREAM_H
#define PL_STREAM_H

#include <jansson.h>
#include <stdio.h>

/* Makes the file, which must not exist, below dir_fd. Returns NULL with errno. */
FILE *pl_stream_create(int dir_fd, const char *name);

/* Whether everything so far is written: 0, or the errno of a failed write; EIO where the errno is not known. */
int pl_stream_failed(FILE *stream);

/* Closes the file. Returns 0, or -1 with errno when a part of it could not be written. */
int pl_stream_close(FILE *stream);

/* Makes the file and writes `value`. Returns 0, or -1 with errno. */
int pl_stream_json(int dir_fd, const char *name, const json_t *value);

#endif
