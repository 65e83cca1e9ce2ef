/* One pass over a capture: every TCP packet becomes a row with unwrapped numbers; everything else is counted. The rows
 * go to a sink as they are found, so the pass itself needs memory only for the flows. */
#ifndef PL_INDEX_H
#define PL_INDEX_H

#include "pl_flows.h"
#include "pl_reader.h"

/* One captured TCP packet; column by column what FORMAT.md's index table says. */
struct pl_row {
    uint64_t frame;
    int64_t t_ns;
    uint64_t seq, ack;
    uint64_t sack_left[NC_SACK_MAX], sack_right[NC_SACK_MAX];
    uint32_t flow, len, wire_len, window, tsval, tsecr;
    uint16_t parts, flags, ip_id;
    uint8_t dir, sack_n;
};

/* How many frames were what. `frames` is the sum of the others. */
struct pl_counts {
    uint64_t frames, tcp, udp, esp, ip_other, not_ip, truncated, malformed, unknown_link;
    int64_t first_ns, last_ns; /* of all frames with a usable time; last_ns < first_ns: none */
};

typedef int pl_sink(void *context, const struct pl_row *row);

struct pl_index {
    struct pl_reader reader;
    struct pl_flows flows;
    struct pl_counts counts;
};

enum pl_status { PL_OK, PL_NOT_A_CAPTURE, PL_DAMAGED, PL_NO_MEMORY, PL_SINK_FAILED };

/* Reads the capture at [data, data + len) to its end or to where it is damaged. `why` names the reason of anything but
 * PL_OK. pl_index_free is allowed after every outcome. */
enum pl_status pl_index_run(struct pl_index *index, const uint8_t *data, size_t len, pl_sink *sink, void *context,
                            char *why, size_t why_size);
void pl_index_free(struct pl_index *index);

#endif
