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

#define AT(field) offsetof(struct params, field)

#define RATIO(name_, field, json, help_)                                                                               \
    {{.name = name_,                                                                                                   \
      .kind = NC_OPT_QUANTITY,                                                                                         \
      .unit = NC_UNIT_RATIO,                                                                                           \
      .default_text = "0%",                                                                                            \
      .max = NC_RATIO_ONE,                                                                                             \
      .help = help_,                                                                                                   \
      .offset = AT(field)},                                                                                            \
     json}

#define AQM_WORD(number, name, file) #name ", "
#define TEXT(name_, field, default_, json, help_)                                                                      \
    {{.name = name_,                                                                                                   \
      .kind = NC_OPT_TEXT,                                                                                             \
      .default_text = default_,                                                                                        \
      .max = PARAM_TEXT,                                                                                               \
      .metavar = "MODEL",                                                                                              \
      .help = help_,                                                                                                   \
      .offset = AT(field)},                                                                                            \
     json}

/* clang-format off */
const struct param_row param_rows[] = {
    {{.name = "delay", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "0ns",
     .max = 3600 * NC_NS_PER_S,
      .help = "propagation delay, one way", .offset = AT(delay_ns)}, "delay_ns"},
    TEXT("jitter", jitter, "none", "jitter",
         "delay that varies: 2ms (uniform), normal:2ms, pareto:2ms,25%, table:FILE, …"),
    {{.name = "jitter-order", .kind = NC_OPT_CHOICE, .choices = jitter_orders, .default_text = "keep",
      .help = "whether a packet with less jitter overtakes earlier ones", .offset = AT(jitter_order)}, "jitter_order"},
    {{.name = "rate", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_RATE, .default_text = "0bit",
     .max = UINT64_C(400000000000),
      .help = "bottleneck rate; 0 for none", .offset = AT(rate_bps)}, "rate_bps"},
    TEXT("rate-trace", rate_trace, "none", "rate_trace",
         "rate over time, in place of --rate: rate:0s=10Mbit,5s=1Mbit, mahimahi:FILE or mm-link:FILE"),
    {{.name = "channels", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "1", .min = 1,
      .max = CHANNELS_MAX, .help = "parallel lines at the bottleneck, each with this rate and a queue of its own",
      .offset = AT(channels)}, "channels"},
    {{.name = "balance", .kind = NC_OPT_CHOICE, .choices = balances, .default_text = "flow",
      .help = "whether each flow keeps to one channel, or packets go to the channels in turn",
      .offset = AT(balance)}, "balance"},
    {{.name = "queue", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_BYTES, .default_text = "0",
      .max = UINT64_C(1) << 40, .help = "bound on bytes waiting or being sent at the bottleneck; 0 for no bound",
      .offset = AT(queue_bytes)}, "queue_bytes"},
    {{.name = "queue-packets", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "0",
      .max = UINT64_C(1) << 32, .help = "the same bound in packets; 0 for no bound",
      .offset = AT(queue_packets)}, "queue_packets"},
    {{.name = "queue-drop", .kind = NC_OPT_CHOICE, .choices = queue_drops, .default_text = "tail",
      .help = "which packet is dropped when the queue is full: the newest or the oldest", .offset = AT(queue_drop)},
      "queue_drop"},
    TEXT("aqm", aqm, "none", "aqm",
         "active queue management: " AQM_DISCIPLINES(AQM_WORD) "with keys such as codel:target=5ms,interval=100ms,ecn=on; "
         "policer:rate=10Mbit,burst=100KB"),
    {{.name = "only", .kind = NC_OPT_TEXT, .default_text = "all", .max = PARAM_FILTER, .metavar = "FILTER",
      .help = "packets that loss, duplication, corruption, reordering and jitter concern: data, dport=5001, …",
      .offset = AT(only)}, "only"},
    TEXT("loss", loss, "0%", "loss", "wire packets lost before the bottleneck: 1%, gilbert:1%,10, packets:5,10-12, …"),
    TEXT("loss-after", loss_after, "0%", "loss_after", "wire packets lost behind the bottleneck"),
    RATIO("duplicate", duplicate_ppb, "duplicate_ppb", "share of wire packets that arrive twice"),
    RATIO("corrupt", corrupt_ppb, "corrupt_ppb",
          "share of wire packets with one bit of payload flipped, which checksums detect"),
    RATIO("forge", forge_ppb, "forge_ppb",
          "share of wire packets with one bit of payload flipped and the checksum made to fit"),
    RATIO("reorder", reorder_ppb, "reorder_ppb",
          "share of wire packets held back by --reorder-by while later ones go on"),
    {{.name = "reorder-by", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "1ms",
      .max = 3600 * NC_NS_PER_S, .help = "how much later a reordered packet leaves", .offset = AT(reorder_by_ns)},
     "reorder_by_ns"},
    {{.name = "bunch", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "0ns",
      .max = 3600 * NC_NS_PER_S, .help = "hold packets and let them go together once in this time; 0 for none",
      .offset = AT(bunch_ns)}, "bunch_ns"},
    {{.name = "bunch-packets", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "0",
      .max = UINT64_C(1) << 32, .help = "packets that go together at most; 0 for no bound",
      .offset = AT(bunch_packets)}, "bunch_packets"},
    {{.name = "pace", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_RATE, .default_text = "0bit",
      .max = UINT64_C(400000000000), .help = "rate of the pacer in front of the receiver, bit/s; 0 for none",
      .offset = AT(pace_bps)},
     "pace_bps"},
    {{.name = "pace-packets", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "0",
      .max = UINT64_C(1000000000), .help = "the same in packets/s; takes precedence; 0 for none",
      .offset = AT(pace_packets)}, "pace_packets"},
    {{.name = "pace-buffer", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_BYTES, .default_text = "0",
      .max = UINT64_C(1) << 40, .help = "bound on bytes that wait for the pacer; 0 for no bound",
      .offset = AT(pace_buffer_bytes)},
     "pace_buffer_bytes"},
    {{.name = "drain-rate", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_RATE, .default_text = "0bit",
      .max = UINT64_C(400000000000), .help = "rate of the receiver's I/O bus, bit/s; 0 for none",
      .offset = AT(drain_rate_bps)},
     "drain_rate_bps"},
    {{.name = "drain-buffer", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_BYTES, .default_text = "0",
      .max = UINT64_C(1) << 40, .help = "bytes that the receiver's NIC holds for its bus; 0 for no bound",
      .offset = AT(drain_buffer_bytes)},
     "drain_buffer_bytes"},
    {{.name = "harmonize", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_RATE, .default_text = "0bit",
      .max = UINT64_C(400000000000), .help = "give parallel flows equal shares of this rate, evenly spaced; 0 for none",
      .offset = AT(harmonize_bps)}, "harmonize_bps"},
    {{.name = "access-rate", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_RATE, .default_text = "0bit",
      .max = UINT64_C(400000000000), .help = "rate of the line that packets come in on; 0 for none",
      .offset = AT(access_rate_bps)}, "access_rate_bps"},
    {{.name = "framing", .kind = NC_OPT_CHOICE, .choices = framings, .default_text = "l2",
      .help = "bytes that a packet takes on a line", .offset = AT(framing)}, "framing"},
};
/* clang-format on */
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
