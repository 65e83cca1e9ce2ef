/* A TAP: the host keeps its offloads on, because the TAP says that it can take super-packets. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nc_log.h"
#include "port_kind.h"

#ifndef TUN_F_USO4 /* Linux 6.2 */
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

/* A TAP orphans packets as they enter its ring, so TCP's small-queue limit does not hold the sender back: the ring must
 * take what the congestion window lets out at once. */
enum { RING_PACKETS = 65536 };

static int set_offloads(int fd)
{
    unsigned offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    if (ioctl(fd, TUNSETOFFLOAD, offloads | TUN_F_USO4 | TUN_F_USO6) == 0)
        return 0;
    return ioctl(fd, TUNSETOFFLOAD, offloads); /* kernels before 6.2: UDP comes in wire packets */
}

static int create(const char *name, char *why, size_t why_size)
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

static int bring_up(const char *name, unsigned mtu, char *why, size_t why_size)
{
    struct ifreq ifr = {.ifr_mtu = (int)mtu};
    const char *what = "set the MTU of";
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int failed = port_interface_ioctl(sock, SIOCSIFMTU, &ifr, name) < 0;
    if (!failed) {
        what = "set the queue length of";
        ifr = (struct ifreq){.ifr_qlen = RING_PACKETS};
        failed = port_interface_ioctl(sock, SIOCSIFTXQLEN, &ifr, name) < 0;
    }
    if (!failed) {
        what = "bring up";
        ifr = (struct ifreq){.ifr_flags = IFF_UP};
        failed = port_interface_ioctl(sock, SIOCSIFFLAGS, &ifr, name) < 0;
    }
    if (failed)
        snprintf(why, why_size, "cannot %s '%s': %s", what, name, strerror(errno));
    if (sock >= 0)
        close(sock);
    return failed ? -1 : 0;
}

static int tap_open(struct port *port, unsigned mtu, char *why, size_t why_size)
{
    port->fd = create(port->name, why, why_size);
    if (port->fd < 0)
        return NC_EXIT_MISSING;
    if (bring_up(port->name, mtu, why, why_size) < 0) {
        close(port->fd);
        return NC_EXIT_FAILED;
    }
    port->mtu = mtu;
    /* bound to this namespace when opened, so it can be read from anywhere later */
    port->counters = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
    return NC_EXIT_OK;
}

static void tap_close(struct port *port)
{
    close(port->fd);
    if (port->counters >= 0)
        close(port->counters);
}

static ssize_t tap_read(const struct port *port, void *buf, size_t size)
{
    ssize_t n = read(port->fd, buf, size);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    return errno == EBADFD || errno == EIO ? -1 : port_unreadable(buf); /* deleted, or going to be */
}

static bool tap_write(const struct port *port, const struct nc_run *run)
{
    struct iovec parts[2] = {{(void *)run->head, run->head_len}, {(void *)run->payload, run->payload_len}};
    return writev(port->fd, parts, run->payload_len ? 2 : 1) >= 0;
}

static uint64_t tap_ring_drops(const struct port *port)
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

const struct port_kind port_tap = {"tap:", tap_open, tap_close, tap_read, tap_write, tap_ring_drops};
