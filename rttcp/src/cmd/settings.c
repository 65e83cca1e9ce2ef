#include "settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "nc_clock.h"

#define OFFSET(member) offsetof(struct rttcp_settings, member)
#define MS NC_NS_PER_MS
#define S NC_NS_PER_S

static const char of_receiver[] = "receiver", of_sender[] = "sender";              /* sections of the table */
static const char *const formats[] = {"json", "human", "classic", "iperf3", NULL}; /* enum rttcp_format */

/* clang-format off */
static const struct nc_option table[] = {
    NC_SECTION("role"),
    NC_FLAG("receive", receive, "serve transfers", .letter = 'r'),
    NC_STRING("transmit", transmit, "HOST", "send to the receiver at HOST (name or address)", .letter = 't'),
    NC_SECTION("both roles"),
    NC_QUANTITY("port", port, NC_UNIT_COUNT, "5010", 1, 65535,
                "TCP port of the control connection", .letter = 'p', .metavar = "PORT"),
    NC_STRING("bind", bind, "ADDRESS", "local address", .letter = 'B'),
    NC_FLAG("ipv4", ipv4, "IPv4 only", .letter = '4'),
    NC_FLAG("ipv6", ipv6, "IPv6 only", .letter = '6'),
    NC_STRING("key", key_file, "FILE",
              "file with a secret that both ends share, 16 to 1024 octets, readable by its owner alone; the control "
              "connection is then TLS 1.3"),
    NC_STRING("cpu", cpu, "N", "run on this processor only"),
    NC_STRING("samples", samples, "FILE",
              "write TCP_INFO samples to FILE, JSON lines; -r needs --once, too, and samples the streams that it "
              "sends on"),
    NC_QUANTITY("sample", sample_ns, NC_UNIT_DURATION, "10ms", MS / 10, 3600 * S, "time between samples"),
    NC_SECTION(of_receiver),
    NC_FLAG("once", once, "exit after one session, with its status", .letter = '1'),
    NC_QUANTITY("sessions", sessions, NC_UNIT_COUNT, "128", 1, 4096,
                "largest number of sessions at a time", .metavar = "N"),
    NC_QUANTITY("memory", memory_bytes, NC_UNIT_BYTES, "1GB", UINT64_C(1) << 20, 0,
                "memory for the buffers of all sessions, a quarter of it for one address; one that wants more than 2 "
                "MB and more than is left is refused"),
    NC_QUANTITY("max-idle", max_idle_ns, NC_UNIT_DURATION, "10min", S, RTTCP_WAIT_MAX_NS,
                "end a session in which nothing moves for this time, even if its sender would wait longer"),
    NC_QUANTITY("max-duration", max_duration_ns, NC_UNIT_DURATION, "24h", S, 2 * RTTCP_DURATION_MAX_NS,
                "end a session after this time, and refuse one that asks for more"),
    NC_QUANTITY("data-port", data_port, NC_UNIT_COUNT, "0", 0, 65535,
                "TCP port of the first stream, for firewalls; further streams use the ports that "
                "follow; 0: any", .metavar = "PORT"),
    NC_SANDBOX_ROWS(sandbox),
    NC_SECTION(of_sender),
    NC_QUANTITY("bytes", params.bytes, NC_UNIT_BYTES, NULL, 1, 0, "transfer this many bytes", .letter = 'n'),
    NC_QUANTITY("buffers", buffers, NC_UNIT_COUNT, NULL, 1, 0, "transfer this many writes of --length", .metavar = "N"),
    NC_QUANTITY("duration", params.duration_ns, NC_UNIT_DURATION, NULL, 10 * MS, RTTCP_DURATION_MAX_NS,
                "transfer for this time; default 10s without --bytes", .letter = 'd'),
    NC_QUANTITY("request", params.request_bytes, NC_UNIT_BYTES, NULL, 1, RTTCP_LENGTH_MAX,
                "exchange requests of this size and responses, one after the other; needs --response"),
    NC_QUANTITY("response", params.response_bytes, NC_UNIT_BYTES, NULL, 1, RTTCP_LENGTH_MAX,
                "size of the response to a request"),
    NC_QUANTITY("exchanges", exchanges, NC_UNIT_COUNT, NULL, 1, 1000000000,
                "make this many exchanges, over all streams", .metavar = "N"),
    NC_STRING("latencies", latencies, "FILE",
              "write when each exchange began and how long it took to FILE, JSON lines; needs --request"),
    NC_QUANTITY("omit", params.omit_ns, NC_UNIT_DURATION, "0", 0, RTTCP_WAIT_MAX_NS,
                "leave this time at the beginning out of the steady average and of latencies; added to "
                "--duration", .letter = 'O'),
    NC_QUANTITY("repeat", repeat, NC_UNIT_COUNT, "1", 1, 1000000,
                "run the whole transfer this many times", .metavar = "N"),
    NC_STRING("proxy", proxy_text, "URL",
              "connect through this proxy, socks5://HOST:PORT or http://HOST:PORT, which finds the receiver"),
    NC_QUANTITY("parallel", parallel, NC_UNIT_COUNT, "1", 1, RTTCP_STREAMS_MAX,
                "streams in each direction", .letter = 'P', .metavar = "N"),
    NC_FLAG("reverse", reverse, "the receiver (-r) sends", .letter = 'R'),
    NC_FLAG("bidir", bidir, "transfer in both directions at once"),
    NC_FLAG("verify", params.verify, "send content that never repeats, and check every octet of it"),
    NC_QUANTITY("seed", params.seed, NC_UNIT_COUNT, "0", 0, INT64_MAX,
                "seed of the content; 0: a random one", .metavar = "N"),
    NC_FLAG("zerocopy", params.zerocopy, "send without copying (sendfile from memory)", .letter = 'Z'),
    NC_FLAG("skip-rx-copy", params.skip_rx_copy,
            "the receiving end discards the bytes without copying them (MSG_TRUNC)"),
    NC_QUANTITY("pace", params.pacing_bps, NC_UNIT_RATE, NULL, 1000, RTTCP_PACING_MAX,
                "pace the payload of a direction to this rate, by the kernel"),
    NC_QUANTITY("pace-packets", params.pacing_pps, NC_UNIT_COUNT, NULL, 1, 1000000000,
                "pace a direction to this many full segments a second (TRC-TCP)", .metavar = "N"),
    NC_QUANTITY("pace-burst", params.pace_burst_bytes, NC_UNIT_BYTES, NULL, 1, RTTCP_LENGTH_MAX,
                "with --pace: send this much at once and sleep in between, which costs less than the kernel's timer a "
                "packet"),
    NC_QUANTITY("dscp", params.dscp, NC_UNIT_COUNT, "0", 0, 63, "code point of the data connections", .metavar = "N"),
    NC_FLAG("mptcp", params.mptcp, "use Multipath TCP"),
    NC_STRING("peer-cpu", peer_cpu, "N", "run the receiver on this processor only"),
    NC_QUANTITY("align", params.align_bytes, NC_UNIT_BYTES, "4KB", 1, RTTCP_ALIGN_MAX,
                "alignment of the buffers in memory, a power of two"),
    NC_QUANTITY("offset", params.offset_bytes, NC_UNIT_BYTES, "0", 0, RTTCP_ALIGN_MAX,
                "offset of the buffers from their alignment"),
    NC_QUANTITY("length", params.length_bytes, NC_UNIT_BYTES, "128KB", 1, RTTCP_LENGTH_MAX,
                "length of one write", .letter = 'l'),
    NC_QUANTITY("window", params.window_bytes, NC_UNIT_BYTES, NULL, RTTCP_WINDOW_MIN, RTTCP_WINDOW_MAX,
                "the exact TCP window that the receiver offers; without it the kernels tune the window", .letter = 'w'),
    NC_QUANTITY("mss", params.mss_bytes, NC_UNIT_BYTES, NULL, 88, 32767, "largest segment (TCP_MAXSEG)", .letter = 'M'),
    NC_STRING("congestion", congestion, "NAME", "congestion control of both ends, by the kernel's name", .letter = 'C'),
    NC_FLAG("nodelay", params.nodelay,
            "send short segments at once (TCP_NODELAY); default with --window and --request", .letter = 'D'),
    NC_FLAG("nagle", nagle, "hold short segments back even with --window or --request"),
    NC_QUANTITY("interval", params.interval_ns, NC_UNIT_DURATION, "1s", RTTCP_INTERVAL_MIN_NS, RTTCP_WAIT_MAX_NS,
                "time between interval reports, at both ends", .letter = 'i'),
    NC_QUANTITY("timeout", params.timeout_ns, NC_UNIT_DURATION, "60s", 100 * MS, RTTCP_WAIT_MAX_NS,
                "give up when nothing moves for this time, at both ends"),
    NC_SECTION("output"),
    NC_CHOICE("format", format, formats, "json",
              "iperf3: iperf3's JSON document, with everything else under the key rttcp"),
    NC_FLAG("json", json, "JSON lines; default unless stdout is a terminal"),
    NC_FLAG("human", human, "tables; default on a terminal"),
    NC_FLAG("classic", classic, "the text of 1995 (1 Mbit = 2^20 bits)"),
    NC_FLAG("parent-death", parent_death, "end when the parent process ends"),
};
/* clang-format on */
#define ROWS (sizeof table / sizeof table[0])

static const struct nc_usage usage = {
    .synopsis =
        "rttcp -r [--port 5010] [--bind ADDRESS] [--once] [--key FILE]\n"
        "       rttcp -t HOST [--bytes 80MB | --duration 10s] [--window 128KB] [--length 4KB] [--congestion reno] …",
    .purpose = "Transfers bytes from memory to memory over TCP and reports the results of both ends at both ends.",
    .epilog = "examples:\n"
              "  rttcp -r                                                   serve\n"
              "  rttcp -t 10.0.0.2 --duration 10s                           how fast is it?\n"
              "  rttcp -t 10.0.0.2 -n 80MB -l 4KB -w 256KB -C reno          as in 1995\n"
              "  (umask 077; openssl rand -hex 32 > rttcp.key)              a key, to copy to the other host\n"
              "  rttcp -r --key rttcp.key                                   serve only who has it",
};

/* Options that --request and --response exclude, because they apply to a one-way flow of bytes only. */
static const char *const not_with_request[] = {"bytes",        "buffers",  "reverse",      "bidir",
                                               "verify",       "zerocopy", "skip-rx-copy", "pace",
                                               "pace-packets", "window",   "length"};

static bool was_given(const char *name, const bool *given)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(table[i].name, name) == 0)
            return given[i];
    return false;
}

/* Options that only the other role has are an error; if they were ignored, a window given to the receiver would seem to
 * be in force. */
static int refuse_section(const char *title, const bool *given, struct nc_error *error)
{
    const char *section = "";
    for (size_t i = 0; i < ROWS; i++) {
        if (table[i].kind == NC_OPT_SECTION)
            section = table[i].name;
        else if (given[i] && strcmp(section, title) == 0)
            return nc_fail(error, NC_EXIT_USAGE, "--%s: an option of the %s; see --help", table[i].name,
                           strcmp(title, of_sender) == 0 ? "sender (-t)" : "receiver (-r)");
    }
    return 0;
}

static int both(const char *a, const char *b, const bool *given, struct nc_error *error)
{
    if (was_given(a, given) && was_given(b, given))
        return nc_fail(error, NC_EXIT_USAGE, "--%s and --%s: give one of them", a, b);
    return 0;
}

static int check_exchange(const struct rttcp_settings *settings, const bool *given, struct nc_error *error)
{
    bool request = was_given("request", given);
    const char *alone = was_given("exchanges", given) ? "exchanges" : settings->latencies ? "latencies" : "response";
    if (!request && was_given(alone, given))
        return nc_fail(error, NC_EXIT_USAGE, "--%s: needs --request SIZE", alone);
    if (!request)
        return 0;
    if (!was_given("response", given))
        return nc_fail(error, NC_EXIT_USAGE, "--request: needs --response SIZE");
    for (size_t i = 0; i < sizeof not_with_request / sizeof not_with_request[0]; i++)
        if (was_given(not_with_request[i], given))
            return nc_fail(error, NC_EXIT_USAGE,
                           "--%s: not with --request, whose transfer ends with --exchanges N or --duration TIME and "
                           "carries both directions over each stream",
                           not_with_request[i]);
    if (settings->exchanges && settings->exchanges < settings->parallel)
        return nc_fail(error, NC_EXIT_USAGE, "--exchanges %llu: want at least one for each of --parallel %llu",
                       (unsigned long long)settings->exchanges, (unsigned long long)settings->parallel);
    return both("exchanges", "duration", given, error);
}

static int check(struct rttcp_settings *settings, const bool *given, struct nc_error *error)
{
    if (settings->receive == (settings->transmit != NULL))
        return nc_fail(error, NC_EXIT_USAGE, "want one of -r (receive) and -t HOST (transmit); see --help");
    if (both("bytes", "duration", given, error) < 0 || both("nodelay", "nagle", given, error) < 0 ||
        both("json", "human", given, error) < 0 || both("json", "classic", given, error) < 0 ||
        both("human", "classic", given, error) < 0 || both("format", "json", given, error) < 0 ||
        both("format", "human", given, error) < 0 || both("format", "classic", given, error) < 0 ||
        both("reverse", "bidir", given, error) < 0 || both("bytes", "buffers", given, error) < 0 ||
        both("buffers", "duration", given, error) < 0 || both("pace", "pace-packets", given, error) < 0 ||
        both("verify", "zerocopy", given, error) < 0 || both("verify", "skip-rx-copy", given, error) < 0 ||
        both("ipv4", "ipv6", given, error) < 0)
        return -1;
    if (refuse_section(settings->receive ? of_sender : of_receiver, given, error) < 0)
        return -1;
    if (check_exchange(settings, given, error) < 0)
        return -1;
    if (settings->bidir && 2 * settings->parallel > RTTCP_STREAMS_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "--parallel %llu: at most %d with --bidir",
                       (unsigned long long)settings->parallel, RTTCP_STREAMS_MAX / 2);
    if (settings->params.align_bytes & (settings->params.align_bytes - 1))
        return nc_fail(error, NC_EXIT_USAGE, "--align %llu: want a power of two",
                       (unsigned long long)settings->params.align_bytes);
    if (was_given("pace-burst", given) && !was_given("pace", given))
        return nc_fail(error, NC_EXIT_USAGE, "--pace-burst: needs --pace RATE");
    if (settings->receive && settings->samples && !settings->once)
        return nc_fail(error, NC_EXIT_USAGE,
                       "--samples: a receiver writes the samples of one session; give --once, too");
    if (was_given("sample", given) && !settings->samples)
        return nc_fail(error, NC_EXIT_USAGE, "--sample: needs --samples FILE to write them to");
    if (settings->congestion && (!settings->congestion[0] || strcspn(settings->congestion, ":") > 15))
        return nc_fail(error, NC_EXIT_USAGE, "--congestion '%.40s': want a name of 1 to 15 characters",
                       settings->congestion);
    return 0;
}

int rttcp_settings_parse(struct rttcp_settings *settings, int argc, char **argv, struct nc_error *error)
{
    bool given[ROWS];
    int first = nc_options_parse(table, ROWS, &usage, settings, given, argc, argv);
    if (first < argc)
        return nc_fail(error, NC_EXIT_USAGE, "'%.80s': not an option; see --help", argv[first]);
    memset(&settings->key, 0, sizeof settings->key);
    settings->format_given = was_given("format", given);
    if (check(settings, given, error) < 0)
        return -1;
    settings->proxy = (struct rttcp_proxy){.kind = RTTCP_PROXY_NONE};
    if (settings->proxy_text && rttcp_proxy_parse(settings->proxy_text, &settings->proxy, error) < 0)
        return -1;
    if (settings->key_file && rttcp_key_read(&settings->key, settings->key_file, error) < 0)
        return -1;
    if (settings->buffers && settings->buffers > INT64_MAX / settings->params.length_bytes)
        return nc_fail(error, NC_EXIT_USAGE, "--buffers %llu: too many of --length",
                       (unsigned long long)settings->buffers);
    if (settings->buffers)
        settings->params.bytes = settings->buffers * settings->params.length_bytes;
    if (settings->exchanges)
        settings->params.bytes = settings->exchanges * settings->params.request_bytes;
    if (!settings->params.bytes && !settings->params.duration_ns)
        settings->params.duration_ns = 10 * S;
    return 0;
}

struct rttcp_params rttcp_settings_params(const struct rttcp_settings *settings)
{
    struct rttcp_params params = settings->params;
    params.nodelay |= (params.window_bytes || params.request_bytes) && !settings->nagle;
    params.forward = settings->reverse ? 0 : settings->parallel;
    params.reverse = settings->reverse || settings->bidir ? settings->parallel : 0;
    if (!params.seed && getrandom(&params.seed, sizeof params.seed, 0) == sizeof params.seed)
        params.seed >>= 1; /* an integer in JSON has 63 bits */
    snprintf(params.peer_cpu, sizeof params.peer_cpu, "%s", settings->peer_cpu ? settings->peer_cpu : "");
    snprintf(params.congestion, sizeof params.congestion, "%s", settings->congestion ? settings->congestion : "");
    return params;
}

enum rttcp_format rttcp_settings_format(const struct rttcp_settings *settings, bool terminal)
{
    if (settings->format_given)
        return (enum rttcp_format)settings->format;
    if (settings->classic)
        return FORMAT_CLASSIC;
    return settings->human || (terminal && !settings->json) ? FORMAT_HUMAN : FORMAT_JSON;
}
