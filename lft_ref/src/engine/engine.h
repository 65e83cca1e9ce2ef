/* The engine decides what an association sends and when, and keeps track of what has arrived. It is a pure state
 * machine for both directions: `now_ns` is passed in, and it knows neither keys nor sockets nor streams. link.c (the
 * gateway) and lft-sim use it in the same way:
 *
 *   lft_engine_poll     gives the next transmission, or none. Call it until it gives none or the batch is full. When
 *                       limit, memory and recovery allow a fresh DATA frame, it asks `source.fill` for the payload. So
 *                       data is bound to a frame as late as possible, and streams with waiting data share the line
 *                       fairly.
 *   lft_engine_receive  takes one authentic frame. It hands every DATA payload to `source.deliver` exactly once, in
 *                       order of arrival (`gbn-strict`: in order of numbers).
 *   lft_engine_next_ns  returns when to poll again if nothing happens before.
 *
 * Memory: the payload of an unacknowledged frame lives in a buffer of `tx_pool`. When that pool is empty the engine
 * makes no fresh DATA, so streams fill up and the relay stops reading. A received payload lives in a buffer of
 * `rx_pool`, which `deliver` may keep by lft_buffer_hold. When rx_pool is empty a frame is dropped before it is
 * marked as received, so the peer sends it again. A frame costs O(1) time, except with `fec`. Recovery strategies are
 * rows of lft_recovery_ops (recovery.h). */
#ifndef LFT_ENGINE_H
#define LFT_ENGINE_H

#include "engine_types.h"

struct lft_engine;
/* Creates an engine, which copies `source`. Returns NULL when memory is short. */
struct lft_engine *lft_engine_create(const struct lft_engine_config *config, const struct lft_source *source,
                                     uint64_t now_ns);
void lft_engine_destroy(struct lft_engine *engine);

/* Sets the strategy by which the peer sends, as learnt in the handshake. With `gbn-strict` this receiver discards
 * frames out of order. */
void lft_engine_set_peer_recovery(struct lft_engine *engine, enum lft_recovery recovery);
void lft_engine_set_payload_max(struct lft_engine *engine, uint32_t payload_max); /* at most config.payload_max */
void lft_engine_set_rate(struct lft_engine *engine, enum lft_rate_mode mode, uint64_t rate_bps, uint64_t now_ns);
void lft_engine_set_redundancy(struct lft_engine *engine, bool on);
/* `running` is false while the tunnel is down: the engine then sends neither fresh DATA nor repairs, only
 * acknowledgements and one retransmission per time-out. */
void lft_engine_set_running(struct lft_engine *engine, bool running);

/* Returns 1 and fills in *frame, or returns 0 when nothing may be sent now. The payload is valid until the next call of
 * the engine. The caller must transmit the frame or drop it for good, because its counter is used up. */
int lft_engine_poll(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame);

/* Reports that all frames from lft_engine_poll had left for the wire by `now_ns`. A caller whose thread may be stopped
 * between poll and send must call it, because the limit applies to the time at which frames leave. */
void lft_engine_left(struct lft_engine *engine, uint64_t now_ns);

/* Returns the time at which lft_engine_poll may have a frame: at most `now_ns` when a frame is ready, UINT64_MAX when
 * nothing is planned. */
uint64_t lft_engine_next_ns(const struct lft_engine *engine, uint64_t now_ns);

/* Returns how long the caller may rest between two turns under load, so that it works in batches. The rest is a 128th
 * of the round trip, at most 2 ms. While frames wait for the limit, it is also at most lft_shaper_rest_ns. */
uint64_t lft_engine_rest_ns(const struct lft_engine *engine);

/* Returns whether this counter is new and within the replay window; if not, counts the frame as dropped. Call it before
 * decrypting. */
bool lft_engine_fresh(struct lft_engine *engine, uint64_t counter);
/* Returns the buffer into which the caller must decrypt DATA frames and copies of them; it may decrypt other frames
 * anywhere. The engine still owns the buffer, and the next call may return the same one. NULL: memory is short; the
 * engine counts a dropped frame, and the caller drops it. */
struct lft_buffer *lft_engine_rx_buffer(struct lft_engine *engine);
/* Takes an authentic frame. If it is DATA or a copy, frame->payload points into the buffer that lft_engine_rx_buffer
 * returned. */
void lft_engine_receive(struct lft_engine *engine, uint64_t now_ns, const struct lft_frame *frame);

/* For the search for the path MTU. The next poll sends a PROBE of `payload` octets. After the peer's answer
 * lft_engine_probe_reply returns the size of the PROBE once; at all other times it returns 0. */
void lft_engine_probe(struct lft_engine *engine, uint32_t payload);
uint32_t lft_engine_probe_reply(struct lft_engine *engine);
/* lft_engine_close makes the next polls send CLOSE three times. lft_engine_closed returns the result code of the peer's
 * CLOSE, or 0 while none has arrived. */
void lft_engine_close(struct lft_engine *engine, unsigned result);
unsigned lft_engine_closed(const struct lft_engine *engine);

struct lft_pool *lft_engine_rx_pool(struct lft_engine *engine);
const struct lft_engine_counters *lft_engine_counters(const struct lft_engine *engine);
void lft_engine_state(const struct lft_engine *engine, uint64_t now_ns, struct lft_engine_state *state);

#endif
