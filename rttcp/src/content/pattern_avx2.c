/* Makes four words of the content at a time; compiled with -mavx2 (CMakeLists.txt). Rejected: the compiler's
 * vectoriser. It multiplies 64 by 64 bits, although 32 bits are enough here. */
#include "pattern_words.h"

#ifdef __AVX2__
#include <immintrin.h>

enum { LANES = 4 };

struct lanes {
    __m256i a, k, step;
};

static struct lanes lanes_from(uint64_t a, uint64_t k)
{
    const uint64_t step = RTTCP_WORD_STEP;
    return (struct lanes){
        .a = _mm256_set_epi64x((long long)(a + 3 * step), (long long)(a + 2 * step), (long long)(a + step),
                               (long long)a),
        .k = _mm256_set1_epi64x((long long)k),
        .step = _mm256_set1_epi64x((long long)(LANES * step)),
    };
}

static inline __m256i next_words(struct lanes *lanes)
{
    const __m256i factor = _mm256_set1_epi64x((long long)RTTCP_WORD_FACTOR);
    __m256i x = lanes->a;
    lanes->a = _mm256_add_epi64(lanes->a, lanes->step);
#pragma GCC unroll 3
    for (int round = 0; round < RTTCP_WORD_ROUNDS; round++) {
        __m256i exchanged = _mm256_shuffle_epi32(_mm256_mul_epu32(x, factor), 0xb1); /* halves of every word */
        x = _mm256_xor_si256(_mm256_xor_si256(exchanged, _mm256_srli_epi64(x, 32)), lanes->k);
    }
    return x;
}

size_t rttcp_words_fill_avx2(uint64_t a, uint64_t k, uint8_t *out, size_t words)
{
    struct lanes lanes = lanes_from(a, k);
    size_t done = 0;
#pragma GCC unroll 4
    for (; done + LANES <= words; done += LANES)
        _mm256_storeu_si256((__m256i *)(void *)(out + done * sizeof(uint64_t)), next_words(&lanes));
    return done;
}

size_t rttcp_words_compare_avx2(uint64_t a, uint64_t k, const uint8_t *data, size_t words, uint64_t *differs)
{
    struct lanes lanes = lanes_from(a, k);
    __m256i wrong = _mm256_setzero_si256();
    size_t done = 0;
#pragma GCC unroll 4
    for (; done + LANES <= words; done += LANES) {
        __m256i got = _mm256_loadu_si256((const __m256i *)(const void *)(data + done * sizeof(uint64_t)));
        wrong = _mm256_or_si256(wrong, _mm256_xor_si256(got, next_words(&lanes)));
    }
    *differs |= !_mm256_testz_si256(wrong, wrong);
    return done;
}
#else
size_t rttcp_words_fill_avx2(uint64_t a, uint64_t k, uint8_t *out, size_t words)
{
    (void)a, (void)k, (void)out, (void)words;
    return 0;
}

size_t rttcp_words_compare_avx2(uint64_t a, uint64_t k, const uint8_t *data, size_t words, uint64_t *differs)
{
    (void)a, (void)k, (void)data, (void)words, (void)differs;
    return 0;
}
#endif
