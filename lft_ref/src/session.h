/* Streams over the link: the relay's side. Non-blocking, no callbacks into the relay: it writes and reads streams when it likes and collects
 * events after each batch. Everything is bounded: send queues by a pool of blocks, what was received by credit and the engine's rx pool.
 *
 * Relay, near side (a client's connection):              Relay, far side:
 *   s = lft_stream_open(session, &where, user)              EVENT_OPENED: lft_stream_where, connect()
 *   EVENT_ACCEPTED: now accept the client                   connected: lft_stream_accept; failed: lft_stream_refuse(result)
 *   EVENT_RESET: refuse or reset it, lft_stream_result
 * Both: lft_stream_write_space / _wrote (readv from the socket), lft_stream_finish (socket gave end of file);
 *       lft_stream_read_view / _consumed (writev to the socket), LFT_EVENT_END (shut down writing), lft_stream_reset (socket gave RST or error);
 *       at last lft_stream_release. Nothing of a stream may be used after it; the session still does what the wire needs.
 *
 * Credit: a stream may have as many octets waiting here as lft_session shares out: most of the rx memory that is neither held by other
 * streams nor promised to those now active. A reader that does not consume stops its own sender and nobody else.
 * Fairness: deficit round robin by octets, streams that were idle first for one quantum (as fq_codel does). */
#ifndef LFT_SESSION_H
#define LFT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "engine.h"
#include "wire.h"

enum lft_event {
    LFT_EVENT_OPENED = 1,   /* the peer wants a connection: a stream not seen before, user NULL until lft_stream_set_user */
    LFT_EVENT_ACCEPTED = 2, /* the far connect succeeded */
    LFT_EVENT_READABLE = 4, /* octets arrived; given again only after lft_stream_read_view gave nothing (edge) */
    LFT_EVENT_WRITABLE = 8, /* room again after lft_stream_write_space gave none */
    LFT_EVENT_END = 16,     /* the peer's FIN, once every octet before it was consumed */
    LFT_EVENT_RESET = 32,   /* refused or reset: lft_stream_result; nothing more is read or written; release it */
};

struct lft_session_config {
    bool initiator;             /* even stream identifiers */
    uint32_t streams_max;       /* both kinds together; more are refused with LFT_RESULT_NO_RESOURCES */
    size_t tx_memory_bytes;     /* send queues of all streams together */
    size_t rx_memory_bytes;     /* what credit is shared out of: the engine's rx_memory_bytes */
};

struct lft_session_counters {
    uint64_t opened_here, opened_there, accepted, refused, finished, reset_here, reset_there;
    uint64_t tx_bytes, rx_bytes; /* of streams, at the relay's side */
    uint64_t rx_malformed, rx_credit_violations, streams_refused_full;
};
struct lft_session_state {
    uint32_t streams, streams_active, streams_lingering; /* lingering: released by the relay, the wire not yet done */
    size_t tx_queued_bytes, rx_queued_bytes;             /* rx: in order and waiting for a hole */
};

struct lft_session;
struct lft_stream;

struct lft_session *lft_session_create(const struct lft_session_config *config, struct lft_pool *rx_pool); /* NULL: no memory */
void lft_session_destroy(struct lft_session *session);
/* The engine's side of it. */
struct lft_source lft_session_source(struct lft_session *session);
/* The association has ended (peer restarted, outage too long): every stream gets LFT_EVENT_RESET with this code. */
void lft_session_fail(struct lft_session *session, unsigned result_code);
/* A new association began (link.c, after lft_session_fail): identifiers and lingering state begin anew, with another rx pool. */
void lft_session_restart(struct lft_session *session, struct lft_pool *rx_pool);
/* Call about every 100 ms: gives credit again that had to be withheld. */
void lft_session_tick(struct lft_session *session, uint64_t now_ns);

/* The next stream with events, and which (lft_event bits, each reported once); NULL: none left. A stream may be released at once. */
struct lft_stream *lft_session_event(struct lft_session *session, unsigned *events);

/* NULL: streams_max reached or the link is failed. Data may be written at once and travels with the OPEN. `user` is the relay's. */
struct lft_stream *lft_stream_open(struct lft_session *session, const struct lft_open *where, void *user);
/* Acceptor: until release. Opener: NULL once the OPEN was sent. */
const struct lft_open *lft_stream_where(const struct lft_stream *stream);
void lft_stream_set_user(struct lft_stream *stream, void *user);
void *lft_stream_user(const struct lft_stream *stream);
uint32_t lft_stream_id(const struct lft_stream *stream);
void lft_stream_accept(struct lft_stream *stream);
void lft_stream_refuse(struct lft_stream *stream, const struct lft_result *result); /* then release */

/* Up to n pieces of free space in the send queue (for readv); returns how many, 0: full, wait for LFT_EVENT_WRITABLE. */
int lft_stream_write_space(struct lft_stream *stream, struct iovec *pieces, int n);
void lft_stream_wrote(struct lft_stream *stream, size_t bytes); /* at most what write_space gave */
size_t lft_stream_write(struct lft_stream *stream, const void *at, size_t bytes); /* copy in; returns how many fitted */
void lft_stream_finish(struct lft_stream *stream);
void lft_stream_reset(struct lft_stream *stream, const struct lft_result *result);

/* Up to n pieces of what arrived in order (for writev), without consuming; 0: none. */
int lft_stream_read_view(struct lft_stream *stream, struct iovec *pieces, int n);
void lft_stream_consumed(struct lft_stream *stream, size_t bytes, uint64_t now_ns); /* at most what read_view gave */
const struct lft_result *lft_stream_result(const struct lft_stream *stream); /* with LFT_EVENT_RESET */
void lft_stream_release(struct lft_stream *stream); /* resets it first when it has not ended both ways */

/* For `show`: octets written by and read to the relay, waiting to be sent, received and not consumed. */
struct lft_stream_state { uint64_t tx_bytes, rx_bytes; size_t tx_queued_bytes, rx_queued_bytes; bool accepted, finished_here, finished_there; };
void lft_stream_state(const struct lft_stream *stream, struct lft_stream_state *state);

const struct lft_session_counters *lft_session_counters(const struct lft_session *session);
void lft_session_state(const struct lft_session *session, struct lft_session_state *state);

#endif
