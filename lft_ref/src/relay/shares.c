#include "shares.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nc_slots.h"

/* A source is in one chain of the hash, and in the list of its level: the sources with the same number of entries. */
struct share_source {
    struct share_source *hash_next;
    struct share_source *previous, *next;
    struct share_entry *oldest, *newest;
    size_t n;
    struct share_key key;
};

struct level {
    struct share_source *first, *last; /* first: the source that has been at this level longest */
};

struct shares {
    size_t most, n, heaviest; /* heaviest: the highest level that is not empty */
    size_t buckets_n;
    struct share_source **buckets;
    struct level *levels; /* levels[n]: the sources that have n entries, n from 0 to `most` */
    struct nc_slots sources;
};

struct share_key share_key(unsigned family, const uint8_t address[16])
{
    struct share_key key = {{0}};
    bool known = family == 4 || family == 6;
    key.at[0] = known ? (uint8_t)family : 0;
    memcpy(key.at + 1, address, !known ? 2 : family == 4 ? 4 : 8);
    return key;
}

struct shares *shares_create(size_t most)
{
    struct shares *shares = calloc(1, sizeof *shares);
    if (!shares)
        return NULL;
    shares->most = most;
    shares->buckets_n = most + 1;
    shares->buckets = calloc(shares->buckets_n, sizeof(struct share_source *));
    shares->levels = calloc(most + 1, sizeof *shares->levels);
    bool sources = nc_slots_init(&shares->sources, sizeof(struct share_source), most) == 0;
    if (shares->buckets && shares->levels && sources)
        return shares;
    shares_destroy(shares);
    return NULL;
}

void shares_destroy(struct shares *shares)
{
    if (!shares)
        return;
    assert(!shares->n);
    free(shares->buckets);
    free(shares->levels);
    nc_slots_destroy(&shares->sources);
    free(shares);
}

size_t shares_count(const struct shares *shares)
{
    return shares->n;
}

static struct share_source **bucket(const struct shares *shares, const struct share_key *key)
{
    uint64_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < SHARE_KEY; i++)
        hash = (hash ^ key->at[i]) * 16777619u;
    return &shares->buckets[hash % shares->buckets_n];
}

/* --- levels --- */

static void leave_level(struct shares *shares, struct share_source *source)
{
    struct level *level = &shares->levels[source->n];
    *(source->previous ? &source->previous->next : &level->first) = source->next;
    *(source->next ? &source->next->previous : &level->last) = source->previous;
}

static void enter_level(struct shares *shares, struct share_source *source, size_t n)
{
    struct level *level = &shares->levels[n];
    source->n = n;
    source->previous = level->last;
    source->next = NULL;
    *(level->last ? &level->last->next : &level->first) = source;
    level->last = source;
    if (n > shares->heaviest)
        shares->heaviest = n;
}

/* A source's level changes by one, so the heaviest level changes by one at most. */
static void move_level(struct shares *shares, struct share_source *source, size_t n)
{
    leave_level(shares, source);
    enter_level(shares, source, n);
    if (!shares->levels[shares->heaviest].first)
        shares->heaviest--;
}

/* --- sources --- */

static struct share_source *find_source(const struct shares *shares, const struct share_key *key)
{
    struct share_source *source = *bucket(shares, key);
    while (source && memcmp(&source->key, key, sizeof *key) != 0)
        source = source->hash_next;
    return source;
}

static struct share_source *source_of(struct shares *shares, const struct share_key *key)
{
    struct share_source **at = bucket(shares, key), *source = find_source(shares, key);
    if (source)
        return source;
    source = nc_slots_take(&shares->sources);
    if (!source)
        return NULL;
    *source = (struct share_source){.key = *key, .hash_next = *at};
    *at = source;
    enter_level(shares, source, 0);
    return source;
}

static void forget_source(struct shares *shares, struct share_source *source)
{
    struct share_source **at = bucket(shares, &source->key);
    while (*at != source)
        at = &(*at)->hash_next;
    *at = source->hash_next;
    leave_level(shares, source);
    nc_slots_give(source);
}

/* --- entries --- */

struct share_entry *shares_oldest(const struct shares *shares, const struct share_key *key)
{
    const struct share_source *own = find_source(shares, key);
    return own && own->n == shares->heaviest ? own->oldest : shares->levels[shares->heaviest].first->oldest;
}

struct share_entry *shares_victim(const struct shares *shares, const struct share_key *key)
{
    return shares->n < shares->most ? NULL : shares_oldest(shares, key);
}

bool shares_has_heavier(const struct shares *shares, const struct share_key *key)
{
    const struct share_source *source = find_source(shares, key);
    return shares->heaviest > (source ? source->n : 0);
}

static void append(struct share_source *source, struct share_entry *entry)
{
    *entry = (struct share_entry){.older = source->newest, .source = source};
    *(source->newest ? &source->newest->newer : &source->oldest) = entry;
    source->newest = entry;
}

static void take_out(struct share_entry *entry)
{
    *(entry->older ? &entry->older->newer : &entry->source->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &entry->source->newest) = entry->older;
}

void shares_renew(struct share_entry *entry)
{
    take_out(entry);
    append(entry->source, entry);
}

bool shares_add(struct shares *shares, struct share_entry *entry, const struct share_key *key)
{
    assert(shares->n < shares->most);
    struct share_source *source = source_of(shares, key);
    if (!source)
        return false;
    append(source, entry);
    move_level(shares, source, source->n + 1);
    shares->n++;
    return true;
}

void shares_remove(struct shares *shares, struct share_entry *entry)
{
    struct share_source *source = entry->source;
    if (!source)
        return;
    take_out(entry);
    entry->source = NULL;
    move_level(shares, source, source->n - 1);
    shares->n--;
    if (!source->n)
        forget_source(shares, source);
}

/* Multiply-shift hashing. */
uint16_t shares_number(const struct share_entry *entry, uint64_t secret)
{
    uint64_t address;
    memcpy(&address, entry->source->key.at + 1, sizeof address);
    return (uint16_t)((address + entry->source->key.at[0] * UINT64_C(0x9e3779b97f4a7c15)) * secret >> 48);
}
