#include "gateway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "gateway_internal.h"
#include "nc_clock.h"
#include "nc_log.h"
#include "psk.h"

#define TICK_NS NC_NS_PER_S
#define MB (UINT64_C(1) << 20)
enum { PAYLOAD_BASE = 1136 /* fits MTU 1280 with any header here */, BUSY_DATAGRAMS = 2 };

/* rate × expected round trip; without a limit 2.5 Gbit/s's, which then bounds what is in flight. */
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

static void fill_link_config(const struct gateway *gateway, size_t psk_bytes, struct lft_link_config *config)
{
    const struct settings *s = &gateway->settings;
    int family = gateway->io_settings.local.ss_family;
    uint32_t mtu = s->mtu ? (uint32_t)s->mtu : io_device_mtu(), outer = io_outer_bytes(gateway->io_settings.carriage, family);
    size_t block = lft_cipher_block((enum lft_cipher)(s->cipher + 1)), payload = lft_payload_for(mtu - outer, block);
    payload = payload > LFT_PAYLOAD_MAX ? LFT_PAYLOAD_MAX : payload;
    config->engine = (struct lft_engine_config){
        .recovery = (enum lft_recovery)s->recovery, .redundancy = settings_redundancy(s), .rate_mode = (enum lft_rate_mode)s->rate_mode,
        .rate_bps = s->rate_bps, .payload_max = (uint32_t)payload, .outer_bytes = outer, .window_frames = window_frames(s, (uint32_t)payload),
        .tx_memory_bytes = s->memory_tx_bytes ? s->memory_tx_bytes : 4 * MB + 2 * path_bytes(s),
        .rx_memory_bytes = s->memory_rx_bytes ? s->memory_rx_bytes : 40 * MB + 4 * path_bytes(s),
        .initial_rtt_ns = s->expected_rtt_ns, .fec_percent = (uint32_t)s->fec_percent,
        .keepalive_ns = s->dead_ns / 5 < 200 * NC_NS_PER_MS ? s->dead_ns / 5 : 200 * NC_NS_PER_MS};
    config->session = (struct lft_session_config){.streams_max = (uint32_t)s->sessions_max, .tx_memory_bytes = 12 * MB};
    config->handshake = (struct lft_handshake_config){.initiator = s->peer != NULL, .cipher = (enum lft_cipher)(s->cipher + 1), .psk = gateway->psk, .psk_bytes = psk_bytes};
    config->dead_ns = s->dead_ns;
    config->outage_max_ns = s->outage_max_ns;
    config->rekey_ns = s->rekey_ns;
}

static int resolve_addresses(struct gateway *gateway, struct lft_address *peer, char *why, size_t why_size)
{
    const struct settings *s = &gateway->settings;
    char reason[300];
    struct sockaddr_storage to;
    gateway->io_settings = (struct io_settings){.carriage = (enum io_carriage)s->carriage, .socket_buffer_bytes = s->socket_buffer_bytes,
                                                .mark = (uint32_t)s->mark + RULES_MARK_OWN};
    if (io_resolve(s->listen, 2004, true, &gateway->io_settings.local, reason, sizeof reason) < 0) {
        snprintf(why, why_size, "--listen %s", reason);
        return -1;
    }
    *peer = (struct lft_address){.n = 0};
    if (!s->peer)
        return 0;
    if (io_resolve(s->peer, 2004, false, &to, reason, sizeof reason) < 0) {
        snprintf(why, why_size, "--peer %s", reason);
        return -1;
    }
    if (to.ss_family != gateway->io_settings.local.ss_family) {
        snprintf(why, why_size, "--peer '%s': not of --listen's address family; want both IPv4 or both IPv6 (--listen [::]:2004)", s->peer);
        return -1;
    }
    if (s->carriage == IO_ESP)
        to.ss_family == AF_INET6 ? (((struct sockaddr_in6 *)&to)->sin6_port = 0) : (((struct sockaddr_in *)&to)->sin_port = 0);
    peer->n = (uint8_t)io_address_bytes(&to);
    memcpy(peer->at, &to, peer->n);
    return 0;
}

static int open_link(struct gateway *gateway, char *why, size_t why_size)
{
    struct lft_link_config config = {0};
    long psk_bytes = psk_read(gateway->settings.psk_file, gateway->psk, why, why_size);
    if (psk_bytes < 0 || resolve_addresses(gateway, &config.peer, why, why_size) < 0)
        return -1;
    fill_link_config(gateway, (size_t)psk_bytes, &config);
    gateway->link = lft_link_create(&config, nc_now_ns());
    if (!gateway->link) {
        snprintf(why, why_size, "--cipher %s: not available, or no memory", lft_cipher_names[gateway->settings.cipher]);
        return -1;
    }
    gateway->payload_limit = config.engine.payload_max;
    pmtu_init(&gateway->pmtu, PAYLOAD_BASE, config.engine.payload_max);
    if (gateway->settings.mtu)
        pmtu_init(&gateway->pmtu, config.engine.payload_max, config.engine.payload_max);
    gateway->payload_applied = gateway->pmtu.good;
    lft_link_set_payload_max(gateway->link, gateway->pmtu.good);
    return 0;
}

static int open_proxies(struct gateway *gateway, char *why, size_t why_size)
{
    const struct nc_strings *const lists[] = {&gateway->settings.forwards, &gateway->settings.socks5, &gateway->settings.http_connect};
    for (unsigned kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < lists[kind]->n; i++) {
            struct proxy *proxy = proxy_open(gateway->relay, (enum proxy_kind)kind, lists[kind]->at[i], why, why_size);
            if (!proxy)
                return -1;
            gateway->proxies[gateway->proxies_n++] = proxy;
        }
    return 0;
}

static int open_relays(struct gateway *gateway, int *status, char *why, size_t why_size)
{
    const struct settings *s = &gateway->settings;
    struct relay_settings relay = {.sessions_max = s->sessions_max, .half_open_max = s->half_open_max, .half_open_ns = s->half_open_ns,
        .idle_ns = s->idle_ns, .notsent_lowat_bytes = s->notsent_lowat_bytes, .host_rate_bps = s->host_rate_bps,
        .mark = (uint32_t)s->mark + RULES_MARK_OWN, .transparent = s->router || s->host,
        .proxy_bypass = s->proxy_bypass};
    gateway->relay = relay_create(&relay, gateway->loop, lft_link_session(gateway->link));
    if (!gateway->relay) {
        snprintf(why, why_size, "out of memory");
        return -1;
    }
    if (open_proxies(gateway, why, why_size) < 0)
        return -1;
    struct rules rules = {.name = s->name, .mark = (uint32_t)s->mark, .table = (uint32_t)s->table, .router = s->router, .host = s->host, .lan = s->lan};
    if (s->router || s->host) {
        gateway->router = router_open(gateway->relay, &rules, status, why, why_size);
        return gateway->router ? 0 : -1;
    }
    return 0;
}

struct gateway *gateway_open(const struct settings *settings, int *status, char *why, size_t why_size)
{
    struct gateway *gateway = calloc(1, sizeof *gateway);
    *status = NC_EXIT_USAGE;
    snprintf(why, why_size, "out of memory");
    if (!gateway)
        return NULL;
    gateway->settings = *settings;
    gateway->started_ns = nc_now_ns();
    gateway->watch.bypassed = true; /* nothing is accelerated before the tunnel is up */
    gateway->loop = loop_create();
    if (!gateway->loop || open_link(gateway, why, why_size) < 0)
        goto failed;
    *status = NC_EXIT_MISSING;
    gateway->io = io_open(&gateway->io_settings, gateway->loop, gateway->link, why, why_size);
    if (!gateway->io || open_relays(gateway, status, why, why_size) < 0)
        goto failed;
    if (settings->control) {
        gateway->control = control_open(settings->control, gateway, gateway->loop, why, why_size);
        if (!gateway->control)
            goto failed;
    }
    return gateway;
failed:
    gateway_close(gateway);
    return NULL;
}

void gateway_close(struct gateway *gateway)
{
    if (!gateway)
        return;
    control_close(gateway->control);
    for (unsigned i = 0; i < gateway->proxies_n; i++)
        proxy_close(gateway->proxies[i]);
    relay_destroy(gateway->relay);
    router_close(gateway->router);
    io_close(gateway->io);
    lft_link_destroy(gateway->link);
    loop_destroy(gateway->loop);
    lft_wipe(gateway->psk, sizeof gateway->psk);
    free(gateway);
}

/* Once a second: a path that takes only smaller frames than before shows as one number that is never acknowledged, while the tunnel is up. */
static void look_for_black_hole(struct gateway *gateway, uint64_t now_ns)
{
    struct lft_engine_state state;
    if (!lft_link_ready(gateway->link))
        return;
    lft_engine_state(lft_link_engine(gateway->link), now_ns, &state);
    uint64_t first_missing = state.next_number - state.unacknowledged_frames;
    if (!state.unacknowledged_frames || first_missing != gateway->first_missing) {
        gateway->first_missing = first_missing;
        gateway->stuck_since_ns = now_ns;
    } else if (now_ns - gateway->stuck_since_ns >= NC_NS_PER_S + 4 * state.srtt_ns)
        pmtu_doubt(&gateway->pmtu, now_ns);
}

static void search_mtu(struct gateway *gateway, unsigned events, uint64_t now_ns)
{
    struct lft_engine *engine = lft_link_engine(gateway->link);
    struct lft_engine_state state;
    if (!engine)
        return;
    if ((events & LFT_LINK_EVENT_UP) || (io_was_too_big(gateway->io) && !gateway->pmtu.trying)) {
        lft_engine_state(engine, now_ns, &state);
        pmtu_start(&gateway->pmtu, 2 * state.srtt_ns + 300 * NC_NS_PER_MS, now_ns);
    }
    uint32_t answered = lft_engine_probe_reply(engine);
    if (answered)
        pmtu_answered(&gateway->pmtu, answered, now_ns);
    uint32_t size = lft_link_ready(gateway->link) ? pmtu_poll(&gateway->pmtu, now_ns) : 0;
    if (size)
        lft_engine_probe(engine, size);
    if (gateway->pmtu.good != gateway->payload_applied) {
        gateway->payload_applied = gateway->pmtu.good;
        lft_link_set_payload_max(gateway->link, gateway->pmtu.good);
    }
}

static void note_events(unsigned events)
{
    static const struct { unsigned bit; const char *text; } texts[] = {
        {LFT_LINK_EVENT_UP, "tunnel is up"}, {LFT_LINK_EVENT_OUTAGE, "nothing heard from the peer: tunnel outage"},
        {LFT_LINK_EVENT_RESTARTED, "the peer was restarted: its connections are reset"},
        {LFT_LINK_EVENT_CLOSED, "the peer closed the tunnel"}, {LFT_LINK_EVENT_FAILED, "outage too long: connections are reset"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (events & texts[i].bit)
            nc_log("%s", texts[i].text);
}

static void check_health(struct gateway *gateway, uint64_t now_ns)
{
    static const int forced[] = {[BYPASS_AUTO] = -1, [BYPASS_ON] = 1, [BYPASS_OFF] = 0};
    uint64_t before = gateway->watch.changes;
    bool on = watch_step(&gateway->watch, lft_link_ready(gateway->link), gateway->draining ? 1 : forced[gateway->settings.bypass], now_ns);
    if (gateway->watch.changes == before)
        return;
    nc_log(on ? "new connections are accelerated" : "bypass: new connections are routed as normal");
    relay_set_bypassed(gateway->relay, !on);
    if (gateway->router)
        router_accelerate(gateway->router, on);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* From one turn to the next, under load. */
static uint64_t rest_ns(const struct gateway *gateway)
{
    uint64_t link_ns = lft_link_rest_ns(gateway->link), least_ns = gateway->settings.poll_ns;
    return least_ns && link_ns > least_ns ? link_ns : least_ns;
}

/* What waits for the limit is due before a rest is over: one frame a turn would be all that a quick machine sends. */
static bool more_soon(const struct gateway *gateway, uint64_t now_ns)
{
    return lft_link_next_ns(gateway->link, now_ns) < now_ns + rest_ns(gateway);
}

/* Receives nothing itself: the loop has. */
static bool work(struct gateway *gateway, uint64_t now_ns)
{
    unsigned events = lft_link_events(gateway->link);
    note_events(events);
    search_mtu(gateway, events, now_ns);
    check_health(gateway, now_ns);
    bool more = relay_turn(gateway->relay, now_ns);
    unsigned sent = io_transmit(gateway->io);
    if (now_ns >= gateway->tick_ns) {
        relay_tick(gateway->relay, now_ns);
        look_for_black_hole(gateway, now_ns);
        gateway->tick_ns = now_ns + TICK_NS;
    }
    uint64_t received = io_counters(gateway->io)->rx_datagrams - gateway->seen_datagrams;
    gateway->busy = sent >= BUSY_DATAGRAMS || received >= BUSY_DATAGRAMS || (sent && more_soon(gateway, now_ns));
    gateway->seen_datagrams = io_counters(gateway->io)->rx_datagrams;
    return more;
}

static uint64_t next_ns(const struct gateway *gateway, uint64_t now_ns)
{
    uint64_t next = least(gateway->tick_ns, relay_next_ns(gateway->relay));
    if (!io_blocked(gateway->io))
        next = least(next, lft_link_next_ns(gateway->link, now_ns));
    if (lft_link_ready(gateway->link))
        next = least(next, pmtu_next_ns(&gateway->pmtu));
    return least(next, watch_next_ns(&gateway->watch));
}

static void nap(uint64_t until_ns)
{
    const struct timespec until = {(time_t)(until_ns / NC_NS_PER_S), (long)(until_ns % NC_NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void gateway_drain(struct gateway *gateway, uint64_t drain_ns)
{
    if (gateway->draining)
        return;
    gateway->draining = true;
    gateway->drain_until_ns = nc_now_ns() + drain_ns;
    relay_drain(gateway->relay);
    nc_log("draining: %zu connections", relay_connections(gateway->relay));
}

static void signalled(void *owner, uint32_t events)
{
    struct gateway *gateway = owner;
    struct signalfd_siginfo info;
    (void)events;
    if (read(gateway->signals.fd, &info, sizeof info) == sizeof info)
        gateway_drain(gateway, gateway->draining ? 0 : info.ssi_signo == SIGINT ? 0 : gateway->settings.drain_ns);
}

static bool drained(const struct gateway *gateway, uint64_t now_ns)
{
    struct lft_session_state state;
    if (!gateway->draining)
        return false;
    lft_session_state(lft_link_session(gateway->link), &state);
    return now_ns >= gateway->drain_until_ns || (!relay_connections(gateway->relay) && !state.streams);
}

/* Resets what is left, tells the peer, and gives that a few turns to leave. */
static void say_goodbye(struct gateway *gateway)
{
    uint64_t now_ns = nc_now_ns(), until_ns = now_ns + 50 * NC_NS_PER_MS;
    relay_end_all(gateway->relay, LFT_RESULT_STOPPED);
    io_transmit(gateway->io);
    lft_link_close(gateway->link);
    while (now_ns < until_ns) {
        io_transmit(gateway->io);
        loop_turn(gateway->loop, now_ns, least(until_ns, least(now_ns + 10 * NC_NS_PER_MS, lft_link_next_ns(gateway->link, now_ns))));
        now_ns = nc_now_ns();
    }
}

void gateway_run(struct gateway *gateway, int signal_fd)
{
    gateway->signals = (struct loop_source){signal_fd, signalled, gateway};
    loop_add(gateway->loop, &gateway->signals, EPOLLIN);
    uint64_t now_ns = nc_now_ns(), until_ns = now_ns;
    while (!drained(gateway, now_ns)) {
        loop_turn(gateway->loop, now_ns, until_ns);
        now_ns = loop_now_ns(gateway->loop);
        bool more = work(gateway, now_ns);
        uint64_t began_ns = now_ns;
        now_ns = nc_now_ns();
        uint64_t rest = gateway->busy && !more ? rest_ns(gateway) : 0;
        if (rest > now_ns - began_ns) {
            nap(began_ns + rest);
            now_ns = nc_now_ns();
        }
        until_ns = more ? now_ns : next_ns(gateway, now_ns);
    }
    say_goodbye(gateway);
}
