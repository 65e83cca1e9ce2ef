/* Streams over the link, from the relay's side. Nothing blocks and nothing calls the relay: it writes and reads streams
 * at any time, and collects events after each batch. Everything is bounded: send queues by a pool of blocks, received
 * octets by credit and the engine's rx pool.
 *
 *   The near side has a client's connection:
 *     s = lft_stream_open(session, &where, user)
 *     LFT_EVENT_ACCEPTED    the far side has connected: answer the client
 *     LFT_EVENT_RESET       it could not: refuse or reset the client, as lft_stream_result says
 *   The far side connects to the server:
 *     LFT_EVENT_OPENED      connect() to lft_stream_where; then lft_stream_accept, or lft_stream_refuse with the reason
 *   Both sides, from then on:
 *     socket to stream      lft_stream_write_space, readv, lft_stream_wrote; lft_stream_finish at end of file;
 *                           lft_stream_fail after RST or an error; lft_stream_reset when the relay itself gives up
 *     stream to socket      lft_stream_read_view, writev, lft_stream_consumed; shut down writing at LFT_EVENT_END;
 *                           reset the socket at LFT_EVENT_FAILED
 *     at the end            lft_stream_release. After it the relay must not use the stream; the session completes the
 *                           exchange with the peer.
 *
 * Credit: the session grants credit to a stream from rx memory that other streams neither use nor have been promised
 * (credit.c). So a reader that does not read stops its own sender and nobody else. Fairness: deficit round robin by
 * octets; streams that were idle come first for one quantum, as in fq_codel. */
#ifndef LFT_SESSION_H
#define LFT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "engine_types.h"
#include "wire.h"

enum lft_event {
    /* The peer wants a connection: a new stream, whose user is NULL until lft_stream_set_user. */
    LFT_EVENT_OPENED = 1,
    LFT_EVENT_ACCEPTED = 2, /* the far connect succeeded */
    LFT_EVENT_READABLE =
        4, /* octets have arrived; edge-triggered: repeated only after lft_stream_read_view gave none */
    LFT_EVENT_WRITABLE = 8, /* there is room again after lft_stream_write_space gave none */
    LFT_EVENT_END = 16,     /* the peer's FIN, once every octet before it has been consumed */
    LFT_EVENT_RESET = 32,   /* refused or reset, as lft_stream_result says; all that is left to do is to release it */
    /* The host at the other end has failed, as lft_stream_result says, and every octet that it sent before has been
     * consumed. All that is left to do is to release the stream. */
    LFT_EVENT_FAILED = 64,
};

struct lft_session_config {
    bool initiator; /* its streams have even identifiers */
    /* the most streams, opened by either end; further ones are refused with LFT_RESULT_NO_RESOURCES */
    uint32_t streams_max;
    size_t tx_memory_bytes; /* memory for the send queues of all streams together */
    size_t rx_memory_bytes; /* memory of the engine from which credit is granted */
};

struct lft_session_counters {
    uint64_t opened_here, opened_there, accepted, refused, finished, reset_here, reset_there;
    uint64_t tx_bytes, rx_bytes; /* octets of streams sent and received */
    uint64_t rx_malformed, rx_credit_violations, streams_refused_full;
};
struct lft_session_state {
    uint32_t streams, streams_active,
        streams_lingering;                   /* lingering: streams that the relay has released and the protocol has not
                                              * finished */
    size_t tx_queued_bytes, rx_queued_bytes; /* rx: octets that are in order or wait for an earlier piece */
};

struct lft_session;
struct lft_stream;

/* NULL: no memory */
struct lft_session *lft_session_create(const struct lft_session_config *config, struct lft_pool *rx_pool);
void lft_session_destroy(struct lft_session *session);
/* Returns the session as the engine's source of data. */
struct lft_source lft_session_source(struct lft_session *session);
/* Call this when the association has ended, because the peer has restarted or an outage was too long. Every stream gets
 * LFT_EVENT_RESET with this code. */
void lft_session_fail(struct lft_session *session, unsigned result_code);
/* Call this when a new association begins after lft_session_fail. Stream identifiers start again, and the session uses
 * a new rx pool. */
void lft_session_restart(struct lft_session *session, struct lft_pool *rx_pool);
/* Grants the credit that was withheld before for lack of memory. Call it about every 100 ms. */
void lft_session_tick(struct lft_session *session, uint64_t now_ns);

/* The next stream with events, and its events as bits of enum lft_event, each reported once. NULL: none left. The
 * caller may release the stream at once. */
struct lft_stream *lft_session_event(struct lft_session *session, unsigned *events);

/* Opens a stream. Data may be written at once and travels with the OPEN. `user` is the relay's. NULL: streams_max is
 * reached, there is no association, or memory is short. */
struct lft_stream *lft_stream_open(struct lft_session *session, const struct lft_open *where, void *user);
/* The destination. In the acceptor it is valid until release; in the opener it is NULL once the OPEN has been sent. */
const struct lft_open *lft_stream_where(const struct lft_stream *stream);
void lft_stream_set_user(struct lft_stream *stream, void *user);
void *lft_stream_user(const struct lft_stream *stream);
uint32_t lft_stream_id(const struct lft_stream *stream);
void lft_stream_accept(struct lft_stream *stream);
void lft_stream_refuse(struct lft_stream *stream, const struct lft_result *result); /* release it then */

/* Up to n pieces of free space in the send queue, for readv. Returns how many; 0: it is full, wait for
 * LFT_EVENT_WRITABLE. */
int lft_stream_write_space(struct lft_stream *stream, struct iovec *pieces, int n);
void lft_stream_wrote(struct lft_stream *stream, size_t bytes); /* at most the space given */
size_t lft_stream_write(struct lft_stream *stream, const void *at,
                        size_t bytes); /* copies; returns how many octets had room */
void lft_stream_finish(struct lft_stream *stream);
/* Ends the stream at once: octets in flight in either direction are discarded. */
void lft_stream_reset(struct lft_stream *stream, const struct lft_result *result);
/* The socket has failed. Data read from it before are still sent to the peer, followed by the reset; the peer's octets
 * are discarded. Release the stream after this call. */
void lft_stream_fail(struct lft_stream *stream, const struct lft_result *result);
/* Returns whether the peer still reads this stream; if not, writing is useless. */
bool lft_stream_is_read(const struct lft_stream *stream);

/* Up to n pieces of the octets that have arrived in order, for writev, without consuming them. Returns their number; 0:
 * none. */
int lft_stream_read_view(struct lft_stream *stream, struct iovec *pieces, int n);
void lft_stream_consumed(struct lft_stream *stream, size_t bytes, uint64_t now_ns); /* at most the octets viewed */
const struct lft_result *lft_stream_result(const struct lft_stream *stream);        /* after LFT_EVENT_RESET */
void lft_stream_release(struct lft_stream *stream); /* resets it first unless both directions have ended */

const struct lft_session_counters *lft_session_counters(const struct lft_session *session);
void lft_session_state(const struct lft_session *session, struct lft_session_state *state);

#endif
