/* Handles datagrams from the network. Before a tag has verified, only lengths, SPI and counter are examined. */
#include <string.h>

#include "link_internal.h"
#include "nc_bytes.h"

struct lft_datagram {
    const uint8_t *at;
    size_t n;
    const struct lft_address *from;
};

static void queue_reply(struct lft_link *link, const struct lft_address *to, const uint8_t *at, size_t n)
{
    if (link->replies_n == LFT_REPLIES)
        return;
    struct lft_reply *reply = &link->replies[link->replies_n++];
    reply->to = *to;
    reply->n = (uint8_t)n;
    memcpy(reply->at, at, n);
}

static bool same_address(const struct lft_address *a, const struct lft_address *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

static void note_contention(struct lft_link *link, enum lft_link_contention what, const struct lft_address *who,
                            uint64_t now_ns)
{
    link->contention = what;
    link->contender = *who;
    link->contention_ns = now_ns;
}

static void take_handshake(struct lft_link *link, uint64_t now_ns, const uint8_t *at, size_t n,
                           const struct lft_address *from)
{
    const struct lft_address *to = link->config.handshake.initiator ? lft_link_init_to(link) : &link->peer;
    const struct lft_handshake_message message = {
        .at = at,
        .n = n,
        .address = {from->at, from->n},
        .from_peer = same_address(from, to),
        .in_use = {link->engine != NULL, lft_link_heard(link, now_ns), link->peer_epoch}};
    const struct lft_handshake_counters *counters = lft_handshake_counters(link->handshake), before = *counters;
    struct lft_handshake_answer answer;
    switch (lft_handshake_receive(link->handshake, now_ns, &message, &answer)) {
    case LFT_HS_NOTHING:
        break;
    case LFT_HS_REPLY:
        queue_reply(link, from, answer.at, answer.n);
        break;
    case LFT_HS_KEYS:
        lft_link_install(link, &answer.keys, from, now_ns);
        break;
    case LFT_HS_PENDING:
        queue_reply(link, from, answer.at, answer.n);
        lft_link_await(link, &answer.keys, now_ns);
        break;
    }
    if (counters->rivals != before.rivals)
        note_contention(link, LFT_LINK_RIVAL, from, now_ns);
    if (counters->occupied != before.occupied)
        note_contention(link, LFT_LINK_OCCUPIED, from, now_ns);
}

/* The peer's address is the source of its newest frame. A frame that somebody replays from another address is not the
 * newest. */
static void note_source(struct lft_link *link, uint64_t counter, const struct lft_address *from)
{
    if (counter <= link->newest_counter)
        return;
    link->newest_counter = counter;
    if (!same_address(from, &link->peer)) {
        link->peer = *from;
        link->counters.peer_moves++;
    }
}

static void hand_over(struct lft_link *link, uint64_t now_ns, const struct lft_header *header, const uint8_t *payload,
                      long length)
{
    struct lft_frame frame = {.command = header->command,
                              .number = header->number,
                              .counter = header->counter,
                              .payload = payload,
                              .length = (size_t)length};
    lft_engine_receive(link->engine, now_ns, &frame);
}

/* The destination for decrypting a frame. DATA goes straight into a buffer of the engine; NULL when none is left. All
 * other frames are read at once and need no buffer, so that the peer's ACKs, keepalives and CLOSE count even when
 * memory is full. */
static uint8_t *room_for(struct lft_link *link, const struct lft_header *header, size_t *room)
{
    *room = sizeof link->opened;
    if (!lft_command_carries_data(header->command))
        return link->opened;
    struct lft_buffer *buffer = lft_engine_rx_buffer(link->engine);
    *room = lft_pool_buffer_bytes(lft_engine_rx_pool(link->engine));
    return buffer ? buffer->at : NULL;
}

/* Takes a frame under keys in use. */
static void take_frame(struct lft_link *link, uint64_t now_ns, struct lft_keys *keys, const struct lft_header *header,
                       const struct lft_datagram *datagram)
{
    if (!lft_engine_fresh(link->engine, header->counter))
        return;
    size_t room;
    uint8_t *into = room_for(link, header, &room);
    if (!into)
        return;
    long length = datagram->n <= room ? lft_unseal(keys->unseal, datagram->at, datagram->n, into) : -1;
    if (length < 0) {
        link->counters.rx_bad_tag++;
        return;
    }
    link->rx_key_frames += keys == &link->current;
    note_source(link, header->counter, datagram->from);
    hand_over(link, now_ns, header, into, length);
}

/* Takes the first frame under pending keys. The keys and their association come into use only if the frame is
 * authentic. */
static void take_first(struct lft_link *link, uint64_t now_ns, const struct lft_header *header,
                       const struct lft_datagram *datagram)
{
    long length = datagram->n <= sizeof link->opened
                      ? lft_unseal(link->pending.unseal, datagram->at, datagram->n, link->opened)
                      : -1;
    if (length < 0) {
        link->counters.rx_bad_tag++;
        return;
    }
    struct lft_keys keys = link->pending;
    memset(&link->pending, 0, sizeof link->pending);
    lft_handshake_settle(link->handshake);
    lft_link_install(link, &keys, datagram->from, now_ns);
    link->rx_key_frames = 1;
    if (!link->engine || !lft_engine_fresh(link->engine, header->counter))
        return;
    size_t room;
    uint8_t *into = room_for(link, header, &room);
    if (!into || (size_t)length > room)
        return;
    if (into != link->opened)
        memcpy(into, link->opened, (size_t)length);
    note_source(link, header->counter, datagram->from);
    hand_over(link, now_ns, header, into, length);
}

void lft_link_receive(struct lft_link *link, uint64_t now_ns, const uint8_t *at, size_t n,
                      const struct lft_address *from)
{
    link->counters.rx_datagrams++;
    if (n == 1 && *at == 0xff) {
        link->counters.rx_keepalives++;
        return;
    }
    if (n < 8) {
        link->counters.rx_truncated++;
        return;
    }
    if (nc_get32(at) == 0) {
        take_handshake(link, now_ns, at, n, from);
        return;
    }
    if (n < LFT_FRAME_OVERHEAD) {
        link->counters.rx_truncated++;
        return;
    }
    const struct lft_datagram datagram = {at, n, from};
    struct lft_header header = lft_header_get(at);
    if (link->current.unseal && link->engine && header.spi == link->current.spi_in)
        take_frame(link, now_ns, &link->current, &header, &datagram);
    else if (link->previous.unseal && link->engine && header.spi == link->previous.spi_in)
        take_frame(link, now_ns, &link->previous, &header, &datagram);
    else if (link->pending.unseal && header.spi == link->pending.spi_in)
        take_first(link, now_ns, &header, &datagram);
    else
        link->counters.rx_unknown_spi++;
}
