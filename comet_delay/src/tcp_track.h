/* Tells for each wire packet of TCP which bytes of the flow it carries and for how many-th time they pass here. Watches one
 * direction only, needs no ACKs, and is bounded: it remembers the flows and the retransmitted segments used last.
 * A segment whose first byte lies below the highest seen is a retransmission; how many-th is counted for that first byte,
 * so a sender that cuts its retransmission elsewhere starts at 2 again. Packets reordered before they come here look like
 * retransmissions, as they do to any observer in the middle.
 * Sequence numbers are relative as pktlogger and Wireshark show them: the SYN is 0, the first byte of data 1; in a flow
 * met without its SYN, the first byte seen is 1. */
#ifndef COMET_TCP_TRACK_H
#define COMET_TCP_TRACK_H

#include <stdbool.h>
#include <stdint.h>

/* What a caller knows from the headers. */
struct loss_tcp {
    uint64_t flow; /* hash of addresses and ports */
    uint32_t seq;  /* as on the wire */
    uint32_t len;  /* sequence numbers it takes: payload bytes, and one each for SYN and FIN */
    bool syn;
};

struct tcp_seen {
    uint64_t from, to;     /* relative, half-open */
    uint32_t transmission; /* 1: for the first time */
};

enum { TCP_TRACK_WAYS = 4, TCP_TRACK_FLOWS = 64, TCP_TRACK_SEGMENTS = 4096 };

struct tcp_track {
    uint32_t uses; /* clock of the least-recently-used choice */
    struct tcp_track_flow {
        uint64_t flow, next; /* next: relative number behind the highest seen */
        uint32_t base;       /* on the wire, of relative 0 */
        uint32_t used;       /* 0: empty */
    } flows[TCP_TRACK_FLOWS];
    struct tcp_track_segment {
        uint64_t key; /* of flow, base and first byte */
        uint32_t transmissions, used;
    } segments[TCP_TRACK_SEGMENTS];
};

/* Counts the packet in. False, with `seen` untouched, when it carries nothing that could be lost and sent again: a pure
 * ACK, or data from before the flow was met. A zeroed track is a fresh one. */
bool tcp_track_see(struct tcp_track *track, const struct loss_tcp *packet, struct tcp_seen *seen);

#endif
