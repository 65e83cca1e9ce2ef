#include "noise.h"

#include <string.h>

static const char protocol[] = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

static void mix_hash(struct lft_noise *noise, struct lft_span data)
{
    const struct lft_span spans[2] = {{noise->hash, LFT_HASH_BYTES}, data};
    lft_hash(spans, 2, noise->hash);
}

/* HKDF of the framework: `n` outputs of 32 octets. This is HKDF of RFC 5869 with an empty info. */
static void derive(const struct lft_noise *noise, struct lft_span input, uint8_t *out, size_t n)
{
    lft_hkdf((struct lft_span){noise->chaining, LFT_HASH_BYTES}, input, (struct lft_span){"", 0}, out,
             n * LFT_HASH_BYTES);
}

static void mix_key(struct lft_noise *noise, struct lft_span input)
{
    uint8_t out[2 * LFT_HASH_BYTES];
    derive(noise, input, out, 2);
    memcpy(noise->chaining, out, LFT_HASH_BYTES);
    memcpy(noise->key, out + LFT_HASH_BYTES, LFT_SECRET_BYTES);
    lft_wipe(out, sizeof out);
}

static void mix_key_and_hash(struct lft_noise *noise, struct lft_span input)
{
    uint8_t out[3 * LFT_HASH_BYTES];
    derive(noise, input, out, 3);
    memcpy(noise->chaining, out, LFT_HASH_BYTES);
    mix_hash(noise, (struct lft_span){out + LFT_HASH_BYTES, LFT_HASH_BYTES});
    memcpy(noise->key, out + (size_t)2 * LFT_HASH_BYTES, LFT_SECRET_BYTES);
    lft_wipe(out, sizeof out);
}

void lft_noise_start(struct lft_noise *noise, const uint8_t psk[LFT_SECRET_BYTES], struct lft_span prologue)
{
    memset(noise, 0, sizeof *noise);
    lft_hash(&(struct lft_span){protocol, sizeof protocol - 1}, 1, noise->hash); /* longer than 32 octets: hashed */
    memcpy(noise->chaining, noise->hash, LFT_HASH_BYTES);
    mix_hash(noise, prologue);
    mix_key_and_hash(noise, (struct lft_span){psk, LFT_SECRET_BYTES});
}

/* Processes the token `e`. In a pattern with a psk the public key is mixed into both hash and key. */
static void mix_ephemeral(struct lft_noise *noise, const uint8_t *public)
{
    const struct lft_span span = {public, LFT_DH_BYTES};
    mix_hash(noise, span);
    mix_key(noise, span);
}

static void write_ephemeral(struct lft_noise *noise, const uint8_t *private, uint8_t *out)
{
    memcpy(noise->private, private, LFT_DH_BYTES);
    lft_dh_public(private, out);
    mix_ephemeral(noise, out);
}

static void read_ephemeral(struct lft_noise *noise, struct lft_span message)
{
    memcpy(noise->peer, message.at, LFT_DH_BYTES);
    mix_ephemeral(noise, noise->peer);
}

/* Token `ee`. */
static bool mix_shared(struct lft_noise *noise)
{
    uint8_t shared[LFT_DH_BYTES];
    bool good = lft_dh(noise->private, noise->peer, shared);
    if (good)
        mix_key(noise, (struct lft_span){shared, sizeof shared});
    lft_wipe(shared, sizeof shared);
    return good;
}

static void write_payload(struct lft_noise *noise, struct lft_span payload, uint8_t *out)
{
    lft_aead_seal(noise->key, (struct lft_span){noise->hash, LFT_HASH_BYTES}, payload, out);
    mix_hash(noise, (struct lft_span){out, payload.n + LFT_TAG_BYTES});
}

static bool read_payload(struct lft_noise *noise, struct lft_span message, uint8_t *payload)
{
    const struct lft_span sealed = {(const uint8_t *)message.at + LFT_DH_BYTES, message.n - LFT_DH_BYTES};
    if (!lft_aead_open(noise->key, (struct lft_span){noise->hash, LFT_HASH_BYTES}, sealed, payload))
        return false;
    mix_hash(noise, sealed);
    return true;
}

void lft_noise_write_1(struct lft_noise *noise, const uint8_t private[LFT_DH_BYTES], struct lft_span payload,
                       uint8_t *out)
{
    write_ephemeral(noise, private, out);
    write_payload(noise, payload, out + LFT_DH_BYTES);
}

bool lft_noise_read_1(struct lft_noise *noise, struct lft_span message, uint8_t *payload)
{
    if (message.n < LFT_NOISE_OVERHEAD)
        return false;
    read_ephemeral(noise, message);
    return read_payload(noise, message, payload);
}

bool lft_noise_write_2(struct lft_noise *noise, const uint8_t private[LFT_DH_BYTES], struct lft_span payload,
                       uint8_t *out)
{
    write_ephemeral(noise, private, out);
    if (!mix_shared(noise))
        return false;
    write_payload(noise, payload, out + LFT_DH_BYTES);
    return true;
}

bool lft_noise_read_2(struct lft_noise *noise, struct lft_span message, uint8_t *payload)
{
    struct lft_noise next = *noise;
    bool good = false;
    if (message.n >= LFT_NOISE_OVERHEAD) {
        read_ephemeral(&next, message);
        good = mix_shared(&next) && read_payload(&next, message, payload);
    }
    if (good)
        *noise = next;
    lft_wipe(&next, sizeof next);
    return good;
}

void lft_noise_split(const struct lft_noise *noise, uint8_t keys[2][LFT_SECRET_BYTES])
{
    derive(noise, (struct lft_span){"", 0}, keys[0], 2);
}
