#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nc_log.h"
#include "nc_netns.h"
#include "port_kind.h"

static const struct port_kind *const kinds[] = {&port_tap, &port_attached};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

int port_interface_ioctl(int sock, unsigned long request, struct ifreq *ifr, const char *name)
{
    snprintf(ifr->ifr_name, sizeof ifr->ifr_name, "%s", name);
    return ioctl(sock, request, ifr);
}

ssize_t port_unreadable(void *buf)
{
    memset(buf, 0, NC_VNET_LEN);
    return NC_VNET_LEN;
}

/* The kind that `text` begins with; *rest points behind its prefix. */
static const struct port_kind *find_kind(const char *text, const char **rest)
{
    for (int i = 0; i < KINDS; i++) {
        size_t n = strlen(kinds[i]->prefix);
        *rest = text + n;
        if (strncmp(text, kinds[i]->prefix, n) == 0)
            return kinds[i];
    }
    return NULL;
}

int port_open(struct port *port, const char *text, const struct port_settings *settings, struct nc_error *error)
{
    const char *netns = NULL, *rest;
    *port = (struct port){.fd = -1, .napi_fd = -1, .counters = -1, .claim = -1};
    const struct port_kind *kind = find_kind(text, &rest);
    if (!kind || nc_netns_split(rest, port->name, sizeof port->name, &netns) < 0) {
        return nc_fail(error, NC_EXIT_USAGE,
                       "port '%.80s': want tap:NAME[@NETNS] or if:NAME[@NETNS], NAME of 1 to 15 characters", text);
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
