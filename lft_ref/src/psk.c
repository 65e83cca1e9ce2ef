#include "psk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

long psk_read(const char *path, uint8_t key[LFT_PSK_MAX], char *why, size_t why_size)
{
    struct stat status;
    uint8_t text[LFT_PSK_MAX + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        snprintf(why, why_size, "--psk-file '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    ssize_t n = S_ISREG(status.st_mode) ? read(fd, text, sizeof text) : -1;
    close(fd);
    if (n > 0 && text[n - 1] == '\n')
        n--;
    if (!S_ISREG(status.st_mode))
        snprintf(why, why_size, "--psk-file '%s': not a regular file", path);
    else if (status.st_uid != geteuid())
        snprintf(why, why_size, "--psk-file '%s': belongs to user %u, want %u; use chown", path, (unsigned)status.st_uid, (unsigned)geteuid());
    else if (status.st_mode & 077)
        snprintf(why, why_size, "--psk-file '%s': mode %04o lets others in, want 0600 or 0400; use chmod", path, (unsigned)status.st_mode & 07777);
    else if (n < LFT_PSK_MIN || n > LFT_PSK_MAX)
        snprintf(why, why_size, "--psk-file '%s': %zd octets, want %d to %d", path, n, LFT_PSK_MIN, LFT_PSK_MAX);
    else {
        memcpy(key, text, (size_t)n);
        lft_wipe(text, sizeof text);
        return n;
    }
    lft_wipe(text, sizeof text);
    return -1;
}
