/* Makes many words of the content at a time; pattern.h defines them. Only pattern.c uses this header. */
#ifndef RTTCP_PATTERN_WORDS_H
#define RTTCP_PATTERN_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define RTTCP_WORD_STEP UINT64_C(0xa0761d6478bd642f) /* odd */
#define RTTCP_WORD_FACTOR UINT64_C(0xd256d193)       /* Philox-2x32's */
enum { RTTCP_WORD_ROUNDS = 3 };

/* Make or compare the words from `a` on, as many of `words` as fill whole vectors. Both return that number, which is 0
 * on other architectures. Call them only on a processor that has AVX2. `compare` makes *differs nonzero when a word
 * differs from `data`. */
size_t rttcp_words_fill_avx2(uint64_t a, uint64_t k, uint8_t *out, size_t words);
size_t rttcp_words_compare_avx2(uint64_t a, uint64_t k, const uint8_t *data, size_t words, uint64_t *differs);

#endif
