/* Fair sharing of a limited number of connections among sources. When the limit is reached, a new connection replaces
 * one of the source that has the most, or one of its own source if no other has more. So a source that opens many
 * connections evicts only its own, and others connect as before. Every operation takes O(1) time.
 *   - Connections that are not yet established (--half-open): the oldest of the busiest source makes room.
 *   - All connections (--sessions): one that has been idle for long makes room, if its source has more than the source
 *     of the new one; otherwise the new one is refused.
 * A source is an IPv4 address or an IPv6 network of 64 bits. A far gateway knows the clients of its peer's proxies only
 * by a number.
 * Rejected: turning new connections away at the limit. Eight connects a second to destinations that do not answer would
 * then lock everybody out for as long as a connect may take (two minutes), and idle connections would do so for a day.
 * Rejected: a fixed share for each source. It is too little for a source with many hosts behind it, and too much with a
 * thousand sources. */
#ifndef LFT_SHARES_H
#define LFT_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct share_source;
/* An entry, embedded in the object that is counted. `source` NULL: the object is not counted now. */
struct share_entry {
    struct share_entry *older, *newer; /* of the same source */
    struct share_source *source;
};

enum { SHARE_KEY = 9 };
struct share_key {
    uint8_t at[SHARE_KEY];
};
/* `address` is in network order. For a family other than 4 and 6 it is the two-octet number that the peer's proxy has
 * given a client; 0: the client is not known. */
struct share_key share_key(unsigned family, const uint8_t address[16]);
/* Makes the number of a proxy's client from the source of an entry. `secret` must be odd; without knowing it nobody can
 * choose sources with equal numbers. */
uint16_t shares_number(const struct share_entry *entry, uint64_t secret);

struct shares;
struct shares *shares_create(size_t most); /* NULL: no memory */
void shares_destroy(struct shares *shares);
size_t shares_count(const struct shares *shares);
/* The oldest entry of the busiest source, or of this key's source if no other has more entries. `shares` must not be
 * empty. */
struct share_entry *shares_oldest(const struct shares *shares, const struct share_key *key);
/* Returns the entry that a new entry of this source must replace; NULL: there is room. */
struct share_entry *shares_victim(const struct shares *shares, const struct share_key *key);
/* True when some source has more entries than this key's source. */
bool shares_has_heavier(const struct shares *shares, const struct share_key *key);
/* Makes an entry the newest of its source. */
void shares_renew(struct share_entry *entry);
/* Adds an entry; there must be room. False: no memory, which cannot happen while there is room. */
bool shares_add(struct shares *shares, struct share_entry *entry, const struct share_key *key);
void shares_remove(struct shares *shares, struct share_entry *entry); /* no effect on an entry that is not counted */

#endif
