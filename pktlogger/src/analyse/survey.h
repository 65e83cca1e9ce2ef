/* The first reading of a capture. It finds the flows, and takes samples of packets for comparing the clocks. It also
 * finds out which flows have IP identifications by which copies of a packet can be distinguished. */
#ifndef PL_SURVEY_H
#define PL_SURVEY_H

#include "clock_samples.h"
#include "index.h"
#include "mss_levels.h"
#include "vector.h"

/* Properties of a flow, as bits shifted by the direction. */
enum { PL_DATA_IDS = 1, PL_ACK_IDS = 4 };

/* Lengths of a direction's packets with data: the largest, and the most usual length of packets that may be full. The
 * latter is `len`, or `with_options` if TCP options are counted. It is found by Boyer and Moore's majority vote, whose
 * surplus is `lead`. */
struct pl_sizes {
    uint32_t largest, len, with_options;
    uint64_t full, lead;
};

enum { PL_MSS_LEAST = 536 }; /* every host accepts this MSS (RFC 9293, 3.7.1) */

struct pl_facts {
    uint8_t bits;
    struct pl_sizes sizes[2];
    struct pl_mss_levels levels[2];
};

struct pl_survey {
    struct pl_index index;
    PL_VECTOR(struct pl_facts) facts;
    struct pl_clock_samples samples; /* if clocks are to be estimated, and of flows without a SYN */
};

/* Reads a whole capture, with samples of its packets if `sample`, and of flows without a SYN. `error` has the reason unless the result is PL_OK;
 * pl_survey_free is allowed after either. */
enum pl_status pl_survey_run(struct pl_survey *survey, const struct pl_source *capture, bool sample,
                             struct nc_error *error);
void pl_survey_free(struct pl_survey *survey);

static inline bool pl_survey_has(const struct pl_survey *survey, uint32_t flow, int fact, unsigned dir)
{
    return survey->facts.at[flow].bits & fact << dir;
}

/* The packets of a flow in both directions. */
static inline uint64_t pl_survey_rows(const struct pl_survey *survey, uint32_t flow)
{
    return survey->index.flows.at[flow].side[0].packets + survey->index.flows.at[flow].side[1].packets;
}

#endif
