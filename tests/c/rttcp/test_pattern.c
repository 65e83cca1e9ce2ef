/* The content of --verify: any piece at an offset is always the same, errors are found at their offset, and nothing
 * repeats. */
#include "check.h"
#include "verify.h"

#define SIZE 5000

static uint8_t whole[SIZE], piece[SIZE];

static void pieces_are_the_whole(void)
{
    struct rttcp_pattern pattern = rttcp_pattern_create(42, 3);
    rttcp_pattern_fill(&pattern, 1000, whole, SIZE);
    for (size_t from = 0; from < 20; from++)
        for (size_t size = 0; size < 70; size++) {
            rttcp_pattern_fill(&pattern, 1000 + from, piece, size);
            CHECK(memcmp(piece, whole + from, size) == 0);
            CHECK_EQ(rttcp_pattern_check(&pattern, 1000 + from, whole + from, size), size);
        }
}

/* A second, slow implementation of "Content" in PROTOCOL.md; the vectorised one must give the same. */
static void content_is_as_specified(void)
{
    struct rttcp_pattern pattern = rttcp_pattern_create(42, 3);
    rttcp_pattern_fill(&pattern, 0, whole, SIZE);
    for (uint64_t i = 0; i < SIZE / 8; i++) {
        uint64_t a = pattern.start + i * UINT64_C(0xa0761d6478bd642f);
        for (int round = 0; round < 3; round++) {
            uint64_t p = (uint64_t)(uint32_t)a * UINT64_C(0xd256d193);
            a = (p << 32 | p >> 32) ^ (a >> 32) ^ pattern.k;
        }
        for (unsigned j = 0; j < 8; j++)
            CHECK_EQ(whole[8 * i + j], (uint8_t)(a >> 8 * j));
    }
}

static void a_flipped_bit_is_found_where_it_is(void)
{
    struct rttcp_pattern pattern = rttcp_pattern_create(1, 0);
    for (size_t at = 0; at < SIZE; at += 7) {
        uint64_t offset = 3 + at * 1000003;
        rttcp_pattern_fill(&pattern, offset, whole, SIZE);
        whole[at] ^= (uint8_t)(1 << at % 8);
        CHECK_EQ(rttcp_pattern_check(&pattern, offset, whole, SIZE), at);
    }
}

static void streams_seeds_and_offsets_differ(void)
{
    struct rttcp_pattern a = rttcp_pattern_create(1, 0),
                         others[] = {rttcp_pattern_create(1, 1), rttcp_pattern_create(2, 0)};
    rttcp_pattern_fill(&a, 0, whole, SIZE);
    for (size_t i = 0; i < 2; i++) {
        rttcp_pattern_fill(&others[i], 0, piece, SIZE);
        CHECK(memcmp(whole, piece, SIZE) != 0);
    }
    /* a piece that is repeated, shifted or duplicated must be wrong at once */
    CHECK(rttcp_pattern_check(&a, 8, whole, SIZE) < 8);
    CHECK(rttcp_pattern_check(&a, UINT64_C(1) << 40, whole, SIZE) < 8);
}

/* In 2^20 octets each value occurs 4096 times on average, with a standard deviation of 64 (binomial). A bound of 6
 * deviations for 256 values fails for one seed in two million, and this seed is fixed. */
static void octets_are_evenly_spread(void)
{
    static uint8_t much[1 << 20];
    uint64_t count[256] = {0};
    struct rttcp_pattern pattern = rttcp_pattern_create(7, 7);
    rttcp_pattern_fill(&pattern, 0, much, sizeof much);
    for (size_t i = 0; i < sizeof much; i++)
        count[much[i]]++;
    for (size_t i = 0; i < 256; i++)
        CHECK(count[i] > 4096 - 6 * 64 && count[i] < 4096 + 6 * 64);
}

static void the_first_mismatch_is_kept_and_digests_agree(void)
{
    char sent[RTTCP_DIGEST_TEXT], got[RTTCP_DIGEST_TEXT];
    struct rttcp_verify *sender = rttcp_verify_create(9, 1), *receiver = rttcp_verify_create(9, 1);
    rttcp_pattern_fill(&sender->pattern, 0, whole, SIZE);
    rttcp_verify_sent(sender, whole, SIZE);
    rttcp_verify_received(receiver, 0, whole, 1234);
    rttcp_verify_received(receiver, 1234, whole + 1234, SIZE - 1234);
    rttcp_verify_digest(sender, sent);
    rttcp_verify_digest(receiver, got);
    CHECK_STR(sent, got);
    CHECK(!receiver->mismatch.found);
    rttcp_pattern_fill(&sender->pattern, SIZE, whole, SIZE);
    whole[100] ^= 1;
    whole[200] ^= 1;
    rttcp_verify_received(receiver, SIZE, whole, 150);
    rttcp_verify_received(receiver, SIZE + 150, whole + 150, SIZE - 150);
    CHECK(receiver->mismatch.found);
    CHECK_EQ(receiver->mismatch.offset, SIZE + 100);
    CHECK_EQ(receiver->bad_reads, 2);
    CHECK(strncmp(receiver->mismatch.expected, receiver->mismatch.got, 2) != 0);
    CHECK(strcmp(receiver->mismatch.expected + 2, receiver->mismatch.got + 2) == 0);
    rttcp_verify_release(sender);
    rttcp_verify_release(receiver);
}

int main(void)
{
    RUN(pieces_are_the_whole);
    RUN(content_is_as_specified);
    RUN(a_flipped_bit_is_found_where_it_is);
    RUN(streams_seeds_and_offsets_differ);
    RUN(octets_are_evenly_spread);
    RUN(the_first_mismatch_is_kept_and_digests_agree);
    return 0;
}
