/* A file that a model reads: jitter tables and traces, rate traces. */
#ifndef MODEL_FILE_H
#define MODEL_FILE_H

#include <unistd.h>

#include "check.h"

/* Writes `content` to a new file. `path` becomes its path; the caller removes the file. `spec` becomes prefix, path and
 * suffix: the text of a model that reads the file. */
static inline void file_of(const char *content, const char *prefix, const char *suffix, char path[40], char spec[120])
{
    strcpy(path, "/tmp/lfp-test-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    close(fd);
    snprintf(spec, 120, "%s%s%s", prefix, path, suffix);
}

#endif
