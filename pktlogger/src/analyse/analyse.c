/* The first reading of analyse.h, and the match of both captures' flows. */
#include "analyse.h"

#include <pthread.h>
#include <string.h>

#include "join.h"

/* The sender's relative number less the receiver's. Where one capture missed the SYN, its numbers start at 2^32 with
 * the first packet it has. That packet is then taken to lie within the first 4 GiB of the other capture's numbers. */
static int64_t delta_of(const struct pl_side *sender, const struct pl_side *receiver)
{
    if (!sender->based || !receiver->based)
        return 0;
    if (sender->syn == receiver->syn)
        return (int32_t)(receiver->base - sender->base);
    if (sender->syn)
        return (int64_t)(uint32_t)(receiver->base - sender->base) - (int64_t)PL_UNSEEN_BASE;
    return (int64_t)PL_UNSEEN_BASE - (int64_t)(uint32_t)(sender->base - receiver->base);
}

/* False when the SYNs differ: then it is another connection between the same ports. */
static bool same_connection(const struct pl_flow *a, const struct pl_flow *b, bool flipped)
{
    for (int i = 0; i < 2; i++) {
        const struct pl_side *x = &a->side[i], *y = &b->side[i ^ flipped];
        if (x->syn && y->syn && x->base != y->base)
            return false;
    }
    return true;
}

static bool has_syn(const struct pl_flow *flow)
{
    return flow->side[0].syn || flow->side[1].syn;
}

/* The direction in which packets leave the sender's machine: they appear first in the sender's capture. A capture that
 * began in mid-connection has no first packet, so the direction is that of most of the payload. */
static unsigned outgoing(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped)
{
    int64_t lead_ns[2] = {0, 0};
    uint64_t bytes[2];
    for (unsigned d = 0; d < 2; d++)
        bytes[d] = sender->side[d].bytes + receiver->side[d ^ flipped].bytes;
    if (bytes[0] != bytes[1] && !(has_syn(sender) && has_syn(receiver)))
        return bytes[1] > bytes[0];
    for (unsigned d = 0; d < 2; d++)
        if (sender->side[d].packets && receiver->side[d ^ flipped].packets)
            lead_ns[d] = receiver->side[d ^ flipped].first_ns - sender->side[d].first_ns;
    return lead_ns[1] > lead_ns[0];
}

/* Where no SYN says the MSS, the usual packet of one capture takes the super-packets of both apart. */
static void guess_mss(struct pl_transfer *t, const struct pl_sizes *sent, const struct pl_sizes *received)
{
    enum { CLEAR = 4 }; /* the usual length leads by this share */
    const struct pl_sizes *wire = sent->len < received->len ? sent : received;
    uint32_t largest = sent->largest > received->largest ? sent->largest : received->largest;
    if (!wire->len || wire->lead < wire->full / CLEAR || largest < 2 * wire->len)
        return;
    t->mss = wire->len;
    t->mss_option = wire->with_options;
}

/* Fills in what is known of a transfer before its packets are read. */
static struct pl_transfer transfer_of(const struct pl_analysis *analysis, uint32_t sender_flow, uint32_t receiver_flow,
                                      bool flipped)
{
    const struct pl_survey *sender = &analysis->surveys[PL_SENDER], *receiver = &analysis->surveys[PL_RECEIVER];
    const struct pl_flow *a = &sender->index.flows.at[sender_flow], *b = &receiver->index.flows.at[receiver_flow];
    unsigned dir = outgoing(a, b, flipped), far = dir ^ flipped;
    struct pl_transfer t = {
        .flow = a,
        .dir = dir,
        .receiver_dir = far,
        .mss = pl_flow_mss(a),
        .mss_option = pl_flow_mss_option(a),
        .delta = delta_of(&a->side[dir], &b->side[far]),
        .data_ids = pl_survey_has(sender, sender_flow, PL_DATA_IDS, dir) &&
                    pl_survey_has(receiver, receiver_flow, PL_DATA_IDS, far),
        .ack_ids = pl_survey_has(sender, sender_flow, PL_ACK_IDS, !dir) &&
                   pl_survey_has(receiver, receiver_flow, PL_ACK_IDS, !far),
        .sender_rows = pl_survey_rows(sender, sender_flow),
        .receiver_rows = pl_survey_rows(receiver, receiver_flow),
        .receiver_first_ns = receiver->index.counts.first_ns,
        .sender_first_ns = sender->index.counts.first_ns,
        .receiver_last_ns = receiver->index.counts.last_ns,
        .sender_last_ns = sender->index.counts.last_ns,
        .first_run = {PL_NO_RUN, PL_NO_RUN},
        .last_run = {PL_NO_RUN, PL_NO_RUN},
        .min_rtt_ns = -1,
        .max_rtt_ns = -1,
        .min_delay_ns = -1,
        .max_delay_ns = -1,
        .pace = &analysis->pace,
    };
    if (!t.mss) {
        t.mss = pl_flow_mss(b);
        t.mss_option = pl_flow_mss_option(b);
    }
    t.mss_said = t.mss > 0;
    if (!t.mss_said)
        guess_mss(&t, &sender->facts.at[sender_flow].sizes[dir], &receiver->facts.at[receiver_flow].sizes[far]);
    t.scale_known = pl_flow_scale_known(a) || pl_flow_scale_known(b);
    if (!pl_flow_scale_known(a) && pl_flow_scaled(b))
        t.window_shift = b->side[!far].wscale;
    t.rows_left = t.sender_rows + t.receiver_rows;
    return t;
}

/* Finds the connection in the box's record, if it is there. */
static int find_in_box(struct pl_analysis *analysis, struct pl_transfer *t)
{
    bool flipped = false;
    const struct pl_box *box = analysis->box;
    uint32_t flow = box ? pl_box_lookup(box, t->flow, &flipped) : UINT32_MAX;
    if (flow == UINT32_MAX)
        return 0;
    t->box = box;
    t->box_flow = flow;
    t->box_dir = t->dir ^ flipped;
    t->box_delta = delta_of(&t->flow->side[t->dir], &box->flows[flow].side[t->box_dir]);
    t->box_fates = calloc(UINT8_MAX + 1, sizeof *t->box_fates);
    analysis->box_numbers[flow] = t->number;
    return t->box_fates ? 0 : -1;
}

/* A list of `n` numbers, none of them set. */
static uint32_t *no_numbers(uint32_t n)
{
    uint32_t *list = malloc(((size_t)n + 1) * sizeof *list);
    if (list)
        memset(list, 0xff, ((size_t)n + 1) * sizeof *list);
    return list;
}

/* Finds the receiver's flow of each of the sender's. Where several claim one, it belongs to the newest. */
static void match_flows(const struct pl_analysis *analysis, uint32_t *sender_of, bool *flipped_of)
{
    const struct pl_flows *sender = &analysis->surveys[PL_SENDER].index.flows;
    const struct pl_flows *receiver = &analysis->surveys[PL_RECEIVER].index.flows;
    for (uint32_t i = 0; i < sender->n; i++) {
        bool flipped = false;
        uint32_t other = pl_flows_lookup(receiver, &sender->at[i], &flipped);
        while (other != UINT32_MAX && !same_connection(&sender->at[i], &receiver->at[other], flipped))
            other = pl_flows_older(receiver, other, &sender->at[i], &flipped); /* the ports were used again */
        if (other == UINT32_MAX)
            continue;
        sender_of[other] = i;
        flipped_of[other] = flipped;
        analysis->numbers[PL_SENDER][i] = other; /* for now the receiver's flow */
    }
}

/* Makes the transfers, in the order of the sender's flows. */
static int make_transfers(struct pl_analysis *analysis, const uint32_t *sender_of, const bool *flipped_of)
{
    uint32_t flows = analysis->surveys[PL_SENDER].index.flows.n, *numbers = analysis->numbers[PL_SENDER];
    for (uint32_t i = 0; i < flows; i++) {
        uint32_t other = numbers[i];
        numbers[i] = UINT32_MAX;
        if (other == UINT32_MAX || sender_of[other] != i)
            continue;
        struct pl_transfer *t = &analysis->transfers[analysis->n];
        *t = transfer_of(analysis, i, other, flipped_of[other]);
        t->number = numbers[i] = analysis->numbers[PL_RECEIVER][other] = analysis->n++;
        if (find_in_box(analysis, t) < 0)
            return -1;
    }
    uint32_t receiver_flows = analysis->surveys[PL_RECEIVER].index.flows.n;
    analysis->unmatched[PL_SENDER] = flows - analysis->n;
    analysis->unmatched[PL_RECEIVER] = receiver_flows - analysis->n;
    return 0;
}

static int match(struct pl_analysis *analysis)
{
    uint32_t n[PL_END_N] = {analysis->surveys[0].index.flows.n, analysis->surveys[1].index.flows.n};
    for (int end = 0; end < PL_END_N; end++)
        analysis->numbers[end] = no_numbers(n[end]);
    analysis->transfers = calloc((size_t)n[PL_SENDER] + 1, sizeof *analysis->transfers);
    analysis->box_numbers = no_numbers(analysis->box ? analysis->box->flow_n : 0);
    uint32_t *sender_of = no_numbers(n[PL_RECEIVER]);
    bool *flipped_of = calloc((size_t)n[PL_RECEIVER] + 1, sizeof *flipped_of);
    int result = -1;
    if (analysis->numbers[0] && analysis->numbers[1] && analysis->transfers && analysis->box_numbers && sender_of &&
        flipped_of) {
        match_flows(analysis, sender_of, flipped_of);
        result = make_transfers(analysis, sender_of, flipped_of);
    }
    free(sender_of);
    free(flipped_of);
    return result;
}

struct surveyor {
    struct pl_survey *survey;
    const struct pl_source *capture;
    bool sample;
    struct nc_error error;
    enum pl_status status;
};

static void *run_surveyor(void *context)
{
    struct surveyor *surveyor = context;
    surveyor->status = pl_survey_run(surveyor->survey, surveyor->capture, surveyor->sample, &surveyor->error);
    return NULL;
}

enum pl_status pl_analysis_survey(struct pl_analysis *analysis, const struct pl_source captures[PL_END_N],
                                  const struct pl_box *box, const struct pl_clock *clock, int *end,
                                  struct nc_error *error)
{
    struct surveyor surveyors[PL_END_N];
    pthread_t thread;
    *analysis = (struct pl_analysis){.captures = captures, .box = box, .clock = *clock};
    for (int i = 0; i < PL_END_N; i++)
        surveyors[i] = (struct surveyor){
            .survey = &analysis->surveys[i], .capture = &captures[i], .sample = clock->kind == PL_CLOCK_UNKNOWN};
    bool both = pthread_create(&thread, NULL, run_surveyor, &surveyors[PL_RECEIVER]) == 0;
    run_surveyor(&surveyors[PL_SENDER]);
    if (both)
        pthread_join(thread, NULL);
    else
        run_surveyor(&surveyors[PL_RECEIVER]);
    for (*end = 0; *end < PL_END_N; ++*end)
        if (surveyors[*end].status != PL_OK) {
            *error = surveyors[*end].error;
            return surveyors[*end].status;
        }
    *end = PL_SENDER;
    if (match(analysis) == 0)
        return PL_OK;
    nc_fail(error, NC_EXIT_FAILED, "out of memory");
    return PL_NO_MEMORY;
}

void pl_transfer_free(struct pl_transfer *t)
{
    pl_join_free(t->join);
    pl_lateness_free(&t->lateness);
    pl_base_free(&t->base);
    pl_base_free(&t->seen_base);
    pl_base_free(&t->ack_base);
    free(t->stops.at);
    free(t->box_fates);
    t->join = NULL;
    t->stops.at = NULL;
    t->box_fates = NULL;
}

void pl_analysis_free(struct pl_analysis *analysis)
{
    for (uint32_t i = 0; i < analysis->n; i++)
        pl_transfer_free(&analysis->transfers[i]);
    for (int end = 0; end < PL_END_N; end++) {
        pl_survey_free(&analysis->surveys[end]);
        free(analysis->numbers[end]);
    }
    free(analysis->transfers);
    free(analysis->box_numbers);
    *analysis = (struct pl_analysis){.n = 0};
}
