/* The parameters of one direction of the box. Each is one row of a table, from which the command line, the control
 * socket's `set` and `show`, and the manual take names, units and ranges. Every parameter can be changed while packets
 * flow. */
#ifndef COMET_PARAMS_H
#define COMET_PARAMS_H

#include <jansson.h>
#include <stdint.h>

#include "nc_options.h"

/* Which bytes of a packet count on the line. */
enum framing {
    FRAMING_L2,       /* from the link header on, without FCS, as in tc and captures */
    FRAMING_ETHERNET, /* plus 24 bytes: preamble 8, FCS 4, inter-frame gap 12 */
    FRAMING_IP,       /* IP header and up */
};

/* Which packet is dropped when the queue is full. */
enum queue_drop { QUEUE_DROP_TAIL, QUEUE_DROP_HEAD };

/* Whether packets with less jitter overtake earlier ones. */
enum jitter_order { JITTER_KEEPS_ORDER, JITTER_REORDERS };

/* How packets are distributed to the channels. */
enum balance { BALANCE_FLOW, BALANCE_PACKET };

enum { PARAM_TEXT = 1024, PARAM_FILTER = 256, CHANNELS_MAX = 16 };

struct params {
    uint64_t delay_ns;
    char jitter[PARAM_TEXT];     /* jitter_model.h */
    int jitter_order;            /* enum jitter_order */
    uint64_t rate_bps;           /* 0: no bottleneck */
    char rate_trace[PARAM_TEXT]; /* rate_trace.h; instead of rate_bps unless "none" */
    uint64_t channels;           /* channels of the bottleneck, each with this rate and its own queue; 0: as 1 */
    int balance;                 /* enum balance */
    uint64_t queue_bytes;        /* bound on the queue of the bottleneck; 0: no bound */
    uint64_t queue_packets;      /* the same in packets */
    int queue_drop;              /* enum queue_drop */
    char aqm[PARAM_TEXT];        /* aqm_text.h */
    char only[PARAM_FILTER];     /* filter.h: the packets that jitter and the members from loss to reorder_by_ns apply
                                  * to */
    char loss[PARAM_TEXT];       /* before the bottleneck: loss_model.h */
    char loss_after[PARAM_TEXT];
    uint64_t duplicate_ppb; /* sent twice */
    uint64_t corrupt_ppb;   /* one bit flipped, which the checksum detects */
    uint64_t forge_ppb;     /* one bit flipped and the checksum adjusted to match */
    uint64_t reorder_ppb;   /* share of packets that is delayed by reorder_by_ns while others pass */
    uint64_t reorder_by_ns;
    uint64_t bunch_ns;      /* between the openings of the buncher; 0: none */
    uint64_t bunch_packets; /* most packets that pass at one opening; 0: no bound */
    uint64_t pace_bps;      /* of the pacer before the receiver; 0: none */
    uint64_t pace_packets;  /* packets/s; 0: none */
    uint64_t pace_buffer_bytes;
    uint64_t drain_rate_bps; /* of the receiver's bus; 0: none */
    uint64_t drain_buffer_bytes;
    uint64_t harmonize_bps;   /* of all flows together; 0: none */
    uint64_t access_rate_bps; /* of the line on which packets arrive; 0: none */
    int framing;              /* enum framing */
};

struct param_row {
    struct nc_option option; /* offset into struct params */
    const char *json_name;
};

extern const struct param_row param_rows[];
extern const size_t param_rows_n;

/* {"delay_ns":…,…} */
json_t *params_json(const struct params *params);

/* The parameters of `after` whose values differ from those of `before`. */
json_t *params_changes_json(const struct params *before, const struct params *after);

#endif
