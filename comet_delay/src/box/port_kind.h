/* The functions of each kind of port. port.c chooses the kind by the text before the ':'. */
#ifndef COMET_PORT_KIND_H
#define COMET_PORT_KIND_H

#include <net/if.h>

#include "port.h"

struct port_kind {
    const char *prefix;
    /* Called in the port's namespace, with the name set; returns as port_open. */
    int (*open)(struct port *port, const struct port_settings *settings, struct nc_error *error);
    void (*close)(struct port *port);
    ssize_t (*read)(const struct port *port, void *buf, size_t size);
    bool (*write)(const struct port *port, const struct nc_run *run, bool defer);
    uint64_t (*ring_drops)(const struct port *port);
};

extern const struct port_kind port_tap, port_attached, port_kernel;

/* The result of port_read for a packet that cannot be passed on: a header without a frame. */
ssize_t port_unreadable(void *buf);

/* Makes an interface request (SIOC…) on any socket of the namespace, with the name filled in. -1 with errno. */
int port_interface_ioctl(int sock, unsigned long request, struct ifreq *ifr, const char *name);

/* Opens a socket to rtnetlink in the current namespace. -1 with errno. */
int port_netlink_open(void);

/* Sends one request and reads its acknowledgement. -1 with errno. */
int port_netlink_ask(int sock, const void *request, size_t size);

#endif
