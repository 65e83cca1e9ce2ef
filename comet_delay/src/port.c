#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nc_log.h"
#include "nc_netns.h"

#ifndef TUN_F_USO4 /* Linux 6.2 */
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

/* A TAP orphans packets as they enter its ring, so TCP's small-queue limit does not hold the sender back: the ring must
 * take what the congestion window lets out at once. */
enum { RING_PACKETS = 16384 };

static int set_offloads(int fd)
{
    unsigned offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    if (ioctl(fd, TUNSETOFFLOAD, offloads | TUN_F_USO4 | TUN_F_USO6) == 0)
        return 0;
    return ioctl(fd, TUNSETOFFLOAD, offloads); /* kernels before 6.2: UDP comes in wire packets */
}

static int create_tap(const char *name, char *why, size_t why_size)
{
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        snprintf(why, why_size, "/dev/net/tun: %s; load the tun module and run as root", strerror(errno));
        return -1;
    }
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    int header = NC_VNET_LEN;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) == 0 && ioctl(fd, TUNSETVNETHDRSZ, &header) == 0 && set_offloads(fd) == 0)
        return fd;
    snprintf(why, why_size, "cannot create TAP '%s': %s%s", name, strerror(errno),
             errno == EBUSY ? "; the name is taken in that namespace" : errno == EPERM ? "; needs CAP_NET_ADMIN (run as root)" : "");
    close(fd);
    return -1;
}

static int interface_ioctl(unsigned long request, struct ifreq *ifr, const char *name)
{
    snprintf(ifr->ifr_name, sizeof ifr->ifr_name, "%s", name);
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return -1;
    int result = ioctl(sock, request, ifr), saved = errno;
    close(sock);
    errno = saved;
    return result;
}

static int bring_up(const char *name, unsigned mtu, char *why, size_t why_size)
{
    struct ifreq ifr = {.ifr_mtu = (int)mtu};
    const char *what = "set the MTU of";
    int failed = interface_ioctl(SIOCSIFMTU, &ifr, name) < 0;
    if (!failed) {
        what = "set the queue length of";
        ifr = (struct ifreq){.ifr_qlen = RING_PACKETS};
        failed = interface_ioctl(SIOCSIFTXQLEN, &ifr, name) < 0;
    }
    if (!failed) {
        what = "bring up";
        ifr = (struct ifreq){.ifr_flags = IFF_UP};
        failed = interface_ioctl(SIOCSIFFLAGS, &ifr, name) < 0;
    }
    if (failed)
        snprintf(why, why_size, "cannot %s '%s': %s", what, name, strerror(errno));
    return failed ? -1 : 0;
}

/* In the port's namespace. */
static int open_here(struct port *port, unsigned mtu, char *why, size_t why_size)
{
    port->fd = create_tap(port->name, why, why_size);
    if (port->fd < 0)
        return NC_EXIT_MISSING;
    if (bring_up(port->name, mtu, why, why_size) < 0) {
        close(port->fd);
        return NC_EXIT_FAILED;
    }
    /* bound to this namespace when opened, so it can be read from anywhere later */
    port->counters = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
    return 0;
}

int port_open(struct port *port, const char *text, unsigned mtu, char *why, size_t why_size)
{
    const char *netns = NULL;
    *port = (struct port){.fd = -1, .counters = -1};
    if (strncmp(text, "tap:", 4) != 0 || nc_netns_split(text + 4, port->name, sizeof port->name, &netns) < 0) {
        snprintf(why, why_size, "port '%.80s': want tap:NAME or tap:NAME@NETNS, NAME of 1 to 15 characters", text);
        return NC_EXIT_USAGE;
    }
    if (!netns)
        return open_here(port, mtu, why, why_size);
    snprintf(port->netns, sizeof port->netns, "%s", netns);
    int fd = nc_netns_open(netns, why, why_size);
    if (fd < 0)
        return NC_EXIT_USAGE;
    int previous = nc_netns_enter(fd);
    close(fd);
    if (previous < 0) {
        snprintf(why, why_size, "cannot enter namespace '%s': %s (run as root)", netns, strerror(errno));
        return NC_EXIT_MISSING;
    }
    int status = open_here(port, mtu, why, why_size);
    nc_netns_leave(previous);
    return status;
}

void port_close(struct port *port)
{
    if (port->fd >= 0)
        close(port->fd);
    if (port->counters >= 0)
        close(port->counters);
    port->fd = port->counters = -1;
}

ssize_t port_read(const struct port *port, void *buf, size_t size)
{
    ssize_t n = read(port->fd, buf, size);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

bool port_write(const struct port *port, const struct nc_run *run)
{
    struct iovec parts[2] = {{(void *)run->head, run->head_len}, {(void *)run->payload, run->payload_len}};
    return writev(port->fd, parts, run->payload_len ? 2 : 1) >= 0;
}

uint64_t port_ring_drops(const struct port *port)
{
    char table[16384], line_start[24];
    ssize_t n = port->counters < 0 ? -1 : pread(port->counters, table, sizeof table - 1, 0);
    if (n <= 0)
        return 0;
    table[n] = '\0';
    int length = snprintf(line_start, sizeof line_start, "%s:", port->name);
    for (char *line = table; line; line = strchr(line, '\n')) {
        line += strspn(line, " \n");
        if (strncmp(line, line_start, (size_t)length) == 0) {
            unsigned long long drops = 0;
            /* eight receive columns, then transmit bytes, packets, errors, drops: the host's transmit is our receive */
            if (sscanf(line + length, "%*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", &drops) == 1)
                return drops;
        }
    }
    return 0;
}
