/* Two gateways that know each other. One of them, or somebody on the way, is hostile, while a stream carries data both
 * ways. Input: rows of (what, length, octets). A row is a datagram from anywhere; or a frame of any content under the
 * right key; or one of the peer's own datagrams again, cut or with a bit changed; or time that passes. The first octet
 * chooses cipher and recovery. Nothing may crash or be left over, and without the key nothing may be accepted. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "link_internal.h"
#include "nc_clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DATAGRAM_MAX = 700, MEMORY = 1 << 18, KEPT = 8 };

struct world {
    struct lft_link *links[2];
    uint64_t now_ns;
    uint64_t counters[2]; /* counter of the last frame of each link */
    bool key_misused;     /* one of them sent something that only a holder of the key could send */
    struct {
        size_t n;
        uint8_t at[DATAGRAM_MAX];
    } kept[KEPT]; /* datagrams of 0 to 1 */
    unsigned kept_n;
};

static const struct lft_address addresses[3] = {{{0}, 1}, {{1}, 1}, {{2}, 1}};

static struct lft_link *create(bool initiator, uint8_t choice)
{
    static const uint8_t psk[32] = {1};
    struct lft_link_config config = {
        .engine = {.recovery = (enum lft_recovery)(choice / 8 % LFT_RECOVERIES),
                   .payload_max = 500,
                   .window_frames = 64,
                   .tx_memory_bytes = MEMORY,
                   .rx_memory_bytes = MEMORY},
        .session = {.streams_max = 8, .tx_memory_bytes = MEMORY},
        .handshake = {.initiator = initiator, .cipher = LFT_AES_128_GCM + choice % 8 % LFT_NULL, .psk = psk},
        .rekey_ns = 20 * NC_NS_PER_S,
        .outage_max_ns = 5 * NC_NS_PER_S};
    if (initiator)
        config.peer = addresses[1];
    struct lft_link *link = lft_link_create(&config, 0);
    assert(link);
    return link;
}

static void keep(struct world *world, const uint8_t *at, size_t n)
{
    unsigned place = world->kept_n++ % KEPT;
    world->kept[place].n = n;
    memcpy(world->kept[place].at, at, n);
}

/* Delivers everything that both links have to send now. Returns true if there was something. */
static bool exchange(struct world *world)
{
    bool any = false;
    for (int i = 0; i < 2; i++) {
        struct lft_batch batch;
        for (int turns = 0; turns < 20 && lft_link_transmit(world->links[i], world->now_ns, &batch); turns++) {
            assert(batch.bytes <= LFT_BATCH_BYTES && batch.n <= LFT_BATCH_SEGMENTS && batch.segment <= DATAGRAM_MAX);
            for (size_t at = 0; at < batch.bytes; at += batch.segment) {
                size_t n = batch.bytes - at < batch.segment ? batch.bytes - at : batch.segment;
                if (i == 0)
                    keep(world, batch.at + at, n);
                if (n >= LFT_FRAME_OVERHEAD && lft_header_get(batch.at + at).spi)
                    world->counters[i] = lft_header_get(batch.at + at).counter;
                if (batch.to.at[0] < 2)
                    lft_link_receive(world->links[!i], world->now_ns, batch.at + at, n, &addresses[i]);
            }
            any = true;
        }
    }
    return any;
}

/* The relay of either end: reads the octets that come, and sometimes writes. */
static void relay(struct lft_session *session, uint64_t now_ns)
{
    struct lft_stream *stream;
    struct iovec pieces[4];
    unsigned events;
    for (int i = 0; i < 100 && (stream = lft_session_event(session, &events)); i++) {
        if (events & LFT_EVENT_OPENED)
            lft_stream_accept(stream);
        if (events & LFT_EVENT_ACCEPTED)
            lft_stream_write(stream, "and back", 8);
        size_t bytes = 0;
        for (int k = 0, n = events & LFT_EVENT_READABLE ? lft_stream_read_view(stream, pieces, 4) : 0; k < n; k++)
            bytes += pieces[k].iov_len;
        lft_stream_consumed(stream, bytes, now_ns);
        if (events & (LFT_EVENT_RESET | LFT_EVENT_END | LFT_EVENT_FAILED))
            lft_stream_release(stream);
    }
}

static void pass_time(struct world *world, uint64_t ns, unsigned steps)
{
    for (unsigned step = 0; step < steps; step++) {
        for (int turns = 0; turns < 4 && exchange(world); turns++)
            ;
        for (int i = 0; i < 2; i++)
            relay(lft_link_session(world->links[i]), world->now_ns);
        world->now_ns += ns / steps;
    }
}

/* A frame under the key that the other end uses for sending, if there is one. Input: command, number, increment of the
 * counter, then the payload. */
static void forge(struct world *world, int to, const uint8_t *at, size_t n)
{
    struct lft_link *peer = world->links[!to];
    uint8_t frame[LFT_FRAME_OVERHEAD + 256 + 16];
    if (!peer->current.seal || !peer->engine || n < 5)
        return;
    const struct lft_header header = {.spi = peer->current.spi_out,
                                      .command = at[0] % (LFT_COMMANDS + 1),
                                      .number = (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3],
                                      .counter = world->counters[!to] + at[4]};
    size_t bytes = lft_seal(peer->current.seal, &header, at + 5, n - 5, frame);
    world->key_misused = true;
    lft_link_receive(world->links[to], world->now_ns, frame, bytes, &addresses[!to]);
}

/* Repeats a datagram of the initiator, from anywhere: whole, cut, or with a bit changed. */
static void replay(struct world *world, const uint8_t *at, size_t n)
{
    if (n < 4 || !world->kept_n)
        return;
    size_t which = at[0] % (world->kept_n < KEPT ? world->kept_n : KEPT), bytes = world->kept[which].n;
    uint8_t *copy = malloc(bytes);
    assert(copy);
    memcpy(copy, world->kept[which].at, bytes);
    if (at[1] & 1)
        copy[at[2] % bytes] ^= (uint8_t)(1 << at[3] % 8);
    if (at[1] & 2)
        bytes -= at[3] % bytes;
    lft_link_receive(world->links[1], world->now_ns, copy, bytes, &addresses[at[1] / 4 % 3]);
    free(copy);
}

static void row(struct world *world, uint8_t what, const uint8_t *at, size_t n)
{
    int to = what & 1;
    switch (what / 2 % 5) {
    case 0:
        lft_link_receive(world->links[to], world->now_ns, at, n, &addresses[what / 16 % 3]);
        break;
    case 1:
        forge(world, to, at, n);
        break;
    case 2:
        replay(world, at, n);
        break;
    case 3:
        pass_time(world, (n ? at[0] : 1) * 100 * NC_NS_PER_MS, 4);
        break;
    case 4:
        lft_link_set_payload_max(world->links[to], n ? 320 + at[0] : 500);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct world world = {.links = {create(true, data[0]), create(false, data[0])}, .now_ns = 1};
    pass_time(&world, 100 * NC_NS_PER_MS, 10);
    for (int i = 0; i < 2; i++)
        assert(lft_link_engine(world.links[i]));
    const struct lft_open where = {.family = LFT_FAMILY_NAME, .name = "x"};
    struct lft_stream *stream = lft_stream_open(lft_link_session(world.links[0]), &where, NULL);
    if (stream)
        lft_stream_write(stream, "hello, world", 12);
    for (const uint8_t *at = data + 1, *end = data + size; end - at >= 2;) {
        uint8_t what = at[0];
        size_t n = at[1];
        at += 2;
        n = n < (size_t)(end - at) ? n : (size_t)(end - at);
        row(&world, what, at, n);
        at += n;
        pass_time(&world, 20 * NC_NS_PER_MS, 2);
    }
    for (int i = 0; i < 2; i++) {
        const struct lft_link_counters *counters = lft_link_counters(world.links[i]);
        assert(world.key_misused || (counters->associations == 1 && lft_link_status(world.links[i]) == LFT_LINK_UP));
        lft_link_destroy(world.links[i]);
    }
    return 0;
}
