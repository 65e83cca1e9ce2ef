/* One tunnel to one peer: handshake, keys, engine and session put together. This is what the gateway's loop uses; it owns all four.
 * Pure: datagrams in, batches of datagrams out, `now_ns` passed in, no descriptor, no clock. One thread.
 *
 *   readable socket:   for each datagram (of a GRO buffer too) lft_link_receive
 *   then:              while ((stream = lft_session_event(lft_link_session(link), &events))) … relay …
 *   then:              while (lft_link_transmit(link, now, &batch)) sendmsg(batch)     (UDP_SEGMENT = batch.segment when n > 1)
 *   sleep until:       lft_link_next_ns(link, now)
 * A send that would block: keep the batch and send it again later before asking for another; a send that fails is a lost packet.
 * lft_link_events tells of changes (up, down, peer restarted) once each. */
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
struct lft_address { uint8_t at[LFT_ADDRESS_MAX]; uint8_t n; }; /* a sockaddr, opaque here; n 0: not known */

enum lft_link_status {
    LFT_LINK_CONNECTING, /* no association yet */
    LFT_LINK_UP,
    LFT_LINK_OUTAGE,     /* nothing heard for dead_ns: streams wait, watch may bypass */
    LFT_LINK_STATUSES
};
extern const char *const lft_link_status_names[];

struct lft_link_config {
    struct lft_engine_config engine;    /* padding_block is filled in here */
    struct lft_session_config session;  /* initiator and rx_memory_bytes too */
    struct lft_handshake_config handshake; /* recovery and payload_max too; the psk is copied */
    struct lft_address peer;            /* initiator: where to connect; responder: may be empty, learnt from the handshake */
    uint64_t dead_ns;                   /* silence that makes an outage; 0: 1 s */
    uint64_t outage_max_ns;             /* streams are reset after so long; 0: 60 s */
    uint64_t rekey_ns, rekey_frames;    /* 0: 1 h, 2^31 */
};

struct lft_batch {
    struct lft_address to;
    const uint8_t *at;  /* n segments of `segment` octets one behind the other, the last may be shorter; the link's memory, valid until the next transmit */
    size_t bytes, segment;
    unsigned n;
};
enum { LFT_BATCH_BYTES = 65000, LFT_BATCH_SEGMENTS = 64 };

struct lft_link_counters {
    uint64_t rx_datagrams, rx_truncated, rx_unknown_spi, rx_bad_tag, rx_keepalives;
    uint64_t rekeys, associations, outages, failed_streams_outage, failed_streams_restart, tx_refused_key_worn;
};

enum lft_link_event { LFT_LINK_EVENT_UP = 1, LFT_LINK_EVENT_OUTAGE = 2, LFT_LINK_EVENT_RESTARTED = 4, LFT_LINK_EVENT_CLOSED = 8,
                      LFT_LINK_EVENT_FAILED = 16 /* outage_max_ns passed: streams were reset */ };

struct lft_link;
struct lft_link *lft_link_create(const struct lft_link_config *config, uint64_t now_ns); /* NULL: no memory or cipher not available */
void lft_link_destroy(struct lft_link *link);

/* One UDP payload, or one ESP packet without its IP header, from `from`. Never fails: what is wrong is counted. */
void lft_link_receive(struct lft_link *link, uint64_t now_ns, const uint8_t *at, size_t n, const struct lft_address *from);
/* The next batch to send now; 0: none. */
int lft_link_transmit(struct lft_link *link, uint64_t now_ns, struct lft_batch *batch);
/* When transmit may have something or a timer runs out. Streams written since may make it now: call after the relay. */
uint64_t lft_link_next_ns(struct lft_link *link, uint64_t now_ns);
/* Under load: how long the loop may rest before its next turn, at little cost in delay (lft_engine_rest_ns). */
uint64_t lft_link_rest_ns(const struct lft_link *link);
unsigned lft_link_events(struct lft_link *link); /* enum lft_link_event bits since the last call */

struct lft_session *lft_link_session(struct lft_link *link);
struct lft_engine *lft_link_engine(struct lft_link *link); /* of the association now; NULL before the first. Ask again after every receive */
enum lft_link_status lft_link_status(const struct lft_link *link);
/* The tunnel can carry new streams now. */
bool lft_link_ready(const struct lft_link *link);
void lft_link_set_rate(struct lft_link *link, enum lft_rate_mode mode, uint64_t rate_bps, uint64_t now_ns);
void lft_link_set_redundancy(struct lft_link *link, bool on);
void lft_link_set_payload_max(struct lft_link *link, uint32_t payload_max); /* path MTU found */
uint32_t lft_link_payload_max(const struct lft_link *link);                 /* least of both ends' and the path's */
/* Graceful end: CLOSE to the peer in the next batches. */
void lft_link_close(struct lft_link *link);
const struct lft_link_counters *lft_link_counters(const struct lft_link *link);
const struct lft_handshake_counters *lft_link_handshake_counters(const struct lft_link *link);
struct lft_address lft_link_peer(const struct lft_link *link);

#endif
