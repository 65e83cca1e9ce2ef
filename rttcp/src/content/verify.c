#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "digest.h"

/* This many octets are checked and then digested at a time, while they are in the L1 or L2 cache. */
#define CACHED ((size_t)32 << 10)

struct rttcp_verify *rttcp_verify_create(uint64_t seed, uint64_t stream)
{
    struct rttcp_verify *verify = calloc(1, sizeof *verify);
    if (!verify)
        return NULL;
    verify->pattern = rttcp_pattern_create(seed, stream);
    verify->digest = XXH3_createState();
    if (verify->digest && XXH3_128bits_reset(verify->digest) == XXH_OK)
        return verify;
    rttcp_verify_release(verify);
    return NULL;
}

void rttcp_verify_release(struct rttcp_verify *verify)
{
    if (verify)
        XXH3_freeState(verify->digest);
    free(verify);
}

void rttcp_verify_sent(struct rttcp_verify *verify, const uint8_t *data, size_t size)
{
    rttcp_digest_update(verify->digest, data, size);
}

static void excerpt(const uint8_t *data, size_t size, char *out)
{
    for (size_t i = 0; i < RTTCP_EXCERPT_OCTETS && i < size; i++)
        snprintf(out + 2 * i, 3, "%02x", data[i]);
}

static void note_mismatch(struct rttcp_verify *verify, uint64_t offset, const uint8_t *data, size_t size)
{
    uint8_t wanted[RTTCP_EXCERPT_OCTETS];
    struct rttcp_mismatch *mismatch = &verify->mismatch;
    if (mismatch->found)
        return;
    mismatch->found = true;
    mismatch->offset = offset;
    rttcp_pattern_fill(&verify->pattern, offset, wanted, sizeof wanted);
    excerpt(wanted, sizeof wanted, mismatch->expected);
    excerpt(data, size, mismatch->got);
}

void rttcp_verify_received(struct rttcp_verify *verify, uint64_t offset, const uint8_t *data, size_t size)
{
    bool bad = false;
    for (size_t done = 0, n; done < size; done += n) {
        n = size - done < CACHED ? size - done : CACHED;
        size_t same = rttcp_pattern_check(&verify->pattern, offset + done, data + done, n);
        rttcp_digest_update(verify->digest, data + done, n);
        if (same < n)
            note_mismatch(verify, offset + done + same, data + done + same, size - done - same);
        bad |= same < n;
    }
    verify->bad_reads += bad;
}

void rttcp_verify_digest(const struct rttcp_verify *verify, char out[RTTCP_DIGEST_TEXT])
{
    XXH128_hash_t hash = XXH3_128bits_digest(verify->digest);
    snprintf(out, RTTCP_DIGEST_TEXT, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}
