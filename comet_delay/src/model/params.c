#include "params.h"

#include <stdbool.h>
#include <string.h>

#include "aqm_params.h"
#include "nc_clock.h"
#include "nc_jsonl.h"

static const char *const jitter_orders[] = {"keep", "overtake", NULL};
static const char *const queue_drops[] = {"tail", "head", NULL};
static const char *const balances[] = {"flow", "packet", NULL};
static const char *const framings[] = {"l2", "ethernet", "ip", NULL};

#define OFFSET(field) offsetof(struct params, field)
#define RATIO(name_, field, help_) NC_QUANTITY(name_, field, NC_UNIT_RATIO, "0%", 0, NC_RATIO_ONE, help_)
#define TEXT(name_, field, size, metavar_, default_, help_)                                                            \
    {.name = name_,                                                                                                    \
     .kind = NC_OPT_TEXT,                                                                                              \
     .default_text = default_,                                                                                         \
     .max = size,                                                                                                      \
     .metavar = metavar_,                                                                                              \
     .help = help_,                                                                                                    \
     .offset = OFFSET(field)}
#define MODEL(name_, field, default_, help_) TEXT(name_, field, PARAM_TEXT, "MODEL", default_, help_)
#define AQM_WORD(number, name, file) #name ", "
#define AQM_WORDS AQM_DISCIPLINES(AQM_WORD)

const struct param_row param_rows[] = {
    {NC_QUANTITY("delay", delay_ns, NC_UNIT_DURATION, "0ns", 0, 3600 * NC_NS_PER_S, "propagation delay, one way"),
     "delay_ns"},
    {MODEL("jitter", jitter, "none", "delay that varies: 2ms (uniform), normal:2ms, pareto:2ms,25%, table:FILE, …"),
     "jitter"},
    {NC_CHOICE("jitter-order", jitter_order, jitter_orders, "keep",
               "whether a packet with less jitter overtakes earlier ones"),
     "jitter_order"},
    {NC_QUANTITY("rate", rate_bps, NC_UNIT_RATE, "0bit", 0, UINT64_C(400000000000), "bottleneck rate; 0 for none"),
     "rate_bps"},
    {MODEL("rate-trace", rate_trace, "none",
           "rate over time, in place of --rate: rate:0s=10Mbit,5s=1Mbit, mahimahi:FILE or mm-link:FILE"),
     "rate_trace"},
    {NC_QUANTITY("channels", channels, NC_UNIT_COUNT, "1", 1, CHANNELS_MAX,
                 "parallel lines at the bottleneck, each with this rate and a queue of its own"),
     "channels"},
    {NC_CHOICE("balance", balance, balances, "flow",
               "whether each flow keeps to one channel, or packets go to the channels in turn"),
     "balance"},
    {NC_QUANTITY("queue", queue_bytes, NC_UNIT_BYTES, "0", 0, UINT64_C(1) << 40,
                 "bound on bytes waiting or being sent at the bottleneck; 0 for no bound"),
     "queue_bytes"},
    {NC_QUANTITY("queue-packets", queue_packets, NC_UNIT_COUNT, "0", 0, UINT64_C(1) << 32,
                 "the same bound in packets; 0 for no bound"),
     "queue_packets"},
    {NC_CHOICE("queue-drop", queue_drop, queue_drops, "tail",
               "which packet is dropped when the queue is full: the newest or the oldest"),
     "queue_drop"},
    {MODEL("aqm", aqm, "none",
           "active queue management: " AQM_WORDS "with keys such as codel:target=5ms,interval=100ms,ecn=on; "
           "policer:rate=10Mbit,burst=100KB"),
     "aqm"},
    {TEXT("only", only, PARAM_FILTER, "FILTER", "all",
          "packets that loss, duplication, corruption, reordering and jitter concern: data, dport=5001, …"),
     "only"},
    {MODEL("loss", loss, "0%", "wire packets lost before the bottleneck: 1%, gilbert:1%,10, packets:5,10-12, …"),
     "loss"},
    {MODEL("loss-after", loss_after, "0%", "wire packets lost behind the bottleneck"), "loss_after"},
    {RATIO("duplicate", duplicate_ppb, "share of wire packets that arrive twice"), "duplicate_ppb"},
    {RATIO("corrupt", corrupt_ppb, "share of wire packets with one bit of payload flipped, which checksums detect"),
     "corrupt_ppb"},
    {RATIO("forge", forge_ppb, "share of wire packets with one bit of payload flipped and the checksum made to fit"),
     "forge_ppb"},
    {RATIO("reorder", reorder_ppb, "share of wire packets held back by --reorder-by while later ones go on"),
     "reorder_ppb"},
    {NC_QUANTITY("reorder-by", reorder_by_ns, NC_UNIT_DURATION, "1ms", 0, 3600 * NC_NS_PER_S,
                 "how much later a reordered packet leaves"),
     "reorder_by_ns"},
    {NC_QUANTITY("bunch", bunch_ns, NC_UNIT_DURATION, "0ns", 0, 3600 * NC_NS_PER_S,
                 "hold packets and let them go together once in this time; 0 for none"),
     "bunch_ns"},
    {NC_QUANTITY("bunch-packets", bunch_packets, NC_UNIT_COUNT, "0", 0, UINT64_C(1) << 32,
                 "packets that go together at most; 0 for no bound"),
     "bunch_packets"},
    {NC_QUANTITY("pace", pace_bps, NC_UNIT_RATE, "0bit", 0, UINT64_C(400000000000),
                 "rate of the pacer in front of the receiver, bit/s; 0 for none"),
     "pace_bps"},
    {NC_QUANTITY("pace-packets", pace_packets, NC_UNIT_COUNT, "0", 0, UINT64_C(1000000000),
                 "the same in packets/s; takes precedence; 0 for none"),
     "pace_packets"},
    {NC_QUANTITY("pace-buffer", pace_buffer_bytes, NC_UNIT_BYTES, "0", 0, UINT64_C(1) << 40,
                 "bound on bytes that wait for the pacer; 0 for no bound"),
     "pace_buffer_bytes"},
    {NC_QUANTITY("drain-rate", drain_rate_bps, NC_UNIT_RATE, "0bit", 0, UINT64_C(400000000000),
                 "rate of the receiver's I/O bus, bit/s; 0 for none"),
     "drain_rate_bps"},
    {NC_QUANTITY("drain-buffer", drain_buffer_bytes, NC_UNIT_BYTES, "0", 0, UINT64_C(1) << 40,
                 "bytes that the receiver's NIC holds for its bus; 0 for no bound"),
     "drain_buffer_bytes"},
    {NC_QUANTITY("harmonize", harmonize_bps, NC_UNIT_RATE, "0bit", 0, UINT64_C(400000000000),
                 "give parallel flows equal shares of this rate, evenly spaced; 0 for none"),
     "harmonize_bps"},
    {NC_QUANTITY("access-rate", access_rate_bps, NC_UNIT_RATE, "0bit", 0, UINT64_C(400000000000),
                 "rate of the line that packets come in on; 0 for none"),
     "access_rate_bps"},
    {NC_CHOICE("framing", framing, framings, "l2", "bytes that a packet takes on a line"), "framing"},
};
const size_t param_rows_n = sizeof param_rows / sizeof param_rows[0];

static json_t *value_json(const struct nc_option *option, const struct params *params)
{
    const char *at = (const char *)params + option->offset;
    switch (option->kind) {
    case NC_OPT_TEXT:
        return nc_jsonl_text(at);
    case NC_OPT_CHOICE:
        return json_string(option->choices[*(const int *)at]);
    default:
        return json_integer((json_int_t) * (const uint64_t *)at);
    }
}

static bool same(const struct nc_option *option, const struct params *a, const struct params *b)
{
    const char *one = (const char *)a + option->offset, *other = (const char *)b + option->offset;
    switch (option->kind) {
    case NC_OPT_TEXT:
        return strcmp(one, other) == 0;
    case NC_OPT_CHOICE:
        return *(const int *)one == *(const int *)other;
    default:
        return *(const uint64_t *)one == *(const uint64_t *)other;
    }
}

json_t *params_json(const struct params *params)
{
    json_t *object = json_object();
    for (size_t i = 0; i < param_rows_n; i++)
        json_object_set_new(object, param_rows[i].json_name, value_json(&param_rows[i].option, params));
    return object;
}

json_t *params_changes_json(const struct params *before, const struct params *after)
{
    json_t *object = json_object();
    for (size_t i = 0; i < param_rows_n; i++)
        if (!same(&param_rows[i].option, before, after))
            json_object_set_new(object, param_rows[i].json_name, value_json(&param_rows[i].option, after));
    return object;
}
