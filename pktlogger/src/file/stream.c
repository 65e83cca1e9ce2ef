/* Implements stream.h. */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

FILE *pl_stream_create(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0 ? fdopen(fd, "w") : NULL;
}

int pl_stream_failed(FILE *stream)
{
    if (fflush(stream) != 0)
        return errno;
    if (!ferror(stream))
        return 0;
    return write(fileno(stream), "\n", 1) < 0 ? errno : EIO; /* finds the reason: writing one more byte fails with it,
                                                              * too */
}

int pl_stream_close(FILE *stream)
{
    int failed = pl_stream_failed(stream);
    if (fclose(stream) != 0 && !failed)
        failed = errno;
    errno = failed;
    return failed ? -1 : 0;
}

int pl_stream_json(int dir_fd, const char *name, const json_t *value)
{
    FILE *stream = pl_stream_create(dir_fd, name);
    if (!stream)
        return -1;
    int dumped = value ? json_dumpf(value, stream, JSON_INDENT(1)) : -1;
    if (pl_stream_close(stream) < 0)
        return -1;
    if (dumped < 0)
        errno = ENOMEM; /* all data were written, so the error concerned something else */
    return dumped;
}
