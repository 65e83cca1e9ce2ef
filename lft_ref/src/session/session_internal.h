/* The state of streams, for the session's own files. A stream stays in the table until both ends have sent their last
 * chunk about it (FIN, REFUSE or RESET), every octet that the peer sent has arrived, and the relay has released it.
 * Because frames arrive exactly once, it is enough to count octets. */
#ifndef LFT_SESSION_INTERNAL_H
#define LFT_SESSION_INTERNAL_H

#include "nc_slots.h"
#include "refusals.h"
#include "session.h"
#include "stream_ids.h"

/* LFT_BLOCK_BYTES: with the two headers, its own and the pool's, a block takes 8 KB, so that a thousand streams can
 * have one each within the planned memory. */
enum {
    LFT_BLOCK_BYTES = 8192 - 32,
    LFT_QUANTUM = 6000,
    LFT_EARLY_CREDIT = 8192, /* FORMAT.md: octets that an opener may send before the acceptor has answered */
    LFT_ACTIVE_TICKS = 10,
    LFT_NEW_TICKS = 3,
    LFT_CLIENT_BUCKETS = 1024,
    LFT_EARLY_TICKS = 1300 /* FORMAT.md: how long a stream may be EARLY */
};

/* The states of a stream with respect to arriving chunks: the rows of the table in FORMAT.md, "States". */
enum lft_stream_state {
    LFT_STREAM_EARLY,   /* acceptor: chunks have arrived, but the OPEN has not */
    LFT_STREAM_OPENING, /* opener: the acceptor has not answered */
    LFT_STREAM_ASKED,   /* acceptor: the OPEN has arrived, but the relay has not answered it */
    LFT_STREAM_OPEN,
    LFT_STREAM_FAILING, /* this end's RESET waits behind octets that are not sent yet */
    LFT_STREAM_FAILED,  /* the peer's RESET has arrived, and not all octets before it have been read */
    LFT_STREAM_ENDED,   /* REFUSE or RESET was sent or received; octets are still in flight */
    LFT_STREAM_STATES
};
#define LFT_VALUE_MAX ((UINT64_C(1) << 48) - 1)
#define LFT_UNKNOWN UINT64_MAX

struct lft_block {
    struct lft_block *next;
    uint32_t begin, end;
    uint8_t at[LFT_BLOCK_BYTES];
};

/* A piece of a received stream. A piece in order is in the stream's list; any other waits in the session's hash and in
 * the stream's list of holes. */
struct lft_piece {
    struct lft_piece *next;
    struct lft_piece *hole_previous, *hole_next;
    struct lft_buffer *buffer;
    struct lft_stream *stream;
    uint64_t offset;
    const uint8_t *at;
    uint32_t length;
};

enum lft_list { LFT_LIST_NONE, LFT_LIST_FRESH, LFT_LIST_OLD };
enum {
    LFT_SAY_OPEN = 1,
    LFT_SAY_ACCEPT = 2,
    LFT_SAY_REFUSE = 4,
    LFT_SAY_RESET = 8,
    LFT_SAY_CREDIT = 16,
    LFT_SAY_RETURN = 32
};

struct lft_links {
    struct lft_stream *previous, *next;
};
struct lft_stream_list {
    struct lft_stream *first, *last;
};
struct lft_client_links {
    struct lft_client *previous, *next;
};
struct lft_client_list {
    struct lft_client *first, *last;
};

/* A client, to which streams belong (clients.c). sendable: number of its streams that can send; fresh, old: lists of
 * its streams (turns.c). */
struct lft_client {
    struct lft_client *hash_next;
    uint64_t key;
    uint32_t streams, sendable;
    enum lft_list list;
    int32_t deficit;
    struct lft_client_links turn;
    struct lft_stream_list fresh, old;
};

struct lft_stream {
    struct lft_session *session;
    struct lft_stream *hash_next;
    struct lft_client *client; /* NULL: not known yet */
    struct lft_links all, turn, saying, event, starved;
    uint32_t id;
    void *user;
    struct lft_open *where; /* `named`; in the opener NULL once the OPEN is sent */
    struct lft_open named;
    struct lft_result result;
    /* reset: this end sends no more data, except octets queued before its own RESET (tx_failed). dead: the stream's
     * association has ended. */
    bool ours, opened, accepted, released, reset, dead;
    unsigned events;
    uint8_t say; /* LFT_SAY_ bits */
    enum lft_list list;
    int32_t deficit;
    bool on_saying, on_event, on_starved, sendable, write_blocked, read_armed;

    struct lft_block *tx_first, *tx_last;
    struct lft_block *tx_written; /* the last block with octets; later blocks are space handed out for writing */
    size_t tx_queued;
    uint64_t tx_offset, tx_credit;
    uint64_t tx_marked, tx_keep; /* tx_marked: tx_offset a second ago. tx_keep: the credit that remains after RETURN */
    uint16_t tx_returns;         /* RETURN chunks sent */
    bool tx_finish, tx_ended;    /* tx_finish: FIN must follow; tx_ended: FIN, REFUSE or RESET is queued or sent */
    bool tx_failed;              /* RESET must follow the queued octets */

    struct lft_piece *rx_first, *rx_last, *rx_holes;
    size_t rx_queued, rx_holed;
    /* rx_furthest: offset behind the last octet that has arrived, with or without gaps before it */
    uint64_t rx_next, rx_seen, rx_granted, rx_consumed, rx_final, rx_furthest;
    /* rx_ended: the peer has sent FIN. rx_failed: the peer has sent RESET behind its octets */
    bool rx_ended, rx_failed;
    uint64_t rx_promise; /* this stream's share of the session's rx_promised */
    /* Credit (credit.c). rx_proven: the relay has read the stream for more than a round trip, or the peer has given
     * credit back. rx_rate_peak: most octets read in a round trip. rx_hole_peak: most octets that waited for a missing
     * one. Both peaks decay. */
    bool rx_proven;
    uint64_t rx_round_ns, rx_round_bytes, rx_rate_peak, rx_hole_peak;
    uint16_t rx_returns; /* RETURN chunks that have arrived */
    unsigned rx_idle_ticks, early_ticks;
    uint32_t rx_recent; /* octets since the last tick, plus half of the value before that tick */
};

struct lft_session {
    struct lft_session_config config;
    struct lft_session_counters counters;
    struct lft_pool *rx_pool;
    bool failed;
    uint32_t next_id, streams, lingering, active, sendable;
    uint64_t hash_key; /* secret, odd */
    struct lft_stream **table;
    uint32_t table_size;
    struct lft_stream_list all, saying, event, starved; /* starved: streams that wait for a free block of the pool */
    struct lft_client_list fresh, old;                  /* clients that wait for their turn to send */
    struct lft_piece **holes;
    uint32_t holes_size, holes_n;
    struct lft_piece *free_pieces;
    struct nc_slots all_streams, all_clients, all_pieces; /* memory reserved for the maximum number of streams */
    struct lft_client *clients[LFT_CLIENT_BUCKETS];
    struct lft_stream_ids theirs; /* identifiers that the peer has begun to use */
    struct lft_refusals refusals; /* streams of the peer that await a REFUSE, because there was no room for them */
    struct lft_pool *blocks;      /* each buffer holds a struct lft_block */
    uint64_t trim_ns, round_trip_ns;
    unsigned ticks;
    size_t tx_queued, rx_held;
    /* rx_promised: octets that this end may still have to store, which is the unconsumed credit of all streams.
     * rx_unproven: the part of it that belongs to streams not read yet. */
    uint64_t rx_promised, rx_unproven;
};

#define LFT_APPEND(list_, stream_, links_)                                                                             \
    do {                                                                                                               \
        (stream_)->links_.previous = (list_)->last;                                                                    \
        (stream_)->links_.next = NULL;                                                                                 \
        *((list_)->last ? &(list_)->last->links_.next : &(list_)->first) = (stream_);                                  \
        (list_)->last = (stream_);                                                                                     \
    } while (0)
#define LFT_REMOVE(list_, stream_, links_)                                                                             \
    do {                                                                                                               \
        __typeof__((stream_)->links_) at_ = (stream_)->links_;                                                         \
        *(at_.previous ? &at_.previous->links_.next : &(list_)->first) = at_.next;                                     \
        *(at_.next ? &at_.next->links_.previous : &(list_)->last) = at_.previous;                                      \
    } while (0)

/* Multiply-shift hashing: two different values collide in a table of `size` slots (a power of two) with a probability
 * of at most 2/size, however the peer chooses them. */
static inline uint32_t lft_session_hash(const struct lft_session *session, uint64_t value, uint32_t size)
{
    return (uint32_t)(((value * session->hash_key >> 32) * size) >> 32);
}

/* The files of the session, lowest layer first. A file calls only files that come before it in this list. */

/* table.c */
struct lft_stream *lft_stream_find(const struct lft_session *session, uint32_t id);
void lft_table_add(struct lft_session *session, struct lft_stream *stream);
void lft_table_remove(struct lft_stream *stream);
/* clients.c */
void lft_client_join(struct lft_stream *stream, const struct lft_open *where);
void lft_client_leave(struct lft_stream *stream);
/* turns.c */
void lft_stream_event(struct lft_stream *stream, unsigned events);
void lft_stream_say(struct lft_stream *stream, unsigned say);
/* call it after any change that may decide whether the stream can send data */
void lft_stream_update(struct lft_stream *stream);
void lft_stream_say_failed(struct lft_stream *stream); /* sends the RESET when everything queued before it is framed */
struct lft_stream *lft_session_turn(struct lft_session *session); /* the stream that may send data now; NULL: none */
void lft_stream_had(struct lft_stream *stream, size_t octets); /* counts octets that the stream has sent in its turn */
void lft_stream_leave_turns(struct lft_stream *stream);
void lft_client_leave_turns(struct lft_session *session, struct lft_client *client);
/* send_queue.c */
/* moves the oldest queued octets to `at` */
void lft_stream_dequeue(struct lft_stream *stream, uint8_t *at, size_t bytes);
/* notifies the relay when a stream that was full has room again */
void lft_stream_offer_space(struct lft_stream *stream);
void lft_stream_drop_tx(struct lft_stream *stream);
/* credit.c */
void lft_stream_account(struct lft_stream *stream); /* call it after any change that may change rx_promise */
void lft_stream_grant(struct lft_stream *stream);   /* raises the credit if memory allows, and sends it */
void lft_stream_measure(struct lft_stream *stream, size_t consumed, uint64_t now_ns);
void lft_stream_credit_tick(struct lft_stream *stream, bool second); /* second: true once a second */
/* The peer has returned credit: at most `limit` octets of the stream arrive before it gets credit again. */
void lft_stream_take_back(struct lft_stream *stream, uint64_t limit);
/* Counts the streams that carry more than a few octets a second. */
void lft_stream_mark_active(struct lft_stream *stream, uint32_t bytes);
/* receive_queue.c */
bool lft_stream_keep(struct lft_stream *stream, struct lft_buffer *buffer,
                     const struct lft_chunk *chunk); /* false: no memory */
/* Reports octets, the end of the stream or the peer's failure to the relay, in this order. */
void lft_stream_readable(struct lft_stream *stream);
void lft_stream_drop_rx(struct lft_stream *stream);
/* stream.c */
struct lft_stream *lft_stream_new(struct lft_session *session, uint32_t id, bool ours); /* NULL: no memory */
void lft_stream_free(struct lft_stream *stream);
enum lft_stream_state lft_stream_state(const struct lft_stream *stream);
/* releases a stream whose OPEN has not arrived, because no relay knows it */
void lft_stream_disown(struct lft_stream *stream);
void lft_stream_maybe_free(struct lft_stream *stream); /* frees it when nobody needs it any more */
/* call it when the stream's association has ended */
void lft_stream_die(struct lft_stream *stream, unsigned result_code);
/* chunks_in.c */
void lft_session_deliver(void *user, struct lft_buffer *buffer, const uint8_t *payload, size_t length, uint64_t now_ns);
/* chunks_out.c */
size_t lft_session_fill(void *user, uint8_t *at, size_t room, uint64_t now_ns);
bool lft_session_waiting(void *user);
void lft_session_round_trip(void *user, uint64_t srtt_ns);
/* session.c: session.h. */

#endif
