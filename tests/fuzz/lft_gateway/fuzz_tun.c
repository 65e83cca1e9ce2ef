/* Any packets of clients on the TUN. The first octets choose the result and its ICMP error; the rest is a packet. Every
 * answer must be a complete packet to the sender of the first one. */
#include <assert.h>
#include <string.h>

#include "tun.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD = 4 };
    uint8_t out[TUN_PACKET_MAX];
    struct nc_packet syn, made;
    if (size < HEAD || size > HEAD + TUN_PACKET_MAX)
        return 0;
    const uint8_t *packet = data + HEAD;
    size_t n = size - HEAD;
    const struct lft_result result = {
        .code = data[0] % LFT_RESULTS, .icmp_type = data[1], .icmp_code = data[2], .from = {data[3]}};
    if (nc_packet_decode(NC_LINK_RAW_IP, packet, n, n, &syn) != NC_DECODED || syn.l4 != NC_L4_TCP || syn.fragment)
        return 0;
    size_t length = tun_refusal(packet, n, &syn, &result, out);
    assert(length <= sizeof out);
    if (length) {
        assert(nc_packet_decode(NC_LINK_RAW_IP, out, length, length, &made) == NC_DECODED);
        assert(made.ip_version == syn.ip_version && memcmp(made.dst, syn.src, sizeof syn.src) == 0);
    }
    return 0;
}
