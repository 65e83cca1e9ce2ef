/* A port of the box: a TAP with virtio-net header, created in a host's namespace as that host's NIC. The host keeps its
 * offloads, so a 64 KB super-packet crosses in one read and one write. */
#ifndef COMET_PORT_H
#define COMET_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nc_vnet.h"

struct port {
    int fd;         /* non-blocking */
    int counters;   /* /proc/net/dev of the port's namespace */
    char name[16];
    char netns[128];
};

/* Opens "tap:NAME[@NETNS]": creates the TAP there, sets its MTU and a queue long enough for a window's worth of
 * super-packets, brings it up. 0, or an exit status (nc_exit) with a one-line reason. The TAP goes with the descriptor. */
int port_open(struct port *port, const char *text, unsigned mtu, char *why, size_t why_size);
void port_close(struct port *port);

/* Bytes read, 0 when nothing waits, -1 when the port is gone or down. */
ssize_t port_read(const struct port *port, void *buf, size_t size);

/* True when the port took the run. */
bool port_write(const struct port *port, const struct nc_run *run);

/* Packets that the kernel dropped because the box did not read fast enough. */
uint64_t port_ring_drops(const struct port *port);

#endif
