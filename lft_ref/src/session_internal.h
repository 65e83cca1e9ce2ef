/* State of streams, shared by the session's own files.
 * A stream is in the table by identifier until both ends have said their last word about it (FIN, REFUSE, RESET) and every octet the peer sent
 * was seen, and the relay has released it. Because frames arrive exactly once, octets can be counted instead of remembered.
 * Sendable streams are in one of two lists: fresh (were idle; one quantum), then old. */
#ifndef LFT_SESSION_INTERNAL_H
#define LFT_SESSION_INTERNAL_H

#include "session.h"

/* A block, its own head and the pool's make up 8 KB: a thousand streams have one each within the memory planned for. */
enum { LFT_BLOCK_BYTES = 8192 - 32, LFT_QUANTUM = 6000, LFT_INITIAL_CREDIT = 65536, LFT_ACTIVE_TICKS = 10, LFT_NEW_TICKS = 3 };
#define LFT_VALUE_MAX ((UINT64_C(1) << 48) - 1)
#define LFT_UNKNOWN UINT64_MAX

struct lft_block {
    struct lft_block *next;
    uint32_t begin, end;
    uint8_t at[LFT_BLOCK_BYTES];
};

/* A piece of a received stream, in order (stream's list) or waiting for the piece before it (session's hash). */
struct lft_piece {
    struct lft_piece *next;
    struct lft_buffer *buffer;
    struct lft_stream *stream;
    uint64_t offset;
    const uint8_t *at;
    uint32_t length;
};

enum lft_list { LFT_LIST_NONE, LFT_LIST_FRESH, LFT_LIST_OLD };
enum { LFT_SAY_OPEN = 1, LFT_SAY_ACCEPT = 2, LFT_SAY_REFUSE = 4, LFT_SAY_RESET = 8, LFT_SAY_CREDIT = 16 };

struct lft_links { struct lft_stream *previous, *next; };

struct lft_stream {
    struct lft_session *session;
    struct lft_stream *hash_next;
    struct lft_links all, turn, control, event, starved;
    uint32_t id;
    void *user;
    struct lft_open *where;      /* opener: until sent; acceptor: until accepted or refused */
    struct lft_result result;
    bool ours, opened, accepted, released, reset, dead; /* reset: data flows no more, either way; dead: not on the wire any more */
    unsigned events;
    uint8_t say; /* LFT_SAY_ bits */
    enum lft_list list;
    int32_t deficit;
    bool on_control, on_event, on_starved, sendable, write_blocked, read_armed;

    struct lft_block *tx_first, *tx_last;
    size_t tx_queued;
    uint64_t tx_offset, tx_credit;
    bool tx_finish, tx_ended; /* wanted; FIN, REFUSE or RESET is on its way */

    struct lft_piece *rx_first, *rx_last;
    size_t rx_queued, rx_holed;
    uint64_t rx_next, rx_seen, rx_granted, rx_consumed, rx_final;
    uint64_t rx_promise; /* what of session's rx_promised is this stream's */
    unsigned rx_idle_ticks;
    uint32_t rx_recent; /* octets since the last tick, and half of those before it */
};

struct lft_stream_list { struct lft_stream *first, *last; };

struct lft_session {
    struct lft_session_config config;
    struct lft_session_counters counters;
    struct lft_pool *rx_pool;
    bool failed;
    uint32_t next_id, streams, lingering, active, sendable;
    struct lft_stream **table;
    uint32_t table_size;
    struct lft_stream_list all, fresh, old, control, event, starved; /* starved: no block was left */
    struct lft_piece **holes;
    uint32_t holes_size, holes_n;
    struct lft_piece *free_pieces;
    struct lft_pool *blocks; /* buffers, each with a struct lft_block */
    uint64_t trim_ns;
    size_t tx_queued, rx_held;
    uint64_t rx_promised; /* octets that may yet have to be kept here: what active streams have credit for, what others hold */
};

#define LFT_APPEND(list_, stream_, links_)                                                                             \
    do {                                                                                                               \
        (stream_)->links_ = (struct lft_links){(list_)->last, NULL};                                                   \
        *((list_)->last ? &(list_)->last->links_.next : &(list_)->first) = (stream_);                                  \
        (list_)->last = (stream_);                                                                                     \
    } while (0)
#define LFT_REMOVE(list_, stream_, links_)                                                                             \
    do {                                                                                                               \
        struct lft_links at_ = (stream_)->links_;                                                                      \
        *(at_.previous ? &at_.previous->links_.next : &(list_)->first) = at_.next;                                     \
        *(at_.next ? &at_.next->links_.previous : &(list_)->last) = at_.previous;                                      \
    } while (0)

/* session.c */
struct lft_stream *lft_stream_find(const struct lft_session *session, uint32_t id);
struct lft_stream *lft_stream_new(struct lft_session *session, uint32_t id, bool ours); /* NULL: no memory */
void lft_stream_event(struct lft_stream *stream, unsigned events);
void lft_stream_maybe_free(struct lft_stream *stream);
void lft_stream_drop_data(struct lft_stream *stream);
/* session_send.c */
size_t lft_session_fill(void *user, uint8_t *at, size_t room, uint64_t now_ns);
bool lft_session_waiting(void *user);
void lft_stream_say(struct lft_stream *stream, unsigned say);
void lft_stream_update(struct lft_stream *stream); /* sendable? */
void lft_stream_unstarve(struct lft_stream *stream);
void lft_stream_drop_tx(struct lft_stream *stream);
/* session_receive.c */
void lft_session_deliver(void *user, struct lft_buffer *buffer, const uint8_t *payload, size_t length, uint64_t now_ns);
void lft_stream_grant(struct lft_stream *stream);
void lft_stream_drop_rx(struct lft_stream *stream);
void lft_stream_account(struct lft_stream *stream); /* rx_promise anew */

#endif
