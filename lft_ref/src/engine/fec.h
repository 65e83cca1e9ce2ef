/* The sliding-window erasure code of FORMAT.md over DATA payloads: Cauchy coefficients in GF(2^8), arithmetic by
 * ISA-L. The sender's and the receiver's half are independent. Numbers are the engine's 64-bit numbers. Only the
 * strategy `fec` uses this code, so it costs the others nothing. */
#ifndef LFT_FEC_H
#define LFT_FEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"

struct lft_fec_tx;
struct lft_fec_tx *lft_fec_tx_create(size_t payload_max);
void lft_fec_tx_destroy(struct lft_fec_tx *fec);
/* Takes a fresh DATA frame into the window. */
void lft_fec_tx_data(struct lft_fec_tx *fec, uint64_t number, const uint8_t *payload, size_t length);
/* Writes the payload of a REPAIR that covers the frames in the window, at most LFT_FEC_WINDOW_MAX of them. *number
 * becomes the first number that it covers. Returns the payload's length; 0: the window is empty. */
size_t lft_fec_tx_repair(struct lft_fec_tx *fec, uint8_t *at, uint64_t *number);

struct lft_fec_rx;
typedef void (*lft_fec_found)(void *user, uint64_t number, const uint8_t *payload, size_t length);
struct lft_fec_rx *lft_fec_rx_create(size_t payload_max, struct lft_pool *pool, lft_fec_found found, void *user);
void lft_fec_rx_destroy(struct lft_fec_rx *fec);
/* Takes a DATA frame that has arrived. It holds the frame's buffer as long as a repair may need it. */
void lft_fec_rx_data(struct lft_fec_rx *fec, uint64_t number, struct lft_buffer *buffer, const uint8_t *payload,
                     size_t length);
/* Takes a REPAIR and calls `found` for every payload that it recovers. False: malformed. */
bool lft_fec_rx_repair(struct lft_fec_rx *fec, uint64_t number, const uint8_t *at, size_t n);

#endif
