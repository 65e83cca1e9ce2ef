/* Implements what the ports share. */
#include "port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nc_range.h"
#include "probe.h"

/* Eight messages of the UDP port. The kernel copies packets faster if their memory is still in the cache. */
enum { BATCH_BYTES = 1 << 19, HUGE_PAGE = 2 << 20 };

/* Memory of zeros, in huge pages if possible, so that copying packets needs few address translations. */
static uint8_t *huge_zeros(size_t bytes)
{
    size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint8_t *memory = aligned_alloc(HUGE_PAGE, whole);
    if (!memory)
        return NULL;
    madvise(memory, whole, MADV_HUGEPAGE); /* optional: works without huge pages */
    memset(memory, 0, whole);
    return memory;
}

int pl_port_init(struct pl_port *port, const struct pl_port_ops *ops, const struct pl_port_settings *settings,
                 size_t largest)
{
    port->ops = ops;
    port->flows = settings->flows;
    port->session = settings->session;
    port->stride = largest;
    port->batch_max = nc_min(nc_max(BATCH_BYTES / port->stride, 1), PL_BATCH_MAX);
    port->memory = huge_zeros(port->batch_max * port->stride);
    return port->memory ? 0 : -1;
}

uint8_t *pl_port_payload(struct pl_port *port, size_t i, size_t offset, const struct pl_departure *departure)
{
    uint8_t *at = port->memory + i * port->stride;
    struct pl_probe probe = {.session = port->session,
                             .flow = departure->flow,
                             .flows = port->flows,
                             .end = departure->end,
                             .sequence = departure->sequence,
                             .sent_ns = departure->sent_ns};
    pl_probe_write(&probe, at + offset);
    return at;
}

/* Decides after sendmmsg failed on its first message: 0: try again, 1: leave the message out, -1: give up. */
static int judge(struct pl_port *port, struct nc_error *error)
{
    switch (errno) {
    case EINTR:
        return 0;
    case ECONNREFUSED: /* this call has cleared an error of an earlier packet */
        port->counts.refused++;
        return 0;
    case ENOBUFS:
        port->counts.dropped++;
        return 1;
    default:
        return nc_fail(error, NC_EXIT_FAILED, "cannot send: %s", strerror(errno));
    }
}

int pl_port_send_all(struct pl_port *port, int fd, struct mmsghdr *messages, size_t n, struct nc_error *error)
{
    while (n > 0) {
        int sent = sendmmsg(fd, messages, (unsigned)n, 0);
        port->counts.calls++;
        if (sent < 0 && (sent = judge(port, error)) < 0)
            return -1;
        messages += sent;
        n -= (size_t)sent;
    }
    return 0;
}
