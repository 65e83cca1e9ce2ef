/* Implements path_down.h. */
#include "path_down.h"

#include "losses.h"
#include "outages.h"
#include "thresholds.h"

void pl_ack_outages_begin(struct pl_ack_outages *o, const struct pl_transfer *t, struct pl_time_spans *spans,
                          pl_ack_runs *runs, bool gathers)
{
    *o = (struct pl_ack_outages){.t = t, .spans = spans, .runs = runs, .gathers = gathers};
}

/* Whether the run shows an outage. The box's record decides if the box saw the run. Otherwise the run must be long
 * enough, as in losses.h, and last too long for a burst. `next_ns` 0: no acknowledgement arrived after the run. */
static bool is_outage(const struct pl_ack_outages *o, int64_t next_ns)
{
    if (o->t->box && o->t->box->tells_outages)
        return o->of_outage > 0;
    int64_t lasted_ns = o->last_ns - o->first_ns, from_ns = o->before_ns > 0 ? o->before_ns : o->first_ns;
    return o->lost >= PL_OUTAGE_PARTS && lasted_ns >= PL_OUTAGE_NS &&
           (next_ns == 0 || pl_outage_shows(o->lost, lasted_ns, next_ns - from_ns));
}

/* When an acknowledgement reaches the sender if it meets no queue. */
static int64_t due_ns(const struct pl_ack_outages *o, int64_t t_sent_ns)
{
    return t_sent_ns + pl_base_at(&o->t->ack_base, t_sent_ns);
}

static int gather(struct pl_ack_outages *o, int64_t next_ns)
{
    struct pl_ack_run run = {
        .before_ns = o->before_ns > 0 ? o->before_ns : INT64_MIN,
        .first_ns = o->first_ns,
        .last_ns = o->last_ns,
        .next_ns = next_ns > 0 ? next_ns : INT64_MAX,
        .n = o->lost,
    };
    bool counts = o->lost >= PL_OUTAGE_ACKS;
    o->lost = 0;
    return counts ? PL_APPEND(o->runs, run) : 0;
}

/* Whether an outage of both directions lost the present run. */
static bool of_both_ways(struct pl_ack_outages *o)
{
    bool listed = o->lost >= PL_OUTAGE_ACKS && o->at < o->runs->n;
    return listed && o->runs->at[o->at++].both_ways;
}

/* Ends the run. `next_ns`: when the acknowledgement after the run was sent; it shows the path's delay at that time. 0:
 * there is none. */
static int end_run(struct pl_ack_outages *o, int64_t next_ns)
{
    if (o->gathers)
        return gather(o, next_ns);
    bool both_ways = of_both_ways(o);
    bool outage = o->lost && (is_outage(o, next_ns) || (both_ways && !(o->t->box && o->t->box->tells_outages)));
    int64_t end_ns = o->t->outages.n && next_ns > 0 ? next_ns : o->last_ns;
    const int64_t back_ns[2] = {pl_base_at(&o->t->ack_base, o->first_ns), pl_base_at(&o->t->ack_base, end_ns)};
    bool sent_before = o->before_ns > 0 && o->first_ns - o->before_ns <= PL_OUTAGE_NS;
    o->lost = o->of_outage = 0;
    return outage ? pl_down_add(o->spans, &o->t->outages, o->first_ns, o->last_ns, sent_before, back_ns) : 0;
}

int pl_ack_outages_add(struct pl_ack_outages *o, const struct pl_ack *ack)
{
    if (ack->t_received_ns >= 0) {
        int64_t delay_ns = ack->t_received_ns - ack->t_sent_ns;
        o->longest_ns = delay_ns > o->longest_ns ? delay_ns : o->longest_ns;
        int result = end_run(o, ack->t_sent_ns);
        o->before_ns = ack->t_sent_ns;
        return result;
    }
    int64_t late_ns = ack->t_sent_ns + o->longest_ns + o->longest_ns / 8; /* as in pl_under_way_ns */
    if (ack->t_sent_ns < o->t->sender_first_ns || late_ns > o->t->sender_last_ns ||
        due_ns(o, ack->t_sent_ns) > o->t->sender_last_ns)
        return 0; /* the sender's capture began too late, or was too short, to show it */
    if (o->lost++ == 0)
        o->first_ns = ack->t_sent_ns;
    o->last_ns = ack->t_sent_ns;
    o->of_outage += ack->box_fate == FATE_OUTAGE;
    return 0;
}

int pl_ack_outages_end(struct pl_ack_outages *o)
{
    return end_run(o, 0);
}
