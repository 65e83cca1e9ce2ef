/* The options, and the trials that they ask for. */
#include <stddef.h>
#include <string.h>

#include "nc_clock.h"
#include "sim.h"

#define OFFSET(member) offsetof(struct sim_settings, member)
#define S NC_NS_PER_S

static const char *const ciphers[] = {"none",     "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305",
                                      "3des-cbc", "null",        NULL};

#define COMMA(number, name) name ", "
/* clang-format off */
static const struct nc_option table[] = {
    {.name = "swept (give several times; every combination is run)", .kind = NC_OPT_SECTION},
    {"rtt", 0, NC_OPT_QUANTITIES, NC_UNIT_DURATION, "200ms", 0, 10 * S, NULL, NULL, "round-trip time of the path",
     OFFSET(rtt)},
    {"loss", 0, NC_OPT_QUANTITIES, NC_UNIT_RATIO, "0", 0, NC_RATIO_ONE, NULL, NULL,
     "share of packets lost from sender to receiver",
     OFFSET(loss)},
    {"recovery", 0, NC_OPT_LIST, 0, NULL, 0, 0, NULL, "NAME", LFT_RECOVERY_ROWS(COMMA) "default selective",
     OFFSET(recovery)},
    {"limit", 0, NC_OPT_QUANTITIES, NC_UNIT_RATE, NULL, 0, UINT64_C(100000000000), NULL, NULL,
     "LFT limit at the wire; default the rate of the path",
     OFFSET(limit)},
    {.name = "path", .kind = NC_OPT_SECTION},
    {"rate", 0, NC_OPT_QUANTITY, NC_UNIT_RATE, "800Mbit", 1000000, UINT64_C(100000000000), NULL, NULL,
     "rate of the line in both directions, IP octets counted", OFFSET(rate_bps)},
    {"rtt-change", 0, NC_OPT_LIST, 0, NULL, 0, 0, NULL, "AT:RTT",
     "from time AT on the round trip is RTT, as 10s:60ms; give later changes later", OFFSET(rtt_change)},
    {"queue", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "4MB", 0, 0, NULL, NULL,
     "drop-tail queue before the line; 0: unbounded",
     OFFSET(queue_bytes)},
    {"mtu", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "1500", 576, 9000, NULL, NULL, "largest IP packet", OFFSET(mtu)},
    {"burst", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 1, 100000, NULL, "N",
     "mean length of a burst of loss (Gilbert); 1: independent",
     OFFSET(burst)},
    {"back-loss", 0, NC_OPT_QUANTITY, NC_UNIT_RATIO, "0", 0, NC_RATIO_ONE, NULL, NULL, "loss from receiver to sender",
     OFFSET(back_loss_ppb)},
    {"both-ways", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "the same loss in both directions", OFFSET(ack_loss_too)},
    {"jitter", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "0", 0, 10 * S, NULL, NULL,
     "additional delay of each packet, uniform; reorders",
     OFFSET(jitter_ns)},
    {"duplicate", 0, NC_OPT_QUANTITY, NC_UNIT_RATIO, "0", 0, NC_RATIO_ONE, NULL, NULL,
     "share of packets that arrive twice",
     OFFSET(duplicate_ppb)},
    {.name = "gateways", .kind = NC_OPT_SECTION},
    {"redundancy", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "fill an idle line with copies of unacknowledged frames",
     OFFSET(redundancy)},
    {"auto", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "adjust the rate below the limit to what the path bears",
     OFFSET(auto_rate)},
    {"fec-repairs", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 100, NULL, "N",
     "repairs in 100 frames with fec; 0: by measured loss",
     OFFSET(fec_percent)},
    {"memory", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "0", 0, UINT64_C(1) << 36, NULL, NULL,
     "receive memory of each end; 0: 40 MB + 4 x limit x round trip", OFFSET(memory_bytes)},
    {"cipher", 0, NC_OPT_CHOICE, 0, "none", 0, 0, ciphers, NULL, "seal and open every frame", OFFSET(cipher)},
    {"first-number", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 0, NULL, "N", "LFT number to begin with",
     OFFSET(first_number)},
    {"rate-burst", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "1ms", 20 * NC_NS_PER_US, 100 * NC_NS_PER_MS, NULL, NULL,
     "largest burst inside the limit, as time at the limit", OFFSET(rate_burst_ns)},
    {.name = "transfer", .kind = NC_OPT_SECTION},
    {"duration", 'd', NC_OPT_QUANTITY, NC_UNIT_DURATION, "10s", NC_NS_PER_MS, 168 * 3600 * S, NULL, NULL,
     "virtual time to write for, unless --bytes is given", OFFSET(duration_ns)},
    {"cut", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "end after the duration, even if data is still under way",
     OFFSET(cut)},
    {"fail", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL,
     "sources end by a failure of their hosts, as by a RST, which must arrive behind their last octet", OFFSET(fail)},
    {"bytes", 'n', NC_OPT_QUANTITY, NC_UNIT_BYTES, "0", 0, 0, NULL, NULL, "octets to write in all, over all streams",
     OFFSET(bytes)},
    {"streams", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 1, 10000, NULL, "N", "streams at once", OFFSET(streams)},
    {"still", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 10000, NULL, "N",
     "further streams, opened first, that are written to and not read", OFFSET(still)},
    {"still-after", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "0", 0, 3600 * S, NULL, NULL,
     "how long those of --still are read before their readers stand still", OFFSET(still_after_ns)},
    {"source", 0, NC_OPT_QUANTITY, NC_UNIT_RATE, "0", 0, 0, NULL, NULL,
     "what the sources write together; 0: as fast as they can",
     OFFSET(source_bps)},
    {"request", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "0", 0, 0, NULL, NULL,
     "one more stream of this size after half the duration, whose time is reported", OFFSET(request_bytes)},
    {.name = "run", .kind = NC_OPT_SECTION},
    {"seed", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 0, 0, NULL, "N", "seed of the path's randomness", OFFSET(seed)},
    {"granularity", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "50us", 1000, S, NULL, NULL,
     "shortest time between two wake-ups of an end",
     OFFSET(granularity_ns)},
    {"late", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "0", 0, S, NULL, NULL,
     "median lateness of every wake-up of an end, log-normal", OFFSET(late_ns)},
    {"late-p99", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "0", 0, S, NULL, NULL,
     "99th percentile of that lateness; 0: all wake-ups are as late as the median",
     OFFSET(late_p99_ns)},
    {"stop-every", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "0", 0, 3600 * S, NULL, NULL,
     "mean time between two stops of an end's process, exponential; 0: no stops", OFFSET(stop_every_ns)},
    {"stop", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "5ms", NC_NS_PER_US, 10 * S, NULL, NULL,
     "mean length of such a stop, exponential",
     OFFSET(stop_ns)},
    {"json", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "JSON lines; default unless stdout is a terminal",
     OFFSET(json)},
    {"human", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "a table; default on a terminal", OFFSET(human)},
};
/* clang-format on */
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

/* Takes the index of a list of `n` out of the index of a combination. */
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
