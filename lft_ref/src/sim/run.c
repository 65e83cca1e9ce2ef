/* One trial: its clock, its loop and its result. */
#include <assert.h>
#include <stdlib.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "run.h"

#define STALL_NS (120 * NC_NS_PER_S)

static bool finished(const struct run *run)
{
    for (size_t i = 0; i < run->streams; i++)
        if (!run->sinks[i].done && !sim_is_still(run, i))
            return false;
    return true;
}

/* When an end runs next, on a machine that wakes it late or stops it. A timer, a packet, or a source that writes
 * steadily wakes the end. */
static void plan(struct run *run, struct end *end, const struct sim_path *in)
{
    uint64_t due = nc_min(end->wake_ns, sim_path_next_ns(in));
    if (run->now_ns >= end->run_ns) {
        end->ran_ns = run->now_ns;
        sim_late_ran(&end->late);
    }
    if (run->trial->settings->source_bps && end == &run->a)
        due = nc_min(due, end->ran_ns + NC_NS_PER_MS / 5);
    uint64_t rested = end->ran_ns + run->trial->settings->granularity_ns;
    end->run_ns = sim_late_time(&end->late, due > rested ? due : rested);
}

static bool late_machine(const struct run *run)
{
    return run->trial->settings->late_ns || run->trial->settings->stop_every_ns;
}

static void advance(struct run *run)
{
    uint64_t next =
        nc_min(nc_min(run->a.wake_ns, run->b.wake_ns), nc_min(sim_path_next_ns(&run->ab), sim_path_next_ns(&run->ba)));
    uint64_t least = run->now_ns + run->trial->settings->granularity_ns;
    bool sourcing = run->trial->settings->source_bps;
    if (sourcing)
        next = nc_min(next, run->now_ns + NC_NS_PER_MS / 5);
    run->now_ns = next > least ? next : least;
}

static void advance_late(struct run *run)
{
    plan(run, &run->a, &run->ba);
    plan(run, &run->b, &run->ab);
    run->now_ns = nc_min(run->a.run_ns, run->b.run_ns);
}

static void track_memory(struct run *run)
{
    struct lft_engine_state state;
    lft_engine_state(run->b.engine, run->now_ns, &state);
    if (state.rx_buffers > run->result->rx_buffers_peak)
        run->result->rx_buffers_peak = state.rx_buffers;
    lft_engine_state(run->a.engine, run->now_ns, &state);
    if (state.tx_buffers > run->result->tx_buffers_peak)
        run->result->tx_buffers_peak = state.tx_buffers;
}

static void run_a(struct run *run, uint64_t *request_at_ns)
{
    sim_receive(run, &run->a, &run->ba);
    sim_events_a(run);
    if (run->now_ns >= *request_at_ns) {
        sim_open_stream(run, run->streams - 1, run->trial->settings->request_bytes);
        *request_at_ns = UINT64_MAX;
        run->result->request_ns = run->now_ns;
    }
    sim_write_all(run);
}

static void change_path(struct run *run)
{
    const struct sim_settings *s = run->trial->settings;
    for (; run->changes_done < s->changes_n && s->changes[run->changes_done].at_ns <= run->now_ns;
         run->changes_done++) {
        uint64_t delay_ns = s->changes[run->changes_done].rtt_ns / 2;
        sim_path_set_delay(&run->ab, delay_ns);
        sim_path_set_delay(&run->ba, delay_ns);
    }
}

static void loop(struct run *run)
{
    const struct sim_settings *s = run->trial->settings;
    uint64_t tick_ns = 0, request_at_ns = s->request_bytes ? s->duration_ns / 2 : UINT64_MAX;
    while (!finished(run) && run->now_ns < run->last_progress_ns + STALL_NS &&
           !(s->cut && run->now_ns >= s->duration_ns)) {
        change_path(run);
        bool a = run->now_ns >= run->a.run_ns, b = run->now_ns >= run->b.run_ns;
        if (a)
            run_a(run, &request_at_ns);
        if (b) {
            sim_receive(run, &run->b, &run->ab);
            sim_events_b(run);
        }
        if (run->now_ns >= tick_ns) {
            lft_session_tick(run->a.session, run->now_ns);
            lft_session_tick(run->b.session, run->now_ns);
            track_memory(run);
            tick_ns = run->now_ns + 100 * NC_NS_PER_MS;
        }
        if (a)
            sim_transmit(run, &run->a, &run->ab);
        if (b)
            sim_transmit(run, &run->b, &run->ba);
        late_machine(run) ? advance_late(run) : advance(run);
    }
    run->result->complete = finished(run) || s->cut;
}

static double jain(const struct run *run, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double rate = (double)run->sinks[i].read;
        sum += rate;
        squares += rate * rate;
    }
    return squares > 0 ? sum * sum / ((double)n * squares) : 0;
}

static void conclude(struct run *run)
{
    const struct sim_trial *trial = run->trial;
    const struct sim_settings *s = trial->settings;
    struct sim_result *r = run->result;
    r->sender = *lft_engine_counters(run->a.engine);
    r->receiver = *lft_engine_counters(run->b.engine);
    lft_engine_state(run->a.engine, run->now_ns, &r->state);
    double line =
        (double)(trial->limit_bps && (!s->rate_bps || trial->limit_bps < s->rate_bps) ? trial->limit_bps : s->rate_bps);
    r->eta = (double)(run->payload_max - LFT_CHUNK_HEADER) / (double)s->mtu;
    r->bound_bps = line * r->eta * (1 - (double)trial->loss_ppb / 1e9);
    if (r->elapsed_ns)
        r->goodput_bps = (double)r->delivered_bytes * 8e9 / (double)r->elapsed_ns;
    if (s->duration_ns > r->steady_from_ns)
        r->steady_bps = (double)r->steady_bytes * 8e9 / (double)(s->duration_ns - r->steady_from_ns);
    sim_meter_end(run->meter, r);
    r->queue_peak_bytes = run->ab.queue_peak_bytes;
    r->path_offered = run->ab.offered;
    r->path_lost = run->ab.lost;
    r->path_dropped = run->ab.dropped;
    r->back_offered = run->ba.offered;
    r->jain = jain(run, s->streams);
    if (s->request_bytes && run->sinks[run->streams - 1].done)
        r->request_ns = run->sinks[run->streams - 1].done_ns - r->request_ns;
}

void sim_run(const struct sim_trial *trial, struct sim_result *result)
{
    const struct sim_settings *s = trial->settings;
    struct run *run = calloc(1, sizeof *run);
    assert(run);
    *result = (struct sim_result){.intact = true, .steady_from_ns = s->still_after_ns + 10 * trial->rtt_ns};
    run->trial = trial;
    run->result = result;
    run->payload_max = (uint32_t)lft_payload_for(s->mtu - SIM_OUTER_BYTES, 4);
    run->streams = s->streams + s->still + (s->request_bytes > 0);
    run->meter = sim_meter_create(trial->limit_bps, s->mtu);
    run->sources = calloc(run->streams, sizeof *run->sources);
    run->sinks = calloc(run->streams, sizeof *run->sinks);
    sim_end_init(run, &run->a, true);
    sim_end_init(run, &run->b, false);
    sim_path_init(&run->ab, trial, false);
    sim_path_init(&run->ba, trial, true);
    for (size_t i = s->streams; i < s->streams + s->still; i++)
        sim_open_stream(run, i, 0);
    for (size_t i = 0; i < s->streams; i++)
        sim_open_stream(run, i, s->bytes ? s->bytes / s->streams : 0);
    loop(run);
    conclude(run);
    sim_end_free(&run->a);
    sim_end_free(&run->b);
    sim_path_free(&run->ab);
    sim_path_free(&run->ba);
    free(run->sources);
    free(run->sinks);
    free(run);
}
