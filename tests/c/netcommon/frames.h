/* Frames for tests: super-packets as a TAP delivers them. Also completes and checks the packets made from them by plain
 * byte arithmetic, without netcommon's code. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_vnet.h"

#define FRAME_MAX (NC_VNET_LEN + 66000)

struct frame_spec {
    int vlans;      /* 0 … NC_VLAN_MAX + 1 tags */
    int ip_version; /* 4 or 6 */
    int ip_extra;   /* IPv4: bytes of options; IPv6: number of extension headers, hop-by-hop first */
    bool udp;
    int tcp_options; /* bytes */
    uint16_t tcp_flags;
    uint32_t seq;
    uint16_t ip_id;
    uint16_t gso_size; /* 0: no GSO */
    uint8_t gso_bits;  /* ECN, ACCECN */
    uint32_t payload_len;
};

/* Offsets in a frame (without the vnet header). */
struct frame_layout {
    uint32_t l3, l4, payload, end;
};

/* Writes vnet header and frame (FRAME_MAX bytes of room), NEEDS_CSUM set. Returns the length of both. */
size_t frame_build(const struct frame_spec *spec, uint8_t *out, struct frame_layout *layout);

/* Fills in the full checksum if NEEDS_CSUM asks for it, as a NIC would. */
void frame_finish_checksum(uint8_t *frame, size_t len, uint16_t csum_start, uint16_t csum_offset);

/* Whether IPv4 header checksum and transport checksum are correct, given the addresses and lengths in the frame. */
bool frame_checksums_right(const uint8_t *frame, const struct frame_spec *spec, const struct frame_layout *layout);

/* Head and payload of a run in one piece. Returns the length. */
size_t frame_join(const struct nc_run *run, uint8_t *out);

#endif
