/* A port of a box in the kernel: an interface whose queueing discipline is the direction whose packets leave there.
 * This process neither reads nor writes it. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel_calls.h"
#include "port_kind.h"

/* Sets the discipline of an interface: RTM_NEWQDISC replaces the present one by ours, RTM_DELQDISC removes it. */
static int ask(int sock, uint16_t type, uint16_t flags, int index, const struct comet_kernel_attach *attach)
{
    struct {
        struct nlmsghdr header;
        struct tcmsg qdisc;
        struct rtattr kind;
        char name[8];
        struct rtattr options;
        struct comet_kernel_attach attach;
    } request = {.header = {.nlmsg_len = sizeof request,
                            .nlmsg_type = type,
                            .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)},
                 .qdisc = {.tcm_ifindex = index, .tcm_parent = TC_H_ROOT},
                 .kind = {sizeof request.kind + sizeof COMET_KERNEL_DISCIPLINE, TCA_KIND},
                 .name = COMET_KERNEL_DISCIPLINE,
                 .options = {sizeof request.options + sizeof request.attach, TCA_OPTIONS},
                 .attach = *attach};
    return port_netlink_ask(sock, &request, sizeof request);
}

static void kernel_close(struct port *port)
{
    const struct comet_kernel_attach none = {.file = -1};
    if (port->claim >= 0)
        ask(port->fd, RTM_DELQDISC, 0, port->claim, &none);
    close(port->fd);
}

static int kernel_open(struct port *port, const struct port_settings *settings, struct nc_error *error)
{
    const struct comet_kernel_attach attach = {.file = settings->kernel_file, .direction = settings->leaves};
    struct ifreq mtu, index;
    port->fd = port_netlink_open();
    int failed = port->fd < 0 || port_interface_ioctl(port->fd, SIOCGIFMTU, &mtu, port->name) < 0 ||
                 port_interface_ioctl(port->fd, SIOCGIFINDEX, &index, port->name) < 0 ||
                 ask(port->fd, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, index.ifr_ifindex, &attach) < 0;
    if (failed) {
        nc_fail(error, NC_EXIT_MISSING, "--home kernel: cannot make the discipline of '%s': %s", port->name,
                strerror(errno));
        if (port->fd >= 0)
            close(port->fd);
        return -1;
    }
    port->mtu = (unsigned)mtu.ifr_mtu;
    port->claim = index.ifr_ifindex;
    return 0;
}

static uint64_t kernel_ring_drops(const struct port *port)
{
    (void)port;
    return 0; /* nobody reads too slowly */
}

const struct port_kind port_kernel = {
    .prefix = "if:", .open = kernel_open, .close = kernel_close, .ring_drops = kernel_ring_drops};
