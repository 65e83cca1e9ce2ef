/* The first reading of analyse.h, and the match of both captures' flows. */
#include "analyse.h"

#include <pthread.h>
#include <string.h>

#include "aggregate.h"
#include "arrived.h"
#include "hosts.h"
#include "join.h"
#include "pairs.h"
#include "place.h"
#include "vector.h"

/* The sender's relative sequence number minus the receiver's. If one capture missed the SYN, its numbers start at 2^32
 * with its first packet. This packet is assumed to be within the first 4 GiB of the other capture's numbers. */
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

/* Sets the MSS from the SYNs, as pl_flow_bound_mss says. Returns false where no SYN has the option. */
static bool set_mss(struct pl_transfer *t, const struct pl_flow *flow, unsigned dir)
{
    uint32_t options = pl_flow_mss_option(flow) - pl_flow_mss(flow);
    t->mss_option = pl_flow_bound_mss(flow, dir);
    t->mss = t->mss_option ? pl_part_len(t->mss_option, options) : 0;
    return t->mss > 0;
}

/* Estimates the MSS where no SYN gives it. The usual packet length of one capture serves to split the super-packets of
 * both. */
static void guess_mss(struct pl_transfer *t, const struct pl_sizes *sent, const struct pl_sizes *received)
{
    enum { CLEAR = 4 }; /* the surplus of the usual length is at least 1/CLEAR of the packets that may be full */
    const struct pl_sizes *wire = sent->len < received->len ? sent : received;
    uint32_t largest = sent->largest > received->largest ? sent->largest : received->largest;
    if (!wire->len || wire->lead < wire->full / CLEAR || largest < 2 * wire->len)
        return;
    t->mss = wire->len;
    t->mss_option = wire->with_options;
}

/* Takes the MSS at the end of the transfer from the receiver's packets, if they were shorter than the SYNs say. A sender
 * whose `largest` packet is shorter, too, never had a full packet to send. */
static void follow_mss(struct pl_transfer *t, const struct pl_mss_levels *levels, uint32_t largest)
{
    if (!t->mss || !levels->list.n || largest < t->mss)
        return;
    t->levels = levels;
    uint32_t options = t->mss_option - t->mss, last = levels->list.at[levels->list.n - 1].mss_option;
    t->mss_option = last < t->mss_option ? last : t->mss_option;
    t->mss = pl_part_len(t->mss_option, options);
}

/* Fills in what is known of a transfer before its packets are read. */
static struct pl_transfer transfer_of(const struct pl_analysis *analysis, uint32_t sender_flow, struct pl_pair pair,
                                      unsigned dir)
{
    uint32_t receiver_flow = pair.other;
    bool flipped = pair.flipped;
    const struct pl_survey *sender = &analysis->surveys[PL_SENDER], *receiver = &analysis->surveys[PL_RECEIVER];
    const struct pl_flow *a = &sender->index.flows.at[sender_flow], *b = &receiver->index.flows.at[receiver_flow];
    unsigned far = dir ^ flipped;
    struct pl_transfer t = {
        .flow = a,
        .far_flow = pair.found == PL_BY_ADDRESSES ? NULL : b,
        .dir = dir,
        .receiver_dir = far,
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
    t.mss_said = set_mss(&t, a, dir) || set_mss(&t, b, far);
    if (!t.mss_said)
        guess_mss(&t, &sender->facts.at[sender_flow].sizes[dir], &receiver->facts.at[receiver_flow].sizes[far]);
    follow_mss(&t, &receiver->facts.at[receiver_flow].levels[far], sender->facts.at[sender_flow].sizes[dir].largest);
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

/* True when the receiver's capture has only one direction of the connection: the acknowledgements. */
static bool lacks_data(const struct pl_flow *receiver, unsigned far)
{
    return receiver->side[far].packets == 0 && receiver->side[!far].packets > 0;
}

static const struct pl_flow *flow_at(const struct pl_analysis *analysis, int end, uint32_t flow)
{
    return &analysis->surveys[end].index.flows.at[flow];
}

/* Makes the transfers, in the order of the sender's flows. Returns 0, or -1 without memory. */
static int make_transfers(struct pl_analysis *analysis, const struct pl_pair *pairs, pl_hosts_list *list)
{
    uint32_t flows = analysis->surveys[PL_SENDER].index.flows.n;
    if (pl_hosts_find(list, analysis->surveys, pairs) < 0)
        return -1;
    for (uint32_t i = 0; i < flows; i++) {
        uint32_t other = pairs[i].other;
        if (other == UINT32_MAX)
            continue;
        const struct pl_flow *a = flow_at(analysis, PL_SENDER, i), *b = flow_at(analysis, PL_RECEIVER, other);
        unsigned dir = pl_hosts_outgoing(list, a, b, pairs[i].flipped, analysis->captures[PL_SENDER].accepted);
        if (lacks_data(b, dir ^ pairs[i].flipped)) {
            analysis->one_way++;
            continue;
        }
        struct pl_transfer *t = &analysis->transfers[analysis->n];
        *t = transfer_of(analysis, i, pairs[i], dir);
        t->number = analysis->numbers[PL_SENDER][i] = analysis->numbers[PL_RECEIVER][other] = analysis->n++;
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
    struct pl_pair *pairs = pl_pairs_find(analysis->surveys);
    bool ready = analysis->numbers[0] && analysis->numbers[1] && analysis->transfers && analysis->box_numbers && pairs;
    pl_hosts_list list = {.n = 0};
    int result = ready ? make_transfers(analysis, pairs, &list) : -1;
    free(list.at);
    free(pairs);
    return result;
}

/* Fills in what is known of a connection that only one capture has, before its packets are read. */
static struct pl_transfer transfer_alone(const struct pl_analysis *analysis, int end, const struct pl_place *place,
                                         uint32_t flow)
{
    const struct pl_survey *survey = &analysis->surveys[end];
    const struct pl_flow *a = &survey->index.flows.at[flow];
    unsigned dir = a->side[1].bytes > a->side[0].bytes;
    const struct pl_counts *counts = &survey->index.counts;
    int near = pl_place_near(place, a);
    enum pl_ends ends = near < 0 ? analysis->ends : (unsigned)near == dir ? PL_SENDER_ALONE : PL_RECEIVER_ALONE;
    struct pl_transfer t = {
        .number = flow,
        .ends = ends,
        .flow = a,
        .dir = dir,
        .receiver_dir = dir,
        .data_ids = ends == PL_RECEIVER_ALONE && pl_survey_has(survey, flow, PL_DATA_IDS, dir),
        .receiver_first_ns = counts->first_ns,
        .sender_first_ns = counts->first_ns,
        .receiver_last_ns = counts->last_ns,
        .sender_last_ns = counts->last_ns,
        .first_run = {PL_NO_RUN, PL_NO_RUN},
        .last_run = {PL_NO_RUN, PL_NO_RUN},
        .min_rtt_ns = -1,
        .max_rtt_ns = -1,
        .min_delay_ns = -1,
        .max_delay_ns = -1,
        .pace = &analysis->pace,
        .scale_known = pl_flow_scale_known(a),
    };
    t.mss_said = set_mss(&t, a, dir);
    if (!t.mss_said)
        guess_mss(&t, &survey->facts.at[flow].sizes[dir], &survey->facts.at[flow].sizes[dir]);
    if (ends == PL_RECEIVER_ALONE)
        follow_mss(&t, &survey->facts.at[flow].levels[dir], survey->facts.at[flow].sizes[dir].largest);
    t.sender_rows = t.rows_left = pl_survey_rows(survey, flow);
    return t;
}

static int take_all(struct pl_analysis *analysis, int end)
{
    uint32_t n = analysis->surveys[end].index.flows.n;
    analysis->transfers = calloc((size_t)n + 1, sizeof *analysis->transfers);
    analysis->numbers[end] = no_numbers(n);
    if (!analysis->transfers || !analysis->numbers[end])
        return -1;
    struct pl_place place = pl_place_of(&analysis->surveys[end].index.flows, end == PL_SENDER);
    for (uint32_t i = 0; i < n; i++) {
        analysis->transfers[i] = transfer_alone(analysis, end, &place, i);
        analysis->numbers[end][i] = i;
    }
    analysis->n = n;
    return 0;
}

/* Exchanges the captures, because they were given in the wrong order. */
static void swap_ends(struct pl_analysis *analysis)
{
    struct pl_survey survey = analysis->surveys[PL_SENDER];
    struct pl_source capture = analysis->captures[PL_SENDER];
    analysis->surveys[PL_SENDER] = analysis->surveys[PL_RECEIVER];
    analysis->surveys[PL_RECEIVER] = survey;
    analysis->captures[PL_SENDER] = analysis->captures[PL_RECEIVER];
    analysis->captures[PL_RECEIVER] = capture;
    analysis->swapped = true;
}

static void sum_bytes(struct pl_analysis *analysis)
{
    analysis->bytes[0] = analysis->bytes[1] = 0;
    for (uint32_t i = 0; i < analysis->n; i++) {
        const struct pl_transfer *t = &analysis->transfers[i];
        analysis->bytes[0] += t->flow->side[t->dir].bytes;
        analysis->bytes[1] += t->flow->side[!t->dir].bytes;
    }
}

static void forget_match(struct pl_analysis *analysis)
{
    for (uint32_t i = 0; i < analysis->n; i++)
        pl_transfer_free(&analysis->transfers[i]);
    for (int end = 0; end < PL_END_N; end++)
        free(analysis->numbers[end]);
    free(analysis->transfers);
    free(analysis->box_numbers);
    analysis->n = analysis->one_way = 0;
}

/* Matches the captures. If no data leave the sender's machine, the captures were given in the wrong order: exchanges
 * them and matches again. */
static int match_both(struct pl_analysis *analysis)
{
    int result = match(analysis);
    sum_bytes(analysis);
    if (result < 0 || analysis->bytes[0] || !analysis->bytes[1] || analysis->clock.kind == PL_CLOCK_GIVEN)
        return result;
    forget_match(analysis);
    swap_ends(analysis);
    result = match(analysis);
    sum_bytes(analysis);
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

/* True when the handshakes show that the capture is from the other end of most of the data. */
static bool is_other_end(const struct pl_survey *survey, int end)
{
    uint64_t bytes[PL_END_N] = {0, 0};
    for (uint32_t i = 0; i < survey->index.flows.n; i++) {
        const struct pl_flow *flow = &survey->index.flows.at[i];
        int near = pl_flow_near(flow), from = flow->side[1].bytes > flow->side[0].bytes;
        if (near >= 0)
            bytes[near == from ? PL_SENDER : PL_RECEIVER] += flow->side[from].bytes;
    }
    return bytes[!end] > bytes[end];
}

static enum pl_status survey_alone(struct pl_analysis *analysis, int end, int *of, struct nc_error *error)
{
    *of = end;
    analysis->ends = end == PL_SENDER ? PL_SENDER_ALONE : PL_RECEIVER_ALONE;
    enum pl_status status = pl_survey_run(&analysis->surveys[end], &analysis->captures[end], false, error);
    if (status == PL_OK && is_other_end(&analysis->surveys[end], end)) {
        swap_ends(analysis);
        end = !end;
        analysis->ends = end == PL_SENDER ? PL_SENDER_ALONE : PL_RECEIVER_ALONE;
    }
    if (status != PL_OK || take_all(analysis, end) == 0)
        return status;
    nc_fail(error, NC_EXIT_FAILED, "out of memory");
    return PL_NO_MEMORY;
}

enum pl_status pl_analysis_survey(struct pl_analysis *analysis, const struct pl_source captures[PL_END_N],
                                  const struct pl_box *box, const struct pl_clock *clock, int *end,
                                  struct nc_error *error)
{
    struct surveyor surveyors[PL_END_N];
    pthread_t thread;
    *analysis = (struct pl_analysis){.captures = {captures[0], captures[1]}, .box = box, .clock = *clock};
    for (int i = 0; i < PL_END_N; i++)
        if (!captures[i].path && !captures[i].data)
            return survey_alone(analysis, !i, end, error);
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
    if (match_both(analysis) == 0)
        return PL_OK;
    nc_fail(error, NC_EXIT_FAILED, "out of memory");
    return PL_NO_MEMORY;
}

void pl_analysis_free(struct pl_analysis *analysis)
{
    for (uint32_t i = 0; i < analysis->n; i++)
        pl_transfer_free(&analysis->transfers[i]);
    for (int end = 0; end < PL_END_N; end++) {
        if (pl_has_end(analysis, end) && (analysis->captures[end].path || analysis->captures[end].data))
            pl_survey_free(&analysis->surveys[end]);
        free(analysis->numbers[end]);
    }
    for (uint32_t i = 0; analysis->silences && i < analysis->n; i++)
        free(analysis->silences[i].list.at);
    free(analysis->silences);
    pl_aggregates_free(&analysis->aggregates);
    free(analysis->transfers);
    free(analysis->box_numbers);
    for (int way = 0; way < 2; way++)
        pl_time_spans_free(&analysis->busy[way]);
    *analysis = (struct pl_analysis){.n = 0};
}
