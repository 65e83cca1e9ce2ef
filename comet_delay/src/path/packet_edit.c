#include "packet_edit.h"

#include <assert.h>
#include <linux/virtio_net.h>
#include <string.h>

/* Copies the run's frame into one writable piece. */
struct whole {
    uint8_t *frame;
    uint32_t len;
};

static struct whole gather(struct nc_run *run, uint8_t *scratch)
{
    uint32_t headers = run->head_len - NC_VNET_LEN;
    memcpy(scratch, run->head + NC_VNET_LEN, headers);
    memcpy(scratch + headers, run->payload, run->payload_len);
    run->head_len = NC_VNET_LEN;
    run->payload = scratch;
    run->payload_len += headers;
    return (struct whole){scratch, run->payload_len};
}

/* Sets both bits of the ECN field (RFC 3168, section 5) and recomputes the IPv4 checksum. */
static void mark_ce(const struct nc_packet *packet, struct whole whole)
{
    uint8_t *ip = whole.frame + packet->l3_offset;
    if (packet->ip_version == 6 && packet->l3_offset + 40 <= whole.len)
        ip[1] |= 0x30;
    if (packet->ip_version != 4 || packet->l3_offset + (uint32_t)(ip[0] & 0x0f) * 4 > whole.len)
        return;
    ip[1] |= 0x03;
    memset(ip + 10, 0, 2);
    uint16_t sum = nc_csum_fold(nc_csum_add(0, ip, (size_t)(ip[0] & 0x0f) * 4));
    memcpy(ip + 10, &sum, 2);
}

/* Completes the transport checksum that the sender left to the hardware, and marks it as complete in the vnet
 * header. */
static void complete_checksum(const struct nc_super *super, struct whole whole, struct nc_run *run)
{
    uint32_t start = super->vnet.csum_start, at = start + super->vnet.csum_offset;
    if (!(run->head[0] & VIRTIO_NET_HDR_F_NEEDS_CSUM) || at + 2 > whole.len || start >= whole.len)
        return;
    uint16_t sum = nc_csum_fold(nc_csum_add(0, whole.frame + start, whole.len - start));
    if (sum == 0 && super->packet.l4 == NC_L4_UDP)
        sum = 0xffff; /* RFC 768: zero means none */
    memcpy(whole.frame + at, &sum, 2);
    nc_vnet_write(&(struct nc_vnet){.gso_type = VIRTIO_NET_HDR_GSO_NONE}, run->head);
}

/* Flips one bit of the payload, that is, of the bytes after the decoded headers. */
static void flip(const struct nc_super *super, uint64_t random, struct whole whole)
{
    uint32_t begin = super->packet.payload_offset, end = begin + super->packet.payload_len; /* Ethernet may pad */
    if (end > whole.len)
        end = whole.len;
    if (begin == 0 || begin >= end)
        return;
    uint64_t bit = random % ((uint64_t)(end - begin) * 8);
    whole.frame[begin + bit / 8] ^= (uint8_t)(1u << (bit % 8));
}

/* Flips a bit and adjusts the checksum to match. A complete checksum is corrected by the difference of the two 16-bit
 * words (RFC 1624). */
static void forge(const struct nc_super *super, uint64_t random, struct whole whole, struct nc_run *run)
{
    bool partial = run->head[0] & VIRTIO_NET_HDR_F_NEEDS_CSUM;
    uint32_t l4 = super->packet.l4_offset;
    uint32_t at = l4 + (super->packet.l4 == NC_L4_TCP ? 16 : 6);
    bool has_checksum = super->packet.l4 == NC_L4_TCP || super->packet.l4 == NC_L4_UDP;
    uint64_t before = partial || !has_checksum ? 0 : nc_csum_add(0, whole.frame + l4, whole.len - l4);
    flip(super, random, whole);
    if (partial)
        complete_checksum(super, whole, run);
    else if (has_checksum && at + 2 <= whole.len) {
        uint16_t old = 0, sum;
        memcpy(&old, whole.frame + at, 2);
        uint16_t was = nc_csum_fold(before), is = nc_csum_fold(nc_csum_add(0, whole.frame + l4, whole.len - l4));
        uint32_t fixed = (uint32_t)old + is + (uint16_t)~was;
        while (fixed >> 16)
            fixed = (fixed & 0xffff) + (fixed >> 16);
        sum = (uint16_t)fixed;
        memcpy(whole.frame + at, &sum, 2);
    }
}

void packet_edit_apply(const struct nc_super *super, unsigned edits, uint64_t random, struct nc_run *run,
                       uint8_t *scratch)
{
    struct whole whole = gather(run, scratch);
    if (edits & EDIT_CE)
        mark_ce(&super->packet, whole);
    if (edits & EDIT_FORGE)
        forge(super, random, whole, run);
    if (edits & EDIT_CORRUPT) {
        complete_checksum(super, whole, run);
        flip(super, random, whole);
    }
}
