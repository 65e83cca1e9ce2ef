/* Unwrapping of numbers, and the MSS in use. */
#include "flows.h"

#include "check.h"

static void numbers_unwrap_forwards_and_backwards(void)
{
    struct pl_side side = {.based = true, .syn = true, .base = 0xfffffff0u};
    CHECK_EQ(pl_unwrap(&side, 0xfffffff0u, true), 0);
    CHECK_EQ(pl_unwrap(&side, 0x10u, true), 0x20);
    CHECK_EQ(pl_unwrap(&side, 0xfffffff1u, true), 1); /* an old one: reordered */
    for (uint64_t at = 1, step = 0x7fffffffu; at < (UINT64_C(1) << 40); at += step)
        CHECK_EQ(pl_unwrap(&side, (uint32_t)(0xfffffff0u + at), true), at);
}

static void a_stray_number_spoils_only_itself(void)
{
    struct pl_side side = {.based = true, .syn = true, .base = 1000};
    CHECK_EQ(pl_unwrap(&side, 2000, true), 1000);
    CHECK_EQ(pl_unwrap(&side, 900, true), (INT64_C(1) << 32) - 100); /* before the SYN */
    CHECK_EQ(pl_unwrap(&side, 2001, true), 1001);
    pl_unwrap(&side, 0x70000000u, true);
    CHECK_EQ(pl_unwrap(&side, 2002, true), 1002);
    CHECK_EQ(pl_unwrap(&side, 2500, false), 1500);
    CHECK_EQ(side.last, 1002);
}

static void without_a_syn_the_first_number_is_two_to_the_32(void)
{
    struct pl_side side = {0};
    CHECK_EQ(pl_unwrap(&side, 12345, true), PL_UNSEEN_BASE);
    CHECK_EQ(pl_unwrap(&side, 12344, true), PL_UNSEEN_BASE - 1);
}

/* SYN and SYN+ACK with the given options. */
static struct pl_flow handshake(uint16_t mss_a, uint16_t mss_b, bool timestamps, bool scaled)
{
    struct pl_flow flow = {0};
    struct nc_tcp tcp = {.flags = NC_TCP_SYN,
                         .has_mss = true,
                         .mss = mss_a,
                         .has_timestamps = timestamps,
                         .has_wscale = true,
                         .wscale = 3,
                         .window = 60000};
    pl_flow_learn(&flow, 0, &tcp);
    tcp.flags |= NC_TCP_ACK;
    tcp.mss = mss_b;
    tcp.has_wscale = scaled;
    pl_flow_learn(&flow, 1, &tcp);
    return flow;
}

static void mss_in_use_is_what_both_ends_keep_to(void)
{
    struct pl_flow flow = handshake(1460, 1400, true, true);
    CHECK_EQ(pl_flow_mss(&flow), 1388);
    flow = handshake(1460, 8960, false, true);
    CHECK_EQ(pl_flow_mss(&flow), 1460);
    flow = handshake(1, 1, true, true);
    CHECK_EQ(pl_flow_mss(&flow), 48);
    flow = (struct pl_flow){0};
    CHECK_EQ(pl_flow_mss(&flow), 0);
}

/* RFC 9293, 3.8.6.2.1, as Linux implements it: the MSS is at most half of the largest window, or all of a window that a
 * default segment fills. The time stamp option comes in addition. Each direction has its own MSS. */
static void segments_are_at_most_half_of_the_largest_window(void)
{
    static const struct {
        uint32_t window, bound;
    } rows[] = {{0, 8960}, {17900, 8960}, {17895, 8959}, {8928, 4476}, {1073, 548}, {536, 548}, {400, 412}, {20, 60}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pl_flow flow = handshake(8960, 8960, true, true);
        flow.side[1].window_most = rows[i].window;
        CHECK_EQ(pl_flow_bound_mss(&flow, 0), rows[i].bound);
        CHECK_EQ(pl_flow_bound_mss(&flow, 1), 8960);
    }
    struct pl_flow plain = handshake(8960, 8960, false, true);
    plain.side[1].window_most = 8928;
    CHECK_EQ(pl_flow_bound_mss(&plain, 0), 4464);
}

static void windows_scale_only_when_both_offered(void)
{
    struct pl_flow both = handshake(1460, 1460, false, true), one = handshake(1460, 1460, false, false);
    CHECK(pl_flow_scaled(&both));
    CHECK(!pl_flow_scaled(&one));
}

static void thousands_of_flows_are_found_again(void)
{
    struct pl_flows flows;
    struct nc_packet packet = {.ip_version = 4, .l4 = NC_L4_TCP, .src = {10, 0, 0, 1}, .dst = {10, 0, 0, 2}};
    CHECK_EQ(pl_flows_init(&flows), 0);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 20000; i++) {
            unsigned dir;
            packet.src_port = (uint16_t)i;
            packet.dst_port = 80;
            packet.tcp = (struct nc_tcp){.flags = NC_TCP_ACK};
            struct pl_flow *flow = pl_flows_find(&flows, &packet, &dir);
            CHECK_EQ(flow - flows.at, i);
            CHECK_EQ(dir, 0);
            flow->side[0].packets++;
        }
    CHECK_EQ(flows.n, 20000);
    bool flipped;
    CHECK_EQ(pl_flows_lookup(&flows, &flows.at[777], &flipped), 777);
    CHECK(!flipped);
    pl_flows_free(&flows);
}

/* What both SYNs say about ECN by the flags AE, CWR and ECE (RFC 9768, table 2; RFC 3168, 6.1.1). */
static void the_syns_agree_on_how_marks_are_reported(void)
{
    static const struct {
        uint8_t asked, answer;
        enum pl_ecn_mode mode;
    } rows[] = {
        {7, 2, PL_ECN_ACCURATE}, {7, 3, PL_ECN_ACCURATE}, {7, 4, PL_ECN_ACCURATE}, {7, 6, PL_ECN_ACCURATE},
        {7, 5, PL_ECN_CLASSIC},  {7, 1, PL_ECN_CLASSIC},  {7, 0, PL_ECN_NONE},     {7, 7, PL_ECN_NONE},
        {3, 1, PL_ECN_CLASSIC},  {3, 5, PL_ECN_CLASSIC},  {3, 0, PL_ECN_NONE},     {3, 3, PL_ECN_NONE},
        {0, 0, PL_ECN_NONE},     {0, 1, PL_ECN_NONE},     {1, 1, PL_ECN_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pl_flow flow = {0};
        struct nc_tcp tcp = {.flags = (uint16_t)(NC_TCP_SYN | rows[i].asked << 6)};
        pl_flow_learn(&flow, 0, &tcp);
        tcp.flags = (uint16_t)(NC_TCP_SYN | NC_TCP_ACK | rows[i].answer << 6);
        pl_flow_learn(&flow, 1, &tcp);
        CHECK_EQ(pl_flow_ecn(&flow), rows[i].mode);
    }
}

static void without_the_syns_the_packets_say_it(void)
{
    struct pl_flow flow = {0};
    struct nc_tcp tcp = {.flags = NC_TCP_ACK};
    pl_flow_learn(&flow, 0, &tcp);
    CHECK_EQ(pl_flow_ecn(&flow), PL_ECN_UNKNOWN);
    tcp.flags = NC_TCP_ACK | NC_TCP_ECE;
    pl_flow_learn(&flow, 1, &tcp);
    CHECK_EQ(pl_flow_ecn(&flow), PL_ECN_CLASSIC);
    tcp.flags = NC_TCP_ACK | NC_TCP_AE;
    pl_flow_learn(&flow, 1, &tcp);
    CHECK_EQ(pl_flow_ecn(&flow), PL_ECN_ACCURATE);
}

int main(void)
{
    RUN(numbers_unwrap_forwards_and_backwards);
    RUN(a_stray_number_spoils_only_itself);
    RUN(without_a_syn_the_first_number_is_two_to_the_32);
    RUN(mss_in_use_is_what_both_ends_keep_to);
    RUN(segments_are_at_most_half_of_the_largest_window);
    RUN(windows_scale_only_when_both_offered);
    RUN(the_syns_agree_on_how_marks_are_reported);
    RUN(without_the_syns_the_packets_say_it);
    RUN(thousands_of_flows_are_found_again);
    return 0;
}
