#include "taps.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "nc_vnet.h"

enum { USO4 = 0x20, USO6 = 0x40 }; /* TUN_F_USO4, TUN_F_USO6 */

static void skip(const char *what)
{
    printf("skipped: no %s: %s\n", what, strerror(errno));
    exit(TAPS_SKIPPED);
}

void taps_enter_fresh_namespace(void)
{
    if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        skip("network namespace");
}

int taps_open(int mtu, struct ifreq *ifr)
{
    int header = NC_VNET_LEN, control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    *ifr = (struct ifreq){.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
    if (tap < 0 || ioctl(tap, TUNSETIFF, ifr) < 0)
        skip("TAP");
    CHECK(ioctl(tap, TUNSETVNETHDRSZ, &header) == 0);
    ifr->ifr_mtu = mtu;
    CHECK(ioctl(control, SIOCSIFMTU, ifr) == 0);
    ifr->ifr_flags = IFF_UP;
    CHECK(ioctl(control, SIOCSIFFLAGS, ifr) == 0);
    CHECK(ioctl(control, SIOCGIFINDEX, ifr) == 0);
    close(control);
    return tap;
}

bool taps_set_offloads(int tap, bool on)
{
    unsigned tso = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    if (on && ioctl(tap, TUNSETOFFLOAD, tso | USO4 | USO6) == 0)
        return true;
    CHECK(ioctl(tap, TUNSETOFFLOAD, on ? tso : 0) == 0);
    return false;
}

void taps_set_address(struct ifreq *ifr, const char *address)
{
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in in = {.sin_family = AF_INET};
    CHECK(inet_pton(AF_INET, address, &in.sin_addr) == 1);
    memcpy(&ifr->ifr_addr, &in, sizeof in);
    CHECK(ioctl(control, SIOCSIFADDR, ifr) == 0);
    in.sin_addr.s_addr = htonl(0xffffff00);
    memcpy(&ifr->ifr_netmask, &in, sizeof in);
    CHECK(ioctl(control, SIOCSIFNETMASK, ifr) == 0);
    close(control);
}
