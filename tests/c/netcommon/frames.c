#include "frames.h"

#include <linux/virtio_net.h>
#include <string.h>

static void put(uint8_t *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static uint32_t get(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

/* RFC 1071, 4.1, over bytes. */
static uint32_t sum16(uint32_t sum, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        sum += i % 2 ? data[i] : (uint32_t)data[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static uint32_t pseudo_sum(const uint8_t *ip, int ip_version, bool udp, uint32_t l4_len)
{
    uint32_t sum = ip_version == 4 ? sum16(0, ip + 12, 8) : sum16(0, ip + 8, 32);
    uint8_t tail[6] = {0};
    put(tail, l4_len, 4);
    put(tail + 4, udp ? 17 : 6, 2);
    return sum16(sum, tail, sizeof tail);
}

static uint8_t *build_link(const struct frame_spec *spec, uint8_t *at)
{
    memcpy(at, "\x02\x00\x00\x00\x00\x0b\x02\x00\x00\x00\x00\x0a", 12);
    at += 12;
    for (int i = 0; i < spec->vlans; i++, at += 4)
        put(at, (i == 0 && spec->vlans > 1 ? 0x88a8u << 16 : 0x8100u << 16) | (uint32_t)(100 + i), 4);
    put(at, spec->ip_version == 4 ? 0x0800 : 0x86dd, 2);
    return at + 2;
}

static uint8_t *build_ipv4(const struct frame_spec *spec, uint8_t *ip, uint32_t l4_len)
{
    size_t len = 20 + (size_t)spec->ip_extra;
    memset(ip, 0, len);
    ip[0] = (uint8_t)(0x40 | len / 4);
    ip[1] = 0x02; /* ECT(0) */
    put(ip + 2, (uint32_t)len + l4_len, 2);
    put(ip + 4, spec->ip_id, 2);
    put(ip + 6, 0x4000, 2);
    ip[8] = 64;
    ip[9] = spec->udp ? 17 : 6;
    memcpy(ip + 12, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
    memset(ip + 20, 1, len - 20); /* NOPs */
    put(ip + 10, ~sum16(0, ip, len) & 0xffff, 2);
    return ip + len;
}

static uint8_t *build_ipv6(const struct frame_spec *spec, uint8_t *ip, uint32_t l4_len)
{
    uint8_t l4 = spec->udp ? 17 : 6;
    memset(ip, 0, 40);
    put(ip, 0x60212345, 4);
    put(ip + 4, (uint32_t)spec->ip_extra * 8 + l4_len, 2);
    ip[6] = spec->ip_extra ? 0 : l4;
    ip[7] = 64;
    ip[8] = ip[24] = 0xfd;
    ip[23] = 1;
    ip[39] = 2;
    uint8_t *at = ip + 40;
    for (int i = 0; i < spec->ip_extra; i++, at += 8) {
        bool last = i == spec->ip_extra - 1;
        /* PadN options; further headers are destination options */
        memcpy(at, (uint8_t[]){last ? l4 : 60, 0, 1, 4, 0, 0, 0, 0}, 8);
    }
    return at;
}

static uint8_t *build_l4(const struct frame_spec *spec, uint8_t *l4)
{
    put(l4, 5001, 2);
    put(l4 + 2, 5010, 2);
    if (spec->udp) {
        put(l4 + 4, 8 + spec->payload_len, 2);
        return l4 + 8;
    }
    size_t len = 20 + (size_t)spec->tcp_options;
    put(l4 + 4, spec->seq, 4);
    put(l4 + 8, 0x01020304, 4);
    put(l4 + 12, (uint32_t)(len / 4) << 12 | spec->tcp_flags, 2);
    put(l4 + 14, 512, 2);
    put(l4 + 18, 0, 2);
    memset(l4 + 20, 1, len - 20);
    return l4 + len;
}

size_t frame_build(const struct frame_spec *spec, uint8_t *out, struct frame_layout *layout)
{
    uint8_t *frame = out + NC_VNET_LEN, *ip = build_link(spec, frame), *l4, *payload;
    uint32_t l4_header = spec->udp ? 8 : 20 + (uint32_t)spec->tcp_options, l4_len = l4_header + spec->payload_len;
    l4 = spec->ip_version == 4 ? build_ipv4(spec, ip, l4_len) : build_ipv6(spec, ip, l4_len);
    payload = build_l4(spec, l4);
    put(l4 + (spec->udp ? 6 : 16), pseudo_sum(ip, spec->ip_version, spec->udp, l4_len), 2);
    for (uint32_t i = 0; i < spec->payload_len; i++)
        payload[i] = (uint8_t)(i * 2654435761u >> 24);
    *layout = (struct frame_layout){(uint32_t)(ip - frame), (uint32_t)(l4 - frame), (uint32_t)(payload - frame),
                                    (uint32_t)(payload - frame) + spec->payload_len};
    uint8_t type = spec->udp               ? NC_VNET_GSO_UDP_L4
                   : spec->ip_version == 4 ? VIRTIO_NET_HDR_GSO_TCPV4
                                           : VIRTIO_NET_HDR_GSO_TCPV6;
    struct virtio_net_hdr_mrg_rxbuf vnet = {
        .hdr = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                .gso_type = spec->gso_size ? type | spec->gso_bits : VIRTIO_NET_HDR_GSO_NONE,
                .hdr_len = (uint16_t)layout->payload,
                .gso_size = spec->gso_size,
                .csum_start = (uint16_t)layout->l4,
                .csum_offset = spec->udp ? 6 : 16}};
    memcpy(out, &vnet, sizeof vnet);
    return NC_VNET_LEN + layout->end;
}

void frame_finish_checksum(uint8_t *frame, size_t len, uint16_t csum_start, uint16_t csum_offset)
{
    uint32_t sum = ~sum16(0, frame + csum_start, len - csum_start) & 0xffff;
    put(frame + csum_start + csum_offset, sum == 0 && csum_offset == 6 ? 0xffff : sum, 2);
}

bool frame_checksums_right(const uint8_t *frame, const struct frame_spec *spec, const struct frame_layout *layout)
{
    const uint8_t *ip = frame + layout->l3;
    uint32_t headers = layout->l4 - layout->l3, l4_len;
    if (spec->ip_version == 4) {
        if (sum16(0, ip, headers) != 0xffff)
            return false;
        l4_len = get(ip + 2) - headers;
    } else {
        l4_len = get(ip + 4) - (headers - 40);
    }
    if (spec->udp && get(frame + layout->l4 + 4) != l4_len)
        return false;
    return sum16(pseudo_sum(ip, spec->ip_version, spec->udp, l4_len), frame + layout->l4, l4_len) == 0xffff;
}

size_t frame_join(const struct nc_run *run, uint8_t *out)
{
    memcpy(out, run->head, run->head_len);
    memcpy(out + run->head_len, run->payload, run->payload_len);
    return run->head_len + run->payload_len;
}
