/* A TAP: the host keeps its offloads on, because the TAP reports that it accepts super-packets.
 *
 * A write to a TAP runs the host's whole receiving stack in the writer. So that another processor can do that when the
 * box has no time left, the TAP gets a second queue with NAPI, which a separate kernel thread polls ("threaded").
 * Packets written there wait in that queue; the thread takes them in batches, with GRO if the host has GRO on. The
 * queue is chosen for each write. Packets that the host sends always go to the first queue, by a BPF program of two
 * instructions, so there is one ring to read and nothing overtakes. If the kernel or the machine does not support this,
 * the TAP has one queue.
 * Rejected: NAPI for everything. Waking its thread adds tens of µs to a single packet. Rejected: receive packet
 * steering. It is bound to a processor by number, and takes one interrupt per packet. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <linux/mount.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "nc_log.h"
#include "port_kind.h"

#ifndef TUN_F_USO4 /* Linux 6.2 */
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

/* A TAP orphans packets as they enter its ring, so TCP's small-queue limit does not slow the sender down. The ring must
 * therefore hold a whole congestion window. */
enum { RING_PACKETS = 262144 };

static int set_offloads(int fd)
{
    unsigned offloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    if (ioctl(fd, TUNSETOFFLOAD, offloads | TUN_F_USO4 | TUN_F_USO6) == 0)
        return 0;
    return ioctl(fd, TUNSETOFFLOAD, offloads); /* kernels before 6.2: UDP arrives as wire packets */
}

/* Opens a queue of the TAP; the first one makes the TAP. -1 with errno. */
static int open_queue(const char *name, int flags)
{
    struct ifreq request = {.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | flags)};
    int header = NC_VNET_LEN, fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) == 0 && ioctl(fd, TUNSETVNETHDRSZ, &header) == 0 && set_offloads(fd) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int create(const char *name, int flags, struct nc_error *error)
{
    int fd = open_queue(name, flags);
    if (fd >= 0)
        return fd;
    if (access("/dev/net/tun", R_OK | W_OK) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "/dev/net/tun: %s; load the tun module and run as root",
                       strerror(errno));
    return nc_fail(error, NC_EXIT_MISSING, "cannot create TAP '%s': %s%s", name, strerror(errno),
                   errno == EBUSY   ? "; the name is taken in that namespace"
                   : errno == EPERM ? "; needs CAP_NET_ADMIN (run as root)"
                                    : "");
}

/* Steers all packets that the host sends to queue 0. */
static bool steer_to_first(int fd)
{
    const struct bpf_insn zero[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
                                    {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr program = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
                              .insn_cnt = sizeof zero / sizeof zero[0],
                              .insns = (uintptr_t)zero,
                              .license = (uintptr_t)"GPL"};
    int loaded = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &program, sizeof program);
    if (loaded < 0)
        return false;
    bool ok = ioctl(fd, TUNSETSTEERINGEBPF, &loaded) == 0;
    close(loaded);
    return ok;
}

/* Gives the interface's NAPI a kernel thread. sysfs shows the interfaces of the namespace in which it was mounted, so
 * we mount it for ourselves, without attaching it to the file system. */
static bool set_threaded(const char *name)
{
    char path[64];
    int context = (int)syscall(SYS_fsopen, "sysfs", FSOPEN_CLOEXEC), mount = -1, file = -1;
    if (context >= 0 && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
    snprintf(path, sizeof path, "class/net/%s/threaded", name);
    if (mount >= 0)
        file = openat(mount, path, O_WRONLY | O_CLOEXEC);
    bool ok = file >= 0 && write(file, "1", 1) == 1;
    const int all[] = {context, mount, file};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] >= 0)
            close(all[i]);
    return ok;
}

/* Opens the queue for deferred writes. -1: not possible here; the TAP then has one queue. */
static int open_napi_queue(const struct port *port)
{
    if (!steer_to_first(port->fd))
        return -1;
    int fd = open_queue(port->name, IFF_MULTI_QUEUE | IFF_NAPI);
    if (fd >= 0 && !set_threaded(port->name)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int ask_netlink(const void *request, size_t size)
{
    int sock = port_netlink_open();
    if (sock < 0)
        return -1;
    int failed = port_netlink_ask(sock, request, size), saved = errno;
    close(sock);
    errno = saved;
    return failed;
}

/* Removes the queueing discipline before the ring. It would hold no packets and cost a lock for each packet, and the
 * default one takes memory for three rings for each of the 256 queues that a TAP may have. -1 with errno. */
static int set_no_queue(int index)
{
    struct {
        struct nlmsghdr header;
        struct tcmsg qdisc;
        struct rtattr kind;
        char name[8];
    } request = {.header = {.nlmsg_len = sizeof request,
                            .nlmsg_type = RTM_NEWQDISC,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
                 .qdisc = {.tcm_ifindex = index, .tcm_parent = TC_H_ROOT},
                 .kind = {sizeof request.kind + sizeof request.name, TCA_KIND},
                 .name = "noqueue"};
    return ask_netlink(&request, sizeof request);
}

/* Uses netlink, which root of a user namespace may use, too; only root of the machine may use SIOCSIFTXQLEN. -1 with
 * errno. */
static int set_ring_length(int index, unsigned packets)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
        struct rtattr length;
        uint32_t packets;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .link = {.ifi_index = index},
        .length = {sizeof request.length + sizeof request.packets, IFLA_TXQLEN},
        .packets = packets};
    return ask_netlink(&request, sizeof request);
}

static int bring_up(const char *name, unsigned mtu, struct nc_error *error)
{
    struct ifreq ifr = {.ifr_mtu = (int)mtu};
    const char *what = "set the MTU of";
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int failed = port_interface_ioctl(sock, SIOCSIFMTU, &ifr, name) < 0;
    if (!failed) {
        what = "set the queueing discipline of";
        failed = port_interface_ioctl(sock, SIOCGIFINDEX, &ifr, name) < 0 || set_no_queue(ifr.ifr_ifindex) < 0;
    }
    if (!failed) {
        int index = ifr.ifr_ifindex;
        what = "set the queue length of";
        failed = set_ring_length(index, RING_PACKETS) < 0;
        if (failed && errno == ERANGE) /* later kernels (6.12.117 for one) take no more than S16_MAX */
            failed = set_ring_length(index, INT16_MAX) < 0;
    }
    if (!failed) {
        what = "bring up";
        ifr = (struct ifreq){.ifr_flags = IFF_UP};
        failed = port_interface_ioctl(sock, SIOCSIFFLAGS, &ifr, name) < 0;
    }
    if (failed)
        nc_fail(error, NC_EXIT_FAILED, "cannot %s '%s': %s", what, name, strerror(errno));
    if (sock >= 0)
        close(sock);
    return failed ? -1 : 0;
}

static void tap_close(struct port *port)
{
    const int all[] = {port->napi_fd, port->fd, port->counters};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] >= 0)
            close(all[i]);
}

static int tap_open(struct port *port, const struct port_settings *settings, struct nc_error *error)
{
    /* with one processor there is no other to process the packets */
    bool napi = settings->napi == PORT_NAPI_AUTO && sysconf(_SC_NPROCESSORS_ONLN) > 1;
    port->fd = create(port->name, IFF_TUN_EXCL | (napi ? IFF_MULTI_QUEUE : 0), error);
    if (port->fd < 0)
        return -1;
    if (napi)
        port->napi_fd = open_napi_queue(port);
    if (bring_up(port->name, settings->mtu, error) < 0) {
        tap_close(port);
        return -1;
    }
    port->mtu = settings->mtu;
    /* bound to this namespace when opened, so it can be read from anywhere later */
    port->counters = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
    return 0;
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

static bool tap_write(const struct port *port, const struct nc_run *run, bool defer)
{
    int fd = defer && port->napi_fd >= 0 ? port->napi_fd : port->fd;
    struct iovec parts[2] = {{(void *)run->head, run->head_len}, {(void *)run->payload, run->payload_len}};
    return writev(fd, parts, run->payload_len ? 2 : 1) >= 0;
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
