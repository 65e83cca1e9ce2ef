#include "meter.h"

#include <signal.h>
#include <time.h>

#include "message.h"
#include "nc_clock.h"

#define UNRUSHED UINT64_C(100000000) /* with nothing to sample, the window is still looked at every 100 ms */

uint64_t rttcp_bps(uint64_t bytes, uint64_t elapsed_ns)
{
    return elapsed_ns ? (uint64_t)((unsigned __int128)bytes * 8 * NC_NS_PER_S / elapsed_ns) : 0;
}

static void close_interval(struct rttcp_meter *meter, uint64_t now_ns, bool full)
{
    uint64_t bytes = atomic_load_explicit(meter->bytes, memory_order_relaxed);
    struct rttcp_interval interval = {meter->closed_ns, now_ns - meter->t0_ns, bytes - meter->closed_bytes, full};
    meter->closed_ns = interval.end_ns;
    meter->closed_bytes = bytes;
    uint64_t bps = rttcp_bps(interval.bytes, interval.end_ns - interval.start_ns);
    if (full && bps > meter->peak_bps)
        meter->peak_bps = bps;
    if (json_array_size(meter->intervals) < RTTCP_INTERVALS_MAX)
        json_array_append_new(meter->intervals, json_pack("[I, I, I]", (json_int_t)interval.start_ns,
                                                          (json_int_t)interval.end_ns, (json_int_t)interval.bytes));
    else
        meter->intervals_dropped++;
    if (meter->on_interval)
        meter->on_interval(meter->context, &interval);
}

static void take_sample(struct rttcp_meter *meter)
{
    struct rttcp_tcpinfo info;
    if (meter->fd < 0 || !rttcp_tcpinfo_take(meter->fd, &info))
        return;
    uint64_t window = rttcp_tcpinfo_get(&info, "snd_wnd");
    if (atomic_load_explicit(&meter->watch_window, memory_order_relaxed) && window > meter->window_seen_max_bytes)
        meter->window_seen_max_bytes = window;
    if (meter->sample_ns)
        rttcp_samples_add(&meter->samples, &info);
}

/* Waits until the time or the end; true at the end. */
static bool wait_until(struct rttcp_meter *meter, uint64_t at_ns)
{
    struct timespec at = {.tv_sec = (time_t)(at_ns / NC_NS_PER_S), .tv_nsec = (long)(at_ns % NC_NS_PER_S)};
    pthread_mutex_lock(&meter->lock);
    while (!meter->ending && nc_now_ns() < at_ns)
        pthread_cond_timedwait(&meter->wake, &meter->lock, &at);
    bool ending = meter->ending;
    pthread_mutex_unlock(&meter->lock);
    return ending;
}

/* The next point of a schedule after `now`; points that were missed are left out, not made up for. */
static uint64_t next_point(uint64_t point_ns, uint64_t period_ns, uint64_t now_ns)
{
    point_ns += period_ns;
    return point_ns > now_ns ? point_ns : point_ns + (now_ns - point_ns) / period_ns * period_ns + period_ns;
}

static void *run(void *argument)
{
    struct rttcp_meter *meter = argument;
    uint64_t sample_ns = meter->sample_ns ? meter->sample_ns : UNRUSHED;
    uint64_t interval_at = meter->t0_ns + meter->interval_ns, sample_at = meter->t0_ns + sample_ns;
    while (!wait_until(meter, interval_at < sample_at ? interval_at : sample_at)) {
        uint64_t now = nc_now_ns();
        if (now >= sample_at) {
            take_sample(meter);
            sample_at = next_point(sample_at, sample_ns, now);
        }
        if (now >= interval_at) {
            close_interval(meter, now, true);
            interval_at = next_point(interval_at, meter->interval_ns, now);
        }
    }
    return NULL;
}

bool rttcp_meter_start(struct rttcp_meter *meter)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    meter->intervals = json_array();
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&meter->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&meter->lock, NULL);
    sigfillset(&all); /* signals are for the thread that may be blocked in send or recv */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&meter->thread, NULL, run, meter) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void rttcp_meter_stop(struct rttcp_meter *meter)
{
    pthread_mutex_lock(&meter->lock);
    meter->ending = true;
    pthread_cond_signal(&meter->wake);
    pthread_mutex_unlock(&meter->lock);
    pthread_join(meter->thread, NULL);
    pthread_cond_destroy(&meter->wake);
    pthread_mutex_destroy(&meter->lock);
    take_sample(meter);
    uint64_t now = nc_now_ns();
    if (now - meter->t0_ns > meter->closed_ns)
        close_interval(meter, now, false);
    if (meter->peak_bps == 0) /* shorter than one interval */
        meter->peak_bps = rttcp_bps(meter->closed_bytes, meter->closed_ns);
}
