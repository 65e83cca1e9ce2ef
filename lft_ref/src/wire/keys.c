#include "keys.h"

#include <assert.h>
#include <string.h>

#define TEXT(literal) ((struct lft_span){literal, sizeof literal - 1})

static void add_name(struct lft_names *names, const char *name)
{
    size_t n = name ? strlen(name) : 0;
    assert(n <= LFT_GATEWAY_NAME_MAX);
    names->at[names->n++] = (uint8_t)n;
    if (n)
        memcpy(names->at + names->n, name, n);
    names->n = (uint8_t)(names->n + n);
}

void lft_names_make(struct lft_names *names, const char *initiator, const char *responder)
{
    names->n = 0;
    add_name(names, initiator);
    add_name(names, responder);
}

/* Writes `label`, then the names. Returns the length. */
static size_t labelled(const char *label, const struct lft_names *names, uint8_t out[16 + sizeof names->at])
{
    size_t n = strlen(label);
    memcpy(out, label, n);
    memcpy(out + n, names->at, names->n);
    return n + names->n;
}

bool lft_psk_of_text(const void *text, size_t n, const struct lft_names *names, uint8_t psk[LFT_PSK_BYTES])
{
    uint8_t salt[16 + sizeof names->at];
    assert(n >= LFT_TEXT_MIN && n <= LFT_TEXT_MAX);
    size_t salt_n = labelled("LFT 2 text", names, salt);
    return lft_stretch((struct lft_span){text, n}, (struct lft_span){salt, salt_n}, psk);
}

void lft_handshake_keys(const uint8_t psk[LFT_PSK_BYTES], const struct lft_names *names, uint8_t mac1[LFT_SECRET_BYTES],
                        uint8_t cookie[LFT_SECRET_BYTES])
{
    uint8_t info[16 + sizeof names->at];
    const struct lft_span key = {psk, LFT_PSK_BYTES};
    lft_hkdf(TEXT("LFT 2"), key, (struct lft_span){info, labelled("mac1", names, info)}, mac1, LFT_SECRET_BYTES);
    lft_hkdf(TEXT("LFT 2"), key, (struct lft_span){info, labelled("cookie", names, info)}, cookie, LFT_SECRET_BYTES);
}

void lft_frame_block(const uint8_t transport[LFT_SECRET_BYTES], enum lft_cipher cipher, uint8_t block[LFT_KEY_BLOCK])
{
    uint8_t info[13] = "LFT 2 frames";
    info[12] = (uint8_t)cipher;
    lft_hkdf_expand(transport, (struct lft_span){info, sizeof info}, block, LFT_KEY_BLOCK);
}
