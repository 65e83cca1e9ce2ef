/* A port of the box. Super-packets arrive and leave with a virtio-net header (nc_vnet.h) before them, so that a 64 KB
 * super-packet crosses in one read and one write. There are two kinds:
 *   tap:NAME[@NETNS]  a TAP, made in a host's namespace as that host's NIC; removed with the box
 *   if:NAME[@NETNS]   an existing Ethernet interface (veth, physical NIC) that the box attaches to and leaves as it was
 * A port does not change after port_open, so different threads may read it, write it and read its counter. */
#ifndef COMET_PORT_H
#define COMET_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nc_error.h"
#include "nc_vnet.h"

struct port_kind;

/* Whether another processor may run the receiving stack of a TAP's host (`defer` of port_write). */
enum port_napi { PORT_NAPI_AUTO, PORT_NAPI_OFF };

struct port_settings {
    unsigned mtu; /* of a TAP; an attached interface keeps its own MTU */
    enum port_napi napi;
    int kernel_file; /* descriptor of the box in the kernel (kernel_calls.h); -1: this process moves the packets */
    unsigned leaves; /* the direction of that box whose packets leave at this port */
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

/* Opens the port that `text` names. 0, or -1 with the error. */
int port_open(struct port *port, const char *text, const struct port_settings *settings, struct nc_error *error);

/* Does nothing to a port that is not open (as after {0}). */
void port_close(struct port *port);

/* Reads one packet, header first. Returns its length, 0 when no packet waits, -1 when the interface was deleted. The
 * kernel cannot describe some packets by a virtio-net header (a super-packet in a tunnel). For such a packet, and for
 * one that does not fit, this returns a header without a frame, which nc_super_read refuses and the box counts as
 * malformed. */
ssize_t port_read(const struct port *port, void *buf, size_t size);

/* True when the port accepted the run. With `defer` another processor processes the run, if that is possible. A run
 * written without `defer` overtakes runs that that processor has not yet processed. */
bool port_write(const struct port *port, const struct nc_run *run, bool defer);

/* Frames that the kernel dropped because the box did not read fast enough. */
uint64_t port_ring_drops(const struct port *port);

/* Writes one line to `warning` when both ports are open and their MTUs differ, because packets from the port with the
 * larger MTU may be too large for the other. Returns whether it did. */
bool port_mtu_warning(const struct port *a, const struct port *b, char *warning, size_t warning_size);

#endif
