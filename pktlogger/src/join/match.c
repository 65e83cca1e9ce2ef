/* Implements match.h, which has the rules. */
#include "match.h"

#include <stdlib.h>

#include "sort.h"
#include "vector.h"

typedef PL_VECTOR(struct pl_piece *) piece_list;

/* A later delay may be smaller than the smallest so far, by this share of it. A sender never sends a copy within a
 * quarter of a one-way delay after the previous copy. */
enum { SLACK = 4 };

enum pass { BY_TOKEN, LONE, REST };

struct matcher {
    int64_t min_delay_ns;      /* smallest delay of certain pairs; INT64_MAX: no such pair yet */
    piece_list sent, received; /* scratch memory: the unmatched pieces with one start */
};

static int by_start_token_time(const void *left, const void *right)
{
    const struct pl_piece *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->token != b->token)
        return a->token < b->token ? -1 : 1;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static int by_time(const void *left, const void *right)
{
    const struct pl_piece *a = *(struct pl_piece *const *)left, *b = *(struct pl_piece *const *)right;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static void pair(struct pl_piece *sent, struct pl_piece *received)
{
    sent->match = received->owner;
    received->match = sent->owner;
}

/* Pairs two lists, both in order of time. */
static void pair_lists(const piece_list *sent, const piece_list *received, int64_t least_ns)
{
    if (received->n >= sent->n) {
        for (size_t s = 0, r = 0; s < sent->n && r < received->n; r++)
            if (received->at[r]->t_ns - sent->at[s]->t_ns >= least_ns)
                pair(sent->at[s++], received->at[r]);
    } else {
        for (size_t s = sent->n, r = received->n; s > 0 && r > 0; s--)
            if (received->at[r - 1]->t_ns - sent->at[s - 1]->t_ns >= least_ns)
                pair(sent->at[s - 1], received->at[--r]);
    }
}

static int collect(piece_list *list, struct pl_piece *pieces, size_t n)
{
    list->n = 0;
    for (size_t i = 0; i < n; i++)
        if (pieces[i].match == PL_UNMATCHED && PL_APPEND(list, &pieces[i]) < 0)
            return -1;
    return 0;
}

static void note_delays(struct matcher *matcher, const piece_list *sent, const struct pl_piece *received)
{
    for (size_t i = 0; i < sent->n; i++)
        if (sent->at[i]->match == received->owner && received->t_ns - sent->at[i]->t_ns < matcher->min_delay_ns)
            matcher->min_delay_ns = received->t_ns - sent->at[i]->t_ns;
}

/* Skips arrivals that the network duplicated: more pieces with one token arrived than were sent. The sender did not
 * send these copies. */
static void leave_out_duplicates(const struct matcher *matcher)
{
    for (size_t i = 0; i < matcher->sent.n; i++)
        if (matcher->sent.at[i]->match == PL_UNMATCHED)
            return;
    for (size_t i = 0; i < matcher->received.n; i++)
        if (matcher->received.at[i]->match == PL_UNMATCHED)
            matcher->received.at[i]->match = matcher->sent.at[0]->owner;
}

/* The same, faster, for groups of one sent and one received piece, as most groups are. */
static void pair_single(struct matcher *matcher, struct pl_piece *sent, struct pl_piece *received, int64_t least_ns)
{
    int64_t delay_ns = received->t_ns - sent->t_ns;
    if (sent->match != PL_UNMATCHED || received->match != PL_UNMATCHED || delay_ns < least_ns)
        return;
    pair(sent, received);
    matcher->min_delay_ns = delay_ns < matcher->min_delay_ns ? delay_ns : matcher->min_delay_ns;
}

/* Pairs the unmatched pieces of a group, which have the same start. One sent and one received piece are a certain
 * pair. */
static int pair_group(struct matcher *matcher, struct pl_piece *sent, size_t sent_n, struct pl_piece *received,
                      size_t received_n, int64_t least_ns, enum pass pass)
{
    if (collect(&matcher->sent, sent, sent_n) < 0 || collect(&matcher->received, received, received_n) < 0)
        return -1;
    if (pass == REST && matcher->sent.n > 1)
        qsort(matcher->sent.at, matcher->sent.n, sizeof *matcher->sent.at, by_time);
    if (pass == REST && matcher->received.n > 1)
        qsort(matcher->received.at, matcher->received.n, sizeof *matcher->received.at, by_time);
    pair_lists(&matcher->sent, &matcher->received, least_ns);
    if (pass == BY_TOKEN)
        leave_out_duplicates(matcher);
    if (matcher->sent.n == 1 && matcher->received.n == 1)
        note_delays(matcher, &matcher->sent, matcher->received.at[0]);
    return 0;
}

/* The number of pieces from `pieces` on that have the same start and, with `token`, the same token. */
static size_t run_length(const struct pl_piece *pieces, size_t n, bool token)
{
    size_t i = 1;
    while (i < n && pieces[i].start == pieces[0].start && (!token || pieces[i].token == pieces[0].token))
        i++;
    return i;
}

static int order(const struct pl_piece *a, const struct pl_piece *b, bool token)
{
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return !token || a->token == b->token ? 0 : a->token < b->token ? -1 : 1;
}

static int walk(struct matcher *matcher, enum pass pass, struct pl_piece *sent, size_t sent_n,
                struct pl_piece *received, size_t received_n)
{
    bool token = pass == BY_TOKEN;
    int64_t least_ns =
        pass == REST && matcher->min_delay_ns != INT64_MAX ? matcher->min_delay_ns - matcher->min_delay_ns / SLACK : 0;
    while (sent_n && received_n) {
        int which = order(sent, received, token);
        /* skips the pieces of the lower side only, so each piece is visited once */
        size_t s = which <= 0 ? run_length(sent, sent_n, token) : 0;
        size_t r = which >= 0 ? run_length(received, received_n, token) : 0;
        if (which == 0 && s == 1 && r == 1)
            pair_single(matcher, sent, received, least_ns);
        else if (which == 0 && pass != LONE)
            if (pair_group(matcher, sent, s, received, r, least_ns, pass) < 0)
                return -1;
        sent += s, sent_n -= s;
        received += r, received_n -= r;
    }
    return 0;
}

static int prepare(struct pl_piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pieces[i].match = PL_UNMATCHED;
    return pl_sort(pieces, n, sizeof *pieces, by_start_token_time);
}

int pl_match(struct pl_piece *sent, size_t sent_n, struct pl_piece *received, size_t received_n, bool tokens,
             int64_t *min_delay_ns)
{
    struct matcher matcher = {.min_delay_ns = *min_delay_ns};
    int result = prepare(sent, sent_n) < 0 || prepare(received, received_n) < 0 ? -1 : 0;
    if (result == 0 && tokens)
        result = walk(&matcher, BY_TOKEN, sent, sent_n, received, received_n);
    if (result == 0)
        result = walk(&matcher, LONE, sent, sent_n, received, received_n);
    if (result == 0)
        result = walk(&matcher, REST, sent, sent_n, received, received_n);
    *min_delay_ns = matcher.min_delay_ns;
    free(matcher.sent.at);
    free(matcher.received.at);
    return result;
}
