/* Bounds a responder's load and state while attackers replay recorded messages.
 *
 * A cookie is a MAC over the sender's address under a secret of this process that is replaced every minute. It is sent
 * sealed, so an INIT that proves the cookie (mac2) was made by a holder of the key, at that address, at most two
 * minutes ago.
 *
 * An observer without the key can only repeat INITs that it has recorded. So INITs are counted by their mac1: each is
 * examined at most LFT_SEEN_MOST times a minute. Answers to INITs seen before and answers to INITs with an old
 * timestamp have budgets of their own. Recorded INITs therefore use up budgets that a new INIT does not need. Copies
 * that claim the peer's own address are counted separately, because their answers go to the peer. Each INIT has a
 * counter in each of LFT_SEEN_ROWS rows, and the smallest of them counts (a count-min sketch). With one row, 600
 * recordings delayed a genuine INIT by 20 s in 1 of 100 trials, because it shared a counter with one of them. With four
 * rows, 10,000 recordings do so in 2 of a million.
 *
 * An attacker who sees an INIT can send copies of it before the INIT itself arrives. So an INIT with too many copies is
 * still examined if it has come from its address fewer than LFT_PAIR_MOST times in this second: answers to copies from
 * other addresses go to those addresses, and answers to copies that claim the sender's address go to the sender. Pairs
 * of address and mac1 are counted by a MAC over both; otherwise an observer could choose addresses that share a counter
 * with the sender's. At most LFT_PAIRS_PER_SECOND INITs are examined because of their pair.
 * Rejected: counting pairs only. An observer can claim so many addresses that all counters would overflow within a
 * minute, including the counters of genuine INITs; here pairs matter only for INITs that were copied.
 * An INIT that is stale and has come more than LFT_SEEN_MOST times is a recording, or comes from an initiator whose
 * clock was set back. Its counters are set to LFT_SEEN_STALE, and its copies have a smaller limit of their own,
 * LFT_STALE_PAIRS_PER_SECOND: beyond that limit a flood of recordings costs no more than checking mac1.
 *
 * Rejected: a budget for each source address after the cookie, as WireGuard has it. An observer who repeats INITs under
 * the peer's address would use up the peer's budget; and every message that can be replayed has an old timestamp, which
 * is cheaper to detect than a Diffie-Hellman exchange. */
#ifndef LFT_COOKIES_H
#define LFT_COOKIES_H

#include "primitives.h"

enum {
    LFT_COOKIE_BYTES = 16,
    LFT_SEEN_ROWS = LFT_MAC_BYTES / 4,
    LFT_SEEN_SLOTS = 1 << 18,    /* in a row */
    LFT_SEEN_MOST = 12,          /* how many copies of one INIT are examined in a minute */
    LFT_SEEN_STALE = UINT8_MAX,  /* for ever: timestamps only increase */
    LFT_PAIR_MOST = 2,           /* beyond LFT_SEEN_MOST: how many copies are examined per second from each address */
    LFT_PAIRS_PER_SECOND = 5000, /* from all addresses */
    LFT_STALE_PAIRS_PER_SECOND = 500,
    LFT_ANSWERS_PER_SECOND = 500, /* each of the four budgets allows this many answers per second */
    LFT_LOAD_PER_SECOND = 100,    /* above this rate of INITs with a valid mac1, an INIT must prove a cookie */
};

struct lft_cookies {
    uint8_t secret[2][LFT_HASH_BYTES]; /* the current secret and the previous one */
    uint64_t secret_ns, second, inits; /* INITs in this second */
    uint64_t budget_ns[2][2];          /* [stale][seen before]: when this budget would be full again */
    /* counts since secret_ns: [from the peer's address][row][four octets of mac1] */
    uint8_t (*seen)[LFT_SEEN_ROWS][LFT_SEEN_SLOTS];
    /* counts in this second: [row][four octets of the MAC over address and mac1] */
    uint8_t (*pairs)[LFT_SEEN_SLOTS];
    unsigned pairs_n[2]; /* how many INITs were examined because of their pair in this second: [known to be stale] */
};

bool lft_cookies_init(struct lft_cookies *cookies, uint64_t now_ns); /* false: no memory */
void lft_cookies_free(struct lft_cookies *cookies);
/* When the minute is over, replaces the secret and clears the counters. Call it for every INIT. */
void lft_cookies_turn(struct lft_cookies *cookies, uint64_t now_ns);

/* Makes the cookie for an address, under the current secret (`secret` 0) or the previous one (1). */
void lft_cookie_make(const struct lft_cookies *cookies, unsigned secret, struct lft_hmac *hmac, struct lft_span address,
                     uint8_t cookie[LFT_COOKIE_BYTES]);

/* Counts an INIT by its mac1. Returns how many copies arrived before it in this minute. */
unsigned lft_cookies_count(struct lft_cookies *cookies, const uint8_t mac1[LFT_MAC_BYTES], bool from_peer,
                           uint64_t now_ns);
/* This INIT is stale. */
void lft_cookies_stale(struct lft_cookies *cookies, const uint8_t mac1[LFT_MAC_BYTES], bool from_peer);
/* Counts an INIT by mac1 and address, and returns whether it may be examined because of that pair. `stale`: the INIT is
 * known to be stale. */
bool lft_cookies_pair(struct lft_cookies *cookies, struct lft_hmac *hmac, const uint8_t mac1[LFT_MAC_BYTES],
                      struct lft_span address, bool stale);
/* True when more INITs arrive than a peer sends, so that an INIT must prove its address. */
bool lft_cookies_load(const struct lft_cookies *cookies);
/* Takes one answer from its budget. False: the budget is used up. */
bool lft_cookies_may_answer(struct lft_cookies *cookies, bool stale, bool seen, uint64_t now_ns);

#endif
