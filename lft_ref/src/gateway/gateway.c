/* One turn of a running gateway, and its shutdown. */
#include "gateway.h"

#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "gateway_internal.h"
#include "nc_clock.h"
#include "nc_log.h"
#include "nc_range.h"

#define TICK_NS NC_NS_PER_S
#define WATCH_NS (250 * NC_NS_PER_MS)
#define SUSPENSION_LEAST_NS (100 * (int64_t)NC_NS_PER_MS)
#define NOTED_AGAIN_NS (600 * NC_NS_PER_S)
enum { BUSY_DATAGRAMS = 2 };

/* No timer wakes the loop for this: while frames are unacknowledged, their time-outs wake it. */
static void watch_mtu(struct gateway *gateway, uint64_t now_ns)
{
    struct lft_engine_state state;
    if (now_ns < gateway->watch_ns || !lft_link_ready(gateway->link))
        return;
    gateway->watch_ns = now_ns + WATCH_NS;
    lft_engine_state(lft_link_engine(gateway->link), now_ns, &state);
    pmtu_watch(&gateway->pmtu, &state, now_ns);
}

static void search_mtu(struct gateway *gateway, unsigned events, uint64_t now_ns)
{
    struct lft_engine *engine = lft_link_engine(gateway->link);
    struct lft_engine_state state;
    if (!engine)
        return;
    if ((events & LFT_LINK_EVENT_UP) || (io_was_too_big(gateway->io) && !gateway->pmtu.trying)) {
        lft_engine_state(engine, now_ns, &state);
        pmtu_start(&gateway->pmtu, pmtu_wait_ns(&state), now_ns);
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
    static const struct {
        unsigned bit;
        const char *text;
    } texts[] = {{LFT_LINK_EVENT_UP, "tunnel is up"},
                 {LFT_LINK_EVENT_OUTAGE, "nothing heard from the peer: tunnel outage"},
                 {LFT_LINK_EVENT_RESTARTED, "the peer was restarted or replaced: its connections are reset"},
                 {LFT_LINK_EVENT_CLOSED, "the peer closed the tunnel"},
                 {LFT_LINK_EVENT_FAILED, "outage too long: connections are reset"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (events & texts[i].bit)
            nc_log("%s", texts[i].text);
}

/* Logs why handshakes fail, to help a user whose two gateways do not connect. Anybody can send such messages, so each
 * reason is logged at most once in ten minutes. */
static void note_handshakes(struct gateway *gateway, uint64_t now_ns)
{
    static const struct {
        size_t counter;
        const char *text;
    } reasons[HANDSHAKE_REASONS] = {
        {offsetof(struct lft_handshake_counters, wrong_version),
         "of another version of the protocol: this gateway speaks version 2 only; update the other one"},
        {offsetof(struct lft_handshake_counters, wrong_cipher),
         "for another cipher: want the same --cipher at both gateways"},
        {offsetof(struct lft_handshake_counters, bad_mac),
         "of another key or for other names: compare --psk-file, --gateway-name and --peer-name of both gateways"},
        {offsetof(struct lft_handshake_counters, wrong_source),
         "from another address than --peer: the other gateway must answer from the address that --peer names"}};
    const struct lft_handshake_counters *counters = lft_link_handshake_counters(gateway->link);
    for (size_t i = 0; i < HANDSHAKE_REASONS; i++) {
        uint64_t count, *noted = &gateway->handshakes_noted[i], *noted_ns = &gateway->handshakes_noted_ns[i];
        memcpy(&count, (const char *)counters + reasons[i].counter, sizeof count);
        if (count == *noted || (*noted_ns && now_ns - *noted_ns < NOTED_AGAIN_NS))
            continue;
        nc_log("handshake messages %s (%" PRIu64 " since the last such line)", reasons[i].text, count - *noted);
        *noted = count;
        *noted_ns = now_ns;
    }
}

static void check_health(struct gateway *gateway, uint64_t now_ns)
{
    static const int forced[] = {[BYPASS_AUTO] = -1, [BYPASS_ON] = 1, [BYPASS_OFF] = 0};
    uint64_t before = gateway->health.changes;
    bool on = health_step(&gateway->health, lft_link_ready(gateway->link),
                          gateway->draining ? 1 : forced[gateway->settings.bypass], now_ns);
    if (gateway->health.changes == before)
        return;
    nc_log(on ? "new connections are accelerated" : "bypass: new connections are routed as normal");
    relay_set_bypassed(gateway->relay, !on);
    if (gateway->router)
        router_accelerate(gateway->router, on);
}

/* How long to rest between two turns under load. */
static uint64_t rest_ns(const struct gateway *gateway)
{
    uint64_t link_ns = lft_link_rest_ns(gateway->link), least_ns = gateway->settings.poll_ns;
    return least_ns && link_ns > least_ns ? link_ns : least_ns;
}

/* True when frames that wait for the limit become due before a rest would end. Without this check a fast machine would
 * send only one frame per turn. */
static bool more_soon(const struct gateway *gateway, uint64_t now_ns)
{
    return lft_link_next_ns(gateway->link, now_ns) < now_ns + rest_ns(gateway);
}

/* How long the machine was suspended since the gateway started: during suspension CLOCK_BOOTTIME advances and
 * CLOCK_MONOTONIC does not. */
static int64_t suspended_ns(void)
{
    struct timespec boot, mono;
    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (boot.tv_sec - mono.tv_sec) * (int64_t)NC_NS_PER_S + boot.tv_nsec - mono.tv_nsec;
}

static void note_suspension(struct gateway *gateway)
{
    int64_t ns = suspended_ns(), grown_ns = ns - gateway->suspended_ns;
    if (grown_ns < SUSPENSION_LEAST_NS)
        return; /* the two clocks are not read at the same time */
    gateway->suspended_ns = ns;
    lft_link_suspended(gateway->link, (uint64_t)grown_ns);
}

/* The rest of a turn, after the loop has received. True: work is left for the next turn. */
static bool work(struct gateway *gateway, uint64_t now_ns)
{
    unsigned events = lft_link_events(gateway->link);
    note_events(events);
    watch_mtu(gateway, now_ns);
    search_mtu(gateway, events, now_ns);
    check_health(gateway, now_ns);
    bool more = relay_turn(gateway->relay, now_ns);
    more |= io_unread(gateway->io);
    unsigned sent = io_transmit(gateway->io);
    if (now_ns >= gateway->tick_ns) {
        note_suspension(gateway);
        relay_tick(gateway->relay, now_ns);
        note_handshakes(gateway, now_ns);
        contention_note(&gateway->contention, gateway->link, now_ns);
        gateway->tick_ns = now_ns + TICK_NS;
    }
    uint64_t received = io_counters(gateway->io)->rx_datagrams - gateway->seen_datagrams;
    gateway->busy = sent >= BUSY_DATAGRAMS || received >= BUSY_DATAGRAMS || (sent && more_soon(gateway, now_ns));
    gateway->seen_datagrams = io_counters(gateway->io)->rx_datagrams;
    return more;
}

static uint64_t next_ns(const struct gateway *gateway, uint64_t now_ns)
{
    uint64_t next = nc_min(gateway->tick_ns, relay_next_ns(gateway->relay));
    if (!io_blocked(gateway->io))
        next = nc_min(next, lft_link_next_ns(gateway->link, now_ns));
    if (lft_link_ready(gateway->link))
        next = nc_min(next, pmtu_next_ns(&gateway->pmtu));
    return nc_min(next, health_next_ns(&gateway->health));
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

/* Resets the remaining connections, notifies the peer, and runs a few more turns to send this. */
static void say_goodbye(struct gateway *gateway)
{
    uint64_t now_ns = nc_now_ns(), until_ns = now_ns + 50 * NC_NS_PER_MS;
    relay_end_all(gateway->relay, LFT_RESULT_STOPPED);
    io_transmit(gateway->io);
    lft_link_close(gateway->link);
    while (now_ns < until_ns) {
        io_transmit(gateway->io);
        loop_turn(gateway->loop, now_ns,
                  nc_min(until_ns, nc_min(now_ns + 10 * NC_NS_PER_MS, lft_link_next_ns(gateway->link, now_ns))));
        now_ns = nc_now_ns();
    }
}

struct loop *gateway_loop(struct gateway *gateway)
{
    return gateway->loop;
}

void gateway_run(struct gateway *gateway, int signal_fd)
{
    gateway->signals = (struct loop_source){.fd = signal_fd, .ready = signalled, .owner = gateway};
    loop_add(gateway->loop, &gateway->signals, EPOLLIN);
    gateway->suspended_ns = suspended_ns();
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
