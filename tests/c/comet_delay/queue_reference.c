/* For every discipline and load, the bottleneck must do to every packet what it did when this table was made: the same
 * fates, marks and times to the bit, and so the same random draws for the same seed. Published results depend on it. A
 * row holds a hash of all outcomes of three arrangements (one line, three channels, a rate that changes in steps), and
 * the fates of the packets in them. A row may change only if the behaviour of its discipline is meant to change; a new
 * discipline adds rows. With an argument the program prints the table. */
#include <inttypes.h>

#include "channels.h"
#include "check.h"
#include "nc_clock.h"
#include "random.h"

enum { PACKETS = 12000, SECTION = 1500 };

struct outcome {
    uint64_t hash, sent, queue, aqm, marked; /* aqm: a policer, too */
};

/* Settings that are made while packets flow; each applies to one section of the packets. */
struct setting {
    const char *aqm;
    uint64_t queue_bytes, queue_packets, rate_bps;
    int queue_drop;
};

enum { MBIT = 1000000, KB = 1024, SETTINGS_MAX = 8 };

static const struct {
    const char *name;
    struct setting settings[SETTINGS_MAX];
} disciplines[] = {
    {"tail, bytes", {{"none", 60 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"tail, packets", {{"none", 0, 40, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"tail, fast", {{"none", 200 * KB, 0, 400 * MBIT, QUEUE_DROP_TAIL}}},
    {"head", {{"none", 60 * KB, 0, 10 * MBIT, QUEUE_DROP_HEAD}}},
    {"red", {{"red:min=5KB,max=40KB,p=5%,weight=1%", 100 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"red, steep, ECN", {{"red:min=5KB,max=30KB,gentle=off,ecn=on", 100 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"codel", {{"codel", 200 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"codel, ECN, head", {{"codel:target=2ms,interval=20ms,ecn=on", 60 * KB, 0, 10 * MBIT, QUEUE_DROP_HEAD}}},
    {"pie", {{"pie", 200 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"pie, ECN, even", {{"pie:target=5ms,update=100us,derandomize=on,ecn=on", 0, 90, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"changes",
     {{"codel:target=2ms,interval=20ms", 100 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL},
      {"none", 100 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL},
      {"none", 30 * KB, 0, 90 * MBIT, QUEUE_DROP_HEAD},
      {"pie:ecn=on", 30 * KB, 0, 5 * MBIT, QUEUE_DROP_HEAD},
      {"pie:target=1ms", 0, 50, 10 * MBIT, QUEUE_DROP_TAIL},
      {"red:min=3KB,max=20KB", 0, 0, 10 * MBIT, QUEUE_DROP_TAIL},
      {"none", 0, 0, 0, QUEUE_DROP_TAIL},
      {"codel:ecn=on", 1 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"fq_codel", {{"fq_codel:memory=200KB", 0, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"policer", {{"policer:rate=8Mbit,burst=30KB", 60 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"policer, ECN, head", {{"policer:rate=12Mbit,burst=3000,ecn=on", 60 * KB, 0, 10 * MBIT, QUEUE_DROP_HEAD}}},
    {"dualpi2", {{"dualpi2", 200 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"dualpi2, ECT(0), changes",
     {{"dualpi2:ect0=on,target=2ms", 0, 90, 10 * MBIT, QUEUE_DROP_TAIL},
      {"codel:ecn=on", 100 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"step", {{"step:packets=0,bytes=20KB,drop=off", 60 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"step, drops, head", {{"step:packets=15", 0, 40, 10 * MBIT, QUEUE_DROP_HEAD}}},
    {"fq_codel, 8 ways", {{"fq_codel:memory=200KB,ways=8,ack_filter=on", 0, 0, 10 * MBIT, QUEUE_DROP_TAIL}}},
    {"fq_codel, changes",
     {{"fq_codel:target=2ms,interval=20ms", 100 * KB, 0, 10 * MBIT, QUEUE_DROP_TAIL},
      {"none", 100 * KB, 0, 10 * MBIT, QUEUE_DROP_HEAD},
      {"fq_codel:quantum=300,ecn=off", 0, 60, 30 * MBIT, QUEUE_DROP_HEAD},
      {"fq_codel", 1 * KB, 0, 0, QUEUE_DROP_TAIL}}},
};

/* Packets have 1,050 bytes on average, so their mean gap is 0.84 ms at 10 Mbit/s. */
static const struct load {
    const char *name;
    uint64_t mean_gap_ns, pause_ns, together;
} loads[] = {
    {"light", 1700000, 0, 1},
    {"heavy", 650000, 0, 1},
    {"bursts", 300000, 3 * NC_NS_PER_S, 1},
    {"super-packets", 800000, 0, 44},
};

static const struct arrangement {
    uint64_t channels;
    int balance;
    const char *trace;
} arrangements[] = {{1, BALANCE_FLOW, "none"},
                    {3, BALANCE_FLOW, "none"},
                    {1, BALANCE_FLOW, "rate:0s=12Mbit,1s=2Mbit,2s=0bit,2.5s=30Mbit,4s=9Mbit"}};

enum { DISCIPLINES = sizeof disciplines / sizeof disciplines[0], LOADS = sizeof loads / sizeof loads[0] };

/* clang-format off */
static const struct outcome expected[DISCIPLINES][LOADS] = {
    /* tail, bytes */
    {{0xb7158503c36e379b, 35405, 595, 0, 0},
     {0x043cf4252a9ab658, 27552, 8448, 0, 0},
     {0xaa9cabedf65eeb71, 21635, 14365, 0, 0},
     {0x43cfaffc8d01ac49, 29802, 6198, 0, 0}},
    /* tail, packets */
    {{0xfa8eaa77ab7811f9, 35364, 636, 0, 0},
     {0x6416b917ccf32f4d, 26722, 9278, 0, 0},
     {0x5bf39648d3c5fe9d, 19868, 16132, 0, 0},
     {0x24a572c5693688c4, 28528, 7472, 0, 0}},
    /* tail, fast */
    {{0x321652326f03102d, 35506, 494, 0, 0},
     {0x268ec9cedbec47fb, 31699, 4301, 0, 0},
     {0x494cfdd00a8b2870, 30717, 5283, 0, 0},
     {0x7fb334d70c0bc145, 32561, 3439, 0, 0}},
    /* head */
    {{0x96e4e13962b9712b, 35373, 627, 0, 0},
     {0x1adea5b8cea0f77b, 26702, 9298, 0, 0},
     {0xd5b396813f18368d, 20282, 15718, 0, 0},
     {0x66b74a1e09ffb993, 29492, 6508, 0, 0}},
    /* red */
    {{0x1663dc117e31449d, 35428, 3, 569, 0},
     {0xc1afff18c1b06f0d, 27615, 0, 8385, 0},
     {0xa4d6b9594a74f19c, 21621, 215, 14164, 0},
     {0xa732686913f62953, 29981, 0, 6019, 0}},
    /* red, steep, ECN */
    {{0x6a201e09398ecda0, 35310, 72, 618, 21},
     {0x4b26e3cd10fd6142, 19126, 52, 16822, 424},
     {0x2d934c8078efaf5d, 17576, 2569, 15855, 158},
     {0x0a0a2c4ae5550ff8, 27518, 33, 8449, 1152}},
    /* codel */
    {{0xfbae4875d495a9c9, 35467, 470, 63, 0},
     {0xf7741af3227426d1, 27423, 5986, 2591, 0},
     {0xbc69795c39976029, 25305, 10497, 198, 0},
     {0xb11d0ba7df0c54c3, 29964, 3148, 2888, 0}},
    /* codel, ECN, head */
    {{0x7d787270f94b0803, 35351, 461, 188, 190},
     {0x148b28b3e4b5654b, 26614, 3392, 5994, 6156},
     {0x8e657c9879fc1b19, 19784, 14999, 1217, 1212},
     {0x53cbcd99c51e0067, 29239, 5843, 918, 877}},
    /* pie */
    {{0xc7633dc287c55b3d, 35352, 0, 648, 0},
     {0x89c8509490ed02d5, 26708, 626, 8666, 0},
     {0x985f6f69d2228047, 25422, 10213, 365, 0},
     {0x52b0d7639210fd01, 27594, 356, 8050, 0}},
    /* pie, ECN, even */
    {{0x4fc912500621ed5a, 35340, 0, 660, 0},
     {0x084a41faef96b714, 26577, 13, 9410, 0},
     {0x0c58327ccd990f6d, 19248, 9199, 7553, 0},
     {0x18d322c60902bcf9, 27541, 250, 8209, 5}},
    /* changes */
    {{0x7f113f69b3d1d9e3, 34609, 914, 477, 14},
     {0x5f24a7da2230bd87, 26081, 7134, 2785, 16},
     {0xb687eaf4a86980b0, 21798, 11827, 2375, 0},
     {0x799922e9aab47467, 24400, 10156, 1444, 4}},
    /* fq_codel */
    {{0xc83b0645546b6315, 35419, 438, 143, 178},
     {0xa3daa69ce508e047, 26835, 3779, 5386, 5404},
     {0x5d5dfd91493e9795, 24025, 11407, 568, 569},
     {0xdeea4fca536784c7, 29870, 2713, 3417, 3554}},
    /* policer */
    {{0xb7158503c36e379b, 35405, 595, 0, 0},
     {0xe4748cce4002d1a1, 24855, 973, 10172, 0},
     {0x6f7f1efd6ca10b99, 18495, 0, 17505, 0},
     {0x5345c2d3f736489e, 23883, 703, 11414, 0}},
    /* policer, ECN, head */
    {{0x96e4e13962b9712b, 35373, 627, 0, 0},
     {0x2181559bb909929f, 26621, 6743, 2636, 1871},
     {0x3bff6546c7ea060e, 20055, 8147, 7798, 4456},
     {0x130053d410c105c9, 19382, 785, 15833, 14971}},
    /* dualpi2 */
    {{0x69e1ba6a8d7922e0, 35316, 137, 547, 57},
     {0x52eb2d8d43b28ab1, 26548, 685, 8767, 3007},
     {0x40dfc220e6911173, 22778, 9639, 3583, 3582},
     {0xfac4d815647b5226, 27191, 570, 8239, 5582}},
    /* dualpi2, ECT(0), changes */
    {{0xb36d4901f5f4ad81, 35318, 202, 480, 114},
     {0x9e1c7b95407050c7, 27080, 4875, 4045, 3421},
     {0x659fca61bc5ef880, 21977, 12499, 1524, 4231},
     {0x5e39d8227cd2c573, 29358, 3919, 2723, 6886}},
    /* step */
    {{0x9616a58e29ef6ebd, 35405, 595, 0, 136},
     {0x142a5dce595bf0fe, 27552, 8448, 0, 6522},
     {0x5387d81a14976726, 21635, 14365, 0, 6721},
     {0x9d18d9d2b32fc720, 29802, 6198, 0, 7461}},
    /* step, drops, head */
    {{0x3855737d061b6092, 35370, 213, 417, 227},
     {0x8f29b0cb610b8707, 26622, 963, 8415, 7520},
     {0xc4cf3f041490b1eb, 19241, 4119, 12640, 8362},
     {0x4fe7db271489830d, 25479, 812, 9709, 8735}},
    /* fq_codel, 8 ways */
    {{0xc83b0645546b6315, 35419, 438, 143, 178},
     {0xa3daa69ce508e047, 26835, 3779, 5386, 5404},
     {0x5d5dfd91493e9795, 24025, 11407, 568, 569},
     {0xdeea4fca536784c7, 29870, 2713, 3417, 3554}},
    /* fq_codel, changes */
    {{0x95fb0327576c14fc, 34834, 1010, 156, 159},
     {0xce0cb3455b3d1b08, 28653, 5510, 1837, 1695},
     {0x62aaf09193c0a48b, 24106, 10805, 1089, 982},
     {0x2f4e13537f6f87fe, 28690, 6425, 885, 839}},
};
/* clang-format on */

static void mix(struct outcome *o, uint64_t word)
{
    o->hash = random_mix(o->hash ^ word) + RANDOM_WEYL;
}

static void note(struct outcome *o, const struct wire_packet *packet, enum fate fate)
{
    mix(o, packet->number);
    mix(o, packet->time_ns);
    mix(o, (uint64_t)fate << 8 | packet->edits);
    o->sent += fate == FATE_PASS;
    o->queue += fate == FATE_QUEUE;
    o->aqm += fate == FATE_AQM || fate == FATE_POLICER;
    o->marked += fate == FATE_PASS && packet->edits & EDIT_CE;
}

static void advance(struct channels *c, const struct params *params, const struct models *models, uint64_t until_ns,
                    struct outcome *o)
{
    struct wire_packet packet;
    enum fate fate;
    while (channels_next(c, params, models, until_ns, &packet, &fate))
        note(o, &packet, fate);
    mix(o, channels_turn_ns(c));
}

static struct wire_packet packet_of(uint64_t number, uint64_t draw, uint64_t now_ns)
{
    uint32_t bytes = draw % 3 ? 1514 : 60 + (uint32_t)(draw >> 8) % 1400;
    return (struct wire_packet){.number = number,
                                .time_ns = now_ns,
                                .flow = (draw >> 20) % 10,
                                .l2_bytes = bytes,
                                .ip_bytes = bytes - 14,
                                .ect = draw >> 30 & 1,
                                .ect1 = (draw >> 30 & 3) == 3};
}

static uint64_t gap_ns(const struct load *load, uint64_t number, uint64_t draw)
{
    if (number % load->together)
        return 0;
    uint64_t gap = load->together * (load->mean_gap_ns / 2 + (draw >> 32) % load->mean_gap_ns);
    return load->pause_ns && number % 701 == 0 ? gap + load->pause_ns : gap;
}

/* As in direction_set: waiting packets are served up to now, then the new parameters take effect. */
static void set(struct params *params, struct models *models, const struct setting *setting,
                const struct arrangement *arrangement)
{
    struct nc_error error;
    const char *text = setting->aqm;
    models_free(models);
    *params = (struct params){.rate_bps = setting->rate_bps,
                              .channels = arrangement->channels,
                              .balance = arrangement->balance,
                              .queue_bytes = setting->queue_bytes,
                              .queue_packets = setting->queue_packets,
                              .queue_drop = setting->queue_drop,
                              .framing = FRAMING_ETHERNET,
                              .jitter = "none",
                              .only = "all",
                              .loss = "0%",
                              .loss_after = "0%"};
    snprintf(params->rate_trace, sizeof params->rate_trace, "%s", arrangement->trace);
    snprintf(params->aqm, sizeof params->aqm, "%s", text);
    CHECK_DONE(models_build(params, models, &error), text, error);
}

static void run(const struct setting *settings, const struct load *load, const struct arrangement *arrangement,
                struct outcome *o)
{
    struct channels *c = malloc(sizeof *c);
    CHECK(c);
    channels_init(c, random_key(7, 0, 7));
    struct params params;
    struct models models = {0};
    uint64_t now_ns = NC_NS_PER_MS, n = 1;
    for (; n < SETTINGS_MAX && settings[n].aqm; n++)
        ;
    for (uint64_t i = 0; i < PACKETS; i++) {
        uint64_t draw = random_u64(random_key(7, 1, 0), i);
        now_ns += gap_ns(load, i, draw);
        if (i % SECTION == 0) {
            if (i)
                advance(c, &params, &models, now_ns, o);
            set(&params, &models, &settings[i / SECTION % n], arrangement);
        }
        struct wire_packet packet = packet_of(i, draw, now_ns);
        advance(c, &params, &models, now_ns, o);
        enum fate fate = channels_offer(c, &params, &models, &packet);
        if (fate != FATE_PASS)
            note(o, &packet, fate);
        advance(c, &params, &models, now_ns, o);
        mix(o, channels_occupancy(c, now_ns));
    }
    advance(c, &params, &models, UINT64_MAX / 2, o);
    struct line_count sent = channels_sent(c);
    mix(o, sent.bytes ^ sent.busy_ns << 20);
    mix(o, c->peak_bytes);
    CHECK_EQ(channels_occupancy(c, UINT64_MAX), 0);
    channels_free(c);
    models_free(&models);
    free(c);
}

static struct outcome outcome_of(size_t discipline, size_t load)
{
    struct outcome o = {0};
    for (size_t a = 0; a < sizeof arrangements / sizeof arrangements[0]; a++)
        run(disciplines[discipline].settings, &loads[load], &arrangements[a], &o);
    CHECK_EQ(o.sent + o.queue + o.aqm, PACKETS * sizeof arrangements / sizeof arrangements[0]);
    return o;
}

static void print_table(void)
{
    for (size_t d = 0; d < DISCIPLINES; d++) {
        printf("    /* %s */\n    {", disciplines[d].name);
        for (size_t l = 0; l < LOADS; l++) {
            struct outcome o = outcome_of(d, l);
            printf("%s{0x%016" PRIx64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "}", l ? ",\n     " : "",
                   o.hash, o.sent, o.queue, o.aqm, o.marked);
        }
        printf("},\n");
    }
}

static void every_packet_has_the_outcome_it_had(void)
{
    int wrong = 0;
    for (size_t d = 0; d < DISCIPLINES; d++)
        for (size_t l = 0; l < LOADS; l++) {
            struct outcome o = outcome_of(d, l), was = expected[d][l];
            if (memcmp(&o, &was, sizeof o) == 0)
                continue;
            wrong++;
            fprintf(stderr,
                    "%s, %s: sent %" PRIu64 " (was %" PRIu64 "), dropped by the queue %" PRIu64 " (%" PRIu64
                    "), by management %" PRIu64 " (%" PRIu64 "), marked %" PRIu64 " (%" PRIu64 "), hash %s\n",
                    disciplines[d].name, loads[l].name, o.sent, was.sent, o.queue, was.queue, o.aqm, was.aqm, o.marked,
                    was.marked, o.hash == was.hash ? "as it was" : "other");
        }
    CHECK_EQ(wrong, 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        print_table();
    else
        RUN(every_packet_has_the_outcome_it_had);
    return 0;
}
