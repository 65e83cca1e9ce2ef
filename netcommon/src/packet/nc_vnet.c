/* Segmentation as arithmetic on headers, as in tcp_gso_segment() and __udp_gso_segment() of Linux. In a packet whose
 * checksum is not computed yet, the checksum field holds the folded sum of the pseudo-header, not complemented. Between
 * a super-packet and its runs only the length in that sum differs, so the sum is corrected by the difference of lengths
 * (RFC 1624). Rejected: computing the sum from the header's addresses; with a routing header the sum covers the final
 * address instead. */
#include "nc_vnet.h"

#include <assert.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>

#include "nc_bytes.h"

_Static_assert(sizeof(struct virtio_net_hdr_mrg_rxbuf) == NC_VNET_LEN, "the header as the kernel lays it out");

enum { TCP_CHECKSUM_AT = 16, UDP_CHECKSUM_AT = 6 };

/* TAP and AF_PACKET use host byte order by default. */
static void vnet_read(const uint8_t *buf, struct nc_vnet *out)
{
    struct virtio_net_hdr_mrg_rxbuf wire;
    memcpy(&wire, buf, sizeof wire);
    *out = (struct nc_vnet){wire.hdr.flags,    wire.hdr.gso_type,   wire.hdr.hdr_len,
                            wire.hdr.gso_size, wire.hdr.csum_start, wire.hdr.csum_offset};
}

void nc_vnet_write(const struct nc_vnet *vnet, uint8_t *out)
{
    struct virtio_net_hdr_mrg_rxbuf wire = {
        .hdr = {.flags = vnet->flags,
                .gso_type = vnet->gso_type,
                .hdr_len = vnet->hdr_len,
                .gso_size = vnet->gso_size,
                .csum_start = vnet->csum_start,
                .csum_offset = vnet->csum_offset},
        .num_buffers = 0,
    };
    memcpy(out, &wire, sizeof wire);
}

/* Whether the packet has the protocol of gso_type, and its checksum offset is that protocol's. */
static bool gso_protocol_fits(const struct nc_vnet *vnet, const struct nc_packet *packet)
{
    switch (vnet->gso_type & ~(VIRTIO_NET_HDR_GSO_ECN | NC_VNET_GSO_ACCECN)) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
        return packet->ip_version == 4 && packet->l4 == NC_L4_TCP && vnet->csum_offset == TCP_CHECKSUM_AT;
    case VIRTIO_NET_HDR_GSO_TCPV6:
        return packet->ip_version == 6 && packet->l4 == NC_L4_TCP && vnet->csum_offset == TCP_CHECKSUM_AT;
    case NC_VNET_GSO_UDP_L4:
        return packet->l4 == NC_L4_UDP && vnet->csum_offset == UDP_CHECKSUM_AT;
    default: /* this includes GSO_UDP (IP fragments), which current kernels do not make */
        return false;
    }
}

static bool gso_fits(const struct nc_vnet *vnet, const struct nc_packet *packet, uint32_t frame_len)
{
    /* beyond the 16-bit length field (BIG TCP) segmentation would also have to remove headers */
    uint32_t ip_len_max = UINT16_MAX + (packet->ip_version == 6 ? 40 : 0);
    return gso_protocol_fits(vnet, packet) && !packet->fragment && vnet->gso_size > 0 &&
           (vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) && vnet->csum_start == packet->l4_offset &&
           packet->payload_offset <= NC_VNET_HEADERS_MAX && packet->payload_offset + packet->payload_len == frame_len &&
           frame_len - packet->l3_offset <= ip_len_max;
}

enum nc_super_status nc_super_read(const uint8_t *buf, size_t len, struct nc_super *out)
{
    if (len < NC_VNET_LEN + ETHER_HDR_LEN || len - NC_VNET_LEN > UINT32_MAX)
        return NC_SUPER_SHORT;
    vnet_read(buf, &out->vnet);
    out->frame_len = (uint32_t)(len - NC_VNET_LEN);
    enum nc_decoded status =
        nc_packet_decode(NC_LINK_ETHERNET, buf + NC_VNET_LEN, out->frame_len, out->frame_len, &out->packet);
    if (out->vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE) {
        out->header_len = out->frame_len;
        out->payload_len = out->part_len = 0;
        out->parts = 1;
        return NC_SUPER_OK;
    }
    if (status != NC_DECODED || !gso_fits(&out->vnet, &out->packet, out->frame_len))
        return NC_SUPER_BAD_GSO;
    out->header_len = out->packet.payload_offset;
    out->payload_len = out->packet.payload_len;
    out->part_len = out->vnet.gso_size;
    out->parts = out->payload_len ? (out->payload_len - 1) / out->part_len + 1 : 1;
    return NC_SUPER_OK;
}

/* Payload bytes of parts [first, first + n): all parts are full except the last of the packet. */
static uint32_t run_payload(const struct nc_super *super, uint32_t first, uint32_t n)
{
    assert(n >= 1 && first < super->parts && n <= super->parts - first);
    uint32_t begin = first * super->part_len;
    return first + n == super->parts ? super->payload_len - begin : n * super->part_len;
}

uint32_t nc_super_wire_len(const struct nc_super *super, uint32_t part)
{
    return super->header_len + run_payload(super, part, 1);
}

uint32_t nc_super_ip_len(const struct nc_super *super, uint32_t part)
{
    return nc_super_wire_len(super, part) - super->packet.l3_offset;
}

static void set_ip(uint8_t *frame, const struct nc_super *super, uint32_t first, uint32_t run_len)
{
    const struct nc_packet *packet = &super->packet;
    uint8_t *ip = frame + packet->l3_offset;
    uint32_t ip_len = run_len - packet->l3_offset;
    if (packet->ip_version == 6) {
        nc_put16(ip + 4, (uint16_t)(ip_len - 40));
        return;
    }
    nc_put16(ip + 2, (uint16_t)ip_len);
    nc_put16(ip + 4, (uint16_t)(packet->ip_id + first));
    uint16_t sum = 0;
    memcpy(ip + 10, &sum, sizeof sum);
    sum = nc_csum_fold(nc_csum_add(0, ip, (size_t)(ip[0] & 0x0f) * 4));
    memcpy(ip + 10, &sum, sizeof sum);
}

/* FIN and PSH belong to the last part. CWR belongs to the first, because the receiver must react to it once. */
static uint16_t run_flags(const struct nc_super *super, uint32_t first, uint32_t n)
{
    uint16_t flags = super->packet.tcp.flags;
    if (first + n < super->parts)
        flags &= (uint16_t)~(NC_TCP_FIN | NC_TCP_PSH);
    if (first > 0 && !(super->vnet.gso_type & NC_VNET_GSO_ACCECN))
        flags &= (uint16_t)~NC_TCP_CWR;
    return flags;
}

static void set_tcp(uint8_t *tcp, const struct nc_super *super, uint32_t first, uint32_t n)
{
    nc_put32(tcp + 4, super->packet.tcp.seq + first * super->part_len);
    nc_put16(tcp + 12, (uint16_t)((nc_get16(tcp + 12) & 0xfe00) | run_flags(super, first, n)));
}

/* Replaces the super-packet's transport length in the checksum by the run's. */
static void set_checksum_seed(uint8_t *at, uint32_t old_len, uint32_t new_len)
{
    uint64_t sum = (uint64_t)nc_get16(at) + (uint16_t)~old_len + new_len;
    nc_put16(at, (uint16_t)~nc_csum_fold(sum));
}

static struct nc_vnet run_vnet(const struct nc_super *super, uint32_t first, uint32_t n)
{
    struct nc_vnet vnet = super->vnet;
    vnet.hdr_len = (uint16_t)super->header_len;
    if (n == 1) {
        vnet.gso_type = VIRTIO_NET_HDR_GSO_NONE;
        vnet.gso_size = 0;
    } else if (first > 0) {
        vnet.gso_type &= (uint8_t)~VIRTIO_NET_HDR_GSO_ECN; /* it means: CWR is set */
    }
    return vnet;
}

void nc_super_run(const struct nc_super *super, const uint8_t *frame, uint32_t first, uint32_t n, struct nc_run *out)
{
    uint32_t payload_len = run_payload(super, first, n);
    if (n == super->parts) {
        nc_vnet_write(&super->vnet, out->head);
        out->head_len = NC_VNET_LEN;
        out->payload = frame;
        out->payload_len = super->frame_len;
        return;
    }
    struct nc_vnet vnet = run_vnet(super, first, n);
    nc_vnet_write(&vnet, out->head);
    uint8_t *head = out->head + NC_VNET_LEN, *l4 = head + super->packet.l4_offset;
    memcpy(head, frame, super->header_len);
    out->head_len = NC_VNET_LEN + super->header_len;
    out->payload = frame + super->header_len + first * super->part_len;
    out->payload_len = payload_len;

    uint32_t l4_header_len = super->header_len - super->packet.l4_offset;
    set_ip(head, super, first, super->header_len + payload_len);
    if (super->packet.l4 == NC_L4_TCP)
        set_tcp(l4, super, first, n);
    else
        nc_put16(l4 + 4, (uint16_t)(l4_header_len + payload_len));
    set_checksum_seed(l4 + vnet.csum_offset, l4_header_len + super->payload_len, l4_header_len + payload_len);
}
