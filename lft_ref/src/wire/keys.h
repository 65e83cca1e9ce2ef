/* The key schedule of FORMAT.md: the keys derived from the pre-shared key and from a finished handshake. */
#ifndef LFT_KEYS_H
#define LFT_KEYS_H

#include "crypto.h"
#include "primitives.h"

enum { LFT_PSK_BYTES = 32, LFT_TEXT_MIN = 16, LFT_TEXT_MAX = 1024, LFT_GATEWAY_NAME_MAX = 64 };

/* Both gateways' names, the initiator's first, each preceded by its length in one octet. */
struct lft_names {
    uint8_t n, at[2 * (1 + LFT_GATEWAY_NAME_MAX)];
};
/* Fills in `names`. A name is a text of at most LFT_GATEWAY_NAME_MAX octets; NULL is the empty name. */
void lft_names_make(struct lft_names *names, const char *initiator, const char *responder);

/* Derives the pre-shared key from a text of LFT_TEXT_MIN to LFT_TEXT_MAX octets, which takes a third of a second.
 * False: no memory. */
bool lft_psk_of_text(const void *text, size_t n, const struct lft_names *names, uint8_t psk[LFT_PSK_BYTES]);

/* Derives the keys of mac1 and of COOKIE. */
void lft_handshake_keys(const uint8_t psk[LFT_PSK_BYTES], const struct lft_names *names, uint8_t mac1[LFT_SECRET_BYTES],
                        uint8_t cookie[LFT_SECRET_BYTES]);
/* Derives the key block of one direction from the Noise transport key of that direction. */
void lft_frame_block(const uint8_t transport[LFT_SECRET_BYTES], enum lft_cipher cipher, uint8_t block[LFT_KEY_BLOCK]);

#endif
