/* Opens and closes a gateway, and derives the configuration of its parts from the settings. */
#include <linux/capability.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gateway_internal.h"
#include "nc_clock.h"
#include "nc_keeper.h"
#include "nc_log.h"
#include "nc_range.h"
#include "nc_sandbox.h"
#include "nc_zone.h"
#include "psk.h"

#define MB (UINT64_C(1) << 20)
enum { PAYLOAD_BASE = 1136 /* fits an MTU of 1280 with any of the headers */, TUNNEL_PORT = 2004 };

/* Returns the bandwidth-delay product: rate × expected round trip. Without a limit on the rate it assumes 2.5 Gbit/s,
 * and the result then bounds the data in flight. */
static uint64_t path_bytes(const struct settings *s)
{
    uint64_t rate = s->rate_bps ? s->rate_bps : UINT64_C(2500000000);
    return rate / 8 * (s->expected_rtt_ns / NC_NS_PER_US) / 1000000;
}

static uint32_t window_frames(const struct settings *s, uint32_t payload)
{
    uint64_t want = 8 * path_bytes(s) / payload, frames = 1 << 15;
    while (frames < want && frames < LFT_NUMBERS_OUTSTANDING_MAX / 2)
        frames *= 2;
    return (uint32_t)frames;
}

static void fill_link_config(const struct gateway *gateway, struct lft_link_config *config)
{
    const struct settings *s = &gateway->settings;
    int family = gateway->io_settings.local.ss_family;
    uint32_t mtu = (uint32_t)nc_max(s->mtu ? s->mtu : address_device_mtu(), SETTINGS_MTU_MIN),
             outer = io_outer_bytes(gateway->io_settings.carriage, family);
    size_t block = lft_cipher_block((enum lft_cipher)(s->cipher + 1)), payload = lft_payload_for(mtu - outer, block);
    payload = nc_min(payload, LFT_PAYLOAD_MAX);
    config->engine = (struct lft_engine_config){
        .recovery = (enum lft_recovery)s->recovery,
        .redundancy = settings_redundancy(s),
        .rate_mode = (enum lft_rate_mode)s->rate_mode,
        .rate_bps = s->rate_bps,
        .burst_ns = s->rate_burst_ns,
        .payload_max = (uint32_t)payload,
        .outer_bytes = outer,
        .window_frames = window_frames(s, (uint32_t)payload),
        .tx_memory_bytes = s->memory_tx_bytes ? s->memory_tx_bytes : 4 * MB + 2 * path_bytes(s),
        .rx_memory_bytes = s->memory_rx_bytes ? s->memory_rx_bytes : 40 * MB + 4 * path_bytes(s),
        .initial_rtt_ns = s->expected_rtt_ns,
        .fec_percent = (uint32_t)s->fec_percent,
        .keepalive_ns = nc_min(s->dead_ns / 5, 200 * NC_NS_PER_MS)};
    /* Streams whose connection has ended still wait for the peer's last chunk; they must not count against the limit of
     * connections. */
    config->session = (struct lft_session_config){.streams_max = (uint32_t)(s->sessions_max + s->sessions_max / 4 + 64),
                                                  .tx_memory_bytes = 12 * MB};
    struct nc_clock_pair clock = nc_clock_pair_read();
    config->handshake = (struct lft_handshake_config){.initiator = s->peer != NULL,
                                                      .cipher = (enum lft_cipher)(s->cipher + 1),
                                                      .psk = gateway->psk,
                                                      .name = s->gateway_name,
                                                      .peer_name = s->peer_name,
                                                      .clock_ns = clock.realtime_ns - clock.monotonic_ns};
    config->dead_ns = s->dead_ns;
    config->outage_max_ns = s->outage_max_ns;
    config->rekey_ns = s->rekey_ns;
}

/* Sets the address to listen at in io_settings. */
static int resolve_listen(struct gateway *gateway, struct nc_error *error)
{
    const struct settings *s = &gateway->settings;
    struct nc_error reason;
    gateway->io_settings = (struct io_settings){.carriage = (enum io_carriage)s->carriage,
                                                .socket_buffer_bytes = s->socket_buffer_bytes,
                                                .mark = (uint32_t)s->mark + RULES_MARK_OWN};
    if (address_resolve(s->listen, TUNNEL_PORT, true, &gateway->io_settings.local, &reason) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--listen %s", reason.text);
    return 0;
}

static int resolve_peer(const struct gateway *gateway, struct lft_address *peer, struct nc_error *error)
{
    const struct settings *s = &gateway->settings;
    struct nc_error reason;
    struct sockaddr_storage to;
    *peer = (struct lft_address){.n = 0};
    if (!s->peer)
        return 0;
    if (address_resolve(s->peer, TUNNEL_PORT, false, &to, &reason) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--peer %s", reason.text);
    if (nc_wants_zone((const struct sockaddr *)&to))
        return nc_fail(error, NC_EXIT_USAGE, "--peer '%s': " NC_ZONE_ADVICE, s->peer);
    if (to.ss_family != gateway->io_settings.local.ss_family)
        return nc_fail(error, NC_EXIT_USAGE,
                       "--peer '%s': not of --listen's address family; want both IPv4 or both IPv6 "
                       "(--listen [::]:2004)",
                       s->peer);
    if (s->carriage == IO_ESP)
        address_clear_port(&to);
    peer->n = (uint8_t)address_bytes(&to);
    memcpy(peer->at, &to, peer->n);
    return 0;
}

static int open_link(struct gateway *gateway, struct nc_error *error)
{
    struct lft_link_config config = {0};
    if (psk_read(&gateway->settings, gateway->psk, error) < 0 || resolve_listen(gateway, error) < 0 ||
        resolve_peer(gateway, &config.peer, error) < 0)
        return -1;
    fill_link_config(gateway, &config);
    gateway->link = lft_link_create(&config, nc_now_ns());
    lft_wipe(gateway->psk, sizeof gateway->psk); /* the handshake has its own copy */
    if (!gateway->link)
        return nc_fail(error, NC_EXIT_USAGE, "--cipher %s: not available, or no memory",
                       lft_cipher_names[gateway->settings.cipher]);
    uint32_t limit = config.engine.payload_max;
    pmtu_init(&gateway->pmtu, gateway->settings.mtu ? limit : PAYLOAD_BASE, limit);
    gateway->payload_applied = gateway->pmtu.good;
    lft_link_set_payload_max(gateway->link, gateway->pmtu.good);
    return 0;
}

static int open_proxies(struct gateway *gateway, struct nc_error *error)
{
    const struct nc_strings *const lists[] = {&gateway->settings.forwards, &gateway->settings.socks5,
                                              &gateway->settings.http_connect};
    for (unsigned kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < lists[kind]->n; i++) {
            struct proxy *proxy = proxy_open(gateway->relay, (enum proxy_kind)kind, lists[kind]->at[i], error);
            if (!proxy)
                return -1;
            gateway->proxies[gateway->proxies_n++] = proxy;
        }
    return 0;
}

/* Refuses an interface that does not exist: nft would accept it in rules, and no connection would ever be
 * accelerated. */
static int check_lan(const struct nc_strings *lan, struct nc_error *error)
{
    for (size_t i = 0; i < lan->n; i++)
        if (!if_nametoindex(lan->at[i]))
            return nc_fail(error, NC_EXIT_MISSING, "--lan '%.40s': no such interface; 'ip link' lists them",
                           lan->at[i]);
    return 0;
}

static int check_networks(const struct nc_strings *exclude, struct nc_error *error)
{
    struct access_network ignored;
    for (size_t i = 0; i < exclude->n; i++)
        if (access_network_parse("exclude", exclude->at[i], &ignored, error) < 0)
            return -1;
    return 0;
}

static struct rules rules_of(const struct gateway *gateway)
{
    const struct settings *s = &gateway->settings;
    return (struct rules){.name = s->name,
                          .mark = (uint32_t)s->mark,
                          .table = (uint32_t)s->table,
                          .router = s->router,
                          .host = s->host,
                          .lan = s->lan,
                          .exclude = s->exclude,
                          .keeper = gateway->keeper};
}

/* The keeper's acts: packet rules, and at the end the removal of the control socket from a directory that root owns. */
enum { KEEP_UNLINK = RULES_ACTS };
static int keep(void *context, uint32_t what, uint64_t value, struct nc_error *error)
{
    const struct gateway *gateway = context;
    struct rules rules = rules_of(gateway);
    if (what != KEEP_UNLINK)
        return rules_act(&rules, what, value, error);
    return gateway->settings.control ? unlink(gateway->settings.control) : 0;
}

void gateway_remove_control(struct gateway *gateway)
{
    struct nc_error ignored;
    nc_keeper_ask(gateway->keeper, KEEP_UNLINK, 0, &ignored);
}

int gateway_confine(struct gateway *gateway, struct nc_error *error)
{
    static const char *const names[] = {"/etc", "/run/systemd/resolve", "/run/resolvconf", "/usr/lib/ssl", NULL};
    const struct nc_sandbox limits = {.capabilities = gateway->router
                                                          ? UINT64_C(1) << CAP_NET_ADMIN | UINT64_C(1) << CAP_NET_RAW |
                                                                UINT64_C(1) << CAP_NET_BIND_SERVICE
                                                          : 0,
                                      .reads = names,
                                      .connects = true,
                                      .diagnoses = true};
    return nc_sandbox_enter(&limits, &gateway->settings.sandbox, &gateway->sandbox, error);
}

static int open_keeper(struct gateway *gateway, struct nc_error *error)
{
    const struct settings *s = &gateway->settings;
    if (!s->router && !s->host && !s->control)
        return 0;
    gateway->keeper = nc_keeper_open(keep, gateway, UINT64_C(1) << CAP_NET_ADMIN, error);
    return gateway->keeper ? 0 : -1;
}

static int open_router(struct gateway *gateway, struct nc_error *error)
{
    const struct settings *s = &gateway->settings;
    struct rules rules = rules_of(gateway);
    if (!s->router && !s->host)
        return 0;
    if (check_lan(&s->lan, error) < 0 || check_networks(&s->exclude, error) < 0)
        return -1;
    gateway->router = router_open(gateway->relay, &rules, error);
    return gateway->router ? 0 : -1;
}

static int open_relays(struct gateway *gateway, struct nc_error *error)
{
    const struct settings *s = &gateway->settings;
    struct relay_settings relay = {.sessions_max = s->sessions_max,
                                   .half_open_max = s->half_open_max,
                                   .half_open_ns = s->half_open_ns,
                                   .idle_ns = s->idle_ns,
                                   .host_rate_bps = s->host_rate_bps,
                                   .burst_ns = s->rate_burst_ns,
                                   .socket_mark = (uint32_t)s->mark + RULES_MARK_OWN,
                                   .transparent = s->router || s->host,
                                   .proxy_bypass = s->proxy_bypass};
    if (access_init(&relay.destinations, s->allow_loopback, &s->allow, &s->deny, error) < 0 ||
        access_init(&relay.sources, false, NULL, NULL, error) < 0)
        return -1;
    gateway->relay = relay_create(&relay, gateway->loop, lft_link_session(gateway->link));
    if (!gateway->relay)
        return nc_fail(error, NC_EXIT_MISSING, "out of memory");
    return open_proxies(gateway, error) < 0 ? -1 : open_router(gateway, error);
}

/* A connection takes a descriptor, and the look-up of a name three more (one per server). Without this bound one client
 * could use up all descriptors. Other clients would then wait in the kernel's accept queue, which does not share
 * fairly. */
static void heed_descriptors(struct settings *s)
{
    enum { OWN = 64 }; /* descriptors kept for the tunnel, the listeners and the clients of the control socket */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    uint64_t room = limit.rlim_cur > OWN ? limit.rlim_cur - OWN : 1, wanted = s->sessions_max + 3 * s->half_open_max;
    if (wanted <= room)
        return;
    s->sessions_max = nc_max(s->sessions_max * room / wanted, 1);
    s->half_open_max = nc_max(s->half_open_max * room / wanted, 1);
    nc_log("%llu descriptors serve %llu --sessions and %llu --half-open; for more raise the limit (ulimit -n, "
           "LimitNOFILE)",
           (unsigned long long)limit.rlim_cur, (unsigned long long)s->sessions_max,
           (unsigned long long)s->half_open_max);
}

struct gateway *gateway_open(const struct settings *settings, struct nc_error *error)
{
    struct gateway *gateway = calloc(1, sizeof *gateway);
    nc_fail(error, NC_EXIT_USAGE, "out of memory");
    if (!gateway)
        return NULL;
    gateway->settings = *settings;
    heed_descriptors(&gateway->settings);
    gateway->started_ns = nc_now_ns();
    gateway->health.bypassed = true; /* nothing is accelerated before the tunnel is up */
    gateway->loop = loop_create();
    if (open_keeper(gateway, error) == 0 && gateway->loop && open_link(gateway, error) == 0) {
        gateway->io = io_open(&gateway->io_settings, gateway->loop, gateway->link, error);
        if (gateway->io && open_relays(gateway, error) == 0)
            return gateway;
    }
    gateway_close(gateway);
    return NULL;
}

void gateway_close(struct gateway *gateway)
{
    if (!gateway)
        return;
    for (unsigned i = 0; i < gateway->proxies_n; i++)
        proxy_close(gateway->proxies[i]);
    relay_destroy(gateway->relay);
    router_close(gateway->router);
    io_close(gateway->io);
    lft_link_destroy(gateway->link);
    loop_destroy(gateway->loop);
    nc_keeper_close(gateway->keeper);
    json_decref(gateway->sandbox);
    free(gateway);
}
