/* The header at the front of every payload that `push` makes and `sink` reads (FORMAT.md section 9): 32 octets, network
 * order. Zeros follow the header; if packets are sent without a rate, headers of other packets follow it (flood.h).
 *
 *      0                   1                   2                   3
 *      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *     +---------------------------------------------------------------+
 *     |                      Magic = "LFPp"                           |
 *     +---------------+---------------+-------------------------------+
 *     |  Version = 1  |  Flags: 1 end |         Flow                  |
 *     +---------------+---------------+-------------------------------+
 *     |                           Session                             |
 *     +---------------------------------------------------------------+
 *     |  Flows                        |         zero                  |
 *     +-------------------------------+-------------------------------+
 *     |                    Sequence number, 64 bits                   |
 *     +---------------------------------------------------------------+
 *     |          Time of sending, ns since 1970, 64 bits              |
 *     +---------------------------------------------------------------+
 *
 * In a packet with the flag `end`, the sequence number is the number of packets that its flow sent. */
#ifndef PL_PROBE_H
#define PL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PL_PROBE_LEN = 32, PL_PROBE_FLOWS_MAX = 4096 };

struct pl_probe {
    uint32_t session;  /* drawn at random by the sender, to distinguish sessions */
    uint16_t flow;     /* 0 … flows - 1 */
    uint16_t flows;    /* 1 … PL_PROBE_FLOWS_MAX */
    bool end;          /* the flow has ended */
    uint64_t sequence; /* of the flow, from 0 */
    uint64_t sent_ns;  /* CLOCK_REALTIME */
};

/* Writes PL_PROBE_LEN octets. */
void pl_probe_write(const struct pl_probe *probe, uint8_t *out);

/* Writes a number and a time into an existing header. */
void pl_probe_renumber(uint8_t *out, uint64_t sequence, uint64_t sent_ns);

/* Returns false if the payload does not begin with such a header. */
bool pl_probe_read(const uint8_t *at, size_t len, struct pl_probe *probe);

#endif
