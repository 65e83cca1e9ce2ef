#include "pattern.h"

#include <endian.h>
#include <string.h>

#define STEP UINT64_C(0xa0761d6478bd642f)
#define WORD sizeof(uint64_t)
#define BLOCK 4096 /* octets made at a time to compare with: they stay in the first-level cache */

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

struct rttcp_pattern rttcp_pattern_create(uint64_t seed, uint64_t stream)
{
    uint64_t state = seed, of_stream = stream ^ UINT64_C(0x5eed0f1995);
    state = splitmix64(&state) ^ splitmix64(&of_stream);
    uint64_t start = splitmix64(&state);
    return (struct rttcp_pattern){.start = start, .k = splitmix64(&state) | 1}; /* not 0: a × a has a pattern */
}

static inline uint64_t word_at(uint64_t a, uint64_t k)
{
    unsigned __int128 product = (unsigned __int128)a * (a ^ k);
    return htole64((uint64_t)product ^ (uint64_t)(product >> 64));
}

/* Part of one word: octets [from, from + size) of the word that holds `offset`. Returns how many. */
static size_t part_of_word(const struct rttcp_pattern *pattern, uint64_t offset, uint8_t *out, size_t size)
{
    size_t from = offset % WORD, n = WORD - from < size ? WORD - from : size;
    uint64_t word = word_at(pattern->start + offset / WORD * STEP, pattern->k);
    memcpy(out, (const uint8_t *)&word + from, n);
    return n;
}

void rttcp_pattern_fill(const struct rttcp_pattern *pattern, uint64_t offset, uint8_t *out, size_t size)
{
    size_t done = offset % WORD ? part_of_word(pattern, offset, out, size) : 0;
    uint64_t a = pattern->start + (offset + done) / WORD * STEP, k = pattern->k;
#pragma GCC unroll 8
    for (; done + WORD <= size; done += WORD, a += STEP) {
        uint64_t word = word_at(a, k);
        memcpy(out + done, &word, WORD);
    }
    if (done < size)
        part_of_word(pattern, offset + done, out + done, size - done);
}

static size_t first_difference(const uint8_t *a, const uint8_t *b, size_t size)
{
    size_t i = 0;
    while (i < size && a[i] == b[i])
        i++;
    return i;
}

size_t rttcp_pattern_check(const struct rttcp_pattern *pattern, uint64_t offset, const uint8_t *data, size_t size)
{
    uint8_t wanted[BLOCK];
    for (size_t done = 0, n; done < size; done += n) {
        n = BLOCK - (offset + done) % BLOCK; /* whole words but for the ends */
        n = n < size - done ? n : size - done;
        rttcp_pattern_fill(pattern, offset + done, wanted, n);
        if (memcmp(wanted, data + done, n) != 0)
            return done + first_difference(data + done, wanted, n);
    }
    return size;
}
