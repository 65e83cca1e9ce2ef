/* A port of the box, where super-packets come in and go out with a virtio-net header (nc_vnet.h) before them, so that a
 * 64 KB super-packet crosses in one read and one write. Two kinds:
 *   tap:NAME[@NETNS]  a TAP, made in a host's namespace as that host's NIC, gone with the box
 *   if:NAME[@NETNS]   an existing Ethernet interface (veth, physical NIC) attached to, left as it was
 * A port does not change after port_open, so reading, writing and the counter may be different threads'. */
#ifndef COMET_PORT_H
#define COMET_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nc_vnet.h"

struct port_kind;

/* Whether a TAP may have its host's receiving stack run by another processor (port_write's `defer`). */
enum port_napi { PORT_NAPI_AUTO, PORT_NAPI_OFF };

struct port_settings {
    unsigned mtu; /* of a TAP; an attached interface keeps its own */
    enum port_napi napi;
};

struct port {
    const struct port_kind *kind; /* NULL: not open */
    int fd;                       /* non-blocking */
    int napi_fd;                  /* TAP: its queue for deferred writes; -1: none */
    int counters;                 /* TAP: /proc/net/dev of the port's namespace */
    int claim;                    /* attached: keeps other boxes off the interface */
    unsigned mtu;                 /* when it was opened */
    char name[16];
    char netns[128];
};

/* Opens the port that `text` names. 0, or an exit status (nc_exit) with a one-line reason. */
int port_open(struct port *port, const char *text, const struct port_settings *settings, char *why, size_t why_size);

/* A port that is not open (as after {0}) is left alone. */
void port_close(struct port *port);

/* Reads one packet, header first. Returns its bytes, 0 when nothing waits, -1 when the port is gone for good. A packet that
 * the kernel cannot express with a virtio-net header (a tunnelled super-packet) or that does not fit comes as a header
 * without a frame, which nc_super_read refuses and the box counts as malformed. */
ssize_t port_read(const struct port *port, void *buf, size_t size);

/* True when the port took the run. `defer`: let another processor take it from there, where that is possible; what is
 * written without it overtakes what that processor has not got to. */
bool port_write(const struct port *port, const struct nc_run *run, bool defer);

/* Frames that the kernel dropped because the box did not read fast enough. */
uint64_t port_ring_drops(const struct port *port);

/* One line in `warning` when both ports are open and their MTUs differ, so that packets of the larger could not leave at
 * the smaller. Returns whether there is one. */
bool port_mtu_warning(const struct port *a, const struct port *b, char *warning, size_t warning_size);

#endif
