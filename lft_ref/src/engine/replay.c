#include "replay.h"

#include <string.h>

static uint64_t *word_of(struct lft_replay *replay, uint64_t counter)
{
    return &replay->bits[counter / 64 % LFT_REPLAY_WORDS];
}

bool lft_replay_fresh(const struct lft_replay *replay, uint64_t counter)
{
    if (!counter)
        return false;
    if (counter > replay->largest)
        return true;
    /* The window is one word shorter than the ring, because the newest word overwrites the oldest. */
    if (counter / 64 + LFT_REPLAY_WORDS <= replay->largest / 64)
        return false;
    return !(replay->bits[counter / 64 % LFT_REPLAY_WORDS] >> (counter % 64) & 1);
}

void lft_replay_mark(struct lft_replay *replay, uint64_t counter)
{
    if (counter > replay->largest) {
        uint64_t from = replay->largest / 64 + 1, to = counter / 64;
        if (to - replay->largest / 64 >= LFT_REPLAY_WORDS)
            memset(replay->bits, 0, sizeof replay->bits);
        else
            for (uint64_t word = from; word <= to; word++)
                replay->bits[word % LFT_REPLAY_WORDS] = 0;
        replay->largest = counter;
    }
    *word_of(replay, counter) |= UINT64_C(1) << (counter % 64);
}

static uint64_t raw(const struct lft_replay *replay, uint64_t word)
{
    bool held = word <= replay->largest / 64 && word + LFT_REPLAY_WORDS > replay->largest / 64;
    return held ? replay->bits[word % LFT_REPLAY_WORDS] : 0;
}

uint64_t lft_replay_word(const struct lft_replay *replay, uint64_t top)
{
    uint64_t word = top / 64;
    unsigned shift = top % 64;
    uint64_t below = word ? raw(replay, word - 1) : 0;
    return shift ? raw(replay, word) << (64 - shift) | below >> shift : below;
}
