/* Determines for each TCP wire packet which bytes of the flow it carries, and whether they pass for the first, second
 * or a later time. It watches one direction only and needs no ACKs. Its memory is bounded: it remembers the most recent
 * flows and retransmitted segments. A segment whose first byte lies below the highest byte seen is a retransmission.
 * Transmissions are counted by that first byte, so if a retransmission begins at another byte, the count starts at 2
 * again. Packets that were reordered earlier look like retransmissions, as to any observer in the middle. Sequence
 * numbers are relative, as in pktlogger and Wireshark: the SYN is 0 and the first byte of data is
 * 1. In a flow whose SYN was not seen, the first byte seen is 1. */
#ifndef COMET_TCP_TRACK_H
#define COMET_TCP_TRACK_H

#include <stdbool.h>
#include <stdint.h>

/* The caller's information from the headers. */
struct loss_tcp {
    uint64_t flow; /* hash of addresses and ports */
    uint32_t seq;  /* as on the wire */
    uint32_t len;  /* sequence numbers that it takes: payload bytes, and one each for SYN and FIN */
    bool syn;
};

struct tcp_seen {
    uint64_t from, to;     /* relative, half-open */
    uint32_t transmission; /* 1: for the first time */
};

enum { TCP_TRACK_WAYS = 4, TCP_TRACK_FLOWS = 64, TCP_TRACK_SEGMENTS = 4096 };

struct tcp_track {
    uint32_t uses; /* counts uses, so that the least recently used entry can be replaced */
    struct tcp_track_flow {
        uint64_t flow, next; /* next: relative number after the highest seen */
        uint32_t base;       /* wire number of relative number 0 */
        uint32_t used;       /* 0: empty */
    } flows[TCP_TRACK_FLOWS];
    struct tcp_track_segment {
        uint64_t key; /* of flow, base and first byte */
        uint32_t transmissions, used;
    } segments[TCP_TRACK_SEGMENTS];
};

/* Records the packet and fills in *seen. Returns false with *seen unchanged when the packet has nothing that could be
 * retransmitted: it is a pure ACK, or its data are older than the first packet seen. A track starts as all zero. */
bool tcp_track_see(struct tcp_track *track, const struct loss_tcp *packet, struct tcp_seen *seen);

#endif
