/* The replay window (RFC 4303, 3.4.3): which of the last 65,536 counters have been received. Acknowledgement reports are read from it:
 * what may not come again and what has arrived are the same fact. */
#ifndef LFT_REPLAY_H
#define LFT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

enum { LFT_REPLAY_BITS = 65536, LFT_REPLAY_WORDS = LFT_REPLAY_BITS / 64 };

struct lft_replay {
    uint64_t largest; /* 0: none */
    uint64_t bits[LFT_REPLAY_WORDS]; /* counter c: bit c % 64 of word c / 64, as a ring */
};

/* True: not seen before and not too old. Counter 0 is never sent. */
bool lft_replay_fresh(const struct lft_replay *replay, uint64_t counter);
void lft_replay_mark(struct lft_replay *replay, uint64_t counter);
/* 64 counters below `top`: most significant bit is top - 1. Counters outside the window read as 0. */
uint64_t lft_replay_word(const struct lft_replay *replay, uint64_t top);

#endif
