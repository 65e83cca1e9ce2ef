/* Implements pairs.h. */
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_PACKETS = 3 }; /* so many packets identify a pair; each is in one connection only, in both captures */

/* False when the SYNs differ: then it is another connection between the same ports. */
static bool same_connection(const struct pl_flow *a, const struct pl_flow *b, bool flipped)
{
    for (int i = 0; i < 2; i++) {
        const struct pl_side *x = &a->side[i], *y = &b->side[i ^ flipped];
        if (x->syn && y->syn && x->base != y->base)
            return false;
    }
    return true;
}

/* Where several of the sender's flows claim one receiver's flow, the newest gets it. */
static void claim(struct pl_pair *pairs, uint32_t *owners, uint32_t flow, struct pl_pair pair)
{
    if (owners[pair.other] != UINT32_MAX)
        pairs[owners[pair.other]] = (struct pl_pair){.other = UINT32_MAX};
    owners[pair.other] = flow;
    pairs[flow] = pair;
}

static void find_by_addresses(const struct pl_survey surveys[2], struct pl_pair *pairs, uint32_t *owners)
{
    const struct pl_flows *sender = &surveys[0].index.flows, *receiver = &surveys[1].index.flows;
    for (uint32_t i = 0; i < sender->n; i++) {
        struct pl_pair pair = {.found = PL_BY_ADDRESSES};
        pair.other = pl_flows_lookup(receiver, &sender->at[i], &pair.flipped);
        while (pair.other != UINT32_MAX && !same_connection(&sender->at[i], &receiver->at[pair.other], pair.flipped))
            pair.other = pl_flows_older(receiver, pair.other, &sender->at[i], &pair.flipped); /* used again */
        if (pair.other != UINT32_MAX)
            claim(pairs, owners, i, pair);
    }
}

/* A flow without a pair, and the key to find it by: both initial sequence numbers, or the hash of a packet. */
struct candidate {
    uint64_t key;
    uint32_t flow;
    uint8_t dir; /* of the packet */
};

typedef PL_VECTOR(struct candidate) candidates;

static int by_key(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static void sort(candidates *list)
{
    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_key);
}

static size_t equal(const candidates *list, size_t i)
{
    size_t n = 1;
    while (i + n < list->n && list->at[i].key == list->at[i + n].key)
        n++;
    return n;
}

typedef void both_have(void *context, const struct candidate *sender, const struct candidate *receiver);

/* Calls `found` for each key that occurs exactly once in each list. */
static void meet(candidates lists[2], both_have *found, void *context)
{
    sort(&lists[0]);
    sort(&lists[1]);
    for (size_t i = 0, j = 0; i < lists[0].n && j < lists[1].n;) {
        int order = by_key(&lists[0].at[i], &lists[1].at[j]);
        size_t n = order <= 0 ? equal(&lists[0], i) : 0, m = order >= 0 ? equal(&lists[1], j) : 0;
        if (n == 1 && m == 1)
            found(context, &lists[0].at[i], &lists[1].at[j]);
        i += n;
        j += m;
    }
}

struct search {
    const struct pl_survey *surveys; /* [2] */
    struct pl_pair *pairs;
    uint32_t *owners; /* maps a flow of the receiver's capture to one of the sender's */
    struct vote *votes;
};

/* A candidate for a flow's pair, found by majority vote over its packets (Boyer and Moore), and the surplus of its
 * votes. */
struct vote {
    uint32_t other, lead;
    bool flipped;
};

static bool is_open(const struct search *search, int end, uint32_t flow)
{
    return end == 0 ? search->pairs[flow].other == UINT32_MAX : search->owners[flow] == UINT32_MAX;
}

static void found_numbers(void *context, const struct candidate *sender, const struct candidate *receiver)
{
    const struct search *search = context;
    claim(search->pairs, search->owners, sender->flow,
          (struct pl_pair){.other = receiver->flow, .found = PL_BY_NUMBERS});
}

static void found_packet(void *context, const struct candidate *sender, const struct candidate *receiver)
{
    const struct search *search = context;
    struct vote *vote = &search->votes[sender->flow];
    bool flipped = sender->dir != receiver->dir;
    if (vote->lead && (vote->other != receiver->flow || vote->flipped != flipped)) {
        vote->lead--;
        return;
    }
    vote->other = receiver->flow;
    vote->flipped = flipped;
    vote->lead++;
}

/* With both SYNs, the key is the initial sequence numbers of sides 0 and 1. These sides are the same in both
 * captures. */
static int collect_numbers(const struct search *search, candidates lists[2])
{
    for (int end = 0; end < 2; end++)
        for (uint32_t i = 0; i < search->surveys[end].index.flows.n; i++) {
            const struct pl_side *side = search->surveys[end].index.flows.at[i].side;
            struct candidate candidate = {.key = (uint64_t)side[0].base << 32 | side[1].base, .flow = i};
            if (side[0].syn && side[1].syn && is_open(search, end, i) && PL_APPEND(&lists[end], candidate) < 0)
                return -1;
        }
    return 0;
}

static int collect_packets(const struct search *search, candidates lists[2])
{
    uint64_t mask = search->surveys[0].samples.mask | search->surveys[1].samples.mask;
    for (int end = 0; end < 2; end++)
        for (size_t i = 0; i < search->surveys[end].samples.list.n; i++) {
            const struct pl_clock_sample *sample = &search->surveys[end].samples.list.at[i];
            struct candidate candidate = {.key = sample->key, .flow = sample->flow, .dir = sample->dir};
            if (!(sample->key & mask) && is_open(search, end, sample->flow) && PL_APPEND(&lists[end], candidate) < 0)
                return -1;
        }
    return 0;
}

static void count_votes(struct search *search)
{
    const struct pl_flows *sender = &search->surveys[0].index.flows, *receiver = &search->surveys[1].index.flows;
    for (uint32_t i = 0; i < sender->n; i++) {
        const struct vote *vote = &search->votes[i];
        if (vote->lead >= LEAST_PACKETS && is_open(search, 1, vote->other) &&
            same_connection(&sender->at[i], &receiver->at[vote->other], vote->flipped))
            claim(search->pairs, search->owners, i, (struct pl_pair){vote->other, vote->flipped, PL_BY_PACKETS});
    }
}

/* Pairs connections whose addresses or ports differ. Returns 0, or -1 without memory. */
static int find_translated(struct search *search)
{
    candidates numbers[2] = {{.n = 0}, {.n = 0}}, packets[2] = {{.n = 0}, {.n = 0}};
    int result = collect_numbers(search, numbers);
    if (result == 0)
        meet(numbers, found_numbers, search);
    search->votes = calloc((size_t)search->surveys[0].index.flows.n + 1, sizeof *search->votes);
    if (result == 0)
        result = search->votes ? collect_packets(search, packets) : -1;
    if (result == 0) {
        meet(packets, found_packet, search);
        count_votes(search);
    }
    for (int end = 0; end < 2; end++) {
        free(numbers[end].at);
        free(packets[end].at);
    }
    free(search->votes);
    return result;
}

struct pl_pair *pl_pairs_find(const struct pl_survey surveys[2])
{
    uint32_t n = surveys[0].index.flows.n, others = surveys[1].index.flows.n;
    struct pl_pair *pairs = calloc((size_t)n + 1, sizeof *pairs);
    uint32_t *owners = malloc(((size_t)others + 1) * sizeof *owners);
    struct search search = {.surveys = surveys, .pairs = pairs, .owners = owners};
    int result = pairs && owners ? 0 : -1;
    if (result == 0) {
        for (uint32_t i = 0; i < n; i++)
            pairs[i].other = UINT32_MAX;
        memset(owners, 0xff, ((size_t)others + 1) * sizeof *owners);
        find_by_addresses(surveys, pairs, owners);
        result = find_translated(&search);
    }
    free(owners);
    if (result == 0)
        return pairs;
    free(pairs);
    return NULL;
}

bool pl_pairs_rewritten(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped)
{
    unsigned same = 0, other = 0;
    bool as_many = true;
    for (int i = 0; i < 2; i++) {
        const struct pl_side *x = &sender->side[i], *y = &receiver->side[i ^ flipped];
        if (!x->syn || !y->syn)
            return false;
        same += x->base == y->base;
        other += x->base != y->base;
        as_many = as_many && x->bytes == y->bytes;
    }
    return other && (same || (as_many && sender->side[0].bytes + sender->side[1].bytes > 0));
}
