#include "settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "nc_clock.h"

#define OFFSET(member) offsetof(struct rttcp_settings, member)
#define MS NC_NS_PER_MS
#define S NC_NS_PER_S

static const char *const formats[] = {"json", "human", "classic", "iperf3", NULL}; /* enum rttcp_format */

/* clang-format off */
static const struct nc_option table[] = {
    {.name = "role", .kind = NC_OPT_SECTION},
    {"receive", 'r', NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "serve transfers", OFFSET(receive)},
    {"transmit", 't', NC_OPT_STRING, 0, NULL, 0, 0, NULL, "HOST", "send to the receiver at HOST (name or address)",
     OFFSET(transmit)},
    {.name = "both roles", .kind = NC_OPT_SECTION},
    {"port", 'p', NC_OPT_QUANTITY, NC_UNIT_COUNT, "5010", 1, 65535, NULL, "PORT", "TCP port of the control connection",
     OFFSET(port)},
    {"bind", 'B', NC_OPT_STRING, 0, NULL, 0, 0, NULL, "ADDRESS", "local address", OFFSET(bind)},
    {"ipv4", '4', NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "IPv4 only", OFFSET(ipv4)},
    {"ipv6", '6', NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "IPv6 only", OFFSET(ipv6)},
    {"key", 0, NC_OPT_STRING, 0, NULL, 0, 0, NULL, "FILE",
     "file with a secret that both ends share, 16 to 1024 octets, readable by its owner alone; the control connection "
     "is then TLS 1.3",
     OFFSET(key_file)},
    {"cpu", 0, NC_OPT_STRING, 0, NULL, 0, 0, NULL, "N", "run on this processor only", OFFSET(cpu)},
    {"samples", 0, NC_OPT_STRING, 0, NULL, 0, 0, NULL, "FILE",
     "write TCP_INFO samples to FILE, JSON lines; -r needs --once, too, and samples the streams that it sends on",
     OFFSET(samples)},
    {"sample", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "10ms", MS / 10, 3600 * S, NULL, NULL, "time between samples",
     OFFSET(sample_ns)},
    {.name = "receiver", .kind = NC_OPT_SECTION},
    {"once", '1', NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "exit after one session, with its status", OFFSET(once)},
    {"sessions", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "128", 1, 4096, NULL, "N", "largest number of sessions at a time",
     OFFSET(sessions)},
    {"memory", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "1GB", UINT64_C(1) << 20, 0, NULL, NULL,
     "memory for the buffers of all sessions, a quarter of it for one address; one that wants more than 2 MB and more "
     "than is left is refused",
     OFFSET(memory_bytes)},
    {"max-idle", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "10min", S, RTTCP_WAIT_MAX_NS, NULL, NULL,
     "end a session in which nothing moves for this time, even if its sender would wait longer", OFFSET(max_idle_ns)},
    {"max-duration", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "24h", S, 2 * RTTCP_DURATION_MAX_NS, NULL, NULL,
     "end a session after this time, and refuse one that asks for more", OFFSET(max_duration_ns)},
    {"data-port", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 65535, NULL, "PORT",
     "TCP port of the first stream, for firewalls; further streams use the ports that follow; 0: any",
     OFFSET(data_port)},
    NC_SANDBOX_ROWS(sandbox),
    {.name = "sender", .kind = NC_OPT_SECTION},
    {"bytes", 'n', NC_OPT_QUANTITY, NC_UNIT_BYTES, NULL, 1, 0, NULL, NULL, "transfer this many bytes", OFFSET(bytes)},
    {"buffers", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, NULL, 1, 0, NULL, "N", "transfer this many writes of --length",
     OFFSET(buffers)},
    {"duration", 'd', NC_OPT_QUANTITY, NC_UNIT_DURATION, NULL, 10 * MS, RTTCP_DURATION_MAX_NS, NULL, NULL,
     "transfer for this time; default 10s without --bytes", OFFSET(duration_ns)},
    {"request", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, NULL, 1, RTTCP_LENGTH_MAX, NULL, NULL,
     "exchange requests of this size and responses, one after the other; needs --response", OFFSET(request_bytes)},
    {"response", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, NULL, 1, RTTCP_LENGTH_MAX, NULL, NULL,
     "size of the response to a request", OFFSET(response_bytes)},
    {"exchanges", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, NULL, 1, 1000000000, NULL, "N",
     "make this many exchanges, over all streams", OFFSET(exchanges)},
    {"omit", 'O', NC_OPT_QUANTITY, NC_UNIT_DURATION, "0", 0, RTTCP_WAIT_MAX_NS, NULL, NULL,
     "leave this time at the beginning out of the steady average and of latencies; added to --duration",
     OFFSET(omit_ns)},
    {"repeat", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 1, 1000000, NULL, "N", "run the whole transfer this many times",
     OFFSET(repeat)},
    {"parallel", 'P', NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 1, RTTCP_STREAMS_MAX, NULL, "N", "streams in each direction",
     OFFSET(parallel)},
    {"reverse", 'R', NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "the receiver (-r) sends", OFFSET(reverse)},
    {"bidir", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "transfer in both directions at once", OFFSET(bidir)},
    {"verify", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL,
     "send content that never repeats, and check every octet of it",
     OFFSET(verify)},
    {"seed", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, INT64_MAX, NULL, "N", "seed of the content; 0: a random one",
     OFFSET(seed)},
    {"zerocopy", 'Z', NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "send without copying (sendfile from memory)",
     OFFSET(zerocopy)},
    {"skip-rx-copy", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL,
     "the receiving end discards the bytes without copying them (MSG_TRUNC)", OFFSET(skip_rx_copy)},
    {"pace", 0, NC_OPT_QUANTITY, NC_UNIT_RATE, NULL, 1000, RTTCP_PACING_MAX, NULL, NULL,
     "pace the payload of a direction to this rate, by the kernel", OFFSET(pace_bps)},
    {"pace-packets", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, NULL, 1, 1000000000, NULL, "N",
     "pace a direction to this many full segments a second (TRC-TCP)",
     OFFSET(pace_pps)},
    {"pace-burst", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, NULL, 1, RTTCP_LENGTH_MAX, NULL, NULL,
     "with --pace: send this much at once and sleep in between, which costs less than the kernel's timer a packet",
     OFFSET(pace_burst_bytes)},
    {"dscp", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 63, NULL, "N", "code point of the data connections",
     OFFSET(dscp)},
    {"mptcp", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "use Multipath TCP", OFFSET(mptcp)},
    {"peer-cpu", 0, NC_OPT_STRING, 0, NULL, 0, 0, NULL, "N", "run the receiver on this processor only",
     OFFSET(peer_cpu)},
    {"align", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "4KB", 1, RTTCP_ALIGN_MAX, NULL, NULL,
     "alignment of the buffers in memory, a power of two", OFFSET(align_bytes)},
    {"offset", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "0", 0, RTTCP_ALIGN_MAX, NULL, NULL,
     "offset of the buffers from their alignment",
     OFFSET(offset_bytes)},
    {"length", 'l', NC_OPT_QUANTITY, NC_UNIT_BYTES, "128KB", 1, RTTCP_LENGTH_MAX, NULL, NULL, "length of one write",
     OFFSET(length_bytes)},
    {"window", 'w', NC_OPT_QUANTITY, NC_UNIT_BYTES, NULL, RTTCP_WINDOW_MIN, RTTCP_WINDOW_MAX, NULL, NULL,
     "the exact TCP window that the receiver offers; without it the kernels tune the window", OFFSET(window_bytes)},
    {"mss", 'M', NC_OPT_QUANTITY, NC_UNIT_BYTES, NULL, 88, 32767, NULL, NULL, "largest segment (TCP_MAXSEG)",
     OFFSET(mss_bytes)},
    {"congestion", 'C', NC_OPT_STRING, 0, NULL, 0, 0, NULL, "NAME",
     "congestion control of both ends, by the kernel's name",
     OFFSET(congestion)},
    {"nodelay", 'D', NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL,
     "send short segments at once (TCP_NODELAY); default with --window and --request",
     OFFSET(nodelay)},
    {"nagle", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "hold short segments back even with --window or --request",
     OFFSET(nagle)},
    {"interval", 'i', NC_OPT_QUANTITY, NC_UNIT_DURATION, "1s", RTTCP_INTERVAL_MIN_NS, RTTCP_WAIT_MAX_NS, NULL, NULL,
     "time between interval reports, at both ends", OFFSET(interval_ns)},
    {"timeout", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "60s", 100 * MS, RTTCP_WAIT_MAX_NS, NULL, NULL,
     "give up when nothing moves for this time, at both ends", OFFSET(timeout_ns)},
    {.name = "output", .kind = NC_OPT_SECTION},
    {"format", 0, NC_OPT_CHOICE, 0, "json", 0, 0, formats, NULL,
     "iperf3: iperf3's JSON document, with everything else under the key rttcp",
     OFFSET(format)},
    {"json", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "JSON lines; default unless stdout is a terminal",
     OFFSET(json)},
    {"human", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "tables; default on a terminal", OFFSET(human)},
    {"classic", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "the text of 1995 (1 Mbit = 2^20 bits)", OFFSET(classic)},
    {"parent-death", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "end when the parent process ends",
     OFFSET(parent_death)},
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

/* Options that only one role has. Given to the other role they are an error and not ignored: a window given to the
 * receiver would seem to be in force. */
static const char *const of_receiver[] = {"once",         "sessions",  "memory", "max-idle",
                                          "max-duration", "data-port", "user",   "no-sandbox"};
static const char *const of_sender[] = {
    "bytes",    "duration", "length",   "window",       "mss",      "congestion",   "nodelay",   "nagle",
    "interval", "timeout",  "buffers",  "omit",         "repeat",   "parallel",     "reverse",   "bidir",
    "verify",   "seed",     "zerocopy", "skip-rx-copy", "pace",     "pace-packets", "dscp",      "mptcp",
    "peer-cpu", "align",    "offset",   "request",      "response", "exchanges",    "pace-burst"};

/* Options that request and response exclude: each says how bytes flow one way, or is made for that. */
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

static int refuse_any(const char *const *names, size_t n, const bool *given, const char *role, struct nc_error *error)
{
    for (size_t i = 0; i < n; i++)
        if (was_given(names[i], given))
            return nc_fail(error, NC_EXIT_USAGE, "--%s: an option of the %s; see --help", names[i], role);
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
    const char *alone = was_given("exchanges", given) ? "exchanges" : "response";
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
    if (settings->receive
            ? refuse_any(of_sender, sizeof of_sender / sizeof of_sender[0], given, "sender (-t)", error)
            : refuse_any(of_receiver, sizeof of_receiver / sizeof of_receiver[0], given, "receiver (-r)", error))
        return -1;
    if (check_exchange(settings, given, error) < 0)
        return -1;
    if (settings->bidir && 2 * settings->parallel > RTTCP_STREAMS_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "--parallel %llu: at most %d with --bidir",
                       (unsigned long long)settings->parallel, RTTCP_STREAMS_MAX / 2);
    if (settings->align_bytes & (settings->align_bytes - 1))
        return nc_fail(error, NC_EXIT_USAGE, "--align %llu: want a power of two",
                       (unsigned long long)settings->align_bytes);
    if (was_given("pace-burst", given) && !was_given("pace", given))
        return nc_fail(error, NC_EXIT_USAGE, "--pace-burst: needs --pace RATE");
    if (settings->receive && settings->samples && !settings->once)
        return nc_fail(error, NC_EXIT_USAGE, "--samples: a receiver writes those of one session; give --once, too");
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
    if (settings->key_file && rttcp_key_read(&settings->key, settings->key_file, error) < 0)
        return -1;
    if (settings->buffers && settings->buffers > INT64_MAX / settings->length_bytes)
        return nc_fail(error, NC_EXIT_USAGE, "--buffers %llu: too many of --length",
                       (unsigned long long)settings->buffers);
    if (settings->buffers)
        settings->bytes = settings->buffers * settings->length_bytes;
    if (settings->exchanges)
        settings->bytes = settings->exchanges * settings->request_bytes;
    if (!settings->bytes && !settings->duration_ns)
        settings->duration_ns = 10 * S;
    return 0;
}

struct rttcp_params rttcp_settings_params(const struct rttcp_settings *settings)
{
    struct rttcp_params params = {
        .bytes = settings->bytes,
        .duration_ns = settings->duration_ns,
        .request_bytes = settings->request_bytes,
        .response_bytes = settings->response_bytes,
        .omit_ns = settings->omit_ns,
        .length_bytes = settings->length_bytes,
        .align_bytes = settings->align_bytes,
        .offset_bytes = settings->offset_bytes,
        .pacing_bps = settings->pace_bps,
        .pacing_pps = settings->pace_pps,
        .pace_burst_bytes = settings->pace_burst_bytes,
        .dscp = settings->dscp,
        .verify = settings->verify,
        .zerocopy = settings->zerocopy,
        .skip_rx_copy = settings->skip_rx_copy,
        .mptcp = settings->mptcp,
        .seed = settings->seed,
        .window_bytes = settings->window_bytes,
        .mss_bytes = settings->mss_bytes,
        .interval_ns = settings->interval_ns,
        .timeout_ns = settings->timeout_ns,
        .nodelay = settings->nodelay || ((settings->window_bytes || settings->request_bytes) && !settings->nagle),
        .forward = settings->reverse ? 0 : settings->parallel,
        .reverse = settings->reverse || settings->bidir ? settings->parallel : 0,
    };
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
