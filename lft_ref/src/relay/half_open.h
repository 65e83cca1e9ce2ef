/* Connections that are not yet established, by who asks for them. Their number is limited. When the limit is reached a
 * new one takes the place of another: the oldest of the source that has the most. So one source that asks for many
 * silent destinations takes the places of its own, and all others connect as ever. Everything takes O(1) time.
 * A source is an IPv4 address or an IPv6 network of 64 bits. A far gateway does not know the clients of its peer's
 * proxies; these are one source.
 * Rejected: turning new ones away at the limit; eight silent destinations a second would then keep everybody out for as
 * long as a connect may take, two minutes. A fixed share for each source; it is too little for one behind which there
 * are many hosts, and too much against a thousand sources. */
#ifndef LFT_HALF_OPEN_H
#define LFT_HALF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct half_open_source;
/* A part of its owner. source NULL: it is not counted. */
struct half_open_entry {
    struct half_open_entry *older, *newer; /* of the same source */
    struct half_open_source *source;
};

enum { HALF_OPEN_KEY = 9 };
struct half_open_key {
    uint8_t at[HALF_OPEN_KEY];
};
/* `family` is 4 or 6, and any other for a source that is not known; `address` is in network order. */
struct half_open_key half_open_key(unsigned family, const uint8_t address[16]);

struct half_open;
struct half_open *half_open_create(size_t most); /* NULL: no memory */
void half_open_destroy(struct half_open *half_open);
size_t half_open_count(const struct half_open *half_open);
/* Whose place a new one has to take; NULL: there is room. */
struct half_open_entry *half_open_victim(const struct half_open *half_open);
/* False: no memory. There must be room. */
bool half_open_add(struct half_open *half_open, struct half_open_entry *entry, const struct half_open_key *key);
void half_open_remove(struct half_open *half_open, struct half_open_entry *entry); /* nothing if it is not counted */

#endif
