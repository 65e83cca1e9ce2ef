/* The virtio-net header that TAP and AF_PACKET put before a packet, and the wire packets of a super-packet.
 *
 * A super-packet (TSO/USO/GRO) stands for `parts` wire packets: its headers, repeated before every `gso_size` bytes of
 * payload. A model of a network counts wire packets, so everything here is arithmetic on parts. A packet is split only
 * where the model treats its parts differently. Parts are then written as runs by writev: new headers in a small
 * buffer, and the payload in its original place. Payload is never copied. The headers follow the kernel's own
 * segmentation: FIN and PSH on the last part only, CWR on the first part only (or on every part under ACCECN), and an
 * IPv4 id that increases by one per part. */
#ifndef NC_VNET_H
#define NC_VNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_packet.h"

#define NC_VNET_LEN 12          /* of struct virtio_net_hdr_mrg_rxbuf; TUNSETVNETHDRSZ must be set to this */
#define NC_VNET_HEADERS_MAX 320 /* link + network + transport headers that a run can carry */

/* GSO types that older <linux/virtio_net.h> lack (virtio 1.3, 5.1.6). */
#define NC_VNET_GSO_UDP_L4 5    /* UDP segmentation (USO) */
#define NC_VNET_GSO_ACCECN 0x10 /* bit: the CWR flag is part of a counter (RFC 9768), so it is repeated in every part */

/* The header in host byte order. num_buffers is not read, and written as 0. */
struct nc_vnet {
    uint8_t flags, gso_type; /* VIRTIO_NET_HDR_F_*, VIRTIO_NET_HDR_GSO_* (linux/virtio_net.h) */
    uint16_t hdr_len, gso_size, csum_start, csum_offset;
};

/* What a model needs to know of a packet that was read from a TAP or packet socket, computed once. */
struct nc_super {
    struct nc_vnet vnet;
    struct nc_packet packet;
    uint32_t frame_len;   /* bytes after the vnet header */
    uint32_t header_len;  /* bytes repeated in every part; the whole frame of a packet without GSO */
    uint32_t payload_len; /* frame_len - header_len */
    uint32_t part_len;    /* payload bytes per part (gso_size); payload_len when not GSO */
    uint32_t parts;       /* >= 1 */
};

enum nc_super_status {
    NC_SUPER_OK,
    NC_SUPER_SHORT,   /* no room for the vnet header or the link header */
    NC_SUPER_BAD_GSO, /* the gso fields contradict the packet */
};

/* Reads vnet header and frame at [buf, buf + len). A packet without GSO is accepted whatever it contains (ARP, LLDP,
 * broken IP). A packet with GSO must be a complete, unfragmented TCP or UDP packet of its stated type, must fill the
 * frame to its end, and must still need its checksum (NEEDS_CSUM) at that protocol's offset. vnet.hdr_len is not
 * trusted. */
enum nc_super_status nc_super_read(const uint8_t *buf, size_t len, struct nc_super *out);

/* Length of part i on the wire (from the link header on, without preamble, padding and FCS). */
uint32_t nc_super_wire_len(const struct nc_super *super, uint32_t part);

/* Length of part i after the link header. */
uint32_t nc_super_ip_len(const struct nc_super *super, uint32_t part);

/* A run of parts as a packet of its own: head, then payload. */
struct nc_run {
    uint8_t head[NC_VNET_LEN + NC_VNET_HEADERS_MAX]; /* vnet header, then the run's own headers (see nc_super_run) */
    uint32_t head_len;
    const uint8_t *payload; /* into the frame */
    uint32_t payload_len;
};

/* Builds the run of parts [first, first + n) of the super-packet at `frame` (the byte after the vnet header). A run of
 * one part is an ordinary packet with a partial checksum, which a later reader completes (VIRTIO_NET_HDR_F_NEEDS_CSUM).
 * A run of more parts stays GSO of the same type and gso_size. When the run is the whole packet (as for every packet
 * without GSO), nothing is rewritten: `head` is the vnet header alone, and `payload` is the frame. `super` must have
 * been read with NC_SUPER_OK. Asserts on a range outside the packet. */
void nc_super_run(const struct nc_super *super, const uint8_t *frame, uint32_t first, uint32_t n, struct nc_run *out);

/* Encodes the header, NC_VNET_LEN bytes. */
void nc_vnet_write(const struct nc_vnet *vnet, uint8_t *out);

#endif
