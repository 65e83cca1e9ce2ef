/* One trial. End A has the sources, end B reads at once. Every octet is a function of stream and offset and is checked at B. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "sim.h"

enum { OUTER_BYTES = 28, WINDOW_MS = 100 };
#define STALL_NS (120 * NC_NS_PER_S)

struct end {
    struct lft_engine *engine;
    struct lft_session *session;
    struct lft_key *seal, *unseal;
    uint64_t wake_ns;
};
struct source {
    struct lft_stream *stream;
    uint64_t written, limit; /* limit 0: until the duration is over */
    bool finished, blocked;
};
struct sink {
    uint64_t stream, read, opened_ns, done_ns;
    bool known, done;
};
struct meter { /* octets at A's wire in the last 100 ms */
    uint64_t at_ns[1 << 17];
    uint32_t bytes[1 << 17];
    uint64_t head, tail, sum;
    double worst;
};
struct run {
    const struct sim_trial *trial;
    struct sim_result *result;
    struct end a, b;
    struct sim_path ab, ba;
    struct source *sources;
    struct sink *sinks;
    size_t streams;
    uint64_t now_ns, source_credit_ns, last_progress_ns;
    uint32_t payload_max;
    struct meter meter;
};

static uint32_t window_for(const struct sim_trial *trial)
{
    double frames = (double)trial->limit_bps / 8 / 1500 * ((double)trial->rtt_ns / 1e9 + 0.02) * 8;
    uint32_t window = 1 << 12;
    while (window < frames && window < LFT_NUMBERS_OUTSTANDING_MAX / 4)
        window *= 2;
    return window;
}

static void end_init(struct run *run, struct end *end, bool first)
{
    const struct sim_settings *s = run->trial->settings;
    uint64_t flight = run->trial->limit_bps / 8 * run->trial->rtt_ns / NC_NS_PER_S;
    size_t memory = s->memory_bytes ? s->memory_bytes : (40 << 20) + 4 * flight; /* as the gateway's */
    struct lft_engine_config config = {
        .recovery = run->trial->recovery, .redundancy = s->redundancy, .rate_mode = s->auto_rate ? LFT_RATE_AUTO : LFT_RATE_FIXED,
        .rate_bps = run->trial->limit_bps, .payload_max = run->payload_max, .outer_bytes = OUTER_BYTES, .padding_block = 4,
        .window_frames = window_for(run->trial), .tx_memory_bytes = (4 << 20) + 2 * flight, .rx_memory_bytes = memory,
        .fec_percent = (uint32_t)s->fec_percent, .first_number = s->first_number};
    struct lft_session_config session = {.initiator = first, .streams_max = 20000, .tx_memory_bytes = 12 << 20,
                                         .rx_memory_bytes = memory};
    end->session = lft_session_create(&session, NULL);
    struct lft_source source = lft_session_source(end->session);
    end->engine = lft_engine_create(&config, &source, 0);
    assert(end->engine);
    lft_session_restart(end->session, lft_engine_rx_pool(end->engine));
    lft_engine_set_peer_recovery(end->engine, run->trial->recovery);
    if (s->cipher) {
        uint8_t block[2][LFT_KEY_BLOCK] = {{1}, {2}};
        end->seal = lft_key_create((enum lft_cipher)s->cipher, block[first], true);
        end->unseal = lft_key_create((enum lft_cipher)s->cipher, block[!first], false);
    }
}

static void end_free(struct end *end)
{
    lft_session_destroy(end->session);
    lft_engine_destroy(end->engine);
    lft_key_destroy(end->seal);
    lft_key_destroy(end->unseal);
}

/* --- octets ------------------------------------------------------------------------------------------------------------------ */

static uint8_t octet(uint64_t stream, uint64_t offset)
{
    uint64_t word = (offset / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ stream * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint8_t)(word >> (offset % 8 * 8));
}

static void pattern(uint8_t *at, size_t n, uint64_t stream, uint64_t offset)
{
    size_t i = 0;
    for (; i < n && (offset + i) % 8; i++)
        at[i] = octet(stream, offset + i);
    for (; i + 8 <= n; i += 8) {
        uint64_t word = ((offset + i) / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ stream * UINT64_C(0xbf58476d1ce4e5b9);
        memcpy(at + i, &word, 8);
    }
    for (; i < n; i++)
        at[i] = octet(stream, offset + i);
}

static bool intact(const uint8_t *at, size_t n, uint64_t stream, uint64_t offset)
{
    uint8_t want[LFT_PAYLOAD_MAX + 8];
    pattern(want, n, stream, offset);
    return memcmp(at, want, n) == 0;
}

/* --- A writes ---------------------------------------------------------------------------------------------------------------- */

static struct source *open_stream(struct run *run, size_t i, uint64_t bytes)
{
    struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}, .destination_port = (uint16_t)i};
    struct source *source = &run->sources[i];
    source->stream = lft_stream_open(run->a.session, &where, source);
    assert(source->stream);
    source->limit = bytes;
    return source;
}

static void write_stream(struct run *run, struct source *source, uint64_t *allowed)
{
    struct iovec pieces[4];
    bool over = source->limit ? source->written >= source->limit : run->now_ns >= run->trial->settings->duration_ns;
    while (!over && *allowed) {
        int n = lft_stream_write_space(source->stream, pieces, 4);
        size_t wrote = 0;
        for (int i = 0; i < n && *allowed && !over; i++) {
            size_t part = pieces[i].iov_len < *allowed ? pieces[i].iov_len : *allowed;
            if (source->limit && source->limit - source->written < part)
                part = source->limit - source->written;
            pattern(pieces[i].iov_base, part, lft_stream_id(source->stream), source->written);
            source->written += part;
            *allowed -= part;
            wrote += part;
            over = source->limit && source->written >= source->limit;
            if (part < pieces[i].iov_len)
                break;
        }
        lft_stream_wrote(source->stream, wrote);
        source->blocked = n == 0;
        if (!wrote)
            break;
    }
    if (over) {
        lft_stream_finish(source->stream);
        source->finished = true;
    }
}

static void write_all(struct run *run)
{
    uint64_t allowed = UINT64_MAX, rate = run->trial->settings->source_bps;
    if (rate) {
        allowed = (uint64_t)((double)(run->now_ns - run->source_credit_ns) * (double)rate / 8e9);
        run->source_credit_ns = run->now_ns;
    }
    for (size_t i = 0; i < run->streams; i++)
        if (run->sources[i].stream && !run->sources[i].finished &&
            (!run->sources[i].blocked || run->now_ns >= run->trial->settings->duration_ns))
            write_stream(run, &run->sources[i], &allowed);
}

/* --- B reads ----------------------------------------------------------------------------------------------------------------- */

static void read_stream(struct run *run, struct lft_stream *stream, struct sink *sink)
{
    struct iovec pieces[64];
    int n;
    while ((n = lft_stream_read_view(stream, pieces, 64))) {
        size_t bytes = 0;
        for (int i = 0; i < n; i++) {
            for (size_t at = 0; at < pieces[i].iov_len; at += LFT_PAYLOAD_MAX) {
                size_t part = pieces[i].iov_len - at < LFT_PAYLOAD_MAX ? pieces[i].iov_len - at : LFT_PAYLOAD_MAX;
                run->result->intact &= intact((uint8_t *)pieces[i].iov_base + at, part, lft_stream_id(stream),
                                              sink->read + bytes + at);
            }
            bytes += pieces[i].iov_len;
        }
        sink->read += bytes;
        run->result->delivered_bytes += bytes;
        if (run->now_ns >= run->result->steady_from_ns && run->now_ns < run->trial->settings->duration_ns)
            run->result->steady_bytes += bytes;
        run->last_progress_ns = run->now_ns;
        run->result->elapsed_ns = run->now_ns;
        lft_stream_consumed(stream, bytes, run->now_ns);
    }
}

static void events_b(struct run *run)
{
    struct lft_stream *stream;
    unsigned events;
    while ((stream = lft_session_event(run->b.session, &events))) {
        if (events & LFT_EVENT_OPENED) {
            struct sink *sink = &run->sinks[lft_stream_where(stream)->destination_port];
            assert(!sink->known);
            *sink = (struct sink){.known = true, .opened_ns = run->now_ns};
            lft_stream_set_user(stream, sink);
            lft_stream_accept(stream);
        }
        struct sink *sink = lft_stream_user(stream);
        if (events & LFT_EVENT_READABLE)
            read_stream(run, stream, sink);
        if (events & LFT_EVENT_END) {
            assert(!sink->done);
            sink->done = true;
            sink->done_ns = run->now_ns;
            lft_stream_finish(stream);
            lft_stream_release(stream);
        }
        assert(!(events & LFT_EVENT_RESET));
    }
}

static void events_a(struct run *run)
{
    struct lft_stream *stream;
    unsigned events;
    while ((stream = lft_session_event(run->a.session, &events))) {
        struct source *source = lft_stream_user(stream);
        if (events & LFT_EVENT_WRITABLE)
            source->blocked = false;
        if (events & LFT_EVENT_ACCEPTED && !run->result->connect_ns)
            run->result->connect_ns = run->now_ns;
        if (events & LFT_EVENT_END && source->finished) {
            lft_stream_release(stream);
            source->stream = NULL;
        }
    }
}

/* --- frames ------------------------------------------------------------------------------------------------------------------ */

static void measure(struct run *run, uint32_t wire_bytes)
{
    struct meter *meter = &run->meter;
    const uint64_t size = sizeof meter->bytes / sizeof meter->bytes[0];
    while (meter->tail < meter->head && (meter->at_ns[meter->tail % size] + WINDOW_MS * NC_NS_PER_MS <= run->now_ns ||
                                         meter->head - meter->tail == size))
        meter->sum -= meter->bytes[meter->tail++ % size];
    meter->at_ns[meter->head % size] = run->now_ns;
    meter->bytes[meter->head++ % size] = wire_bytes;
    meter->sum += wire_bytes;
    double cap = (double)run->trial->limit_bps / 8 / 10 * 1.01;
    double excess = ((double)meter->sum - cap) / (double)run->trial->settings->mtu;
    if (run->trial->limit_bps && excess > meter->worst)
        meter->worst = excess;
}

static void transmit(struct run *run, struct end *end, struct sim_path *path)
{
    struct lft_frame frame;
    uint8_t sealed[LFT_PAYLOAD_MAX + 128];
    while (lft_engine_poll(end->engine, run->now_ns, &frame)) {
        uint32_t wire = (uint32_t)(frame.length + lft_padding(frame.length, 4)) + LFT_FRAME_OVERHEAD + OUTER_BYTES;
        const uint8_t *data = frame.payload;
        uint32_t bytes = (uint32_t)frame.length;
        if (end->seal) {
            struct lft_header header = {.spi = 256, .command = frame.command, .number = frame.number, .counter = frame.counter};
            bytes = (uint32_t)lft_seal(end->seal, &header, frame.payload, frame.length, sealed);
            data = sealed;
        }
        if (end == &run->a)
            measure(run, wire);
        else
            run->result->back_bytes += wire;
        sim_path_send(path, run->now_ns, &frame, data, bytes, wire);
    }
    end->wake_ns = lft_engine_next_ns(end->engine, run->now_ns);
}

static void receive(struct run *run, struct end *end, struct sim_path *path)
{
    struct sim_packet packet;
    while (sim_path_arrived(path, run->now_ns, &packet)) {
        struct lft_buffer *buffer;
        if (lft_engine_fresh(end->engine, packet.frame.counter) && (buffer = lft_engine_rx_buffer(end->engine))) {
            long length = packet.bytes;
            if (end->unseal)
                length = lft_unseal(end->unseal, packet.data, packet.bytes, buffer->at);
            else
                memcpy(buffer->at, packet.data, packet.bytes);
            assert(length >= 0);
            packet.frame.payload = buffer->at;
            packet.frame.length = (size_t)length;
            lft_engine_receive(end->engine, run->now_ns, &packet.frame);
        }
        sim_path_done(path, &packet);
    }
}

static bool finished(const struct run *run)
{
    for (size_t i = 0; i < run->streams; i++)
        if (!run->sinks[i].done)
            return false;
    return true;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void advance(struct run *run)
{
    uint64_t next = sooner(sooner(run->a.wake_ns, run->b.wake_ns), sooner(sim_path_next_ns(&run->ab), sim_path_next_ns(&run->ba)));
    uint64_t least = run->now_ns + run->trial->settings->granularity_ns;
    bool sourcing = run->trial->settings->source_bps;
    if (sourcing)
        next = sooner(next, run->now_ns + NC_NS_PER_MS / 5);
    run->now_ns = next > least ? next : least;
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

static void loop(struct run *run)
{
    const struct sim_settings *s = run->trial->settings;
    uint64_t tick_ns = 0, request_at_ns = s->request_bytes ? s->duration_ns / 2 : UINT64_MAX;
    while (!finished(run) && run->now_ns < run->last_progress_ns + STALL_NS && !(s->cut && run->now_ns >= s->duration_ns)) {
        receive(run, &run->a, &run->ba);
        receive(run, &run->b, &run->ab);
        events_a(run);
        events_b(run);
        if (run->now_ns >= request_at_ns) {
            open_stream(run, run->streams - 1, s->request_bytes);
            request_at_ns = UINT64_MAX;
            run->result->request_ns = run->now_ns;
        }
        write_all(run);
        if (run->now_ns >= tick_ns) {
            lft_session_tick(run->a.session, run->now_ns);
            lft_session_tick(run->b.session, run->now_ns);
            track_memory(run);
            tick_ns = run->now_ns + 100 * NC_NS_PER_MS;
        }
        transmit(run, &run->a, &run->ab);
        transmit(run, &run->b, &run->ba);
        advance(run);
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
    double line = (double)(trial->limit_bps && (!s->rate_bps || trial->limit_bps < s->rate_bps) ? trial->limit_bps : s->rate_bps);
    r->eta = (double)(run->payload_max - LFT_CHUNK_HEADER) / (double)s->mtu;
    r->bound_bps = line * r->eta * (1 - (double)trial->loss_ppb / 1e9);
    if (r->elapsed_ns)
        r->goodput_bps = (double)r->delivered_bytes * 8e9 / (double)r->elapsed_ns;
    if (s->duration_ns > r->steady_from_ns)
        r->steady_bps = (double)r->steady_bytes * 8e9 / (double)(s->duration_ns - r->steady_from_ns);
    r->cap_excess_packets = run->meter.worst;
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
    *result = (struct sim_result){.intact = true, .steady_from_ns = 10 * trial->rtt_ns};
    run->trial = trial;
    run->result = result;
    run->payload_max = (uint32_t)lft_payload_for(s->mtu - OUTER_BYTES, 4);
    run->streams = s->streams + (s->request_bytes > 0);
    run->sources = calloc(run->streams, sizeof *run->sources);
    run->sinks = calloc(run->streams, sizeof *run->sinks);
    end_init(run, &run->a, true);
    end_init(run, &run->b, false);
    sim_path_init(&run->ab, trial, false);
    sim_path_init(&run->ba, trial, true);
    for (size_t i = 0; i < s->streams; i++)
        open_stream(run, i, s->bytes ? s->bytes / s->streams : 0);
    loop(run);
    conclude(run);
    end_free(&run->a);
    end_free(&run->b);
    sim_path_free(&run->ab);
    sim_path_free(&run->ba);
    free(run->sources);
    free(run->sinks);
    free(run);
}
