#include "port.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_log.h"
#include "nc_netns.h"
#include "port_kind.h"

static const struct port_kind *const kinds[] = {&port_tap, &port_attached};
static const struct port_kind *const kinds_in_kernel[] = {&port_kernel};

int port_interface_ioctl(int sock, unsigned long request, struct ifreq *ifr, const char *name)
{
    snprintf(ifr->ifr_name, sizeof ifr->ifr_name, "%s", name);
    return ioctl(sock, request, ifr);
}

int port_netlink_open(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

int port_netlink_ask(int sock, const void *request, size_t size)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char echo[128];
    } answer = {.error.error = -EIO};
    if (send(sock, request, size, 0) < 0 || recv(sock, &answer, sizeof answer, 0) < 0)
        return -1;
    errno = -answer.error.error;
    return errno ? -1 : 0;
}

ssize_t port_unreadable(void *buf)
{
    memset(buf, 0, NC_VNET_LEN);
    return NC_VNET_LEN;
}

/* The kind that `text` begins with; *rest points behind its prefix. */
static const struct port_kind *find_kind(const char *text, bool in_kernel, const char **rest)
{
    const struct port_kind *const *known = in_kernel ? kinds_in_kernel : kinds;
    size_t n = in_kernel ? sizeof kinds_in_kernel / sizeof known[0] : sizeof kinds / sizeof known[0];
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(known[i]->prefix);
        *rest = text + len;
        if (strncmp(text, known[i]->prefix, len) == 0)
            return known[i];
    }
    return NULL;
}

int port_open(struct port *port, const char *text, const struct port_settings *settings, struct nc_error *error)
{
    const char *netns = NULL, *rest;
    *port = (struct port){.fd = -1, .napi_fd = -1, .counters = -1, .claim = -1};
    bool in_kernel = settings->kernel_file >= 0;
    const struct port_kind *kind = find_kind(text, in_kernel, &rest);
    if (!kind || nc_netns_split(rest, port->name, sizeof port->name, &netns) < 0) {
        return nc_fail(error, NC_EXIT_USAGE, "port '%.80s': want %sif:NAME[@NETNS], NAME of 1 to 15 characters", text,
                       in_kernel ? "" : "tap:NAME[@NETNS] or ");
    }
    int previous = -1;
    if (netns) {
        snprintf(port->netns, sizeof port->netns, "%s", netns);
        int fd = nc_netns_open(netns, error);
        if (fd < 0)
            return -1;
        previous = nc_netns_enter(fd);
        close(fd);
        if (previous < 0)
            return nc_fail(error, NC_EXIT_MISSING, "cannot enter namespace '%s': %s (run as root)", netns,
                           strerror(errno));
    }
    int opened = kind->open(port, settings, error);
    if (previous >= 0)
        nc_netns_leave(previous);
    if (opened == 0)
        port->kind = kind;
    return opened;
}

void port_close(struct port *port)
{
    if (port->kind)
        port->kind->close(port);
    *port = (struct port){.fd = -1, .napi_fd = -1, .counters = -1, .claim = -1};
}

ssize_t port_read(const struct port *port, void *buf, size_t size)
{
    return port->kind->read(port, buf, size);
}

bool port_write(const struct port *port, const struct nc_run *run, bool defer)
{
    return port->kind->write(port, run, defer);
}

uint64_t port_ring_drops(const struct port *port)
{
    return port->kind->ring_drops(port);
}

bool port_mtu_warning(const struct port *a, const struct port *b, char *warning, size_t warning_size)
{
    if (a->mtu == b->mtu)
        return false;
    const struct port *small = a->mtu < b->mtu ? a : b, *large = small == a ? b : a;
    snprintf(warning, warning_size,
             "MTU %u of '%s' and %u of '%s' differ: larger packets than %u bytes are lost on the way to '%s'; "
             "give both the same ('ip link set %s mtu %u', or --mtu for a TAP)",
             small->mtu, small->name, large->mtu, large->name, small->mtu, small->name, small->name, large->mtu);
    return true;
}
