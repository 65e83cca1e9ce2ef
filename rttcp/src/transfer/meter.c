#include "meter.h"

#include <signal.h>
#include <time.h>

#include "results.h"
#include "nc_clock.h"
#include "nc_range.h"

/* A stream's thread has this time to take its sample; it is longer than most calls of send and recv. */
#define GRACE_NS UINT64_C(200000)
#define UNRUSHED UINT64_C(100000000) /* the window is read every 100 ms even if no samples are wanted */

uint64_t rttcp_bps(uint64_t bytes, uint64_t elapsed_ns)
{
    return elapsed_ns ? (uint64_t)((unsigned __int128)bytes * 8 * NC_NS_PER_S / elapsed_ns) : 0;
}

/* Reads each stream's byte counter once, so that the rows of streams add up to the sum. */
static uint64_t moved(struct rttcp_meter *meter)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < meter->n; i++) {
        meter->moved_bytes[i] = atomic_load_explicit(&meter->streams[i].bytes, memory_order_relaxed);
        bytes += meter->moved_bytes[i];
    }
    return bytes;
}

static json_t *detail_of(struct rttcp_meter *meter, uint64_t i)
{
    struct rttcp_tcpinfo info = {0};
    uint64_t bytes = meter->moved_bytes[i];
    rttcp_tcpinfo_take(meter->streams[i].fd, &info);
    uint64_t retransmits = rttcp_tcpinfo_get(&info, "total_retrans");
    json_t *row =
        json_pack("[I, I, I, I, I, I, I]", (json_int_t)(bytes - meter->stream_bytes[i]),
                  (json_int_t)(retransmits - meter->stream_retransmits[i]),
                  (json_int_t)(rttcp_tcpinfo_get(&info, "snd_cwnd") * rttcp_tcpinfo_get(&info, "snd_mss")),
                  (json_int_t)rttcp_tcpinfo_get(&info, "rtt_us"), (json_int_t)rttcp_tcpinfo_get(&info, "rttvar_us"),
                  (json_int_t)rttcp_tcpinfo_get(&info, "pmtu"), (json_int_t)rttcp_tcpinfo_get(&info, "snd_wnd"));
    meter->stream_bytes[i] = bytes;
    meter->stream_retransmits[i] = retransmits;
    return row;
}

static void add_details(struct rttcp_meter *meter)
{
    json_t *rows = json_array();
    for (uint64_t i = 0; i < meter->n; i++)
        json_array_append_new(rows, detail_of(meter, i));
    json_array_append_new(meter->details, rows);
}

static void close_interval(struct rttcp_meter *meter, uint64_t now_ns, bool full)
{
    uint64_t bytes = moved(meter);
    uint64_t request_bytes = meter->streams[0].params->request_bytes;
    struct rttcp_interval interval = {.start_ns = meter->closed_ns,
                                      .end_ns = now_ns - meter->t0_ns,
                                      .bytes = bytes - meter->closed_bytes,
                                      .full = full,
                                      .has_exchanges = request_bytes > 0};
    if (request_bytes)
        interval.exchanges = interval.bytes / request_bytes;
    meter->closed_ns = interval.end_ns;
    meter->closed_bytes = bytes;
    uint64_t bps = rttcp_bps(interval.bytes, interval.end_ns - interval.start_ns);
    if (full && bps > meter->peak_bps)
        meter->peak_bps = bps;
    if (json_array_size(meter->intervals) < RTTCP_INTERVALS_MAX) {
        json_array_append_new(meter->intervals, json_pack("[I, I, I]", (json_int_t)interval.start_ns,
                                                          (json_int_t)interval.end_ns, (json_int_t)interval.bytes));
        if (meter->with_details)
            add_details(meter);
    } else
        meter->intervals_dropped++;
    if (meter->on_interval)
        meter->on_interval(meter->context, &interval);
}

/* Takes the sample of stream i. Of the first stream it also notes the window, whether or not samples are wanted. */
static void take_sample(struct rttcp_meter *meter, uint64_t i)
{
    struct rttcp_tcpinfo info;
    if (!rttcp_tcpinfo_take(meter->streams[i].fd, &info))
        return;
    info.stream = (uint32_t)meter->streams[i].stream;
    info.opening_bytes = meter->streams[i].opening_bytes;
    info.waiting_bytes = rttcp_transfer_waiting(&meter->streams[i]);
    if (meter->sample_ns)
        rttcp_tcpinfo_take_rest(meter->streams[i].fd, &info);
    uint64_t window = i == 0 ? rttcp_tcpinfo_get(&info, "snd_wnd") : 0;
    pthread_mutex_lock(&meter->lock);
    if (window > meter->window_seen_max_bytes && atomic_load_explicit(&meter->watch_window, memory_order_relaxed))
        meter->window_seen_max_bytes = window;
    if (meter->sample_ns)
        rttcp_samples_add(&meter->samples, &info);
    pthread_mutex_unlock(&meter->lock);
}

void rttcp_meter_sample_due(struct rttcp_meter *meter, uint64_t i)
{
    enum rttcp_due due = RTTCP_DUE;
    if (!atomic_compare_exchange_strong(&meter->due[i], &due, RTTCP_BEING_TAKEN))
        return;
    take_sample(meter, i);
    atomic_store(&meter->due[i], RTTCP_NOT_DUE);
}

static uint64_t sampled(const struct rttcp_meter *meter)
{
    return meter->sample_ns ? meter->n : 1;
}

static void note_omitted(struct rttcp_meter *meter, uint64_t now_ns)
{
    meter->omitted_bytes = moved(meter);
    meter->omitted_ns = now_ns - meter->t0_ns;
}

/* Waits until `at_ns` or until the meter is stopped; true when it is stopped. */
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

/* Asks the streams' threads for their samples. A thread that takes no sample within the grace time sleeps in a call;
 * its socket is then not locked, so the meter takes the sample itself. */
static void take_samples(struct rttcp_meter *meter, uint64_t now_ns)
{
    for (uint64_t i = 0; i < sampled(meter); i++) {
        enum rttcp_due due = RTTCP_NOT_DUE;
        atomic_compare_exchange_strong(&meter->due[i], &due, RTTCP_DUE);
    }
    wait_until(meter, now_ns + nc_min(GRACE_NS, meter->sample_ns ? meter->sample_ns / 4 : GRACE_NS));
    for (uint64_t i = 0; i < sampled(meter); i++)
        rttcp_meter_sample_due(meter, i);
}

/* Returns the next point of a schedule after `now_ns`, and so skips points that were missed. */
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
    uint64_t omit_at = meter->omit_ns ? meter->t0_ns + meter->omit_ns : UINT64_MAX;
    while (!wait_until(meter, nc_min(omit_at, nc_min(interval_at, sample_at)))) {
        uint64_t now = nc_now_ns();
        if (now >= omit_at) {
            note_omitted(meter, now);
            omit_at = UINT64_MAX;
        }
        if (now >= interval_at) {
            close_interval(meter, now, true);
            interval_at = next_point(interval_at, meter->interval_ns, now);
        }
        if (now >= sample_at) { /* sampling comes last, because it takes some time */
            take_samples(meter, now);
            sample_at = next_point(sample_at, sample_ns, now);
        }
    }
    return NULL;
}

bool rttcp_meter_start(struct rttcp_meter *meter)
{
    pthread_condattr_t monotonic;
    sigset_t all, before;
    meter->intervals = json_array();
    meter->details = json_array();
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&meter->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&meter->lock, NULL);
    sigfillset(&all); /* only the session's thread takes signals */
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
    for (uint64_t i = 0; i < sampled(meter); i++)
        take_sample(meter, i);
    pthread_cond_destroy(&meter->wake);
    pthread_mutex_destroy(&meter->lock);
    uint64_t now = nc_now_ns();
    if (moved(meter) > meter->closed_bytes || json_array_size(meter->intervals) == 0)
        close_interval(meter, now, false);
    if (meter->peak_bps == 0) /* the transfer was shorter than one interval */
        meter->peak_bps = rttcp_bps(meter->closed_bytes, meter->closed_ns);
}
