/* Implements copies.h. The table is direct-mapped: if two packets have the same slot, the later one replaces the
 * earlier one. So a copy may be missed, but no packet is mistaken for a copy. */
#include "copies.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 1 << 13,
    LEAST_PACKETS = 10,
    NEARLY_ALL_PERCENT = 45
}; /* if the capture shows every packet twice, 50 % of the packets are copies */

struct pl_seen {
    uint64_t print;
    int64_t t_ns;
    uint32_t interface;
    bool used;
};

int pl_copies_init(struct pl_copies *copies)
{
    *copies = (struct pl_copies){.table = calloc(SLOTS, sizeof *copies->table)};
    return copies->table ? 0 : -1;
}

void pl_copies_free(struct pl_copies *copies)
{
    free(copies->table);
    copies->table = NULL;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t print_of(const struct nc_packet *packet)
{
    const struct nc_tcp *tcp = &packet->tcp;
    uint64_t hash = mix(packet->ip_version, (uint64_t)packet->src_port << 48 | (uint64_t)packet->dst_port << 32 |
                                                (packet->ip_id & UINT32_MAX));
    for (int half = 0; half < 2; half++) {
        uint64_t from, to;
        memcpy(&from, packet->src + 8 * half, sizeof from);
        memcpy(&to, packet->dst + 8 * half, sizeof to);
        hash = mix(mix(hash + 1, from), to + 1);
    }
    hash = mix(hash + 2, (uint64_t)tcp->seq << 32 | tcp->ack);
    hash = mix(hash + 3, (uint64_t)packet->payload_len << 32 | (uint64_t)tcp->flags << 16 | tcp->window);
    hash = mix(hash + 4, (uint64_t)tcp->tsval << 32 | tcp->tsecr);
    for (unsigned i = 0; i < tcp->sack_n; i++)
        hash = mix(hash + 5, (uint64_t)tcp->sack[i].left << 32 | tcp->sack[i].right);
    return hash;
}

enum seen { SEEN_FIRST, SEEN_AGAIN, SEEN_ACROSS };

static enum seen look(struct pl_copies *copies, const struct pl_frame *frame, const struct nc_packet *packet)
{
    uint64_t print = print_of(packet);
    struct pl_seen *slot = &copies->table[print & (SLOTS - 1)];
    uint32_t interface = packet->if_index ? packet->if_index : frame->interface;
    int64_t apart = frame->t_ns > slot->t_ns ? frame->t_ns - slot->t_ns : slot->t_ns - frame->t_ns;
    if (slot->used && slot->print == print && apart <= PL_COPY_NS) {
        slot->used = packet->ip_id != 0;
        return slot->interface != interface ? SEEN_ACROSS : SEEN_AGAIN;
    }
    *slot = (struct pl_seen){print, frame->t_ns, interface, true};
    return SEEN_FIRST;
}

void pl_copies_study(struct pl_copies *copies, const struct pl_frame *frame, const struct nc_packet *packet)
{
    int order = memcmp(packet->src, packet->dst, sizeof packet->src);
    unsigned direction = order ? order > 0 : packet->src_port > packet->dst_port;
    enum seen seen = look(copies, frame, packet);
    copies->packets[direction]++;
    copies->again[direction] += seen != SEEN_FIRST;
    copies->across += seen == SEEN_ACROSS;
}

void pl_copies_judge(struct pl_copies *copies)
{
    copies->are = copies->across ? PL_COPIES_ACROSS : PL_COPIES_NONE;
    for (int i = 0; i < 2; i++)
        if (copies->packets[i] >= LEAST_PACKETS && copies->again[i] * 100 >= copies->packets[i] * NEARLY_ALL_PERCENT)
            copies->are = PL_COPIES_ALL;
    memset(copies->table, 0, SLOTS * sizeof *copies->table);
}

bool pl_copies_is(struct pl_copies *copies, const struct pl_frame *frame, const struct nc_packet *packet)
{
    if (copies->are == PL_COPIES_NONE)
        return false;
    enum seen seen = look(copies, frame, packet);
    return seen == SEEN_ACROSS || (seen == SEEN_AGAIN && copies->are == PL_COPIES_ALL);
}
