/* What flows through a trial. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "run.h"

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

bool sim_is_still(const struct run *run, size_t i)
{
    const struct sim_settings *s = run->trial->settings;
    return i >= s->streams && i < s->streams + s->still;
}

/* --- A writes --- */

void sim_open_stream(struct run *run, size_t i, uint64_t bytes)
{
    struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}, .destination_port = (uint16_t)i};
    struct source *source = &run->sources[i];
    source->stream = lft_stream_open(run->a.session, &where, source);
    assert(source->stream);
    source->limit = bytes;
}

/* A stream that the other end has not accepted has no host that could fail yet. */
static void end_stream(const struct run *run, struct source *source)
{
    bool fail = run->trial->settings->fail;
    if (fail && !source->accepted)
        return;
    source->finished = true;
    if (!fail) {
        lft_stream_finish(source->stream);
        return;
    }
    lft_stream_fail(source->stream, &(struct lft_result){.code = LFT_RESULT_RESET});
    lft_stream_release(source->stream);
    source->stream = NULL;
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
    if (over)
        end_stream(run, source);
}

void sim_write_all(struct run *run)
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

/* --- B reads --- */

static void read_stream(struct run *run, struct lft_stream *stream, struct sink *sink)
{
    struct iovec pieces[64];
    bool still = sim_is_still(run, (size_t)(sink - run->sinks));
    int n;
    if (still && run->now_ns >= run->trial->settings->still_after_ns)
        return;
    while ((n = lft_stream_read_view(stream, pieces, 64))) {
        size_t bytes = 0;
        for (int i = 0; i < n; i++) {
            for (size_t at = 0; at < pieces[i].iov_len; at += LFT_PAYLOAD_MAX) {
                size_t part = pieces[i].iov_len - at < LFT_PAYLOAD_MAX ? pieces[i].iov_len - at : LFT_PAYLOAD_MAX;
                run->result->intact &=
                    intact((uint8_t *)pieces[i].iov_base + at, part, lft_stream_id(stream), sink->read + bytes + at);
            }
            bytes += pieces[i].iov_len;
        }
        sink->read += bytes;
        run->result->delivered_bytes += bytes;
        if (!still && run->now_ns >= run->result->steady_from_ns && run->now_ns < run->trial->settings->duration_ns)
            run->result->steady_bytes += bytes;
        run->last_progress_ns = run->now_ns;
        run->result->elapsed_ns = run->now_ns;
        lft_stream_consumed(stream, bytes, run->now_ns);
    }
}

void sim_events_b(struct run *run)
{
    struct lft_stream *stream;
    unsigned events;
    while ((stream = lft_session_event(run->b.session, &events))) {
        if (events & LFT_EVENT_OPENED) {
            struct sink *sink = &run->sinks[lft_stream_where(stream)->destination_port];
            assert(!sink->known);
            *sink = (struct sink){.known = true};
            lft_stream_set_user(stream, sink);
            lft_stream_accept(stream);
        }
        struct sink *sink = lft_stream_user(stream);
        if (events & LFT_EVENT_READABLE)
            read_stream(run, stream, sink);
        if (events & (LFT_EVENT_END | LFT_EVENT_FAILED)) {
            assert(!sink->done);
            sink->done = true;
            sink->done_ns = run->now_ns;
            run->result->intact &= sink->read == run->sources[sink - run->sinks].written;
            lft_stream_finish(stream);
            lft_stream_release(stream);
        }
        assert(!(events & LFT_EVENT_RESET));
    }
}

void sim_events_a(struct run *run)
{
    struct lft_stream *stream;
    unsigned events;
    while ((stream = lft_session_event(run->a.session, &events))) {
        struct source *source = lft_stream_user(stream);
        if (events & LFT_EVENT_WRITABLE)
            source->blocked = false;
        source->accepted |= (events & LFT_EVENT_ACCEPTED) != 0;
        if (events & LFT_EVENT_ACCEPTED && !run->result->connect_ns)
            run->result->connect_ns = run->now_ns;
        if (events & LFT_EVENT_END && source->finished) {
            lft_stream_release(stream);
            source->stream = NULL;
        }
    }
}
