#include "pattern.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "pattern_words.h"

#define WORD sizeof(uint64_t)
/* Content is compared in blocks of this many octets; only a block that differs is searched for the wrong octet. */
#define BLOCK 4096

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
    return (struct rttcp_pattern){.start = start, .k = splitmix64(&state)};
}

static inline uint64_t word_at(uint64_t a, uint64_t k)
{
    for (int round = 0; round < RTTCP_WORD_ROUNDS; round++) {
        uint64_t product = (a & UINT32_MAX) * RTTCP_WORD_FACTOR;
        a = (product >> 32 | product << 32) ^ a >> 32 ^ k;
    }
    return htole64(a);
}

static bool vectors(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

static void fill_words(uint64_t a, uint64_t k, uint8_t *out, size_t words)
{
    size_t done = vectors() ? rttcp_words_fill_avx2(a, k, out, words) : 0;
    for (a += done * RTTCP_WORD_STEP; done < words; done++, a += RTTCP_WORD_STEP) {
        uint64_t word = word_at(a, k);
        memcpy(out + done * WORD, &word, WORD);
    }
}

static bool same_words(uint64_t a, uint64_t k, const uint8_t *data, size_t words)
{
    uint64_t differs = 0;
    size_t done = vectors() ? rttcp_words_compare_avx2(a, k, data, words, &differs) : 0;
    for (a += done * RTTCP_WORD_STEP; done < words; done++, a += RTTCP_WORD_STEP) {
        uint64_t word;
        memcpy(&word, data + done * WORD, WORD);
        differs |= word ^ word_at(a, k);
    }
    return differs == 0;
}

/* Writes part of one word: its octets from `offset` on, at most `size`. Returns their number. */
static size_t part_of_word(const struct rttcp_pattern *pattern, uint64_t offset, uint8_t *out, size_t size)
{
    size_t from = offset % WORD, n = WORD - from < size ? WORD - from : size;
    uint64_t word = word_at(pattern->start + offset / WORD * RTTCP_WORD_STEP, pattern->k);
    memcpy(out, (const uint8_t *)&word + from, n);
    return n;
}

void rttcp_pattern_fill(const struct rttcp_pattern *pattern, uint64_t offset, uint8_t *out, size_t size)
{
    size_t done = offset % WORD ? part_of_word(pattern, offset, out, size) : 0;
    size_t words = (size - done) / WORD;
    fill_words(pattern->start + (offset + done) / WORD * RTTCP_WORD_STEP, pattern->k, out + done, words);
    done += words * WORD;
    if (done < size)
        part_of_word(pattern, offset + done, out + done, size - done);
}

/* Compares octet by octet: for data that are not whole words, or are known to differ. */
static size_t check_closely(const struct rttcp_pattern *pattern, uint64_t offset, const uint8_t *data, size_t size)
{
    uint8_t wanted[BLOCK];
    size_t same = 0;
    rttcp_pattern_fill(pattern, offset, wanted, size);
    while (same < size && data[same] == wanted[same])
        same++;
    return same;
}

/* Returns how many of `left` octets to compare next: first up to a word boundary, then whole words up to a block
 * boundary, then the rest. */
static size_t next_part(uint64_t at, size_t left)
{
    if (at % WORD)
        return WORD - at % WORD < left ? WORD - at % WORD : left;
    size_t block = BLOCK - at % BLOCK, words = left / WORD * WORD;
    return left < WORD ? left : block < words ? block : words;
}

size_t rttcp_pattern_check(const struct rttcp_pattern *pattern, uint64_t offset, const uint8_t *data, size_t size)
{
    for (size_t done = 0, n; done < size; done += n) {
        uint64_t at = offset + done;
        n = next_part(at, size - done);
        uint64_t word = pattern->start + at / WORD * RTTCP_WORD_STEP;
        if (n % WORD == 0 && same_words(word, pattern->k, data + done, n / WORD))
            continue;
        size_t same = check_closely(pattern, at, data + done, n);
        if (same < n)
            return done + same;
    }
    return size;
}
