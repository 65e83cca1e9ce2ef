#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nc_zone.h"

enum { HOST_MAX = 256 };

/* Splits a text at its last colon, unless it is a bare IPv6 address. -1: the text is malformed. */
static int split(const char *text, char host[HOST_MAX], char port[8])
{
    const char *colon = strrchr(text, ':'), *end = colon, *begin = text;
    if (text[0] == '[') {
        const char *bracket = strchr(text, ']');
        if (!bracket || (bracket[1] && bracket[1] != ':'))
            return -1;
        begin = text + 1;
        end = bracket;
        colon = bracket[1] ? bracket + 1 : NULL;
    } else if (!colon || strchr(text, ':') != colon) {
        end = text + strlen(text);
        colon = NULL;
    }
    if (end - begin >= HOST_MAX || (colon && (!colon[1] || strlen(colon + 1) > 5)))
        return -1;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    snprintf(port, 8, "%s", colon ? colon + 1 : "");
    return 0;
}

int address_resolve(const char *text, uint16_t default_port, bool passive, struct sockaddr_storage *out,
                    struct nc_error *error)
{
    char host[HOST_MAX], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)},
                    *found;
    if (split(text, host, port) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "'%.80s': want HOST:PORT or [IPV6]:PORT", text);
    if (!port[0])
        snprintf(port, sizeof port, "%u", default_port);
    int failed = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);
    if (failed)
        return nc_fail(error, NC_EXIT_USAGE, "'%.80s': %s", text, gai_strerror(failed));
    memset(out, 0, sizeof *out);
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (passive && nc_wants_zone((const struct sockaddr *)out))
        return nc_fail(error, NC_EXIT_USAGE, "'%.80s': " NC_ZONE_ADVICE, text);
    return 0;
}

socklen_t address_bytes(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void address_clear_port(struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = 0;
    else
        ((struct sockaddr_in *)address)->sin_port = 0;
}

static bool is_loopback4(uint32_t address)
{
    return address >> 24 == 127 || address >> 24 == 0;
}

bool address_is_loopback(const struct sockaddr_storage *address)
{
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (address->ss_family != AF_INET6)
        return is_loopback4(ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
    uint32_t mapped;
    memcpy(&mapped, v6->s6_addr + 12, sizeof mapped);
    return IN6_IS_ADDR_LOOPBACK(v6) || IN6_IS_ADDR_UNSPECIFIED(v6) ||
           (IN6_IS_ADDR_V4MAPPED(v6) && is_loopback4(ntohl(mapped)));
}

const char *address_text(const struct sockaddr_storage *address, char *out, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(out, size, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else if (address->ss_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(out, size, "%s:%u", host, ntohs(v4->sin_port));
    } else
        snprintf(out, size, "none");
    return out;
}

const char *address_bind_advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "; choose another port, or end the program that has this one ('ss -lntup' shows it)";
    case EADDRNOTAVAIL:
        return "; want an address of this machine ('ip address' lists them)";
    case EACCES:
    case EPERM:
        return "; want root, or CAP_NET_BIND_SERVICE for a port below 1024 and CAP_NET_RAW for --carriage esp";
    default:
        return "";
    }
}

uint32_t address_device_mtu(void)
{
    struct ifaddrs *all;
    uint32_t most = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || getifaddrs(&all) < 0) {
        if (fd >= 0)
            close(fd);
        return 1500;
    }
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        struct ifreq request = {0};
        if (!(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK))
            continue;
        snprintf(request.ifr_name, sizeof request.ifr_name, "%s", i->ifa_name);
        if (ioctl(fd, SIOCGIFMTU, &request) == 0 && (uint32_t)request.ifr_mtu > most)
            most = (uint32_t)request.ifr_mtu;
    }
    freeifaddrs(all);
    close(fd);
    return most ? most : 9000;
}
