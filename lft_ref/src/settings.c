#include "settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_file.h"
#include "crypto.h"
#include "engine.h"
#include "io.h"
#include "nc_clock.h"
#include "nc_log.h"

static const char *const rate_mode_names[] = {"fixed", "auto", NULL};
const char *const settings_bypass_names[] = {"auto", "on", "off", NULL};

#define AT(field) .offset = offsetof(struct settings, field)
#define SECTION(title) {.name = title, .kind = NC_OPT_SECTION}
#define TEXT(name_, field, metavar_, default_, help_) {.name = name_, .kind = NC_OPT_STRING, .metavar = metavar_, .default_text = default_, .help = help_, AT(field)}
#define LIST(name_, field, metavar_, help_) {.name = name_, .kind = NC_OPT_LIST, .metavar = metavar_, .help = help_, AT(field)}
#define FLAG(name_, field, help_) {.name = name_, .kind = NC_OPT_FLAG, .help = help_, AT(field)}
#define CHOICE(name_, field, names, default_, help_) {.name = name_, .kind = NC_OPT_CHOICE, .choices = names, .default_text = default_, .help = help_, AT(field)}
#define QUANTITY(name_, field, unit_, default_, min_, max_, help_) \
    {.name = name_, .kind = NC_OPT_QUANTITY, .unit = unit_, .default_text = default_, .min = min_, .max = max_, .help = help_, AT(field)}
#define MB (UINT64_C(1) << 20)
#define RATE_STEP_BPS UINT64_C(1000000)
#define HOUR (3600 * NC_NS_PER_S)

static const struct nc_option rows[] = {
    TEXT("config", config, "FILE", NULL, "TOML file with these settings; options given here come after it"),
    SECTION("tunnel"),
    TEXT("listen", listen, "ADDRESS:PORT", "0.0.0.0:2004", "outer address and UDP port of this end; its family is the tunnel's"),
    TEXT("peer", peer, "ADDRESS:PORT", NULL, "outer address of the other end; who has one begins, the other waits for it"),
    CHOICE("carriage", carriage, io_carriage_names, "udp", "frames in UDP or as IP protocol 50"),
    QUANTITY("mtu", mtu, NC_UNIT_BYTES, "0", 0, 9216, "outer packets at most; 0 for what the path is found to take"),
    SECTION("security"),
    TEXT("psk-file", psk_file, "FILE", NULL, "pre-shared key, 16 to 1024 octets, readable by its owner alone"),
    CHOICE("cipher", cipher, lft_cipher_names, "aes-128-gcm", "the same at both ends"),
    QUANTITY("rekey", rekey_ns, NC_UNIT_DURATION, "1h", NC_NS_PER_S, 24 * HOUR, "age at which keys are replaced"),
    SECTION("rate"),
    CHOICE("recovery", recovery, lft_recovery_names, "selective", "how what was lost is sent again"),
    CHOICE("rate-mode", rate_mode, rate_mode_names, "fixed", "a fixed limit, or what loss and delay say, up to the limit"),
    QUANTITY("rate", rate_bps, NC_UNIT_RATE, "0", 0, 0, "limit towards the network, whole Mbit/s, IP and UDP headers counted; 0 for none"),
    QUANTITY("host-rate", host_rate_bps, NC_UNIT_RATE, "0", 0, 0, "limit towards the hosts, whole Mbit/s, TCP payload; 0 for none"),
    QUANTITY("fec-percent", fec_percent, NC_UNIT_COUNT, "0", 0, 100, "repairs a hundred frames with fec; 0 for what the loss needs"),
    FLAG("no-redundancy", no_redundancy, "no copies of unacknowledged frames while the line is idle"),
    QUANTITY("expected-rtt", expected_rtt_ns, NC_UNIT_DURATION, "200ms", NC_NS_PER_MS, 10 * NC_NS_PER_S, "round trip that memory is planned for"),
    SECTION("relay"),
    FLAG("router", router, "router model: TCP connections that come in at --lan interfaces are accelerated"),
    LIST("lan", lan, "INTERFACE", "an interface towards clients; may be given several times"),
    FLAG("host", host, "host model: this machine's own TCP connections are accelerated"),
    LIST("forward", forwards, "LISTEN=DESTINATION", "proxy model: connections to LISTEN go to DESTINATION; several times"),
    LIST("socks5", socks5, "LISTEN", "proxy model: a SOCKS5 proxy; several times"),
    LIST("http-connect", http_connect, "LISTEN", "proxy model: an HTTP CONNECT proxy; several times"),
    QUANTITY("sessions", sessions_max, NC_UNIT_COUNT, "4096", 1, 65536, "connections at most"),
    QUANTITY("half-open", half_open_max, NC_UNIT_COUNT, "1024", 1, 65536, "connections not yet established at most"),
    QUANTITY("half-open-limit", half_open_ns, NC_UNIT_DURATION, "130s", NC_NS_PER_S, HOUR, "time to get established"),
    QUANTITY("idle-limit", idle_ns, NC_UNIT_DURATION, "24h", 0, 0, "connections without an octet for so long are reset; 0 for never"),
    QUANTITY("notsent-lowat", notsent_lowat_bytes, NC_UNIT_BYTES, "256KB", 4096, 64 * MB, "octets that wait unsent in a host socket at most"),
    QUANTITY("mark", mark, NC_UNIT_COUNT, "19526", 1, 0xfffffffc, "first of four packet marks of the router and host models"),
    QUANTITY("table", table, NC_UNIT_COUNT, "19526", 1, 0xfffffffe, "first of two routing tables of the same"),
    SECTION("health"),
    QUANTITY("dead", dead_ns, NC_UNIT_DURATION, "1s", 100 * NC_NS_PER_MS, 60 * NC_NS_PER_S, "silence of the peer that is an outage"),
    QUANTITY("outage-max", outage_max_ns, NC_UNIT_DURATION, "60s", NC_NS_PER_S, 24 * HOUR, "connections are reset after so long an outage"),
    CHOICE("bypass", bypass, settings_bypass_names, "auto", "new connections go unaccelerated: while the tunnel is down, always, never"),
    FLAG("proxy-bypass", proxy_bypass, "proxies connect from here while new connections go unaccelerated; else they wait for the tunnel"),
    QUANTITY("drain", drain_ns, NC_UNIT_DURATION, "10s", 0, HOUR, "how long SIGTERM waits for connections to end"),
    SECTION("daemon"),
    TEXT("name", name, "NAME", "lft", "of the rules and of the router model's interface; one a gateway in a namespace"),
    TEXT("control", control, "SOCKET", NULL, "control socket, for its owner alone"),
    QUANTITY("memory-tx", memory_tx_bytes, NC_UNIT_BYTES, "0", 0, 0, "frames sent and not acknowledged; 0 for 4MB and two of rate x expected-rtt"),
    QUANTITY("memory-rx", memory_rx_bytes, NC_UNIT_BYTES, "0", 0, 0, "octets received and not consumed; 0 for 40MB and four of rate x expected-rtt"),
    QUANTITY("socket-buffer", socket_buffer_bytes, NC_UNIT_BYTES, "32MB", 65536, 512 * MB, "kernel buffers of the tunnel's socket"),
    QUANTITY("poll", poll_ns, NC_UNIT_DURATION, "100us", 0, 10 * NC_NS_PER_MS, "shortest time between two turns of the loop under load; 0 for none"),
    FLAG("parent-death", parent_death, "end with the parent process"),
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const struct nc_option *settings_rows(size_t *n)
{
    *n = ROWS;
    return rows;
}

/* The file becomes options in front of the command line's: one parser, one set of messages, and later ones win. */
void settings_parse(int argc, char **argv, const struct nc_usage *usage, struct settings *settings)
{
    char why[512];
    struct config_arguments arguments = {0};
    int used = nc_options_parse(rows, ROWS, usage, settings, NULL, argc, argv);
    if (used < argc)
        nc_die(NC_EXIT_USAGE, "'%s': want options only", argv[used]);
    if (!settings->config)
        return;
    if (config_file_read(settings->config, rows, ROWS, &arguments, why, sizeof why) < 0)
        nc_die(NC_EXIT_USAGE, "%s", why);
    char **all = calloc((size_t)argc + arguments.n + 1, sizeof *all);
    if (!all)
        nc_die(NC_EXIT_FAILED, "out of memory");
    all[0] = argv[0];
    memcpy(all + 1, arguments.at, arguments.n * sizeof *all);
    memcpy(all + 1 + arguments.n, argv + 1, (size_t)(argc - 1) * sizeof *all);
    nc_options_parse(rows, ROWS, usage, settings, NULL, argc + (int)arguments.n, all);
    free(all);
}

int settings_check(const struct settings *settings, char *why, size_t why_size)
{
    bool relays = settings->router || settings->host || settings->forwards.n || settings->socks5.n || settings->http_connect.n;
    (void)relays; /* none: a far end only */
    if (!settings->psk_file)
        snprintf(why, why_size, "--psk-file: missing; want a file with a key of %d octets or more, the same at both ends", LFT_PSK_MIN);
    else if (settings->router && !settings->lan.n)
        snprintf(why, why_size, "--router: want --lan INTERFACE too: where the clients are");
    else if (settings->rate_bps % RATE_STEP_BPS)
        snprintf(why, why_size, "--rate: %" PRIu64 " bit/s is not a multiple of 1Mbit; want whole Mbit/s, or 0 for no limit", settings->rate_bps);
    else if (settings->host_rate_bps % RATE_STEP_BPS)
        snprintf(why, why_size, "--host-rate: %" PRIu64 " bit/s is not a multiple of 1Mbit; want whole Mbit/s, or 0 for no limit", settings->host_rate_bps);
    else if (strlen(settings->name) > 12 || strspn(settings->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(settings->name) || !settings->name[0])
        snprintf(why, why_size, "--name '%.40s': want 1 to 12 of a-z, 0-9 and _", settings->name);
    else
        return 0;
    return -1;
}

bool settings_redundancy(const struct settings *settings)
{
    return !settings->no_redundancy && settings->rate_bps;
}
