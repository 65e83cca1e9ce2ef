#include "access.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"

enum { V4_BITS = 96, ALL_BITS = 128, TEXT_MAX = 64 };

/* Loopback comes first, because --allow-loopback removes it. */
enum { LOOPBACKS = 4 };
static const char *const denied[] = {"127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128",
                                     /* link-local: most metadata services are there */
                                     "169.254.0.0/16", "fe80::/10",
                                     /* multicast, reserved and broadcast addresses */
                                     "224.0.0.0/3", "ff00::/8",
                                     /* metadata services elsewhere: AWS, Google, Alibaba, Azure, Oracle */
                                     "fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "168.63.129.16/32",
                                     "192.0.0.192/32"};
enum { DENIED = sizeof denied / sizeof denied[0] };
_Static_assert((int)DENIED <= (int)ACCESS_DEFAULTS, "more default networks than there is room for");

static void map(const uint8_t v4[4], uint8_t out[16])
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    memcpy(out, prefix, sizeof prefix);
    memcpy(out + 12, v4, 4);
}

/* Writes an address as 128 bits, so that one comparison serves IPv4 and IPv6 networks. */
static void bits_of(const struct sockaddr_storage *address, uint8_t out[16])
{
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b}; /* RFC 6052 */
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    if (address->ss_family != AF_INET6)
        map((const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr, out);
    else if (memcmp(&v6->sin6_addr, nat64, sizeof nat64) == 0)
        map(v6->sin6_addr.s6_addr + 12, out);
    else
        memcpy(out, &v6->sin6_addr, 16);
}

static bool holds(const struct access_network *network, const uint8_t at[16])
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    return memcmp(network->at, at, whole) == 0 && (!rest || (network->at[whole] ^ at[whole]) >> (8 - rest) == 0);
}

int access_network_parse(const char *option, const char *text, struct access_network *network, struct nc_error *error)
{
    char address[TEXT_MAX], *slash, *end = NULL;
    uint8_t v4[4];
    if (strlen(text) >= sizeof address)
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.60s': want a network, as 192.0.2.0/24", option, text);
    snprintf(address, sizeof address, "%s", text);
    if ((slash = strchr(address, '/')))
        *slash++ = '\0';
    bool is_v4 = inet_pton(AF_INET, address, v4) == 1;
    unsigned long most = is_v4 ? ALL_BITS - V4_BITS : ALL_BITS, bits = slash ? strtoul(slash, &end, 10) : most;
    if (is_v4)
        map(v4, network->at);
    else if (inet_pton(AF_INET6, address, network->at) != 1)
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.60s': want a network, as 192.0.2.0/24 or 2001:db8::/32", option,
                       text);
    if (slash && (!*slash || *end || *slash < '0' || *slash > '9' || bits > most))
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.60s': want a prefix of 0 to %lu bits", option, text, most);
    network->bits = (uint8_t)(is_v4 ? bits + V4_BITS : bits);
    for (unsigned bit = network->bits; bit < ALL_BITS; bit++)
        if (network->at[bit / 8] >> (7 - bit % 8) & 1)
            return nc_fail(error, NC_EXIT_USAGE, "--%s '%.60s': want zeros behind the prefix of %lu bits", option, text,
                           bits);
    return 0;
}

static int add(struct access *access, const char *option, const char *text, bool allowed, struct nc_error *error)
{
    struct access_network *network = &access->network[access->n];
    if (access_network_parse(option, text, network, error) < 0)
        return -1;
    network->allowed = allowed;
    access->n++;
    return 0;
}

/* The networks are added in rising order of precedence: of two equal prefixes the later one counts. */
int access_init(struct access *access, bool loopback, const struct nc_strings *allow, const struct nc_strings *deny,
                struct nc_error *error)
{
    access->n = 0;
    for (size_t i = loopback ? LOOPBACKS : 0; i < DENIED; i++)
        if (add(access, "deny", denied[i], false, error) < 0)
            return -1;
    for (size_t i = 0; allow && i < allow->n; i++)
        if (add(access, "allow", allow->at[i], true, error) < 0)
            return -1;
    for (size_t i = 0; deny && i < deny->n; i++)
        if (add(access, "deny", deny->at[i], false, error) < 0)
            return -1;
    return 0;
}

bool access_allows(const struct access *access, const struct sockaddr_storage *destination)
{
    uint8_t at[16];
    bool allowed = true;
    unsigned longest = 0;
    bits_of(destination, at);
    for (unsigned i = 0; i < access->n; i++)
        if (access->network[i].bits >= longest && holds(&access->network[i], at)) {
            longest = access->network[i].bits;
            allowed = access->network[i].allowed;
        }
    return allowed;
}

/* True for an address of this machine. For packets to such an address the kernel chooses the same address, or a
 * loopback address, as the source. */
static bool is_own(const struct sockaddr_storage *address)
{
    struct sockaddr_storage chosen = {0};
    uint8_t asked_at[16], chosen_at[16];
    socklen_t size = sizeof chosen;
    int fd = socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = fd >= 0 && connect(fd, (const struct sockaddr *)address, address_bytes(address)) == 0 &&
                 getsockname(fd, (struct sockaddr *)&chosen, &size) == 0;
    if (fd >= 0)
        close(fd);
    if (!found)
        return false;
    bits_of(address, asked_at);
    bits_of(&chosen, chosen_at);
    return memcmp(asked_at, chosen_at, sizeof asked_at) == 0 || address_is_loopback(&chosen);
}

bool access_is_client(const struct access *defaults, const struct sockaddr_storage *source)
{
    return access_allows(defaults, source) && !is_own(source);
}
