#include "tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "access.h"
#include "nc_bytes.h"

enum { IP4 = 20, IP6 = 40, TCP = 20, ICMP = 8, QUOTE4_MAX = 548, TTL = 64, ICMP_V4 = 1, ICMP_V6 = 58, ICMP_MTU = 1280 };
enum { UNREACHABLE_V4 = 3, UNREACHABLE_V6 = 1 }; /* types of ICMP */

static int bring_up(const char *name)
{
    struct ifreq request = {.ifr_mtu = 65535};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;
    if (fd < 0)
        return -1;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    failed = ioctl(fd, SIOCSIFMTU, &request) < 0;
    request.ifr_flags = IFF_UP;
    failed = failed || ioctl(fd, SIOCSIFFLAGS, &request) < 0;
    close(fd);
    return failed ? -1 : 0;
}

/* Explains why a TUN interface of this name cannot be made, and what to do. */
static const char *tun_advice(int error)
{
    switch (error) {
    case EBUSY:
        return "; another gateway here has this name: choose another --name for this one";
    case EINVAL:
        return "; another interface has this name: choose another --name for this gateway";
    case EPERM:
    case EACCES:
        return "; --router and --host want root or CAP_NET_ADMIN";
    case ENOENT:
    case ENODEV:
        return "; want the kernel's tun module ('modprobe tun') and /dev/net/tun";
    default:
        return "";
    }
}

int tun_open(const char *name, struct nc_error *error)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0 || bring_up(name) < 0) {
        int failed = errno;
        nc_fail(error, NC_EXIT_MISSING, "--name '%s': cannot make the TUN interface: %s%s", name, strerror(failed),
                tun_advice(failed));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

int tun_raw_open(int family, uint32_t mark)
{
    int fd = socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW); /* with headers of our own */
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool tun_route(int raw, const struct nc_packet *decoded, const uint8_t *packet, size_t n)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    bool six = decoded->ip_version == 6;
    memcpy(&v4.sin_addr, decoded->dst, 4);
    memcpy(&v6.sin6_addr, decoded->dst, 16);
    const struct sockaddr *to = six ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
    return raw >= 0 && sendto(raw, packet, n, 0, to, six ? sizeof v6 : sizeof v4) == (ssize_t)n;
}

static size_t ip_header(const struct nc_packet *syn, const uint8_t *from, uint8_t protocol, size_t payload,
                        uint8_t *out)
{
    if (syn->ip_version == 6) {
        memset(out, 0, IP6);
        out[0] = 0x60;
        nc_put16(out + 4, (uint16_t)payload);
        out[6] = protocol;
        out[7] = TTL;
        memcpy(out + 8, from, 16);
        memcpy(out + 24, syn->src, 16);
        return IP6;
    }
    memset(out, 0, IP4);
    out[0] = 0x45;
    nc_put16(out + 2, (uint16_t)(IP4 + payload));
    out[6] = 0x40;
    out[8] = TTL;
    out[9] = protocol;
    memcpy(out + 12, from, 4);
    memcpy(out + 16, syn->src, 4);
    uint16_t sum = nc_csum_fold(nc_csum_add(0, out, IP4));
    memcpy(out + 10, &sum, 2);
    return IP4;
}

/* Returns the transport checksum, which includes the pseudo-header of the packet to be sent. */
static uint16_t checksum(const struct nc_packet *syn, const uint8_t *from, uint8_t protocol, const uint8_t *at,
                         size_t n)
{
    size_t address = syn->ip_version == 6 ? 16 : 4;
    const uint8_t tail[4] = {0, protocol, (uint8_t)(n >> 8), (uint8_t)n};
    uint64_t sum = nc_csum_add(0, syn->src, address);
    sum = nc_csum_add(sum, from, address);
    sum = nc_csum_add(sum, tail, sizeof tail);
    return nc_csum_fold(nc_csum_add(sum, at, n));
}

/* Builds the RST that answers a SYN to a closed port (RFC 9293, 3.10.7.1). */
static size_t make_reset(const struct nc_packet *syn, uint8_t *out)
{
    size_t ip = ip_header(syn, syn->dst, 6, TCP, out);
    uint8_t *tcp = out + ip;
    memset(tcp, 0, TCP);
    nc_put16(tcp, syn->dst_port);
    nc_put16(tcp + 2, syn->src_port);
    nc_put32(tcp + 8, syn->tcp.seq + 1 + syn->payload_len);
    tcp[12] = TCP / 4 << 4;
    tcp[13] = NC_TCP_RST | NC_TCP_ACK;
    uint16_t sum = checksum(syn, syn->dst, 6, tcp, TCP);
    memcpy(tcp + 16, &sum, 2);
    return ip + TCP;
}

/* False for an address that no router can have. */
static bool blames_a_router(const struct nc_packet *syn, const uint8_t from[16])
{
    struct sockaddr_storage address = {.ss_family = syn->ip_version == 6 ? AF_INET6 : AF_INET};
    struct access defaults;
    struct nc_error ignored;
    if (syn->ip_version == 6)
        memcpy(&((struct sockaddr_in6 *)&address)->sin6_addr, from, 16);
    else
        memcpy(&((struct sockaddr_in *)&address)->sin_addr, from, 4);
    return access_init(&defaults, false, NULL, NULL, &ignored) == 0 && access_allows(&defaults, &address);
}

/* The error's source is the address from which the far gateway received it; when that is unknown, or cannot be a
 * router's, it is the server's address. Its type is always "destination unreachable". */
static size_t make_icmp(const uint8_t *packet, size_t n, const struct nc_packet *syn, const struct lft_result *why,
                        uint8_t code, uint8_t *out)
{
    const uint8_t *from = blames_a_router(syn, why->from) ? why->from : syn->dst;
    bool v6 = syn->ip_version == 6;
    size_t most = v6 ? ICMP_MTU - IP6 - ICMP : QUOTE4_MAX, quote = n < most ? n : most;
    uint8_t protocol = v6 ? ICMP_V6 : ICMP_V4;
    size_t ip = ip_header(syn, from, protocol, ICMP + quote, out);
    uint8_t *icmp = out + ip;
    memset(icmp, 0, ICMP);
    icmp[0] = v6 ? UNREACHABLE_V6 : UNREACHABLE_V4;
    icmp[1] = code;
    memcpy(icmp + ICMP, packet, quote);
    uint16_t sum =
        v6 ? checksum(syn, from, protocol, icmp, ICMP + quote) : nc_csum_fold(nc_csum_add(0, icmp, ICMP + quote));
    memcpy(icmp + 2, &sum, 2);
    return ip + ICMP + quote;
}

/* The peer reports the ICMP error that it received. Only errors that end a connect are passed on; others, such as a
 * redirect or an MTU chosen by the peer, become "host unreachable". */
static uint8_t told_code(const struct lft_result *result, bool v6)
{
    enum { HOST_V4 = 1, TOO_BIG_V4 = 4, LAST_V4 = 15, ADDRESS_V6 = 3, LAST_V6 = 8 };
    if (v6)
        return result->icmp_type == UNREACHABLE_V6 && result->icmp_code <= LAST_V6 ? result->icmp_code : ADDRESS_V6;
    bool good = result->icmp_type == UNREACHABLE_V4 && result->icmp_code <= LAST_V4 && result->icmp_code != TOO_BIG_V4;
    return good ? result->icmp_code : HOST_V4;
}

size_t tun_refusal(const uint8_t *syn, size_t n, const struct nc_packet *decoded, const struct lft_result *result,
                   uint8_t out[TUN_PACKET_MAX])
{
    bool v6 = decoded->ip_version == 6;
    switch (result->code) {
    case LFT_RESULT_REFUSED:
    case LFT_RESULT_RESET:
    case LFT_RESULT_NO_RESOURCES:
    case LFT_RESULT_STOPPED:
        return make_reset(decoded, out);
    case LFT_RESULT_NET_UNREACHABLE:
        return make_icmp(syn, n, decoded, result, 0, out);
    case LFT_RESULT_HOST_UNREACHABLE:
        return make_icmp(syn, n, decoded, result, v6 ? 3 : 1, out);
    case LFT_RESULT_NOT_ALLOWED:
        return make_icmp(syn, n, decoded, result, v6 ? 1 : 13, out);
    case LFT_RESULT_ICMP:
        return make_icmp(syn, n, decoded, result, told_code(result, v6), out);
    default:
        return 0; /* the client retries by its own timer; its next SYN passes once the tunnel is back */
    }
}
