/* The replay window (RFC 4303, 3.4.3): which of the last 65,536 counters have been received. Acknowledgement reports
 * are read from it too, because "has arrived" and "must not be accepted again" are the same fact. */
#ifndef LFT_REPLAY_H
#define LFT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

enum { LFT_REPLAY_BITS = 65536, LFT_REPLAY_WORDS = LFT_REPLAY_BITS / 64 };

struct lft_replay {
    uint64_t largest;                /* 0: none */
    uint64_t bits[LFT_REPLAY_WORDS]; /* a ring of words; counter c is bit c % 64 of word c / 64 */
};

/* True when the counter has not been marked and is not too old. Counter 0 is never sent and never fresh. */
bool lft_replay_fresh(const struct lft_replay *replay, uint64_t counter);
void lft_replay_mark(struct lft_replay *replay, uint64_t counter);
/* Returns which of the 64 counters below `top` have been received; the most significant bit is top - 1. Counters
 * outside the window read as 0. */
uint64_t lft_replay_word(const struct lft_replay *replay, uint64_t top);

#endif
