/* Packets made in answer to a SYN must be well formed and have checksums that a receiver accepts. */
#include <string.h>

#include "check.h"
#include "nc_bytes.h"
#include "tun.h"

static size_t make_syn(int version, uint8_t *at)
{
    size_t ip = version == 6 ? 40 : 20;
    memset(at, 0, ip + 20);
    at[0] = version == 6 ? 0x60 : 0x45;
    if (version == 6) {
        nc_put16(at + 4, 20);
        at[6] = 6;
        at[23] = 1;
        at[39] = 2;
    } else {
        nc_put16(at + 2, 40);
        at[9] = 6;
        at[15] = 1;
        at[19] = 2;
    }
    nc_put16(at + ip, 40000);
    nc_put16(at + ip + 2, 80);
    nc_put32(at + ip + 4, 0xffffffff);
    at[ip + 12] = 5 << 4;
    at[ip + 13] = NC_TCP_SYN;
    return ip + 20;
}

static bool sums_to_zero(const struct nc_packet *p, uint8_t protocol, const uint8_t *at, size_t n, bool pseudo)
{
    const uint8_t tail[4] = {0, protocol, (uint8_t)(n >> 8), (uint8_t)n};
    size_t address = p->ip_version == 6 ? 16 : 4;
    uint64_t sum = 0;
    if (pseudo)
        sum = nc_csum_add(nc_csum_add(nc_csum_add(0, p->src, address), p->dst, address), tail, 4);
    return nc_csum_fold(nc_csum_add(sum, at, n)) == 0;
}

static void check_version(int version)
{
    uint8_t syn[80], out[TUN_PACKET_MAX];
    struct nc_packet decoded, made;
    size_t n = make_syn(version, syn), ip = version == 6 ? 40 : 20;
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, syn, n, n, &decoded), NC_DECODED);
    size_t length = tun_refusal(syn, n, &decoded, &(struct lft_result){.code = LFT_RESULT_REFUSED}, out);
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, out, length, length, &made), NC_DECODED);
    CHECK_EQ(made.tcp.flags, NC_TCP_RST | NC_TCP_ACK);
    CHECK_EQ(made.tcp.ack, 0); /* wraps */
    CHECK_EQ(made.dst_port, 40000);
    CHECK(memcmp(made.dst, decoded.src, 16) == 0);
    CHECK(sums_to_zero(&made, 6, out + ip, length - ip, true));
    length = tun_refusal(syn, n, &decoded, &(struct lft_result){.code = LFT_RESULT_HOST_UNREACHABLE}, out);
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, out, length, length, &made), NC_DECODED);
    CHECK_EQ(out[ip], version == 6 ? 1 : 3);
    CHECK_EQ(out[ip + 1], version == 6 ? 3 : 1);
    CHECK(memcmp(out + ip + 8, syn, n) == 0);
    CHECK(sums_to_zero(&made, 58, out + ip, length - ip, version == 6));
    CHECK(memcmp(made.src, decoded.dst, 16) == 0); /* the reporting router is not known */
    const uint8_t code = version == 6 ? 1 : 13, type = version == 6 ? 1 : 3;
    const struct lft_result told = {
        .code = LFT_RESULT_ICMP, .icmp_type = type, .icmp_code = code, .from = {9, 8, 7, 6}};
    length = tun_refusal(syn, n, &decoded, &told, out);
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, out, length, length, &made), NC_DECODED);
    CHECK_EQ(out[ip + 1], code);
    CHECK(memcmp(made.src, told.from, 16) == 0);
    CHECK(sums_to_zero(&made, 58, out + ip, length - ip, version == 6));
    CHECK_EQ(tun_refusal(syn, n, &decoded, &(struct lft_result){.code = LFT_RESULT_TIMED_OUT}, out), 0);
}

/* Whatever the peer reports, the only ICMP error that the client gets is "destination unreachable". It never comes from
 * an address that no router can have. */
static void a_peer_makes_no_errors_of_its_own(int version)
{
    const uint8_t loopback[16] = {127, 0, 0, 1}, multicast[16] = {224, 0, 0, 1}, link_local[16] = {169, 254, 1, 1},
                  loopback6[16] = {[15] = 1}, multicast6[16] = {0xff, 2}, link_local6[16] = {0xfe, 0x80};
    const uint8_t *const senders[2][3] = {{loopback, multicast, link_local}, {loopback6, multicast6, link_local6}};
    uint8_t syn[64], out[TUN_PACKET_MAX];
    struct nc_packet decoded, made;
    size_t n = make_syn(version, syn), ip = version == 6 ? 40 : 20;
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, syn, n, n, &decoded), NC_DECODED);
    for (unsigned type = 0; type < 256; type++)
        for (unsigned code = 0; code < 256; code++) {
            const struct lft_result result = {
                .code = LFT_RESULT_ICMP, .icmp_type = (uint8_t)type, .icmp_code = (uint8_t)code, .from = {9, 8, 7, 6}};
            CHECK(tun_refusal(syn, n, &decoded, &result, out) > 0);
            bool passed = version == 6 ? type == 1 && code <= 8 : type == 3 && code <= 15 && code != 4;
            CHECK_EQ(out[ip], version == 6 ? 1 : 3);
            CHECK_EQ(out[ip + 1], passed ? code : version == 6 ? 3 : 1);
            CHECK_EQ(nc_get32(out + ip + 4), 0);
        }
    for (size_t i = 0; i < 3; i++) {
        struct lft_result result = {.code = LFT_RESULT_HOST_UNREACHABLE};
        memcpy(result.from, senders[version == 6][i], sizeof result.from);
        size_t length = tun_refusal(syn, n, &decoded, &result, out);
        CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, out, length, length, &made), NC_DECODED);
        CHECK(memcmp(made.src, decoded.dst, 16) == 0);
    }
}

int main(void)
{
    a_peer_makes_no_errors_of_its_own(4);
    a_peer_makes_no_errors_of_its_own(6);
    check_version(4);
    check_version(6);
    return 0;
}
