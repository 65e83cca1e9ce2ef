#include "nc_netns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nc_log.h"

int nc_netns_open(const char *spec, struct nc_error *error)
{
    char path[256];
    int n;
    if (spec[0] && spec[strspn(spec, "0123456789")] == '\0')
        n = snprintf(path, sizeof path, "/proc/%s/ns/net", spec);
    else if (spec[0] == '/')
        n = snprintf(path, sizeof path, "%s", spec);
    else
        n = snprintf(path, sizeof path, "/run/netns/%s", spec);
    if (n < 0 || (size_t)n >= sizeof path || !spec[0])
        return nc_fail(error, NC_EXIT_USAGE,
                       "namespace '%.40s': want a process id, an absolute path or a name of 'ip netns'", spec);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return nc_fail(error, NC_EXIT_MISSING, "namespace '%s': %s: %s; 'ip netns' lists those with a name", spec, path,
                       strerror(errno));
    return fd;
}

int nc_netns_enter(int netns_fd)
{
    int previous = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (previous < 0)
        return -1;
    if (setns(netns_fd, CLONE_NEWNET) < 0) {
        int saved = errno;
        close(previous);
        errno = saved;
        return -1;
    }
    return previous;
}

void nc_netns_leave(int previous_fd)
{
    if (setns(previous_fd, CLONE_NEWNET) < 0)
        nc_die(NC_EXIT_FAILED, "cannot return to the previous network namespace: %s", strerror(errno));
    close(previous_fd);
}

int nc_netns_split(const char *text, char *name, size_t name_size, const char **spec)
{
    const char *at = strchr(text, '@');
    size_t n = at ? (size_t)(at - text) : strlen(text);
    if (n == 0 || n >= name_size)
        return -1;
    memcpy(name, text, n);
    name[n] = '\0';
    *spec = at ? at + 1 : NULL;
    return 0;
}
