/* Proportional Integral controller Enhanced (RFC 8033; names in brackets are the RFC's). The RFC leaves two choices
 * open. Here the delay [current_qdelay] is the sojourn time of the packet that left last, and 0 if that packet left the
 * queue empty. MEAN_PKTSIZE of the safeguard is the largest packet seen, so that the safeguard also works for jumbo
 * frames. */
#include "plain.h"
#include "laws.h"
#include "nc_clock.h"
#include "nc_range.h"

/* The most overdue updates that are made at once, which bounds the cost of a packet. The state converges in fewer: in
 * an empty queue each update multiplies the probability by 0.98 (4.2) and subtracts alpha * target / 2048, so it falls
 * from 1 to 0 in 1,700 updates with the smallest alpha and the default target. */
enum { CATCH_UP_MAX = 2000 };

static double seconds(uint64_t ns)
{
    return (double)ns / NC_NS_PER_S;
}

/* Auto-scaling (4.2): the smaller the probability, the smaller its steps. */
static double scaled(double change, double probability)
{
    static const struct {
        double below, divisor;
    } steps[] = {{0.000001, 2048}, {0.00001, 512}, {0.0001, 128}, {0.001, 32}, {0.01, 8}, {0.1, 2}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (probability < steps[i].below)
            return change / steps[i].divisor;
    return change;
}

/* One update [calculate_drop_prob] (4.2), with the burst allowance (4.4). */
static void update(struct pie_state *pie, const struct pie_params *params)
{
    double delay = seconds(pie->delay_ns), old = seconds(pie->delay_old_ns), target = seconds(params->target_ns);
    double change = (double)params->alpha_per_1e9_s / NC_RATIO_ONE * (delay - target) +
                    (double)params->beta_per_1e9_s / NC_RATIO_ONE * (delay - old);
    double p = pie->probability + scaled(change, pie->probability);
    if (pie->delay_ns == 0 && pie->delay_old_ns == 0)
        p *= 0.98;
    pie->probability = p < 0 ? 0 : p > 1 ? 1 : p;
    pie->burst_ns = pie->burst_ns > params->update_ns ? pie->burst_ns - params->update_ns : 0;
    if (pie->probability == 0 && pie->delay_ns < params->target_ns / 2 && pie->delay_old_ns < params->target_ns / 2)
        pie->burst_ns = params->burst_ns;
    pie->delay_old_ns = pie->delay_ns;
}

/* Makes all updates that are due by now. */
static void catch_up(struct pie_state *pie, const struct pie_params *params, uint64_t now_ns)
{
    if (!pie->started) {
        *pie = (struct pie_state){
            .started = true, .burst_ns = params->burst_ns, .next_update_ns = now_ns + params->update_ns};
        return;
    }
    if (now_ns < pie->next_update_ns)
        return;
    uint64_t due = (now_ns - pie->next_update_ns) / params->update_ns + 1;
    pie->next_update_ns += due * params->update_ns;
    for (uint64_t i = 0; i < due && i < CATCH_UP_MAX; i++) {
        struct pie_state before = *pie;
        update(pie, params);
        if (before.probability == pie->probability && before.burst_ns == pie->burst_ns &&
            before.delay_old_ns == pie->delay_old_ns)
            break; /* it has converged: further updates change nothing */
    }
}

/* [drop_early] (4.1, and 5.4 if wanted). */
static bool hit(struct pie_state *pie, const struct pie_params *params, const struct aqm_packet *packet)
{
    if (pie->burst_ns > 0)
        return false;
    if (pie->probability == 0)
        pie->accumulated = 0;
    if ((pie->delay_old_ns < params->target_ns / 2 && pie->probability < 0.2) ||
        packet->backlog_bytes <= 2 * (uint64_t)packet->largest_bytes)
        return false;
    if (params->derandomize) {
        pie->accumulated += pie->probability;
        if (pie->accumulated < 0.85)
            return false;
        if (pie->accumulated >= 8.5)
            return true;
    }
    return aqm_chance(packet, pie->probability);
}

enum aqm_verdict pie_comes(struct pie_state *pie, const struct aqm_params *params, const struct aqm_packet *packet)
{
    catch_up(pie, &params->pie, packet->now_ns);
    if (!hit(pie, &params->pie, packet))
        return AQM_PASS;
    pie->accumulated = 0;
    bool marks = pie->probability * NC_RATIO_ONE < (double)params->pie.ecn_threshold_ppb;
    return marks ? aqm_signal(params->ecn, packet) : AQM_DROP;
}

void pie_leaves(struct pie_state *pie, const struct pie_params *params, const struct aqm_packet *packet)
{
    catch_up(pie, params, packet->now_ns);
    pie->delay_ns = packet->backlog_bytes ? packet->sojourn_ns : 0;
}

struct pie {
    struct queued_list list;
    uint32_t largest_bytes;
    struct pie_state law;
};

static enum fate enqueue(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    struct pie *pie = queue->own;
    struct aqm_packet coming = aqm_coming(queue, settings, packet);
    coming.largest_bytes = pie->largest_bytes = nc_max(pie->largest_bytes, packet->bytes);
    enum fate fate = aqm_fate(packet, pie_comes(&pie->law, settings->aqm, &coming));
    return fate == FATE_PASS ? plain_add(queue, settings, packet) : fate;
}

static struct queued *dequeue(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                              enum fate *fate)
{
    struct pie *pie = queue->own;
    struct queued *packet = plain_take(queue);
    *fate = FATE_PASS;
    if (!packet)
        return NULL;
    pie->largest_bytes = nc_max(pie->largest_bytes, packet->bytes);
    const struct aqm_packet leaving = aqm_leaving(queue, settings, packet, now_ns);
    pie_leaves(&pie->law, &settings->aqm->pie, &leaving);
    return packet;
}

static size_t state(const struct queue *queue, struct queue_fact *facts)
{
    const struct pie *pie = queue->own;
    facts[0] = (struct queue_fact){"probability_ppb", (uint64_t)(pie->law.probability * NC_RATIO_ONE)};
    facts[1] = (struct queue_fact){"delay_ns", pie->law.delay_ns};
    facts[2] = (struct queue_fact){"burst_ns", pie->law.burst_ns};
    return 3;
}

const struct discipline discipline_pie = {
    .own_bytes = sizeof(struct pie),
    .enqueue = enqueue,
    .dequeue = dequeue,
    .next = plain_next,
    .state = state,
    .start = plain_start,
    .leave = plain_leave,
};
