/* An observer repeats recorded INITs all the time. New INITs must still be answered. */
#include "cookies.h"

#include "../seeded.h"
#include "check.h"
#include "nc_clock.h"

enum { RECORDINGS = 10000, NEW = 5000 };

static void draw(struct seeded *seeded, uint8_t mac1[LFT_MAC_BYTES])
{
    for (size_t i = 0; i < LFT_MAC_BYTES; i++)
        mac1[i] = (uint8_t)seeded_next(seeded);
}

/* By chance, two new INITs in a million share their counters with recorded ones. More than one in 5,000 has a
 * probability of 5 in 100,000. */
static void recordings_are_not_taken_for_new_inits(void)
{
    struct seeded seeded = seeded_start();
    struct lft_cookies cookies;
    CHECK(lft_cookies_init(&cookies, NC_NS_PER_S));
    for (unsigned i = 0; i < RECORDINGS; i++) {
        uint8_t mac1[LFT_MAC_BYTES];
        draw(&seeded, mac1);
        for (unsigned copy = 0; copy < 2 * LFT_SEEN_MOST; copy++)
            CHECK(lft_cookies_count(&cookies, mac1, false, NC_NS_PER_S) >= copy);
    }
    unsigned mistaken = 0;
    for (unsigned i = 0; i < NEW; i++) {
        uint8_t mac1[LFT_MAC_BYTES];
        draw(&seeded, mac1);
        mistaken += lft_cookies_count(&cookies, mac1, false, NC_NS_PER_S) > 0;
    }
    printf("%u of %u new INITs taken for copies\n", mistaken, NEW);
    CHECK(mistaken <= 1);
    lft_cookies_free(&cookies);
}

int main(void)
{
    recordings_are_not_taken_for_new_inits();
    return 0;
}
