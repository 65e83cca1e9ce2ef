/* A row of the index. */
#ifndef PL_ROW_H
#define PL_ROW_H

#include <stdint.h>

#include "nc_packet.h"

/* One captured TCP packet. The members are the columns of the index table in FORMAT.md. */
struct pl_row {
    uint64_t frame;
    int64_t t_ns;
    uint64_t seq, ack;
    uint64_t sack_left[NC_SACK_MAX], sack_right[NC_SACK_MAX];
    uint32_t flow, len, wire_len, window, tsval, tsecr;
    uint32_t ee0b, eceb, ee1b;
    uint16_t parts, flags, ip_id;
    uint8_t dir, sack_n, ecn, accecn;
    uint8_t options;   /* bytes of TCP options; no column */
    uint32_t part_len; /* payload of each of its wire packets but the last; 0: unknown without a SYN; no column */
};

#endif
