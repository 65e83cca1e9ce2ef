/* Pairing of pieces with the same start: which sent piece and which received piece belong together. And its speed on
 * hostile input. */
#include "match.h"

#include <time.h>

#include "check.h"

#define NO PL_UNMATCHED
enum { MAX = 6 };

struct row {
    const char *name;
    bool tokens;
    int sent_n, received_n;
    struct {
        int64_t t_ns;
        uint32_t token;
        uint64_t match;
    } sent[MAX];
    struct {
        int64_t t_ns;
        uint32_t token;
    } received[MAX];
};

static const struct row table[] = {
    {"one each", false, 1, 1, {{10, 0, 0}}, {{20, 0}}},
    {"received before it was sent: no", false, 1, 1, {{30, 0, NO}}, {{20, 0}}},
    {"token decides against order", true, 2, 1, {{10, 7, 0}, {11, 8, NO}}, {{100, 7}}},
    {"token decides for the copy", true, 2, 1, {{10, 7, NO}, {11, 8, 0}}, {{100, 8}}},
    {"without token the latest that fits", false, 2, 1, {{10, 0, NO}, {50, 0, 0}}, {{100, 0}}},
    {"the copy was sent too late", false, 2, 1, {{10, 0, 0}, {50, 0, NO}}, {{40, 0}}},
    {"both in order", false, 2, 2, {{10, 0, 0}, {50, 0, 1}}, {{40, 0}, {90, 0}}},
    {"duplicated in the network: the first", false, 1, 2, {{10, 0, 0}}, {{40, 0}, {41, 0}}},
    {"a token rewritten on the way", true, 1, 1, {{10, 7, 0}}, {{40, 9}}},
    {"a duplicate is not the lost copy", true, 2, 2, {{10, 7, NO}, {50, 8, 0}}, {{100, 8}, {101, 8}}},
    {"three sent, two received", false, 3, 2, {{10, 0, NO}, {50, 0, 0}, {90, 0, 1}}, {{60, 0}, {100, 0}}},
};

/* A block alone. */
static int match_once(struct pl_piece *sent, size_t sent_n, struct pl_piece *received, size_t received_n, bool tokens)
{
    int64_t min_delay_ns = INT64_MAX;
    return pl_match(sent, sent_n, received, received_n, tokens, &min_delay_ns);
}

static void rows_pair_as_said(void)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *row = &table[i];
        struct pl_piece sent[MAX], received[MAX];
        printf("   %s\n", row->name);
        for (int k = 0; k < row->sent_n; k++)
            sent[k] = (struct pl_piece){
                .start = 5, .t_ns = row->sent[k].t_ns, .token = row->sent[k].token, .owner = (uint64_t)k};
        for (int k = 0; k < row->received_n; k++)
            received[k] = (struct pl_piece){
                .start = 5, .t_ns = row->received[k].t_ns, .token = row->received[k].token, .owner = (uint64_t)k};
        CHECK_EQ(match_once(sent, (size_t)row->sent_n, received, (size_t)row->received_n, row->tokens), 0);
        for (int k = 0; k < row->sent_n; k++)
            CHECK_EQ(sent[k].match, row->sent[sent[k].owner].match);
    }
}

static void the_smallest_delay_of_certain_pairs_bounds_the_rest(void)
{
    struct pl_piece sent[] = {
        {.start = 1, .t_ns = 0}, {.start = 2, .t_ns = 0, .owner = 1}, {.start = 2, .t_ns = 95, .owner = 2}};
    struct pl_piece received[] = {{.start = 1, .t_ns = 50}, {.start = 2, .t_ns = 100, .owner = 1}};
    CHECK_EQ(match_once(sent, 3, received, 2, false), 0);
    CHECK_EQ(sent[1].match, 1); /* it would have arrived after 5 ns, which is too short, so this copy did not arrive */
    CHECK_EQ(sent[2].match, PL_UNMATCHED);
}

/* The smallest delay found in one block limits the pairs of the next block. */
static void the_smallest_delay_goes_from_block_to_block(void)
{
    int64_t min_delay_ns = INT64_MAX;
    struct pl_piece sent = {.start = 1, .t_ns = 0}, received = {.start = 1, .t_ns = 50};
    CHECK_EQ(pl_match(&sent, 1, &received, 1, false, &min_delay_ns), 0);
    CHECK_EQ(min_delay_ns, 50);
    struct pl_piece copies[] = {{.start = 2, .t_ns = 0, .owner = 1}, {.start = 2, .t_ns = 95, .owner = 2}};
    received = (struct pl_piece){.start = 2, .t_ns = 100};
    CHECK_EQ(pl_match(copies, 2, &received, 1, false, &min_delay_ns), 0);
    CHECK_EQ(copies[0].match, 0);
    CHECK_EQ(copies[1].match, PL_UNMATCHED);
}

/* A quadratic algorithm would take hours. */
static void hostile_groups_take_no_longer(void)
{
    enum { N = 400000 };
    struct pl_piece *sent = calloc(N, sizeof *sent), *received = calloc(N, sizeof *received);
    CHECK(sent && received);
    for (int shape = 0; shape < 3; shape++) {
        for (uint64_t i = 0; i < N; i++) {
            sent[i] = (struct pl_piece){
                .start = shape == 1 ? i : 9, .t_ns = (int64_t)i, .owner = i, .token = shape == 2 ? (uint32_t)i : 0};
            received[i] = (struct pl_piece){.start = shape == 1 ? N : 9,
                                            .t_ns = (int64_t)i + 1,
                                            .owner = i,
                                            .token = shape == 2 ? (uint32_t)i + 1 : 0};
        }
        CHECK_EQ(match_once(sent, N, received, N, true), 0);
    }
    free(sent);
    free(received);
}

int main(void)
{
    RUN(rows_pair_as_said);
    RUN(the_smallest_delay_of_certain_pairs_bounds_the_rest);
    RUN(the_smallest_delay_goes_from_block_to_block);
    RUN(hostile_groups_take_no_longer);
    return 0;
}
