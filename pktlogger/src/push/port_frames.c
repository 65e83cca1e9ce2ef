/* The port of frames (port.h): a packet socket at an interface. A frame is sent directly from the mapped capture.
 * Octets that the capture cut off are sent as zeros. */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nc_netns.h"
#include "port.h"

enum { SEND_BUFFER = 8 << 20, HEADER = 14, TAG = 4 };

struct frames_port {
    struct pl_port port;
    int fd;
    uint32_t longest; /* longest frame that the interface takes */
    const struct pl_replay_frames *frames;
    struct mmsghdr messages[PL_BATCH_MAX];
    struct iovec parts[PL_BATCH_MAX][2];
};

static int send_batch(struct pl_port *base, const struct pl_departure *batch, size_t n, struct nc_error *error)
{
    struct frames_port *port = (struct frames_port *)base;
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        if (batch[i].end) /* a replay needs no end packets, because its receiver is not a sink */
            continue;
        const struct pl_replay_frame *frame = &port->frames->at[batch[i].number];
        if (frame->wire > port->longest) {
            base->counts.too_long++;
            base->counts.too_long_bytes += frame->wire;
            continue;
        }
        port->parts[made][0] = (struct iovec){(void *)(uintptr_t)frame->data, frame->captured};
        port->parts[made][1] = (struct iovec){base->memory, frame->wire - frame->captured};
        port->messages[made].msg_hdr =
            (struct msghdr){.msg_iov = port->parts[made], .msg_iovlen = frame->wire > frame->captured ? 2 : 1};
        made++;
    }
    return pl_port_send_all(base, port->fd, port->messages, made, error);
}

static void close_port(struct pl_port *base)
{
    struct frames_port *port = (struct frames_port *)base;
    if (port->fd >= 0)
        close(port->fd);
    free(base->memory);
    free(port);
}

static int bind_to(struct frames_port *port, const char *name, struct nc_error *error)
{
    int room = SEND_BUFFER;
    port->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (port->fd < 0)
        return nc_fail(error, NC_EXIT_MISSING,
                       "--interface '%s': no packet socket (%s); run as root or give CAP_NET_RAW", name,
                       strerror(errno));
    setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room); /* optional */
    struct sockaddr_ll place = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
    if (place.sll_ifindex == 0)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': no such interface; 'ip link' lists them", name);
    struct ifreq request = {.ifr_mtu = 0};
    memcpy(request.ifr_name, name, strlen(name)); /* the name fits, because the name of an interface does */
    if (ioctl(port->fd, SIOCGIFMTU, &request) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': no MTU: %s", name, strerror(errno));
    port->longest = (uint32_t)request.ifr_mtu + HEADER + TAG;
    if (ioctl(port->fd, SIOCGIFHWADDR, &request) < 0 ||
        (request.ifr_hwaddr.sa_family != ARPHRD_ETHER && request.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK))
        return nc_fail(error, NC_EXIT_USAGE, "--interface '%s': has no Ethernet header, which the frames begin with",
                       name);
    if (bind(port->fd, (const struct sockaddr *)&place, sizeof place) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%s': %s", name, strerror(errno));
    return 0;
}

static int open_in_namespace(struct frames_port *port, const char *spec, struct nc_error *error)
{
    char name[64];
    const char *netns;
    int fd = -1, previous = -1;
    if (nc_netns_split(spec, name, sizeof name, &netns) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--interface '%.80s': want NAME or NAME@NETNS", spec);
    if (netns && (fd = nc_netns_open(netns, error)) < 0) {
        error->status = NC_EXIT_MISSING;
        return -1;
    }
    if (netns && (previous = nc_netns_enter(fd)) < 0) {
        close(fd);
        return nc_fail(error, NC_EXIT_MISSING, "--interface '%.80s': cannot enter the namespace: %s", spec,
                       strerror(errno));
    }
    int status = bind_to(port, name, error);
    if (netns) {
        nc_netns_leave(previous);
        close(fd);
    }
    return status;
}

static const struct pl_port_ops ops = {.send = send_batch, .close = close_port};

struct pl_port *pl_port_frames(const struct pl_port_settings *settings, struct nc_error *error)
{
    struct frames_port *port = calloc(1, sizeof *port);
    if (!port || pl_port_init(&port->port, &ops, settings, settings->replayed->largest) < 0) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        free(port);
        return NULL;
    }
    port->fd = -1;
    port->frames = settings->replayed;
    if (open_in_namespace(port, settings->interface, error) == 0)
        return &port->port;
    close_port(&port->port);
    return NULL;
}
