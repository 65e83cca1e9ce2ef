/* One tunnel to one peer, as the gateway's loop uses it. A link owns a handshake, keys, an engine and a session. It is
 * pure: datagrams go in, batches of datagrams come out, `now_ns` is passed in; it has no descriptor and no clock. Not
 * thread-safe. A turn of the loop:
 *
 *   1. for each datagram of a readable socket, also of those joined by GRO: lft_link_receive
 *   2. while ((stream = lft_session_event(lft_link_session(link), &events))): relay
 *   3. while (lft_link_transmit(link, now, &batch)): sendmsg, with UDP_SEGMENT = batch.segment when batch.n > 1; then
 *      now = clock, lft_link_left(link, now)
 *   4. sleep until lft_link_next_ns(link, now)
 *
 * When a send would block, keep the batch and send it before asking for another. A send that fails is a lost packet.
 * lft_link_events reports each change of state once. */
#ifndef LFT_LINK_H
#define LFT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto.h"
#include "engine.h"
#include "handshake.h"
#include "session.h"

enum { LFT_ADDRESS_MAX = 32 };
/* A sockaddr, opaque here. n 0: unknown. */
struct lft_address {
    uint8_t at[LFT_ADDRESS_MAX];
    uint8_t n;
};

enum lft_link_status {
    LFT_LINK_CONNECTING, /* no association yet */
    LFT_LINK_UP,
    LFT_LINK_OUTAGE, /* no authentic frame has arrived for dead_ns; streams wait */
    LFT_LINK_STATUSES
};
extern const char *const lft_link_status_names[];

struct lft_link_config {
    struct lft_engine_config engine;       /* the link fills in padding_block */
    struct lft_session_config session;     /* the link fills in initiator and rx_memory_bytes */
    struct lft_handshake_config handshake; /* the link fills in recovery, payload_max and rekey_ns */
    /* The peer's address, to which the initiator connects. A responder learns it from authentic frames and may leave it
     * empty. */
    struct lft_address peer;
    uint64_t dead_ns;                /* after this much silence there is an outage; 0: 1 s */
    uint64_t outage_max_ns;          /* after an outage of this length streams are reset; 0: 15 min */
    uint64_t rekey_ns, rekey_frames; /* Keys are replaced after this time (0: 1 h) and after 2^31 frames. */
};

struct lft_batch {
    struct lft_address to;
    /* A batch: n consecutive datagrams of `segment` octets, of which the last may be shorter. The link owns the memory,
     * which is valid until the next lft_link_transmit. */
    const uint8_t *at;
    size_t bytes, segment;
    unsigned n;
};
enum { LFT_BATCH_BYTES = 65000, LFT_BATCH_SEGMENTS = 64 };

struct lft_link_counters {
    uint64_t rx_datagrams, rx_truncated, rx_unknown_spi, rx_bad_tag, rx_keepalives;
    uint64_t rekeys, keys_rejected, peer_moves, associations, outages, failed_streams_outage, failed_streams_restart;
};

/* Whether another gateway with the same key wants the same tunnel, or has it. */
enum lft_link_contention {
    LFT_LINK_ALONE,
    LFT_LINK_RIVAL,   /* another gateway asks this end, which refuses it */
    LFT_LINK_OCCUPIED /* the other end has another gateway for its peer, and refuses this one */
};

enum lft_link_event {
    LFT_LINK_EVENT_UP = 1,
    LFT_LINK_EVENT_OUTAGE = 2,
    LFT_LINK_EVENT_RESTARTED = 4,
    LFT_LINK_EVENT_CLOSED = 8,
    LFT_LINK_EVENT_FAILED = 16 /* outage_max_ns has passed; streams were reset */
};

struct lft_link;
/* Creates a link. Returns NULL when memory is short or the cipher is not available. */
struct lft_link *lft_link_create(const struct lft_link_config *config, uint64_t now_ns);
void lft_link_destroy(struct lft_link *link);

/* Takes one UDP payload, or one ESP packet without its IP header. It cannot fail: bad datagrams are counted. */
void lft_link_receive(struct lft_link *link, uint64_t now_ns, const uint8_t *at, size_t n,
                      const struct lft_address *from);
/* Gives the next batch to send now. 0: none. */
int lft_link_transmit(struct lft_link *link, uint64_t now_ns, struct lft_batch *batch);
/* Reports that the batch had left by `now_ns` (lft_engine_left). */
void lft_link_left(struct lft_link *link, uint64_t now_ns);
/* Returns when lft_link_transmit may have a batch or a timer is due. Call it after the relay's turn, because the relay
 * may have written to streams. */
uint64_t lft_link_next_ns(struct lft_link *link, uint64_t now_ns);
/* Reports that the machine was suspended for this long: `now` stood still while keys aged. */
void lft_link_suspended(struct lft_link *link, uint64_t ns);
/* Returns how long the loop may rest between two turns under load (lft_engine_rest_ns). */
uint64_t lft_link_rest_ns(const struct lft_link *link);
/* Returns the events since the last call, as bits of enum lft_link_event. */
unsigned lft_link_events(struct lft_link *link);

struct lft_session *lft_link_session(struct lft_link *link);
/* The current association's engine; NULL without an association. Ask again after every lft_link_receive. */
struct lft_engine *lft_link_engine(struct lft_link *link);
enum lft_link_status lft_link_status(const struct lft_link *link);
/* Returns the contention seen in about the last ten seconds. `address` becomes the address of the other gateway (RIVAL)
 * or of the other end (OCCUPIED). */
enum lft_link_contention lft_link_contention(const struct lft_link *link, uint64_t now_ns, struct lft_address *address);
/* True when the tunnel can carry new streams now. */
bool lft_link_ready(const struct lft_link *link);
void lft_link_set_rate(struct lft_link *link, enum lft_rate_mode mode, uint64_t rate_bps, uint64_t now_ns);
void lft_link_set_redundancy(struct lft_link *link, bool on);
/* The largest payload that the path carries, found by the search for its MTU. */
void lft_link_set_payload_max(struct lft_link *link, uint32_t payload_max);
/* The payload size in use: the smallest of the maxima of this end, the peer and the path. */
uint32_t lft_link_payload_max(const struct lft_link *link);
/* Ends the association: the next batches notify the peer by CLOSE. */
void lft_link_close(struct lft_link *link);
const struct lft_link_counters *lft_link_counters(const struct lft_link *link);
const struct lft_handshake_counters *lft_link_handshake_counters(const struct lft_link *link);
struct lft_address lft_link_peer(const struct lft_link *link);

#endif
