/* Packets made in answer to a SYN: well formed, with the checksums that a receiver verifies. */
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
    CHECK(memcmp(made.src, decoded.dst, 16) == 0); /* who sent it is not known */
    const struct lft_result told = {.code = LFT_RESULT_ICMP, .icmp_type = 3, .icmp_code = 13, .from = {9, 8, 7, 6}};
    length = tun_refusal(syn, n, &decoded, &told, out);
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, out, length, length, &made), NC_DECODED);
    CHECK_EQ(out[ip + 1], 13);
    CHECK(memcmp(made.src, told.from, 16) == 0);
    CHECK(sums_to_zero(&made, 58, out + ip, length - ip, version == 6));
    CHECK_EQ(tun_refusal(syn, n, &decoded, &(struct lft_result){.code = LFT_RESULT_TIMED_OUT}, out), 0);
}

int main(void)
{
    check_version(4);
    check_version(6);
    return 0;
}
