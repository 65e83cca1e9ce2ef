#include "half_open.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A source is in one chain of the hash, and in the list of those that have as many. */
struct half_open_source {
    struct half_open_source *hash_next;
    struct half_open_source *previous, *next;
    struct half_open_entry *oldest, *newest;
    size_t n;
    struct half_open_key key;
};

struct level {
    struct half_open_source *first, *last; /* first: the one that has come to this number first */
};

struct half_open {
    size_t most, n, heaviest; /* heaviest: the highest level that is not empty */
    size_t buckets_n;
    struct half_open_source **buckets;
    struct level *levels; /* by number of entries, 0 to `most` */
};

struct half_open_key half_open_key(unsigned family, const uint8_t address[16])
{
    struct half_open_key key = {{0}};
    if (family != 4 && family != 6)
        return key;
    key.at[0] = (uint8_t)family;
    memcpy(key.at + 1, address, family == 4 ? 4 : 8);
    return key;
}

struct half_open *half_open_create(size_t most)
{
    struct half_open *half_open = calloc(1, sizeof *half_open);
    if (!half_open)
        return NULL;
    half_open->most = most;
    half_open->buckets_n = most + 1;
    half_open->buckets = calloc(half_open->buckets_n, sizeof(struct half_open_source *));
    half_open->levels = calloc(most + 1, sizeof *half_open->levels);
    if (half_open->buckets && half_open->levels)
        return half_open;
    half_open_destroy(half_open);
    return NULL;
}

void half_open_destroy(struct half_open *half_open)
{
    if (!half_open)
        return;
    assert(!half_open->n);
    free(half_open->buckets);
    free(half_open->levels);
    free(half_open);
}

size_t half_open_count(const struct half_open *half_open)
{
    return half_open->n;
}

static struct half_open_source **bucket(const struct half_open *half_open, const struct half_open_key *key)
{
    uint64_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < HALF_OPEN_KEY; i++)
        hash = (hash ^ key->at[i]) * 16777619u;
    return &half_open->buckets[hash % half_open->buckets_n];
}

/* --- levels --- */

static void leave_level(struct half_open *half_open, struct half_open_source *source)
{
    struct level *level = &half_open->levels[source->n];
    *(source->previous ? &source->previous->next : &level->first) = source->next;
    *(source->next ? &source->next->previous : &level->last) = source->previous;
}

static void enter_level(struct half_open *half_open, struct half_open_source *source, size_t n)
{
    struct level *level = &half_open->levels[n];
    source->n = n;
    source->previous = level->last;
    source->next = NULL;
    *(level->last ? &level->last->next : &level->first) = source;
    level->last = source;
    if (n > half_open->heaviest)
        half_open->heaviest = n;
}

/* A level changes by one, so the heaviest does, too. */
static void move_level(struct half_open *half_open, struct half_open_source *source, size_t n)
{
    leave_level(half_open, source);
    enter_level(half_open, source, n);
    if (!half_open->levels[half_open->heaviest].first)
        half_open->heaviest--;
}

/* --- sources --- */

static struct half_open_source *source_of(struct half_open *half_open, const struct half_open_key *key)
{
    struct half_open_source **at = bucket(half_open, key), *source = *at;
    while (source && memcmp(&source->key, key, sizeof *key) != 0)
        source = source->hash_next;
    if (source)
        return source;
    source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->key = *key;
    source->hash_next = *at;
    *at = source;
    enter_level(half_open, source, 0);
    return source;
}

static void forget_source(struct half_open *half_open, struct half_open_source *source)
{
    struct half_open_source **at = bucket(half_open, &source->key);
    while (*at != source)
        at = &(*at)->hash_next;
    *at = source->hash_next;
    leave_level(half_open, source);
    free(source);
}

/* --- entries --- */

struct half_open_entry *half_open_victim(const struct half_open *half_open)
{
    return half_open->n < half_open->most ? NULL : half_open->levels[half_open->heaviest].first->oldest;
}

bool half_open_add(struct half_open *half_open, struct half_open_entry *entry, const struct half_open_key *key)
{
    assert(half_open->n < half_open->most);
    struct half_open_source *source = source_of(half_open, key);
    if (!source)
        return false;
    *entry = (struct half_open_entry){.older = source->newest, .source = source};
    *(source->newest ? &source->newest->newer : &source->oldest) = entry;
    source->newest = entry;
    move_level(half_open, source, source->n + 1);
    half_open->n++;
    return true;
}

void half_open_remove(struct half_open *half_open, struct half_open_entry *entry)
{
    struct half_open_source *source = entry->source;
    if (!source)
        return;
    *(entry->older ? &entry->older->newer : &source->oldest) = entry->newer;
    *(entry->newer ? &entry->newer->older : &source->newest) = entry->older;
    entry->source = NULL;
    move_level(half_open, source, source->n - 1);
    half_open->n--;
    if (!source->n)
        forget_source(half_open, source);
}
