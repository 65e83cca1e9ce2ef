#include "join.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define HEAD 8
#define TOKEN (RTTCP_JOIN_OCTETS - HEAD)

void rttcp_join_encode(const struct rttcp_join_key *key, uint64_t stream, uint8_t out[RTTCP_JOIN_OCTETS])
{
    assert(key->wanted && stream <= UINT16_MAX);
    unsigned int size = TOKEN;
    memcpy(out, "rttcp\n", 6);
    out[6] = (uint8_t)(stream >> 8);
    out[7] = (uint8_t)stream;
    if (!HMAC(EVP_sha256(), key->octets, sizeof key->octets, out, HEAD, out + HEAD, &size))
        abort(); /* only without memory */
}

enum rttcp_join rttcp_join_check(const struct rttcp_join_key *key, uint64_t stream, const uint8_t *at,
                                 const uint8_t *end)
{
    uint8_t wanted[RTTCP_JOIN_OCTETS];
    size_t octets = (size_t)(end - at);
    rttcp_join_encode(key, stream, wanted);
    if (octets == 0)
        return JOIN_PART;
    if (octets < HEAD)
        return memcmp(at, wanted, octets) == 0 ? JOIN_PART : JOIN_INVALID;
    if (memcmp(at, wanted, HEAD) != 0)
        return JOIN_INVALID;
    if (octets < RTTCP_JOIN_OCTETS)
        return JOIN_PART;
    return CRYPTO_memcmp(at + HEAD, wanted + HEAD, TOKEN) == 0 ? JOIN_VALID : JOIN_INVALID;
}
