/* A peer that has the key and sends anything. Rows of (command, number, counter step, length, payload) go into an
 * engine and its session. The first octet chooses the peer's strategy. A relay accepts, reads and resets, and its hosts
 * fail. Nothing may crash or be left over. */
#include <assert.h>
#include <string.h>

#include "engine.h"
#include "session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void relay(struct lft_session *session, uint8_t choice)
{
    struct lft_stream *stream;
    struct iovec pieces[4];
    unsigned events;
    for (int i = 0; i < 100 && (stream = lft_session_event(session, &events)); i++) {
        if (events & LFT_EVENT_OPENED && choice & 1)
            lft_stream_accept(stream);
        else if (events & LFT_EVENT_OPENED && choice & 2)
            lft_stream_refuse(stream, &(struct lft_result){.code = LFT_RESULT_REFUSED});
        if (choice & 4)
            lft_stream_write(stream, "12345678", 8);
        int n = events & LFT_EVENT_READABLE ? lft_stream_read_view(stream, pieces, 4) : 0;
        size_t bytes = 0;
        for (int k = 0; k < n; k++)
            bytes += pieces[k].iov_len;
        lft_stream_consumed(stream, bytes, 0);
        if (choice & 8)
            lft_stream_fail(stream, &(struct lft_result){.code = LFT_RESULT_RESET});
        if (choice & 8 || events & (LFT_EVENT_RESET | LFT_EVENT_END | LFT_EVENT_FAILED))
            lft_stream_release(stream);
    }
}

static struct lft_engine *create(struct lft_session *session)
{
    const struct lft_engine_config config = {.recovery = LFT_SELECTIVE,
                                             .payload_max = 400,
                                             .padding_block = 4,
                                             .window_frames = 64,
                                             .tx_memory_bytes = 1 << 18,
                                             .rx_memory_bytes = 1 << 18};
    struct lft_source source = lft_session_source(session);
    struct lft_engine *engine = lft_engine_create(&config, &source, 1);
    lft_session_restart(session, lft_engine_rx_pool(engine));
    return engine;
}

/* Seven octets of header, then the payload. Returns the number of octets of `data` used. */
static size_t take_frame(struct lft_engine *engine, const uint8_t *data, size_t size, uint64_t *counter, uint64_t now,
                         struct lft_frame *frame)
{
    size_t length = ((size_t)data[5] << 8 | data[6]) % 401;
    length = length < size - 7 ? length : size - 7;
    *frame = (struct lft_frame){.command = data[0] % (LFT_COMMANDS + 1),
                                .number = (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3],
                                .counter = *counter += data[4]};
    struct lft_buffer *buffer = lft_engine_fresh(engine, *counter) ? lft_engine_rx_buffer(engine) : NULL;
    if (buffer) {
        memcpy(buffer->at, data + 7, length);
        frame->payload = buffer->at;
        frame->length = length;
        lft_engine_receive(engine, now, frame);
    }
    return 7 + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct lft_session_config streams = {
        .initiator = true, .streams_max = 8, .tx_memory_bytes = 1 << 18, .rx_memory_bytes = 1 << 18};
    const struct lft_open where = {.family = LFT_FAMILY_NAME, .name = "x"};
    if (size < 1)
        return 0;
    struct lft_session *session = lft_session_create(&streams, NULL);
    struct lft_engine *engine = create(session);
    lft_engine_set_peer_recovery(engine, (enum lft_recovery)(data[0] % LFT_RECOVERIES));
    lft_stream_write(lft_stream_open(session, &where, NULL), "hello", 5);
    const uint8_t *at = data + 1, *end = data + size;
    uint64_t counter = 0, now = 2;
    while (end - at >= 7) {
        struct lft_frame frame, out;
        size_t took = take_frame(engine, at, (size_t)(end - at), &counter, now, &frame), length = took - 7;
        at += took;
        relay(session, frame.command + (uint8_t)length);
        for (int i = 0; i < 8 && lft_engine_poll(engine, now, &out); i++)
            assert(out.length <= 400);
        now += 1000000 * (1 + length % 64);
    }
    lft_session_tick(session, now);
    lft_session_fail(session, LFT_RESULT_OUTAGE);
    relay(session, 0);
    assert(lft_pool_used(lft_engine_rx_pool(engine)) <= 1 + 256 + 64); /* scratch; what `fec` keeps */
    lft_session_destroy(session);
    lft_engine_destroy(engine);
    return 0;
}
