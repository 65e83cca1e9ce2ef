#include "flow.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"
#include "pace.h"
#include "rr_io.h"
#include "sock.h"

#define STACK_BYTES (256 << 10)

/* Returns the share of stream i in params->bytes. With requests the share is the size of a whole number of requests. */
static uint64_t share_of(const struct rttcp_params *params, uint64_t n, uint64_t i)
{
    uint64_t unit = params->request_bytes ? params->request_bytes : 1, units = params->bytes / unit;
    return (units / n + (i < units % n)) * unit;
}

int rttcp_flow_create(struct rttcp_flow *flow, bool sending, uint64_t n, uint64_t first,
                      const struct rttcp_params *params, struct rttcp_orders *orders, struct nc_error *error)
{
    *flow = (struct rttcp_flow){.sending = sending, .n = n, .params = params, .wake_fd = -1};
    flow->streams = calloc(n ? n : 1, sizeof *flow->streams);
    flow->workers = calloc(n ? n : 1, sizeof *flow->workers);
    if (!flow->streams || !flow->workers)
        return nc_fail(error, NC_EXIT_MISSING, "--parallel: no memory for the streams");
    for (uint64_t i = 0; i < n; i++) {
        struct rttcp_transfer *stream = &flow->streams[i];
        *stream =
            (struct rttcp_transfer){.fd = -1, .source_fd = -1, .stream = first + i, .params = params, .orders = orders};
        stream->quota_bytes = share_of(params, n, i);
        flow->workers[i] = (struct rttcp_worker){.flow = flow, .stream = stream, .ended = ENDED_ERROR};
    }
    for (uint64_t i = 0; i < n; i++)
        if (rttcp_transfer_prepare(&flow->streams[i], sending, error) < 0)
            return -1;
    return 0;
}

static void serve_meter(struct rttcp_flow *flow, const struct rttcp_transfer *stream)
{
    uint64_t i = (uint64_t)(stream - flow->streams);
    if (atomic_load_explicit(&flow->meter.due[i], memory_order_relaxed) == RTTCP_DUE)
        rttcp_meter_sample_due(&flow->meter, i);
}

/* Sleeps until the pace allows a write, unless the transfer ends meanwhile. */
static enum rttcp_ended rest_on(struct rttcp_flow *flow, struct rttcp_transfer *stream, enum rttcp_ended ended)
{
    do {
        rttcp_transfer_next_write(stream, 1, &ended);
        serve_meter(flow, stream);
    } while (ended == ENDED_N && rttcp_pace_rest(stream, 0));
    return ended;
}

/* Sends until the stream's end and shuts its connection down. */
static enum rttcp_ended send_all(struct rttcp_flow *flow, struct rttcp_transfer *stream, struct nc_error *error)
{
    rttcp_pace_begin(stream, flow->n);
    enum rttcp_ended ended = rttcp_transfer_open(stream, error);
    if (!rttcp_pace_small(stream))
        rttcp_pace_begin(stream, flow->n); /* the pacing of bursts begins after the opening */
    if (stream == flow->streams && ended == ENDED_N)
        atomic_store(&flow->meter.watch_window, true);
    while (ended == ENDED_N) {
        uint64_t before = rttcp_transfer_moved(stream);
        rttcp_transfer_note_waiting(stream, flow->params->bytes ? stream->quota_bytes - before : stream->write_bytes);
        ended = rttcp_transfer_send_once(stream, stream->write_bytes, error);
        serve_meter(flow, stream);
        if (rttcp_pace_rest(stream, rttcp_transfer_moved(stream) - before))
            ended = rest_on(flow, stream, ended);
    }
    rttcp_transfer_note_waiting(stream, 0);
    if (ended != ENDED_ERROR && !atomic_load(&stream->orders->cancel))
        shutdown(stream->fd, SHUT_WR);
    stream->last_byte_ns = nc_now_ns() - stream->t0_ns;
    return ended;
}

static enum rttcp_ended receive_all(struct rttcp_flow *flow, struct rttcp_transfer *stream, struct nc_error *error)
{
    enum rttcp_ended ended = ENDED_N;
    while (ended == ENDED_N) {
        ended = rttcp_transfer_receive_once(stream, error);
        serve_meter(flow, stream);
    }
    return ended;
}

/* Exchanges requests and responses until the client ends. */
static enum rttcp_ended exchange_all(struct rttcp_flow *flow, struct rttcp_transfer *stream, struct nc_error *error)
{
    enum rttcp_ended ended = ENDED_N;
    rttcp_rr_begin(stream->rr, nc_now_ns(), flow->params->omit_ns);
    while (ended == ENDED_N) {
        ended = rttcp_rr_once(stream, error);
        serve_meter(flow, stream);
    }
    rttcp_transfer_note_waiting(stream, 0);
    stream->last_byte_ns = nc_now_ns() - stream->t0_ns;
    return rttcp_rr_close(stream, ended, error);
}

static enum rttcp_ended move_all(struct rttcp_flow *flow, struct rttcp_transfer *stream, struct nc_error *error)
{
    if (stream->rr)
        return exchange_all(flow, stream, error);
    return flow->sending ? send_all(flow, stream, error) : receive_all(flow, stream, error);
}

static void *work(void *argument)
{
    struct rttcp_worker *worker = argument;
    worker->ended = move_all(worker->flow, worker->stream, &worker->error);
    atomic_store(&worker->failed, worker->ended == ENDED_ERROR);
    atomic_fetch_sub(&worker->flow->running, 1);
    if (write(worker->flow->wake_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        abort(); /* impossible: an eventfd counts to 2^64 - 2 */
    return NULL;
}

int rttcp_flow_start(struct rttcp_flow *flow, uint64_t t0_ns, int wake_fd, struct nc_error *error)
{
    pthread_attr_t small;
    sigset_t all, before;
    flow->wake_fd = wake_fd;
    flow->meter.streams = flow->streams;
    flow->meter.n = flow->n;
    flow->meter.t0_ns = t0_ns;
    flow->metered = rttcp_meter_start(&flow->meter);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    sigfillset(&all); /* only the session's thread takes signals */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = flow->metered;
    for (uint64_t i = 0; i < flow->n && started; i++) {
        struct rttcp_worker *worker = &flow->workers[i];
        worker->stream->t0_ns = t0_ns;
        rttcp_socket_names(worker->stream->fd, worker->stream->local, worker->stream->remote);
        rttcp_set_slice(worker->stream->fd, RTTCP_SLICE_NS);
        atomic_fetch_add(&flow->running, 1);
        worker->started = started = pthread_create(&worker->thread, &small, work, worker) == 0;
        if (!started)
            atomic_fetch_sub(&flow->running, 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    return started ? 0 : nc_fail(error, NC_EXIT_MISSING, "cannot start a thread for a stream");
}

bool rttcp_flow_finished(const struct rttcp_flow *flow)
{
    return atomic_load(&flow->running) == 0;
}

bool rttcp_flow_failed(const struct rttcp_flow *flow)
{
    for (uint64_t i = 0; i < flow->n; i++)
        if (atomic_load(&flow->workers[i].failed))
            return true;
    return false;
}

enum rttcp_ended rttcp_flow_ended(const struct rttcp_flow *flow, struct nc_error *error)
{
    for (uint64_t i = 0; i < flow->n; i++)
        if (flow->workers[i].ended == ENDED_ERROR) {
            *error = flow->workers[i].error;
            return ENDED_ERROR;
        }
    return flow->n ? flow->workers[0].ended : ENDED_BYTES;
}

void rttcp_flow_join(struct rttcp_flow *flow)
{
    for (uint64_t i = 0; i < flow->n; i++)
        if (flow->workers[i].started)
            pthread_join(flow->workers[i].thread, NULL);
    if (flow->metered)
        rttcp_meter_stop(&flow->meter);
    flow->metered = false;
}

uint64_t rttcp_flow_bytes(const struct rttcp_flow *flow)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < flow->n; i++)
        bytes += rttcp_transfer_moved(&flow->streams[i]);
    return bytes;
}

void rttcp_flow_release(struct rttcp_flow *flow)
{
    for (uint64_t i = 0; i < flow->n && flow->streams; i++)
        rttcp_transfer_release(&flow->streams[i]);
    rttcp_samples_release(&flow->meter.samples);
    json_decref(flow->meter.intervals);
    json_decref(flow->meter.details);
    flow->meter.intervals = flow->meter.details = NULL;
    free(flow->streams);
    free(flow->workers);
    flow->streams = NULL;
    flow->workers = NULL;
    flow->n = 0;
}
