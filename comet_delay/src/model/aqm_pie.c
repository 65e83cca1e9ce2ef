/* Proportional Integral controller Enhanced (RFC 8033; names in brackets are the RFC's). The RFC leaves two choices
 * open. The delay [current_qdelay] is here the sojourn time of the packet that left last, and 0 when the queue was
 * empty behind it. MEAN_PKTSIZE of the safeguard is the largest packet seen, so that the safeguard holds for jumbo
 * frames too. */
#include "aqm_algorithms.h"
#include "nc_clock.h"

/* At most so many updates are made up for after a silence, which is what a packet can cost. The state settles in
 * fewer: in an empty queue a probability of 1 falls to 0.98 of itself each time (4.2) and by alpha * target / 2048, and
 * so to 0 in 1,700 updates with the smallest alpha and the default target. */
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
            break; /* it has settled: further updates change nothing */
    }
}

/* [drop_early] (4.1, and 5.4 if wanted). */
static bool hit(struct pie_state *pie, const struct pie_params *params, uint32_t largest_bytes,
                const struct aqm_packet *packet)
{
    if (pie->burst_ns > 0)
        return false;
    if (pie->probability == 0)
        pie->accumulated = 0;
    if ((pie->delay_old_ns < params->target_ns / 2 && pie->probability < 0.2) ||
        packet->backlog_bytes <= 2 * (uint64_t)largest_bytes)
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

enum aqm_verdict pie_enqueue(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet)
{
    struct pie_state *pie = &aqm->pie;
    catch_up(pie, &params->pie, packet->now_ns);
    if (!hit(pie, &params->pie, aqm->largest_bytes, packet))
        return AQM_PASS;
    pie->accumulated = 0;
    return pie->probability * NC_RATIO_ONE < (double)params->pie.ecn_threshold_ppb ? aqm_signal(params, packet)
                                                                                   : AQM_DROP;
}

enum aqm_verdict pie_dequeue(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet)
{
    catch_up(&aqm->pie, &params->pie, packet->now_ns);
    aqm->pie.delay_ns = packet->backlog_bytes ? packet->sojourn_ns : 0;
    return AQM_PASS;
}
