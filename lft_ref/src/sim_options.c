#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "nc_clock.h"
#include "sim.h"

#define OFFSET(member) offsetof(struct sim_settings, member)
#define S NC_NS_PER_S

static const char *const ciphers[] = {"none", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "3des-cbc", "null", NULL};

static const struct nc_option table[] = {
    {.name = "swept (give several times; every combination is run)", .kind = NC_OPT_SECTION},
    {"rtt", 0, NC_OPT_LIST, 0, NULL, 0, 0, NULL, "TIME", "round-trip time of the path; default 200ms", OFFSET(rtt)},
    {"loss", 0, NC_OPT_LIST, 0, NULL, 0, 0, NULL, "RATIO", "share of packets lost from sender to receiver; default 0", OFFSET(loss)},
    {"recovery", 0, NC_OPT_LIST, 0, NULL, 0, 0, NULL, "NAME", "gbn-strict, gbn, selective or fec; default selective",
     OFFSET(recovery)},
    {"limit", 0, NC_OPT_LIST, 0, NULL, 0, 0, NULL, "RATE", "LFT limit at the wire; default the rate of the path", OFFSET(limit)},
    {.name = "path", .kind = NC_OPT_SECTION},
    {"rate", 0, NC_OPT_QUANTITY, NC_UNIT_RATE, "800Mbit", 1000000, UINT64_C(100000000000), NULL, NULL,
     "rate of the line in both directions, IP octets counted", OFFSET(rate_bps)},
    {"queue", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "4MB", 0, 0, NULL, NULL, "drop-tail queue before the line; 0: unbounded",
     OFFSET(queue_bytes)},
    {"mtu", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "1500", 576, 9000, NULL, NULL, "largest IP packet", OFFSET(mtu)},
    {"burst", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 1, 100000, NULL, "N", "mean length of a burst of loss (Gilbert); 1: independent",
     OFFSET(burst)},
    {"back-loss", 0, NC_OPT_QUANTITY, NC_UNIT_RATIO, "0", 0, NC_RATIO_ONE, NULL, NULL, "loss from receiver to sender",
     OFFSET(back_loss_ppb)},
    {"both-ways", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "the same loss in both directions", OFFSET(ack_loss_too)},
    {"jitter", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "0", 0, 10 * S, NULL, NULL, "additional delay of each packet, uniform; reorders",
     OFFSET(jitter_ns)},
    {"duplicate", 0, NC_OPT_QUANTITY, NC_UNIT_RATIO, "0", 0, NC_RATIO_ONE, NULL, NULL, "share of packets that arrive twice",
     OFFSET(duplicate_ppb)},
    {.name = "gateways", .kind = NC_OPT_SECTION},
    {"redundancy", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "fill an idle line with copies of unacknowledged frames",
     OFFSET(redundancy)},
    {"auto", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "adjust the rate below the limit to what the path bears", OFFSET(auto_rate)},
    {"fec-repairs", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 100, NULL, "N", "repairs in 100 frames with fec; 0: by measured loss",
     OFFSET(fec_percent)},
    {"memory", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "0", 0, UINT64_C(1) << 36, NULL, NULL,
     "receive memory; 0: 40 MB + 4 x limit x round trip", OFFSET(memory_bytes)},
    {"cipher", 0, NC_OPT_CHOICE, 0, "none", 0, 0, ciphers, NULL, "seal and open every frame", OFFSET(cipher)},
    {"first-number", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 0, NULL, "N", "LFT number to begin with", OFFSET(first_number)},
    {.name = "transfer", .kind = NC_OPT_SECTION},
    {"duration", 'd', NC_OPT_QUANTITY, NC_UNIT_DURATION, "10s", NC_NS_PER_MS, 3600 * S, NULL, NULL,
     "write for so long of virtual time, unless --bytes", OFFSET(duration_ns)},
    {"cut", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "end with the duration, whatever is still under way", OFFSET(cut)},
    {"bytes", 'n', NC_OPT_QUANTITY, NC_UNIT_BYTES, "0", 0, 0, NULL, NULL, "write so much, over all streams", OFFSET(bytes)},
    {"streams", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 1, 10000, NULL, "N", "streams at once", OFFSET(streams)},
    {"source", 0, NC_OPT_QUANTITY, NC_UNIT_RATE, "0", 0, 0, NULL, NULL, "what the sources write together; 0: as fast as they can",
     OFFSET(source_bps)},
    {"request", 0, NC_OPT_QUANTITY, NC_UNIT_BYTES, "0", 0, 0, NULL, NULL,
     "one more stream of this size after half the duration, its time is reported", OFFSET(request_bytes)},
    {.name = "run", .kind = NC_OPT_SECTION},
    {"seed", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "1", 0, 0, NULL, "N", "seed of the path's randomness", OFFSET(seed)},
    {"granularity", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "50us", 1000, S, NULL, NULL, "an event loop wakes no more often",
     OFFSET(granularity_ns)},
    {"json", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "JSON lines; default unless stdout is a terminal", OFFSET(json)},
    {"human", 0, NC_OPT_FLAG, 0, NULL, 0, 0, NULL, NULL, "a table; default on a terminal", OFFSET(human)},
};
#define ROWS (sizeof table / sizeof table[0])

static const struct nc_usage usage = {
    .synopsis = "lft-sim [--rtt TIME]… [--loss RATIO]… [--recovery NAME]… [--limit RATE]… [options]",
    .purpose = "Runs two LFT gateways' engines and sessions over a simulated path in virtual time.",
    .epilog = "examples:\n"
              "  lft-sim --loss 0 --loss 0.1% --loss 1% --loss 10%          selective repair at 800 Mbit/s, 200 ms\n"
              "  lft-sim --recovery gbn-strict --recovery gbn --recovery selective --recovery fec --loss 0.1%",
};

int sim_settings_parse(struct sim_settings *settings, int argc, char **argv, char *why, size_t why_size)
{
    int first = nc_options_parse(table, ROWS, &usage, settings, NULL, argc, argv);
    if (first < argc) {
        snprintf(why, why_size, "'%.80s': not an option; see --help", argv[first]);
        return -1;
    }
    if (settings->json && settings->human) {
        snprintf(why, why_size, "--json and --human: give one of them");
        return -1;
    }
    return 0;
}

static int count(const struct nc_strings *list)
{
    return list->n ? (int)list->n : 1;
}

int sim_trials(const struct sim_settings *settings)
{
    return count(&settings->rtt) * count(&settings->loss) * count(&settings->recovery) * count(&settings->limit);
}

static int quantity(const struct nc_strings *list, int i, const char *option, enum nc_unit unit, uint64_t most, uint64_t *value,
                    char *why, size_t why_size)
{
    char reason[160];
    if (!list->n)
        return 0;
    if (nc_quantity_parse(unit, list->at[i], value, reason, sizeof reason) < 0) {
        snprintf(why, why_size, "--%s '%.40s': %s", option, list->at[i], reason);
        return -1;
    }
    if (*value > most) {
        nc_quantity_format(unit, most, reason, sizeof reason);
        snprintf(why, why_size, "--%s '%.40s': want at most %.40s", option, list->at[i], reason);
        return -1;
    }
    return 0;
}

static int recovery(const struct nc_strings *list, int i, enum lft_recovery *value, char *why, size_t why_size)
{
    for (int r = 0; list->n && r < LFT_RECOVERIES; r++)
        if (strcmp(list->at[i], lft_recovery_names[r]) == 0) {
            *value = (enum lft_recovery)r;
            return 0;
        }
    if (!list->n)
        return 0;
    snprintf(why, why_size, "--recovery '%.40s': want gbn-strict, gbn, selective or fec", list->at[i]);
    return -1;
}

int sim_trial_get(const struct sim_settings *settings, int i, struct sim_trial *trial, char *why, size_t why_size)
{
    *trial = (struct sim_trial){.settings = settings, .rtt_ns = 200 * NC_NS_PER_MS, .limit_bps = settings->rate_bps,
                                .recovery = LFT_SELECTIVE, .seed = settings->seed};
    int loss = i % count(&settings->loss);
    i /= count(&settings->loss);
    int rtt = i % count(&settings->rtt);
    i /= count(&settings->rtt);
    int limit = i % count(&settings->limit);
    i /= count(&settings->limit);
    if (quantity(&settings->loss, loss, "loss", NC_UNIT_RATIO, NC_RATIO_ONE, &trial->loss_ppb, why, why_size) < 0 ||
        quantity(&settings->rtt, rtt, "rtt", NC_UNIT_DURATION, 10 * S, &trial->rtt_ns, why, why_size) < 0 ||
        quantity(&settings->limit, limit, "limit", NC_UNIT_RATE, UINT64_C(100000000000), &trial->limit_bps, why, why_size) < 0)
        return -1;
    return recovery(&settings->recovery, i, &trial->recovery, why, why_size);
}
