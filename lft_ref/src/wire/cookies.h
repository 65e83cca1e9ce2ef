/* Keeps a responder's load and state bounded while strangers replay recorded messages.
 *
 * A cookie is a MAC over the sender's address under a secret of this process that is replaced every minute. It is sent
 * sealed, so an INIT that shows it (mac2) was made by a holder of the key, at that address, within two minutes.
 *
 * An observer without the key can only repeat INITs that he has recorded. So INITs are counted by their mac1: each is
 * looked at LFT_SEEN_MOST times a minute at most, and answers to INITs seen before come out of another budget than
 * answers to new ones, as do answers to INITs with an old timestamp. Recorded INITs therefore use up budgets that a new
 * INIT does not need. Copies that claim the peer's own address are counted apart: their answers go to the peer. Each
 * INIT has a counter in each of LFT_SEEN_ROWS rows, and the least of them counts (a count-min sketch). With one row,
 * 600 recordings held up a genuine INIT for 20 s once in 100 times, because it shared a counter with one of them. With
 * four, 10,000 recordings do so twice in a million times.
 *
 * Whoever sees an INIT can send its copies before it arrives. So an INIT with too many copies is still looked at when
 * it comes from an address from which it has come less than LFT_PAIR_MOST times in this second: the answers to copies
 * from elsewhere go elsewhere, and the answers to copies that claim its own address go to its sender. These pairs are
 * counted by a MAC over address and mac1, or an observer could choose addresses that share a counter with the sender's.
 * Rejected: pairs alone. The addresses that an observer can claim are so many that all counters would overflow within a
 * minute, those of genuine INITs included; here they matter only for INITs that he has copied. No more than
 * LFT_PAIRS_PER_SECOND are looked at on account of their address. A stale INIT beyond the dozen is a recording, or that
 * of an initiator whose clock was set back. Its counters are set to LFT_SEEN_STALE, and its copies have a smaller share
 * of their own, LFT_STALE_PAIRS_PER_SECOND: a flood of recordings uses up that one and costs no more than mac1.
 *
 * Rejected: a budget for each source address after the cookie, as WireGuard has it. An observer who repeats INITs under
 * the peer's address would use up the peer's budget; and every message that he can replay has an old timestamp, which
 * is cheaper to detect than a Diffie-Hellman exchange. */
#ifndef LFT_COOKIES_H
#define LFT_COOKIES_H

#include "primitives.h"

enum {
    LFT_COOKIE_BYTES = 16,
    LFT_SEEN_ROWS = LFT_MAC_BYTES / 4,
    LFT_SEEN_SLOTS = 1 << 18,    /* in a row */
    LFT_SEEN_MOST = 12,          /* copies of one INIT that are looked at in a minute */
    LFT_SEEN_STALE = UINT8_MAX,  /* for ever: timestamps only increase */
    LFT_PAIR_MOST = 2,           /* and beyond those, copies per second from each address */
    LFT_PAIRS_PER_SECOND = 5000, /* from all addresses */
    LFT_STALE_PAIRS_PER_SECOND = 500,
    LFT_ANSWERS_PER_SECOND = 500, /* answers a second from each of the four budgets */
    LFT_LOAD_PER_SECOND = 100,    /* INITs with a good mac1; above it an INIT must show a cookie */
};

struct lft_cookies {
    uint8_t secret[2][LFT_HASH_BYTES]; /* the present one and the one before */
    uint64_t secret_ns, second, inits; /* INITs in this second */
    uint64_t budget_ns[2][2];          /* [stale][seen before]: when this budget would be full again */
    /* since secret_ns, [from the peer's address][row][by four octets of mac1] */
    uint8_t (*seen)[LFT_SEEN_ROWS][LFT_SEEN_SLOTS];
    /* in this second, [row][by four octets of the MAC over address and mac1] */
    uint8_t (*pairs)[LFT_SEEN_SLOTS];
    unsigned pairs_n[2]; /* INITs examined in this second: [known as stale] */
};

bool lft_cookies_init(struct lft_cookies *cookies, uint64_t now_ns); /* false: no memory */
void lft_cookies_free(struct lft_cookies *cookies);
/* Replaces the secret and forgets what was seen when the minute is over. To be called for every INIT. */
void lft_cookies_turn(struct lft_cookies *cookies, uint64_t now_ns);

/* The cookie for an address; `secret` 0: the present one, 1: the one before. */
void lft_cookie_make(const struct lft_cookies *cookies, unsigned secret, struct lft_hmac *hmac, struct lft_span address,
                     uint8_t cookie[LFT_COOKIE_BYTES]);

/* Counts an INIT by its mac1. Returns how many copies came before it in this minute. */
unsigned lft_cookies_count(struct lft_cookies *cookies, const uint8_t mac1[LFT_MAC_BYTES], bool from_peer,
                           uint64_t now_ns);
/* This INIT is stale. */
void lft_cookies_stale(struct lft_cookies *cookies, const uint8_t mac1[LFT_MAC_BYTES], bool from_peer);
/* Counts an INIT by mac1 and address, and says whether it may be looked at on that account. `stale`: it is known as
 * stale. */
bool lft_cookies_pair(struct lft_cookies *cookies, struct lft_hmac *hmac, const uint8_t mac1[LFT_MAC_BYTES],
                      struct lft_span address, bool stale);
/* True when more INITs arrive than a peer sends, so that an INIT must prove its address. */
bool lft_cookies_load(const struct lft_cookies *cookies);
/* Takes one answer from its budget. False: the budget is used up. */
bool lft_cookies_may_answer(struct lft_cookies *cookies, bool stale, bool seen, uint64_t now_ns);

#endif
