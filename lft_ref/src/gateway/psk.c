#include "psk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checks the file and the number of octets read from it. */
static long check(const char *path, const struct stat *status, ssize_t n, struct nc_error *error)
{
    const enum nc_exit usage = NC_EXIT_USAGE;
    if (!S_ISREG(status->st_mode))
        return nc_fail(error, usage, "--psk-file '%s': not a regular file", path);
    if (status->st_uid != geteuid())
        return nc_fail(error, usage, "--psk-file '%s': belongs to user %u, want %u; use chown", path,
                       (unsigned)status->st_uid, (unsigned)geteuid());
    if (status->st_mode & 077)
        return nc_fail(error, usage, "--psk-file '%s': mode %04o lets others in, want 0600 or 0400; use chmod", path,
                       (unsigned)status->st_mode & 07777);
    if (n < LFT_PSK_MIN || n > LFT_PSK_MAX)
        return nc_fail(error, usage, "--psk-file '%s': %zd octets, want %d to %d", path, n, LFT_PSK_MIN, LFT_PSK_MAX);
    return n;
}

long psk_read(const char *path, uint8_t key[LFT_PSK_MAX], struct nc_error *error)
{
    struct stat status;
    uint8_t text[LFT_PSK_MAX + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        nc_fail(error, NC_EXIT_USAGE, "--psk-file '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    ssize_t n = S_ISREG(status.st_mode) ? read(fd, text, sizeof text) : -1;
    close(fd);
    if (n > 0 && text[n - 1] == '\n')
        n--;
    long bytes = check(path, &status, n, error);
    if (bytes > 0)
        memcpy(key, text, (size_t)bytes);
    lft_wipe(text, sizeof text);
    return bytes;
}
