/* Implements spool.h. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 18 };

static int write_all(int fd, const char *at, size_t len)
{
    while (len) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR)
            return -1;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int copy(int from, int to)
{
    char *piece = malloc(PIECE);
    ssize_t n = piece ? 1 : -1;
    while (n > 0) {
        n = read(from, piece, PIECE);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0 && write_all(to, piece, (size_t)n) < 0)
            n = -1;
    }
    free(piece);
    return n < 0 ? -1 : 0;
}

const char *pl_spooled(const char *path, char name[PL_SPOOL_NAME], struct nc_error *error)
{
    struct stat status;
    bool standard = strcmp(path, "-") == 0;
    if ((standard ? fstat(STDIN_FILENO, &status) : stat(path, &status)) < 0 ||
        (!standard && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)))
        return path; /* the error is reported when the path is opened */
    const char *folder = getenv("TMPDIR");
    folder = folder && *folder ? folder : "/var/tmp";
    int from = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int to = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int failed = from < 0 || to < 0 || copy(from, to) < 0;
    if (failed)
        nc_fail(error, NC_EXIT_FAILED, "'%.200s': cannot copy it to '%.200s' ($TMPDIR): %s", path, folder,
                strerror(errno));
    if (from >= 0 && !standard)
        close(from);
    if (failed && to >= 0)
        close(to);
    snprintf(name, PL_SPOOL_NAME, "/proc/self/fd/%d", to);
    return failed ? NULL : name;
}
