/* The virtio-net header that TAP and AF_PACKET put before a packet, and what a super-packet consists of.
 *
 * A super-packet (TSO/USO/GRO) stands for `parts` wire packets: its headers, repeated before every `gso_size` bytes of
 * payload. The model counts wire packets, so everything here is arithmetic on parts; a packet is only taken apart where
 * some of its parts meet another fate. Parts are then written as runs: fresh headers in a small buffer, the payload where it
 * lies, by writev. Nothing copies payload.
 * Header flags follow the kernel's own segmentation: FIN and PSH on the last part only, CWR on the first only (or on
 * every part under ACCECN), IPv4 id counting up by one a part. */
#ifndef NC_VNET_H
#define NC_VNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_packet.h"

#define NC_VNET_LEN 12          /* struct virtio_net_hdr_mrg_rxbuf: set TUNSETVNETHDRSZ to this, for every port kind */
#define NC_VNET_HEADERS_MAX 320 /* link + network + transport headers that a run can carry */

/* Host-order reading of the header. */
struct nc_vnet {
    uint8_t flags, gso_type; /* VIRTIO_NET_HDR_F_*, VIRTIO_NET_HDR_GSO_* (linux/virtio_net.h) */
    uint16_t hdr_len, gso_size, csum_start, csum_offset;
};

/* A packet as it came from a port: what the model needs to know, computed once. */
struct nc_super {
    struct nc_vnet vnet;
    struct nc_packet packet;
    uint32_t frame_len;   /* bytes after the vnet header */
    uint32_t header_len;  /* bytes repeated in every part; the whole frame when parts == 1 and it is not GSO */
    uint32_t payload_len; /* frame_len - header_len */
    uint32_t part_len;    /* payload bytes a part (gso_size); payload_len when not GSO */
    uint32_t parts;       /* >= 1 */
};

enum nc_super_status {
    NC_SUPER_OK,
    NC_SUPER_SHORT,     /* no room for the vnet header or the link header */
    NC_SUPER_BAD_GSO,   /* gso fields contradict the packet: counted and dropped */
};

/* Reads vnet header and frame at [buf, buf + len). */
enum nc_super_status nc_super_read(const uint8_t *buf, size_t len, struct nc_super *out);

/* Length on the wire (link header and up, without preamble and FCS) of part i. */
uint32_t nc_super_wire_len(const struct nc_super *super, uint32_t part);

/* Bytes from the IP header up of part i, for framing 'ip'. */
uint32_t nc_super_ip_len(const struct nc_super *super, uint32_t part);

/* A run of parts as a packet of its own. */
struct nc_run {
    uint8_t head[NC_VNET_LEN + NC_VNET_HEADERS_MAX]; /* vnet header, then the frame's headers */
    uint32_t head_len;
    const uint8_t *payload;
    uint32_t payload_len;
};

/* Builds parts [first, first + n) of the super-packet at `frame` (the byte after the vnet header). A run of one part is
 * an ordinary packet with a partial checksum still to be filled in by whoever needs it (VIRTIO_NET_HDR_F_NEEDS_CSUM), a
 * run of more stays GSO. When the run is the whole packet the original headers are used unchanged. Asserts on a range
 * outside the packet. */
void nc_super_run(const struct nc_super *super, const uint8_t *frame, uint32_t first, uint32_t n, struct nc_run *out);

/* Encodes the header, NC_VNET_LEN bytes. */
void nc_vnet_write(const struct nc_vnet *vnet, uint8_t *out);

#endif
