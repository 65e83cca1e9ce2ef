/* An existing interface, to which the box attaches by a packet socket (packet(7)) with a virtio-net header. The socket
 * gets every packet that the interface receives, whatever its destination, but no packet that leaves there, so the box
 * never sees its own packets.
 *
 * The header of a packet socket has 10 bytes, two less than NC_VNET_LEN; scattered reads and gathered writes bridge the
 * difference. (Kernels from 6.4 on offer 12 bytes, which would be a second path to test and would save nothing.) The
 * kernel moves the outermost VLAN tag of a received frame into ancillary data. The box puts it back, so that it stays
 * transparent.
 * Rejected: a mapped ring (PACKET_RX_RING). Each of its slots would have to hold 64 KB. */
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/sock_diag.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "nc_bytes.h"
#include "nc_log.h"
#include "port_kind.h"

#ifndef PACKET_IGNORE_OUTGOING /* Linux 4.20 */
#define PACKET_IGNORE_OUTGOING 23
#endif

enum { HEADER_LEN = sizeof(struct virtio_net_hdr), TAG_LEN = 4, TAG_AT = NC_VNET_LEN + 2 * ETHER_ADDR_LEN };

/* The kernel doubles this for its own overhead. Packets that wait here do not slow a TCP sender down, so the buffer
 * must hold a whole congestion window, as a TAP's ring must (port_tap.c). */
enum { BUFFER_BYTES = 512 << 20 };

/* Finds the index and the MTU. -1 unless the interface exists, is Ethernet and is up. */
static int inspect(struct port *port, int *index, struct nc_error *error)
{
    struct ifreq ifr = {0};
    if (port_interface_ioctl(port->fd, SIOCGIFINDEX, &ifr, port->name) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "port 'if:%s': no such interface in %s%s; 'ip link' lists them",
                       port->name, port->netns[0] ? "namespace " : "this namespace", port->netns);
    *index = ifr.ifr_ifindex;
    if (port_interface_ioctl(port->fd, SIOCGIFHWADDR, &ifr, port->name) < 0 || ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
        return nc_fail(error, NC_EXIT_MISSING, "port 'if:%s': not an Ethernet interface; want a veth or a NIC",
                       port->name);
    if (port_interface_ioctl(port->fd, SIOCGIFFLAGS, &ifr, port->name) < 0 || !(ifr.ifr_flags & IFF_UP))
        return nc_fail(error, NC_EXIT_MISSING, "port 'if:%s': is down; 'ip link set %s up' first", port->name,
                       port->name);
    if (port_interface_ioctl(port->fd, SIOCGIFMTU, &ifr, port->name) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "port 'if:%s': no MTU: %s", port->name, strerror(errno));
    port->mtu = (unsigned)ifr.ifr_mtu;
    return 0;
}

/* Claims the interface for one box; with two boxes every packet would cross twice in both directions. The claim is an
 * abstract Unix address, which belongs to the network namespace and is released when the process ends. */
static int claim(struct port *port, int index, struct nc_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "comet-delay/if%d", index);
    port->claim = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (port->claim >= 0 && bind(port->claim, (struct sockaddr *)&address, len) == 0)
        return 0;
    if (errno == EADDRINUSE)
        return nc_fail(error, NC_EXIT_USAGE, "port 'if:%s': is a box's port already; want an interface for each",
                       port->name);
    return nc_fail(error, NC_EXIT_USAGE, "port 'if:%s': cannot claim it: %s", port->name, strerror(errno));
}

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* Root of a user namespace gets at most net.core.rmem_max. The box logs that once; packets for which there is no room
 * are counted as receive_ring drops, and the verdict names them. */
static bool set_buffers(const struct port *port)
{
    int got = 0;
    if (set(port->fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) &&
        set(port->fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES))
        return true;
    if (errno != EPERM || !set(port->fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES) ||
        !set(port->fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES))
        return false;
    getsockopt(port->fd, SOL_SOCKET, SO_RCVBUF, &got, &(socklen_t){sizeof got});
    nc_log("port 'if:%s': a receive buffer of %d KB, not %d KB, without root of the machine: `sysctl -w "
           "net.core.rmem_max=%d` there",
           port->name, got / 2048, BUFFER_BYTES / 1024, BUFFER_BYTES);
    return true;
}

/* Binds the socket last, so that it receives neither earlier packets nor those of other interfaces. */
static int attach(struct port *port, int index, struct nc_error *error)
{
    struct packet_mreq promiscuous = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = index};
    if (set(port->fd, SOL_PACKET, PACKET_VNET_HDR, 1) && set(port->fd, SOL_PACKET, PACKET_AUXDATA, 1) &&
        set(port->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) && set_buffers(port) &&
        setsockopt(port->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) == 0 &&
        bind(port->fd, (struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    return nc_fail(error, NC_EXIT_MISSING, "port 'if:%s': cannot attach: %s%s", port->name, strerror(errno),
                   errno == EPERM ? "; needs CAP_NET_ADMIN (run as root)" : "");
}

static void attached_close(struct port *port)
{
    if (port->fd >= 0)
        close(port->fd);
    if (port->claim >= 0)
        close(port->claim);
}

static int attached_open(struct port *port, const struct port_settings *settings, struct nc_error *error)
{
    (void)settings; /* the interface has its own */
    int index = 0;
    port->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (port->fd < 0)
        return nc_fail(error, NC_EXIT_MISSING, "port 'if:%s': packet socket: %s; needs CAP_NET_RAW (run as root)",
                       port->name, strerror(errno));
    if (inspect(port, &index, error) == 0 && claim(port, index, error) == 0 && attach(port, index, error) == 0)
        return 0;
    attached_close(port);
    return -1;
}

/* Inserts a tag between the addresses and the type of the frame of `len` bytes at buf, which has room for the tag. */
static void insert_tag(uint8_t *buf, size_t len, uint16_t protocol, uint16_t tag)
{
    struct virtio_net_hdr header;
    memcpy(&header, buf, sizeof header);
    if (header.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
        header.csum_start += TAG_LEN;
    if (header.hdr_len)
        header.hdr_len += TAG_LEN;
    memcpy(buf, &header, sizeof header);
    memmove(buf + TAG_AT + TAG_LEN, buf + TAG_AT, len - TAG_AT);
    nc_put16(buf + TAG_AT, protocol);
    nc_put16(buf + TAG_AT + 2, tag);
}

/* Inserts the tag that the kernel has removed. Returns the new length. */
static size_t restore_tag(uint8_t *buf, size_t len, struct msghdr *message)
{
    struct cmsghdr *ancillary = CMSG_FIRSTHDR(message);
    struct tpacket_auxdata aux;
    if (!ancillary || ancillary->cmsg_level != SOL_PACKET || ancillary->cmsg_type != PACKET_AUXDATA ||
        ancillary->cmsg_len < CMSG_LEN(sizeof aux))
        return len;
    memcpy(&aux, CMSG_DATA(ancillary), sizeof aux);
    if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
        return len;
    insert_tag(buf, len, aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : ETHERTYPE_VLAN,
               aux.tp_vlan_tci);
    return len + TAG_LEN;
}

/* The socket stays bound to an interface that is down, and works again when it comes up, but not to a deleted one. */
static bool is_bound(const struct port *port)
{
    struct sockaddr_ll address = {0};
    socklen_t len = sizeof address;
    return getsockname(port->fd, (struct sockaddr *)&address, &len) == 0 && address.sll_ifindex > 0;
}

static ssize_t attached_read(const struct port *port, void *room, size_t size)
{
    uint8_t *buf = room;
    _Alignas(struct cmsghdr) uint8_t ancillary[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    struct iovec parts[2] = {{buf, HEADER_LEN}, {buf + NC_VNET_LEN, size - NC_VNET_LEN - TAG_LEN}};
    struct msghdr message = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = ancillary, .msg_controllen = sizeof ancillary};
    ssize_t n = recvmsg(port->fd, &message, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0 && errno == EINVAL) /* a super-packet of a type that the header cannot express */
        return port_unreadable(buf);
    if (n < 0) /* ENETDOWN is reported once */
        return is_bound(port) ? 0 : -1;
    if (message.msg_flags & MSG_TRUNC || n < HEADER_LEN + ETHER_HDR_LEN)
        return port_unreadable(buf);
    memset(buf + HEADER_LEN, 0, NC_VNET_LEN - HEADER_LEN);
    /* A sender must not set DATA_VALID, "the checksum was verified" (virtio 1.3, 5.1.6.2): the next receiver verifies
     * it. */
    buf[offsetof(struct virtio_net_hdr, flags)] &= (uint8_t)~VIRTIO_NET_HDR_F_DATA_VALID;
    return (ssize_t)restore_tag(buf, NC_VNET_LEN + (size_t)n - HEADER_LEN, &message);
}

static bool attached_write(const struct port *port, const struct nc_run *run, bool defer)
{
    (void)defer; /* a packet socket cannot defer writes; veth and NICs pass packets to softirqs themselves */
    struct iovec parts[3] = {{(void *)run->head, HEADER_LEN},
                             {(void *)(run->head + NC_VNET_LEN), run->head_len - NC_VNET_LEN},
                             {(void *)run->payload, run->payload_len}};
    return writev(port->fd, parts, 3) >= 0;
}

/* SO_MEMINFO has the socket's drop count, as PACKET_STATISTICS has, but reading does not reset it. It wraps at 2^32. */
static uint64_t attached_ring_drops(const struct port *port)
{
    uint32_t values[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof values;
    if (getsockopt(port->fd, SOL_SOCKET, SO_MEMINFO, values, &len) < 0)
        return 0;
    return values[SK_MEMINFO_DROPS];
}

const struct port_kind port_attached = {"if:",         attached_open,  attached_close,
                                        attached_read, attached_write, attached_ring_drops};
