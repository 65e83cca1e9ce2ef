/* The table of options, and checks that involve several rows. */
#include "settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config_file.h"
#include "crypto.h"
#include "engine.h"
#include "io.h"
#include "keys.h"
#include "nc_clock.h"
#include "nc_log.h"

static const char *const rate_mode_names[] = {"fixed", "auto", NULL};
const char *const settings_bypass_names[] = {"auto", "on", "off", NULL};

#define OFFSET(field) offsetof(struct settings, field)
#define MB (UINT64_C(1) << 20)
#define RATE_STEP_BPS UINT64_C(1000000)
#define HOUR (3600 * NC_NS_PER_S)
_Static_assert(SETTINGS_MTU_MIN == 408, "the help of --mtu says so");

/* clang-format off */
static const struct nc_option rows[] = {
    NC_STRING("config", config, "FILE", "TOML file with these settings; options of the command line override it"),
    NC_SECTION("tunnel"),
    NC_STRING("listen", listen, "ADDRESS:PORT",
         "outer address and UDP port of this end; its family is the tunnel's", .default_text = "0.0.0.0:2004"),
    NC_STRING("peer", peer, "ADDRESS:PORT",
         "outer address of the other end; the end that is given one opens the tunnel, the other waits"),
    NC_CHOICE("carriage", carriage, io_carriage_names, "udp", "frames in UDP or as IP protocol 50"),
    NC_QUANTITY("mtu", mtu, NC_UNIT_BYTES, "0", 0, 9216,
             "largest outer packet, 408 or more; 0 to find out what the path takes"),
    NC_SECTION("security"),
    NC_STRING("psk-file", psk_file, "FILE",
         "pre-shared key: 64 hexadecimal digits (genkey), 32 octets, or a text; readable by its owner alone"),
    NC_STRING("gateway-name", gateway_name, "NAME",
         "name of this gateway, which the other one knows as its --peer-name", .default_text = ""),
    NC_STRING("peer-name", peer_name, "NAME", "name of the other gateway: no other is accepted, whatever key it has", .default_text = ""),
    NC_CHOICE("cipher", cipher, lft_cipher_names, "aes-128-gcm", "cipher of the frames; must be the same at both ends"),
    NC_QUANTITY("rekey", rekey_ns, NC_UNIT_DURATION, "1h", NC_NS_PER_S, 24 * HOUR,
             "age at which keys are replaced; the smaller value of the two ends counts"),
    NC_SECTION("rate"),
    NC_CHOICE("recovery", recovery, lft_recovery_names, "selective", "how lost frames are recovered"),
    NC_CHOICE("rate-mode", rate_mode, rate_mode_names, "fixed",
           "fixed: the limit itself; auto: what others leave free of the line, but at least half of the line; at most "
           "the limit"),
    NC_QUANTITY("rate", rate_bps, NC_UNIT_RATE, "0", 0, 0,
             "limit towards the network, whole Mbit/s, IP and UDP headers counted; 0 for none"),
    NC_QUANTITY("host-rate", host_rate_bps, NC_UNIT_RATE, "0", 0, 0,
             "limit towards the hosts, whole Mbit/s, TCP payload; 0 for none"),
    NC_QUANTITY("rate-burst", rate_burst_ns, NC_UNIT_DURATION, "1ms", 20 * NC_NS_PER_US, 100 * NC_NS_PER_MS,
             "largest burst inside --rate and --host-rate, as time at that rate; at least 8 frames"),
    NC_QUANTITY("fec-percent", fec_percent, NC_UNIT_COUNT, "0", 0, 100,
             "repair frames per 100 frames with fec; 0 to follow the measured loss"),
    NC_FLAG("no-redundancy", no_redundancy, "no copies of unacknowledged frames while the line is idle"),
    NC_QUANTITY("expected-rtt", expected_rtt_ns, NC_UNIT_DURATION, "200ms", NC_NS_PER_MS, 10 * NC_NS_PER_S,
             "round-trip time that memory is planned for"),
    NC_SECTION("relay"),
    NC_FLAG("router", router, "router model: TCP connections that come in at --lan interfaces are accelerated"),
    NC_LIST("lan", lan, "INTERFACE", "an interface towards clients; may be given several times"),
    NC_LIST("exclude", exclude, "NETWORK",
         "connections to this network are routed as if there were no gateway; may be given several times"),
    NC_FLAG("host", host, "host model: this machine's own TCP connections are accelerated"),
    NC_LIST("forward", forwards, "LISTEN=DESTINATION",
         "proxy model: connections to LISTEN go to DESTINATION; may be given several times"),
    NC_LIST("socks5", socks5, "LISTEN", "proxy model: a SOCKS5 proxy; may be given several times"),
    NC_LIST("http-connect", http_connect, "LISTEN", "proxy model: an HTTP proxy; may be given several times"),
    NC_FLAG("allow-loopback", allow_loopback,
         "clients of the peer's proxies may connect to loopback addresses of this machine"),
    NC_LIST("allow", allow, "NETWORK",
         "the peer's clients may connect to this network; may be given several times, and the longest prefix counts"),
    NC_LIST("deny", deny, "NETWORK", "the peer's clients may not connect to this network; as --allow"),
    NC_QUANTITY("sessions", sessions_max, NC_UNIT_COUNT, "4096", 1, 65536,
             "most connections at a time; one more replaces an idle one of a busier source"),
    NC_QUANTITY("half-open", half_open_max, NC_UNIT_COUNT, "1024", 1, 65536,
             "most connections that are not yet established; one more replaces the oldest of the busiest source"),
    NC_QUANTITY("half-open-limit", half_open_ns, NC_UNIT_DURATION, "130s", NC_NS_PER_S, HOUR,
             "time in which a connection must be established"),
    NC_QUANTITY("idle-limit", idle_ns, NC_UNIT_DURATION, "24h", 0, 0,
             "idle time after which a connection is reset; 0 for never"),
    NC_QUANTITY("mark", mark, NC_UNIT_COUNT, "19526", 1, 0xfffffffc,
             "first of four packet marks of the router and host models"),
    NC_QUANTITY("table", table, NC_UNIT_COUNT, "19526", 1, 0xfffffffe, "first of two routing tables of these models"),
    NC_SECTION("health"),
    NC_QUANTITY("dead", dead_ns, NC_UNIT_DURATION, "1s", 100 * NC_NS_PER_MS, 60 * NC_NS_PER_S,
             "silence of the peer after which the tunnel is in outage"),
    NC_QUANTITY("outage-max", outage_max_ns, NC_UNIT_DURATION, "15min", NC_NS_PER_S, 24 * HOUR,
             "length of outage after which connections are reset"),
    NC_CHOICE("bypass", bypass, settings_bypass_names, "auto",
           "new connections bypass the tunnel: while it is down (auto), always (on), never (off)"),
    NC_FLAG("proxy-bypass", proxy_bypass,
         "while new connections bypass the tunnel, proxies connect from here instead of waiting for it"),
    NC_QUANTITY("drain", drain_ns, NC_UNIT_DURATION, "10s", 0, HOUR, "how long SIGTERM waits for connections to end"),
    NC_SECTION("daemon"),
    NC_STRING("name", name, "NAME",
         "name of the packet rules and the TUN interface; each gateway in a namespace needs its own", .default_text = "lft"),
    NC_STRING("control", control, "SOCKET", "path of the control socket, which only its owner may use"),
    NC_QUANTITY("memory-tx", memory_tx_bytes, NC_UNIT_BYTES, "0", 0, 0,
             "memory for frames not yet acknowledged; 0 for 4MB + 2 x rate x expected-rtt"),
    NC_QUANTITY("memory-rx", memory_rx_bytes, NC_UNIT_BYTES, "0", 0, 0,
             "memory for octets received and not yet read; 0 for 40MB + 4 x rate x expected-rtt"),
    NC_QUANTITY("socket-buffer", socket_buffer_bytes, NC_UNIT_BYTES, "32MB", 65536, 512 * MB,
             "kernel buffers of the tunnel's socket"),
    NC_QUANTITY("poll", poll_ns, NC_UNIT_DURATION, "100us", 0, 10 * NC_NS_PER_MS,
             "shortest time between two turns of the loop under load; 0 for none"),
    NC_SANDBOX_ROWS(sandbox),
    NC_FLAG("parent-death", parent_death, "end with the parent process"),
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof rows[0] };

const struct nc_option *settings_rows(size_t *n)
{
    *n = ROWS;
    return rows;
}

/* The file becomes options before the command line's. So there is one parser with one set of messages, and the command
 * line overrides the file because it comes later. */
void settings_parse(int argc, char **argv, const struct nc_usage *usage, struct settings *settings)
{
    struct nc_error error;
    struct config_arguments arguments = {0};
    int used = nc_options_parse(rows, ROWS, usage, settings, NULL, argc, argv);
    if (used < argc)
        nc_die(NC_EXIT_USAGE, "'%s': want options only", argv[used]);
    if (!settings->config)
        return;
    if (config_file_read(settings->config, rows, ROWS, &arguments, &error) < 0)
        nc_die(NC_EXIT_USAGE, "%s", error.text);
    char **all = calloc((size_t)argc + arguments.n + 1, sizeof *all);
    if (!all)
        nc_die(NC_EXIT_FAILED, "out of memory");
    all[0] = argv[0];
    memcpy(all + 1, arguments.at, arguments.n * sizeof *all);
    memcpy(all + 1 + arguments.n, argv + 1, (size_t)(argc - 1) * sizeof *all);
    nc_options_parse(rows, ROWS, usage, settings, NULL, argc + (int)arguments.n, all);
    free(all);
}

static int check_rate(const char *name, uint64_t rate_bps, struct nc_error *error)
{
    if (rate_bps % RATE_STEP_BPS == 0)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE,
                   "--%s: %" PRIu64 " bit/s is not a multiple of 1Mbit; want whole Mbit/s, or 0 for no limit", name,
                   rate_bps);
}

/* Names may be any text, because the handshake only authenticates them; names that are too long for it are refused. */
static int check_peer_name(const char *option, const char *name, struct nc_error *error)
{
    size_t n = name ? strlen(name) : 0;
    if (n <= LFT_GATEWAY_NAME_MAX)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "--%s '%.20s…': %zu octets; want %d or fewer", option, name, n,
                   LFT_GATEWAY_NAME_MAX);
}

static bool name_good(const char *name)
{
    size_t n = strlen(name);
    return n && n <= 12 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

int settings_check(const struct settings *settings, struct nc_error *error)
{
    const enum nc_exit usage = NC_EXIT_USAGE;
    if (!settings->psk_file)
        return nc_fail(error, usage,
                       "--psk-file: missing; want a file with a key, the same at both ends (lft-gateway genkey)");
    if (settings->router && !settings->lan.n)
        return nc_fail(error, usage, "--router: want --lan INTERFACE too: where the clients are");
    if (check_rate("rate", settings->rate_bps, error) < 0 ||
        check_rate("host-rate", settings->host_rate_bps, error) < 0)
        return -1;
    if ((settings->rate_bps || settings->host_rate_bps) && settings->poll_ns > settings->rate_burst_ns / 4)
        return nc_fail(error, usage,
                       "--poll %" PRIu64 "us: above a quarter of --rate-burst (%" PRIu64
                       "us), so rate would be lost; want less, or 0 for none",
                       settings->poll_ns / NC_NS_PER_US, settings->rate_burst_ns / NC_NS_PER_US);
    if (settings->mtu && settings->mtu < SETTINGS_MTU_MIN)
        return nc_fail(error, usage, "--mtu %" PRIu64 ": want %d to 9216, or 0 to find out what the path takes",
                       settings->mtu, SETTINGS_MTU_MIN);
    if (check_peer_name("gateway-name", settings->gateway_name, error) < 0 ||
        check_peer_name("peer-name", settings->peer_name, error) < 0)
        return -1;
    if (!name_good(settings->name))
        return nc_fail(error, usage, "--name '%.40s': want 1 to 12 of a-z, 0-9 and _", settings->name);
    return 0;
}

bool settings_redundancy(const struct settings *settings)
{
    return !settings->no_redundancy && settings->rate_bps;
}
