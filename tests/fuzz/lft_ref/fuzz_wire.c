/* A peer that has the key and says anything: rows of (command, number, counter step, length, payload) go into an engine and its session,
 * with the peer's strategy from the first octet; a relay accepts, reads, resets. Nothing may crash, and nothing may stay behind. */
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
        if (events & (LFT_EVENT_RESET | LFT_EVENT_END))
            lft_stream_release(stream);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lft_engine_config config = {.recovery = LFT_SELECTIVE, .payload_max = 400, .padding_block = 4, .window_frames = 64,
                                       .tx_memory_bytes = 1 << 18, .rx_memory_bytes = 1 << 18};
    struct lft_session_config streams = {.initiator = true, .streams_max = 8, .tx_memory_bytes = 1 << 18, .rx_memory_bytes = 1 << 18};
    if (size < 1)
        return 0;
    struct lft_session *session = lft_session_create(&streams, NULL);
    struct lft_source source = lft_session_source(session);
    struct lft_engine *engine = lft_engine_create(&config, &source, 1);
    lft_session_restart(session, lft_engine_rx_pool(engine));
    lft_engine_set_peer_recovery(engine, (enum lft_recovery)(data[0] % LFT_RECOVERIES));
    struct lft_open where = {.family = LFT_FAMILY_NAME, .name = "x"};
    lft_stream_write(lft_stream_open(session, &where, NULL), "hello", 5);
    const uint8_t *at = data + 1, *end = data + size;
    uint64_t counter = 0, now = 2;
    while (end - at >= 7) {
        struct lft_frame frame = {.command = at[0] % (LFT_COMMANDS + 1), .number = (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3],
                                  .counter = counter += at[4]};
        size_t length = ((size_t)at[5] << 8 | at[6]) % 401;
        at += 7;
        length = length < (size_t)(end - at) ? length : (size_t)(end - at);
        struct lft_buffer *buffer = lft_engine_fresh(engine, counter) ? lft_engine_rx_buffer(engine) : NULL;
        if (buffer) {
            memcpy(buffer->at, at, length);
            frame.payload = buffer->at;
            frame.length = length;
            lft_engine_receive(engine, now, &frame);
        }
        at += length;
        relay(session, frame.command + (uint8_t)length);
        struct lft_frame out;
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
