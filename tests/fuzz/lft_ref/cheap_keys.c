/* Stand-ins for OpenSSL's key exchange and key derivation, in the targets that run handshakes. The real functions took
 * half of the time, and the octets of an input hardly affect them. In fuzz builds the linker replaces the real ones
 * (--wrap); the replay of the corpus in every test run uses the real ones. As with these, equal inputs give equal keys
 * at both ends, and a point of zeros is refused. */
#include <string.h>

#include "primitives.h"

void __wrap_lft_dh_public(const uint8_t private[LFT_DH_BYTES], uint8_t public[LFT_DH_BYTES]);
bool __wrap_lft_dh(const uint8_t private[LFT_DH_BYTES], const uint8_t peer[LFT_DH_BYTES], uint8_t shared[LFT_DH_BYTES]);
void __wrap_lft_hkdf(struct lft_span salt, struct lft_span key, struct lft_span info, uint8_t *out, size_t out_n);
void __wrap_lft_hkdf_expand(const uint8_t prk[LFT_HASH_BYTES], struct lft_span info, uint8_t *out, size_t out_n);

enum { G = 0x5a };

void __wrap_lft_dh_public(const uint8_t private[LFT_DH_BYTES], uint8_t public[LFT_DH_BYTES])
{
    for (size_t i = 0; i < LFT_DH_BYTES; i++)
        public[i] = private[i] ^ G;
}

bool __wrap_lft_dh(const uint8_t private[LFT_DH_BYTES], const uint8_t peer[LFT_DH_BYTES], uint8_t shared[LFT_DH_BYTES])
{
    static const uint8_t zeros[LFT_DH_BYTES];
    if (memcmp(peer, zeros, sizeof zeros) == 0)
        return false;
    for (size_t i = 0; i < LFT_DH_BYTES; i++)
        shared[i] = private[i] ^ peer[i];
    return true;
}

static uint64_t mix(uint64_t state, struct lft_span span)
{
    state ^= span.n;
    for (size_t i = 0; i < span.n; i++)
        state = (state ^ ((const uint8_t *)span.at)[i]) * UINT64_C(0x100000001b3);
    return state;
}

void __wrap_lft_hkdf(struct lft_span salt, struct lft_span key, struct lft_span info, uint8_t *out, size_t out_n)
{
    uint64_t state = mix(mix(mix(UINT64_C(0xcbf29ce484222325), salt), key), info);
    for (size_t i = 0; i < out_n; i++) {
        state = state * UINT64_C(0x5851f42d4c957f2d) + 1;
        out[i] = (uint8_t)(state >> 56);
    }
}

void __wrap_lft_hkdf_expand(const uint8_t prk[LFT_HASH_BYTES], struct lft_span info, uint8_t *out, size_t out_n)
{
    __wrap_lft_hkdf((struct lft_span){"", 0}, (struct lft_span){prk, LFT_HASH_BYTES}, info, out, out_n);
}
