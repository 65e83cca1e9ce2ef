/* SYNs that are held, and the transparent listeners. */
#include "router.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "host_socket.h"
#include "nc_keeper.h"
#include "nc_log.h"
#include "relay_internal.h"
#include "tun.h"

enum { BUCKETS = 4096, BACKLOG = 4096, TURN_PACKETS = 64, LISTENERS = 2 };

/* The identity of a connection: family, ports and addresses as in the SYN. */
struct tuple {
    uint8_t version, zero;
    uint16_t ports[2];
    uint8_t addresses[2][16];
};

/* A SYN that waits: first for the peer's answer, then for the listener to accept its connection. */
struct held {
    struct held *dead; /* the loop's, once freed */
    struct held *next;
    struct router *router;
    struct relay_connection *connection;
    struct tuple tuple;
    bool replayed;
    size_t n;
    uint8_t packet[TUN_PACKET_MAX];
};

struct router {
    struct loop_source tun, listeners[LISTENERS];
    int raw[2]; /* for IPv4 and IPv6; -1: none */
    struct relay *relay;
    struct rules rules;
    struct held *buckets[BUCKETS];
    struct nc_slots held;
    struct router_counters counters;
};

static struct held **bucket(struct router *router, const struct tuple *tuple)
{
    const uint8_t *at = (const uint8_t *)tuple;
    uint32_t hash = 2166136261u; /* FNV-1a; half_open_max bounds what a flood can put into one bucket */
    for (size_t i = 0; i < sizeof *tuple; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return &router->buckets[(hash ^ hash >> 16) % BUCKETS];
}

static struct held *find(struct router *router, const struct tuple *tuple)
{
    struct held *held = *bucket(router, tuple);
    while (held && memcmp(&held->tuple, tuple, sizeof *tuple) != 0)
        held = held->next;
    return held;
}

static void forget(struct held *held)
{
    for (struct held **at = bucket(held->router, &held->tuple); *at; at = &(*at)->next)
        if (*at == held) {
            *at = held->next;
            return;
        }
}

static void gone(struct relay_connection *connection)
{
    forget(connection->front);
}

static void replay(struct held *held)
{
    held->replayed = true;
    held->router->counters.syns_replayed++;
    (void)!write(held->router->tun.fd, held->packet, held->n); /* the client repeats a lost SYN */
}

static void refuse(struct held *held, const struct lft_result *result)
{
    uint8_t out[TUN_PACKET_MAX];
    struct nc_packet decoded;
    struct router_counters *counters = &held->router->counters;
    nc_packet_decode(NC_LINK_RAW_IP, held->packet, held->n, held->n, &decoded);
    size_t n = tun_refusal(held->packet, held->n, &decoded, result, out);
    if (n)
        (void)!write(held->router->tun.fd, out, n);
    if (n == 0)
        counters->silent++;
    else if (out[decoded.ip_version == 6 ? 6 : 9] == 6)
        counters->refused_rst++;
    else
        counters->refused_icmp++;
}

static void answered(struct relay_connection *connection, const struct lft_result *refusal)
{
    struct held *held = connection->front;
    if (!refusal) {
        replay(held);
        return;
    }
    refuse(held, refusal);
    connection_end(connection, NULL, true);
}

static void fill_where(const struct nc_packet *syn, struct lft_open *where)
{
    *where = (struct lft_open){.family = syn->ip_version == 6 ? LFT_FAMILY_IPV6 : LFT_FAMILY_IPV4,
                               .flags = LFT_OPEN_KEEP_SOURCE,
                               .destination_port = syn->dst_port,
                               .source_port = syn->src_port};
    memcpy(where->source, syn->src, 16);
    memcpy(where->destination, syn->dst, 16);
}

/* When there is no room for the connection, forwards its SYN as if there were no gateway. */
static void pass(struct router *router, const struct nc_packet *syn, const uint8_t *packet, size_t n)
{
    router->counters.syns_routed += tun_route(router->raw[syn->ip_version == 6], syn, packet, n);
}

static void hold(struct router *router, const struct tuple *tuple, const struct nc_packet *syn, const uint8_t *packet,
                 size_t n)
{
    struct lft_open where;
    struct held *held = nc_slots_take(&router->held);
    struct share_key source = share_key(syn->ip_version, syn->src);
    struct relay_connection *connection = held ? connection_create(router->relay, -1, RELAY_OPENING, &source) : NULL;
    if (!connection) {
        nc_slots_give(held);
        pass(router, syn, packet, n);
        return;
    }
    *held = (struct held){.router = router, .connection = connection, .tuple = *tuple, .n = n};
    memcpy(held->packet, packet, n);
    struct held **at = bucket(router, tuple);
    held->next = *at;
    *at = held;
    connection->front = held;
    connection->answered = answered;
    connection->gone = gone;
    fill_where(syn, &where);
    if (connection_open(connection, &where) < 0) {
        connection_end(connection, NULL, true);
        pass(router, syn, packet, n);
    }
}

static void take_packet(struct router *router, const uint8_t *packet, size_t n)
{
    struct nc_packet syn;
    struct tuple tuple;
    if (nc_packet_decode(NC_LINK_RAW_IP, packet, n, n, &syn) != NC_DECODED || syn.l4 != NC_L4_TCP || syn.fragment ||
        (syn.tcp.flags & (NC_TCP_SYN | NC_TCP_ACK | NC_TCP_RST | NC_TCP_FIN)) != NC_TCP_SYN) {
        router->counters.bad_packets++;
        return;
    }
    memset(&tuple, 0, sizeof tuple);
    tuple.version = syn.ip_version;
    tuple.ports[0] = syn.src_port;
    tuple.ports[1] = syn.dst_port;
    memcpy(tuple.addresses[0], syn.src, 16);
    memcpy(tuple.addresses[1], syn.dst, 16);
    struct held *held = find(router, &tuple);
    if (!held) {
        router->counters.syns++;
        hold(router, &tuple, &syn, packet, n);
        return;
    }
    router->counters.syns_repeated++;
    memcpy(held->packet, packet, n);
    held->n = n;
    if (held->replayed)
        replay(held);
}

static void tun_ready(void *owner, uint32_t events)
{
    struct router *router = owner;
    uint8_t packet[TUN_PACKET_MAX + 1];
    (void)events;
    for (int i = 0; i < TURN_PACKETS; i++) {
        ssize_t n = read(router->tun.fd, packet, sizeof packet);
        if (n <= 0)
            return;
        if (n <= TUN_PACKET_MAX)
            take_packet(router, packet, (size_t)n);
        else
            router->counters.bad_packets++;
    }
}

static void tuple_of(const struct sockaddr_storage *client, const struct sockaddr_storage *server, struct tuple *tuple)
{
    const struct sockaddr_storage *const ends[2] = {client, server};
    memset(tuple, 0, sizeof *tuple);
    for (int i = 0; i < 2; i++)
        if (ends[i]->ss_family == AF_INET6) {
            const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)ends[i];
            tuple->version = 6;
            tuple->ports[i] = ntohs(v6->sin6_port);
            memcpy(tuple->addresses[i], &v6->sin6_addr, 16);
        } else {
            const struct sockaddr_in *v4 = (const struct sockaddr_in *)ends[i];
            tuple->version = 4;
            tuple->ports[i] = ntohs(v4->sin_port);
            memcpy(tuple->addresses[i], &v4->sin_addr, 4);
        }
}

/* The kernel has finished the handshake with the client: connects the client's socket to the stream, which is already
 * open. */
static void take_client(struct router *router, int fd, const struct sockaddr_storage *client, bool full)
{
    const struct lft_result none = {.code = LFT_RESULT_NO_RESOURCES};
    struct sockaddr_storage server;
    socklen_t size = sizeof server;
    struct tuple tuple;
    struct held *held = NULL;
    if (getsockname(fd, (struct sockaddr *)&server, &size) == 0) {
        tuple_of(client, &server, &tuple);
        held = find(router, &tuple);
    }
    if (full || !held || !held->replayed || connection_attach(held->connection, fd) < 0) {
        router->counters.unexpected_accepts += !full;
        host_socket_reset_on_close(fd, true);
        if (full) {
            relay_turn_away(router->relay, fd);
            if (held)
                connection_end(held->connection, &none, true);
            return;
        }
        close(fd);
        return;
    }
    struct relay_connection *connection = held->connection;
    host_socket_prepare(fd, router->relay->settings.socket_mark);
    forget(held);
    connection->front = NULL;
    connection->gone = NULL;
    loop_later_give(router->relay->loop, held);
    connection_start(connection);
}

static void listener_ready(void *owner, uint32_t events)
{
    struct router *router = owner;
    (void)events;
    for (unsigned l = 0; l < LISTENERS; l++)
        for (int i = 0; i < TURN_PACKETS && router->listeners[l].fd >= 0; i++) {
            struct sockaddr_storage client;
            bool full;
            int fd = relay_accept(router->relay, &router->listeners[l], &client, &full);
            if (fd < 0)
                break;
            take_client(router, fd, &client, full);
        }
}

/* Makes a transparent listener at *port. If *port is 0, the kernel chooses a port, and *port becomes that number. */
static int listen_transparent(int family, uint32_t mark, uint16_t *port)
{
    struct sockaddr_storage address = {.ss_family = (sa_family_t)family};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
    socklen_t size = family == AF_INET6 ? sizeof *v6 : sizeof *v4;
    int on = 1, fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    *(family == AF_INET6 ? &v6->sin6_port : &v4->sin_port) = htons(*port);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark); /* its connections inherit it */
    if (host_socket_make_transparent(fd, family) < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
        listen(fd, BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *port = ntohs(family == AF_INET6 ? v6->sin6_port : v4->sin_port);
    return fd;
}

static int open_listener(struct router *router, unsigned l, struct nc_error *error)
{
    static const int families[LISTENERS] = {AF_INET, AF_INET6};
    int fd = listen_transparent(families[l], router->rules.mark + RULES_MARK_OWN, &router->rules.port);
    struct loop_source *source = &router->listeners[l];
    *source = (struct loop_source){.fd = fd, .ready = listener_ready, .owner = router};
    if (fd < 0 && l > 0)
        return 0; /* a machine without IPv6 */
    if (fd < 0 || loop_add(router->relay->loop, source, EPOLLIN) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--router: transparent listener: %s (CAP_NET_ADMIN is needed)",
                       strerror(errno));
    return 0;
}

static int open_sockets(struct router *router, struct nc_error *error)
{
    router->tun = (struct loop_source){.fd = tun_open(router->rules.name, error), .ready = tun_ready, .owner = router};
    if (router->tun.fd < 0)
        return -1;
    for (unsigned l = 0; l < LISTENERS; l++)
        if (open_listener(router, l, error) < 0)
            return -1;
    if (loop_add(router->relay->loop, &router->tun, EPOLLIN) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "epoll: %s", strerror(errno));
    return 0;
}

struct router *router_open(struct relay *relay, const struct rules *rules, struct nc_error *error)
{
    struct router *router = calloc(1, sizeof *router);
    if (!router) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        return NULL;
    }
    router->relay = relay;
    router->rules = *rules;
    router->tun.fd = router->listeners[0].fd = router->listeners[1].fd = -1;
    router->raw[0] = tun_raw_open(AF_INET, rules->mark + RULES_MARK_OWN);
    router->raw[1] = tun_raw_open(AF_INET6, rules->mark + RULES_MARK_OWN);
    if (nc_slots_init(&router->held, sizeof(struct held), 2 * relay->settings.half_open_max) < 0) {
        nc_fail(error, NC_EXIT_MISSING, "--half-open %llu: out of memory",
                (unsigned long long)relay->settings.half_open_max);
        router_close(router);
        return NULL;
    }
    if (open_sockets(router, error) < 0 || nc_keeper_ask(rules->keeper, RULES_INSTALL, router->rules.port, error) < 0) {
        router_close(router);
        return NULL;
    }
    return router;
}

void router_close(struct router *router)
{
    if (!router)
        return;
    struct nc_error ignored;
    if (router->tun.fd >= 0)
        nc_keeper_ask(router->rules.keeper, RULES_REMOVE, 0, &ignored);
    for (unsigned l = 0; l < LISTENERS; l++)
        if (router->listeners[l].fd >= 0)
            close(router->listeners[l].fd);
    if (router->tun.fd >= 0)
        close(router->tun.fd);
    for (unsigned i = 0; i < 2; i++)
        if (router->raw[i] >= 0)
            close(router->raw[i]);
    nc_slots_destroy(&router->held);
    free(router);
}

void router_accelerate(struct router *router, bool on)
{
    struct nc_error error;
    if (nc_keeper_ask(router->rules.keeper, RULES_ACCELERATE, on, &error) < 0)
        nc_log("nft: %s", error.text);
}

const struct router_counters *router_counters(const struct router *router)
{
    return &router->counters;
}
