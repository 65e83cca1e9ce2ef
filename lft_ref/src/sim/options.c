/* Parses the options and makes the trials that they describe. */
#include <stddef.h>
#include <string.h>

#include "nc_clock.h"
#include "sim.h"

#define OFFSET(member) offsetof(struct sim_settings, member)
#define S NC_NS_PER_S

static const char *const ciphers[] = {"none",     "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305",
                                      "3des-cbc", "null",        NULL};

#define COMMA(number, name) name ", "
#define SWEPT(name_, field, unit_, default_, max_, help_)                                                              \
    {.name = name_,                                                                                                    \
     .kind = NC_OPT_QUANTITIES,                                                                                        \
     .unit = unit_,                                                                                                    \
     .default_text = default_,                                                                                         \
     .max = max_,                                                                                                      \
     .help = help_,                                                                                                    \
     .offset = OFFSET(field)}
static const struct nc_option table[] = {
    NC_SECTION("swept (give several times; every combination is run)"),
    SWEPT("rtt", rtt, NC_UNIT_DURATION, "200ms", 10 * S, "round-trip time of the path"),
    SWEPT("loss", loss, NC_UNIT_RATIO, "0", NC_RATIO_ONE, "share of packets lost from sender to receiver"),
    NC_LIST("recovery", recovery, "NAME", LFT_RECOVERY_ROWS(COMMA) "default selective"),
    SWEPT("limit", limit, NC_UNIT_RATE, NULL, UINT64_C(100000000000),
          "LFT limit at the wire; default the rate of the path"),
    NC_SECTION("path"),
    NC_QUANTITY("rate", rate_bps, NC_UNIT_RATE, "800Mbit", 1000000, UINT64_C(100000000000),
                "rate of the line in both directions, IP octets counted"),
    NC_LIST("rtt-change", rtt_change, "AT:RTT",
            "from time AT on the round trip is RTT, as 10s:60ms; give later changes later"),
    NC_QUANTITY("queue", queue_bytes, NC_UNIT_BYTES, "4MB", 0, 0, "drop-tail queue before the line; 0: unbounded"),
    NC_QUANTITY("mtu", mtu, NC_UNIT_BYTES, "1500", 576, 9000, "largest IP packet"),
    NC_QUANTITY("burst", burst, NC_UNIT_COUNT, "1", 1, 100000,
                "mean length of a burst of loss (Gilbert); 1: independent", .metavar = "N"),
    NC_FLAG("both-ways", ack_loss_too, "the same loss in both directions"),
    NC_QUANTITY("jitter", jitter_ns, NC_UNIT_DURATION, "0", 0, 10 * S,
                "additional delay of each packet, uniform; reorders"),
    NC_QUANTITY("duplicate", duplicate_ppb, NC_UNIT_RATIO, "0", 0, NC_RATIO_ONE, "share of packets that arrive twice"),
    NC_SECTION("gateways"),
    NC_FLAG("redundancy", redundancy, "fill an idle line with copies of unacknowledged frames"),
    NC_FLAG("auto", auto_rate, "adjust the rate below the limit to what the path bears"),
    NC_QUANTITY("memory", memory_bytes, NC_UNIT_BYTES, "0", 0, UINT64_C(1) << 36,
                "receive memory of each end; 0: 40 MB + 4 x limit x round trip"),
    NC_CHOICE("cipher", cipher, ciphers, "none", "seal and open every frame"),
    NC_QUANTITY("first-number", first_number, NC_UNIT_COUNT, "0", 0, 0, "LFT number to begin with", .metavar = "N"),
    NC_QUANTITY("rate-burst", rate_burst_ns, NC_UNIT_DURATION, "1ms", 20 * NC_NS_PER_US, 100 * NC_NS_PER_MS,
                "largest burst inside the limit, as time at the limit"),
    NC_SECTION("transfer"),
    NC_QUANTITY("duration", duration_ns, NC_UNIT_DURATION, "10s", NC_NS_PER_MS, 168 * 3600 * S,
                "virtual time to write for, unless --bytes is given", .letter = 'd'),
    NC_FLAG("cut", cut, "end after the duration, even if data is still under way"),
    NC_FLAG("fail", fail,
            "sources end by a failure of their hosts, as by a RST, which must arrive behind their last octet"),
    NC_QUANTITY("bytes", bytes, NC_UNIT_BYTES, "0", 0, 0, "octets to write in all, over all streams", .letter = 'n'),
    NC_QUANTITY("streams", streams, NC_UNIT_COUNT, "1", 1, 10000, "streams at once", .metavar = "N"),
    NC_QUANTITY("still", still, NC_UNIT_COUNT, "0", 0, 10000,
                "further streams, opened first, that are written to and not read", .metavar = "N"),
    NC_QUANTITY("still-after", still_after_ns, NC_UNIT_DURATION, "0", 0, 3600 * S,
                "how long the streams of --still are read before their readers stop"),
    NC_QUANTITY("source", source_bps, NC_UNIT_RATE, "0", 0, 0,
                "what the sources write together; 0: as fast as they can"),
    NC_QUANTITY("request", request_bytes, NC_UNIT_BYTES, "0", 0, 0,
                "one more stream of this size after half the duration, whose time is reported"),
    NC_SECTION("run"),
    NC_QUANTITY("seed", seed, NC_UNIT_COUNT, "1", 0, 0, "seed of the path's randomness", .metavar = "N"),
    NC_QUANTITY("granularity", granularity_ns, NC_UNIT_DURATION, "50us", 1000, S,
                "shortest time between two wake-ups of an end"),
    NC_QUANTITY("late", late_ns, NC_UNIT_DURATION, "0", 0, S, "median lateness of every wake-up of an end, log-normal"),
    NC_QUANTITY("late-p99", late_p99_ns, NC_UNIT_DURATION, "0", 0, S,
                "99th percentile of that lateness; 0: all wake-ups are as late as the median"),
    NC_QUANTITY("stop-every", stop_every_ns, NC_UNIT_DURATION, "0", 0, 3600 * S,
                "mean time between two stops of an end's process, exponential; 0: no stops"),
    NC_QUANTITY("stop", stop_ns, NC_UNIT_DURATION, "5ms", NC_NS_PER_US, 10 * S,
                "mean length of such a stop, exponential"),
    NC_FLAG("json", json, "JSON lines; default unless stdout is a terminal"),
    NC_FLAG("human", human, "a table; default on a terminal"),
};
#define ROWS (sizeof table / sizeof table[0])

static const struct nc_usage usage = {
    .synopsis = "lft-sim [--rtt TIME]… [--loss RATIO]… [--recovery NAME]… [--limit RATE]… [options]",
    .purpose = "Runs two LFT gateways' engines and sessions over a simulated path in virtual time.",
    .epilog = "examples:\n"
              "  lft-sim --loss 0 --loss 0.1% --loss 1% --loss 10%          selective repair at 800 Mbit/s, 200 ms\n"
              "  lft-sim --recovery gbn-strict --recovery gbn --recovery selective --recovery fec --loss 0.1%",
};

/* "10s:60ms". */
static int change(struct sim_settings *settings, const char *text, struct nc_error *error)
{
    struct sim_change *next = &settings->changes[settings->changes_n];
    const char *colon = strchr(text, ':');
    char at[32];
    struct nc_error reason;
    if (!colon || colon - text >= (ptrdiff_t)sizeof at)
        return nc_fail(error, NC_EXIT_USAGE, "--rtt-change '%.40s': want a time and a round trip, as 10s:60ms", text);
    memcpy(at, text, (size_t)(colon - text));
    at[colon - text] = 0;
    if (nc_quantity_parse(NC_UNIT_DURATION, at, &next->at_ns, &reason) < 0 ||
        nc_quantity_parse(NC_UNIT_DURATION, colon + 1, &next->rtt_ns, &reason) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--rtt-change '%.40s': %s", text, reason.text);
    if (next->rtt_ns > 10 * S || (settings->changes_n && next->at_ns < next[-1].at_ns))
        return nc_fail(error, NC_EXIT_USAGE, "--rtt-change '%.40s': want a round trip up to 10s, and changes in order",
                       text);
    settings->changes_n++;
    return 0;
}

int sim_settings_parse(struct sim_settings *settings, int argc, char **argv, struct nc_error *error)
{
    int first = nc_options_parse(table, ROWS, &usage, settings, NULL, argc, argv);
    if (first < argc)
        return nc_fail(error, NC_EXIT_USAGE, "'%.80s': not an option; see --help", argv[first]);
    settings->changes_n = 0;
    for (size_t i = 0; i < settings->rtt_change.n; i++)
        if (change(settings, settings->rtt_change.at[i], error) < 0)
            return -1;
    if (settings->json && settings->human)
        return nc_fail(error, NC_EXIT_USAGE, "--json and --human: give one of them");
    return 0;
}

/* The number of values of a swept option: one when none was given. */
static int count(size_t given)
{
    return given ? (int)given : 1;
}

int sim_trials(const struct sim_settings *settings)
{
    return count(settings->rtt.n) * count(settings->loss.n) * count(settings->recovery.n) * count(settings->limit.n);
}

static int recovery(const struct nc_strings *list, int i, enum lft_recovery *value, struct nc_error *error)
{
    if (!list->n)
        return 0;
    for (int r = 0; r < LFT_RECOVERIES; r++)
        if (strcmp(list->at[i], lft_recovery_names[r]) == 0) {
            *value = (enum lft_recovery)r;
            return 0;
        }
    const struct nc_option names = {.choices = lft_recovery_names};
    char allowed[128];
    nc_option_join_choices(&names, ", ", allowed, sizeof allowed);
    return nc_fail(error, NC_EXIT_USAGE, "--recovery '%.40s': allowed is one of %s", list->at[i], allowed);
}

/* Extracts the index in a list of `n` values from the index of a combination. */
static int next_index(size_t n, int *i)
{
    int own = *i % count(n);
    *i /= count(n);
    return own;
}

int sim_trial_get(const struct sim_settings *settings, int i, struct sim_trial *trial, struct nc_error *error)
{
    *trial = (struct sim_trial){.settings = settings, .recovery = LFT_SELECTIVE, .seed = settings->seed};
    trial->loss_ppb = settings->loss.at[next_index(settings->loss.n, &i)];
    trial->rtt_ns = settings->rtt.at[next_index(settings->rtt.n, &i)];
    int limit = next_index(settings->limit.n, &i);
    trial->limit_bps = settings->limit.n ? settings->limit.at[limit] : settings->rate_bps;
    return recovery(&settings->recovery, i, &trial->recovery, error);
}
