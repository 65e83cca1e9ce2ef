/* The connection to one host has failed. Everything that this host had sent before is in the socket to the other host.
 * That socket must be reset, so that its application learns that data are missing. But on a reset the kernel drops
 * unacknowledged data, so the reset waits until the other host has acknowledged everything.
 * Rejected: a FIN instead of the reset; an application takes a FIN for the end of the answer. */
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "nc_clock.h"
#include "relay_internal.h"

enum { QUICK_LOOKS = 100 }; /* reset the socket after this many checks, which relay_tick makes once a second */
#define LOOK_NS (2 * NC_NS_PER_MS)
#define PATIENCE_NS (60 * NC_NS_PER_S) /* with a host that takes nothing */

/* Returns how many octets the host has not acknowledged; a FIN counts as one. 0 also for a socket that has failed. */
static int unacknowledged(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    int octets = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 || info.tcpi_state == TCP_CLOSE)
        return 0;
    return ioctl(fd, SIOCOUTQ, &octets) < 0 ? 0 : octets;
}

void last_words(struct relay_connection *c, uint64_t now_ns)
{
    int left = unacknowledged(c->source.fd);
    if (left != c->unacknowledged)
        c->active_ns = now_ns;
    c->unacknowledged = left;
    if (!left || now_ns > c->active_ns + PATIENCE_NS)
        connection_end(c, NULL, true);
    else if (c->looks++ < QUICK_LOOKS)
        relay_look_later(c, now_ns + LOOK_NS);
}
