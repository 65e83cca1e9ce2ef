/* DualPI2 (RFC 9332, appendix A, with the second pass for overload; names in brackets are the RFC's): a queue for L4S
 * packets [lq] and one for all others [cq], with one base probability p' for both. p' follows the larger of the two
 * queues' delays. Classic packets are hit (marked or dropped) with probability p'^2 [p_C]. L4S packets are marked with
 * probability k p' [p_CL]; a packet that has waited longer than the step is always marked while more than one waits.
 * L4S has priority; while both wait, classic packets get the share `classic_ppb` of the bytes [WRR].
 * Overload: from k p' = 100 % on (p' = 50 %, p_C = 25 % with k = 2) [p_Lmax, p_Cmax] marks are not enough. Then both
 * queues drop with probability p_C, and the remaining L4S packets are marked.
 * Choices that the RFC leaves open: hits are spread evenly by its recur(), without random numbers. The step is one
 * threshold, as in Linux, and not a ramp. The defaults of target, Tupdate, alpha and beta are Linux's; the RFC's
 * formulas give 15 ms, 15 ms, 0.15 and 3. All arithmetic is in integers: probabilities are in units of 2^-32. */
#include "plain.h"
#include "laws.h"
#include "nc_clock.h"
#include "nc_range.h"

/* The most overdue updates that are made at once while packets wait. When nothing waits, one step replaces any number
 * of updates. */
enum { CATCH_UP_MAX = 2000 };

#define ONE (UINT64_C(1) << 32)

struct side {
    struct queued_list list;
    uint64_t bytes, packets;
    uint64_t hits; /* [q.count] of recur(): likelihood accumulated since the last hit, below ONE */
};

struct dualpi2 {
    struct side l4s, classic;
    uint64_t base, coupled, squared; /* p', p_CL, p_C */
    uint64_t delay_ns;               /* [prevq] */
    uint64_t next_update_ns;
    int64_t credit; /* credit of L4S, which decides whose turn it is when both wait */
    uint64_t step_marks;
    bool started;
};

static bool is_l4s(const struct dualpi2_params *params, const struct queued *packet)
{
    return packet->ect1 || (params->ect0 && packet->ect);
}

static void add(struct dualpi2 *dual, const struct dualpi2_params *params, struct queued *packet)
{
    struct side *side = is_l4s(params, packet) ? &dual->l4s : &dual->classic;
    queued_push(&side->list, packet);
    side->bytes += packet->bytes;
    side->packets++;
}

static struct queued *take(struct side *side)
{
    struct queued *packet = queued_pop(&side->list);
    side->bytes -= packet->bytes;
    side->packets--;
    return packet;
}

/* gain * time in units of 2^-32, rounded down, at most 4; gains are in 1e-9 / s. Computed in parts that fit into 64
 * bits. */
static uint64_t scaled(uint64_t gain_per_1e9_s, uint64_t ns)
{
    unsigned __int128 product = (unsigned __int128)gain_per_1e9_s * ns;
    if (product >= 4 * NC_NS_PER_S * NC_NS_PER_S)
        return 4 * ONE;
    uint64_t whole = (uint64_t)product / NC_NS_PER_S, rest = (uint64_t)product % NC_NS_PER_S;
    return ((whole << 32) + (rest << 32) / NC_NS_PER_S) / NC_NS_PER_S;
}

static uint64_t moved(uint64_t from, uint64_t up, uint64_t down)
{
    uint64_t to = from + up;
    to = to > down ? to - down : 0;
    return to > ONE ? ONE : to;
}

/* How long the first packet of one queue has waited. */
static uint64_t waited_ns(const struct side *side, uint64_t now_ns)
{
    const struct queued *head = side->list.head;
    return head && now_ns > head->arrival_ns ? now_ns - head->arrival_ns : 0;
}

/* One update [dualpi2_update] at its time. */
static void update(struct dualpi2 *dual, const struct dualpi2_params *params, uint64_t at_ns)
{
    uint64_t delay = nc_max(waited_ns(&dual->l4s, at_ns), waited_ns(&dual->classic, at_ns)), old = dual->delay_ns;
    uint64_t above = delay > params->target_ns ? delay - params->target_ns : 0;
    uint64_t below = delay < params->target_ns ? params->target_ns - delay : 0;
    uint64_t up =
        scaled(params->alpha_per_1e9_s, above) + scaled(params->beta_per_1e9_s, delay > old ? delay - old : 0);
    uint64_t down =
        scaled(params->alpha_per_1e9_s, below) + scaled(params->beta_per_1e9_s, old > delay ? old - delay : 0);
    dual->base = moved(dual->base, up, down);
    dual->delay_ns = delay;
}

/* Makes all updates that are due by now, with the same result as by a timer, because between calls the queues do not
 * change. */
static void catch_up(struct dualpi2 *dual, const struct dualpi2_params *params, uint64_t now_ns)
{
    if (!dual->started) {
        dual->started = true;
        dual->next_update_ns = now_ns + params->update_ns;
    }
    if (now_ns < dual->next_update_ns)
        return;
    uint64_t due = (now_ns - dual->next_update_ns) / params->update_ns + 1, at_ns = dual->next_update_ns;
    dual->next_update_ns += due * params->update_ns;
    for (uint64_t i = 0; i < due && i < CATCH_UP_MAX; i++, at_ns += params->update_ns) {
        update(dual, params, at_ns);
        if (dual->base == ONE && dual->delay_ns > params->target_ns) { /* what waits goes on waiting */
            uint64_t last_ns = dual->next_update_ns - params->update_ns;
            dual->delay_ns = nc_max(waited_ns(&dual->l4s, last_ns), waited_ns(&dual->classic, last_ns));
            break;
        }
        if (dual->l4s.packets || dual->classic.packets)
            continue;
        unsigned __int128 fall = (unsigned __int128)scaled(params->alpha_per_1e9_s, params->target_ns) * (due - i - 1);
        dual->base = fall < dual->base ? dual->base - (uint64_t)fall : 0;
        break;
    }
    uint64_t coupled = dual->base * (params->coupling_ppb / NC_RATIO_ONE) +
                       dual->base * (params->coupling_ppb % NC_RATIO_ONE) / NC_RATIO_ONE;
    dual->coupled = coupled > ONE ? ONE : coupled;
    dual->squared = (uint64_t)((unsigned __int128)dual->base * dual->base >> 32);
}

/* True for the share `likelihood` of calls [recur]. */
static bool hit(struct side *side, uint64_t likelihood)
{
    side->hits += likelihood;
    if (side->hits < ONE)
        return false;
    side->hits -= ONE;
    return true;
}

static bool is_overloaded(const struct dualpi2 *dual)
{
    return dual->coupled >= ONE || dual->base >= ONE;
}

/* The fate of an L4S packet that was dequeued. */
static enum aqm_verdict l4s_leaves(struct dualpi2 *dual, const struct dualpi2_params *params, uint64_t sojourn_ns)
{
    bool step = sojourn_ns > params->step_ns && dual->l4s.packets > 0; /* [Th_len] 1 packet, this one */
    if (is_overloaded(dual)) {
        if (hit(&dual->l4s, dual->squared))
            return AQM_DROP;
        return AQM_MARK; /* p_CL is 1 */
    }
    dual->step_marks += step;
    return hit(&dual->l4s, step ? ONE : dual->coupled) ? AQM_MARK : AQM_PASS;
}

static enum aqm_verdict classic_leaves(struct dualpi2 *dual, const struct queued *packet)
{
    if (!hit(&dual->classic, dual->squared))
        return AQM_PASS;
    return packet->ect && !is_overloaded(dual) ? AQM_MARK : AQM_DROP;
}

/* The queue whose turn it is, or NULL when nothing waits. A queue that waits alone accumulates no credit. */
static struct side *turn(struct dualpi2 *dual)
{
    if (dual->l4s.packets && dual->classic.packets)
        return dual->credit >= 0 ? &dual->l4s : &dual->classic;
    dual->credit = 0;
    return dual->l4s.packets ? &dual->l4s : dual->classic.packets ? &dual->classic : NULL;
}

/* Counts a packet that was sent while both queues waited, in 1e-9 bytes. */
static void count_turn(struct dualpi2 *dual, const struct dualpi2_params *params, const struct side *side,
                       uint64_t bytes)
{
    if (side == &dual->l4s)
        dual->credit -= (int64_t)(bytes * params->classic_ppb);
    else
        dual->credit += (int64_t)(bytes * (NC_RATIO_ONE - params->classic_ppb));
}

static enum fate enqueue(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    struct dualpi2 *dual = queue->own;
    const struct dualpi2_params *params = &settings->aqm->dualpi2;
    catch_up(dual, params, packet->arrival_ns);
    if (!queue_fits(queue, settings, packet->bytes) || (queue->packets && queue->packets >= params->limit_packets))
        return FATE_QUEUE;
    add(dual, params, packet);
    queue_count(queue, packet);
    return FATE_PASS;
}

static struct queued *dequeue(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                              enum fate *fate)
{
    struct dualpi2 *dual = queue->own;
    const struct dualpi2_params *params = &settings->aqm->dualpi2;
    catch_up(dual, params, now_ns);
    struct side *side = turn(dual);
    *fate = FATE_PASS;
    if (!side)
        return NULL;
    uint64_t sojourn_ns = waited_ns(side, now_ns);
    bool both = dual->l4s.packets && dual->classic.packets;
    struct queued *packet = take(side);
    queue_uncount(queue, packet);
    *fate = aqm_fate(packet, side == &dual->l4s ? l4s_leaves(dual, params, sojourn_ns) : classic_leaves(dual, packet));
    if (both && *fate == FATE_PASS)
        count_turn(dual, params, side, packet->bytes);
    return packet;
}

static struct queue_next next(const struct queue *queue)
{
    const struct dualpi2 *dual = queue->own;
    const struct queued *l4s = dual->l4s.list.head, *classic = dual->classic.list.head;
    uint64_t time_ns = l4s ? l4s->arrival_ns : UINT64_MAX;
    return (struct queue_next){classic && classic->arrival_ns < time_ns ? classic->arrival_ns : time_ns, NULL};
}

static uint64_t ppb(uint64_t probability)
{
    return probability * NC_RATIO_ONE >> 32;
}

static size_t state(const struct queue *queue, struct queue_fact *facts)
{
    const struct dualpi2 *dual = queue->own;
    facts[0] = (struct queue_fact){"base_ppb", ppb(dual->base)};
    facts[1] = (struct queue_fact){"classic_ppb", ppb(dual->squared)};
    facts[2] = (struct queue_fact){"l4s_ppb", ppb(dual->coupled)};
    facts[3] = (struct queue_fact){"delay_ns", dual->delay_ns};
    facts[4] = (struct queue_fact){"classic_packets", dual->classic.packets};
    facts[5] = (struct queue_fact){"l4s_packets", dual->l4s.packets};
    facts[6] = (struct queue_fact){"step_marks", dual->step_marks};
    return 7;
}

static void start(struct queue *queue, const struct queue_settings *settings, struct queued_list *waiting)
{
    for (struct queued *packet; (packet = queued_pop(waiting));)
        add(queue->own, &settings->aqm->dualpi2, packet);
}

/* Merges the queues in the order of arrival, for another discipline. */
static void leave(struct queue *queue, struct queued_list *waiting)
{
    struct dualpi2 *dual = queue->own;
    while (dual->l4s.packets || dual->classic.packets) {
        const struct queued *l4s = dual->l4s.list.head, *classic = dual->classic.list.head;
        bool first = l4s && (!classic || l4s->number < classic->number);
        queued_push(waiting, take(first ? &dual->l4s : &dual->classic));
    }
}

const struct discipline discipline_dualpi2 = {
    .own_bytes = sizeof(struct dualpi2),
    .enqueue = enqueue,
    .dequeue = dequeue,
    .next = next,
    .state = state,
    .start = start,
    .leave = leave,
};
