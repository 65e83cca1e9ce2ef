#include "nc_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(const char *option, const char *path, const struct stat *file, struct nc_error *error)
{
    if (!S_ISREG(file->st_mode))
        return nc_fail(error, NC_EXIT_USAGE, "%s '%.80s': not a regular file; want a file with the key", option, path);
    if (file->st_uid != geteuid())
        return nc_fail(error, NC_EXIT_USAGE, "%s '%.80s': belongs to user %u, want %u: chown %u %.80s", option, path,
                       (unsigned)file->st_uid, (unsigned)geteuid(), (unsigned)geteuid(), path);
    if (file->st_mode & 077)
        return nc_fail(error, NC_EXIT_USAGE, "%s '%.80s': mode %04o lets others in, want 0600 or 0400: chmod 600 %.80s",
                       option, path, (unsigned)file->st_mode & 07777, path);
    return 0;
}

ssize_t nc_secret_read(const char *option, const char *path, uint8_t *octets, size_t room, struct nc_error *error)
{
    struct stat file;
    ssize_t size = -1;
    /* O_NONBLOCK, because a pipe without a writer must not block us */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &file) < 0)
        nc_fail(error, NC_EXIT_USAGE, "%s '%.80s': %s", option, path, strerror(errno));
    else if (check(option, path, &file, error) == 0 && (size = read(fd, octets, room)) < 0)
        nc_fail(error, NC_EXIT_USAGE, "%s '%.80s': %s", option, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return size;
}
