/* The first octets of a data connection with a key: only the right token of the right stream lets a connection in. */
#include "check.h"
#include "join.h"

static struct rttcp_join_key key = {.wanted = true};

static enum rttcp_join check(const uint8_t *octets, size_t n)
{
    return rttcp_join_check(&key, 258, octets, octets + n);
}

/* The value is Python's hmac.new(bytes(range(32)), b"rttcp\n\x01\x02", "sha256"). */
static void the_token_is_hmac_sha256_over_the_stream(void)
{
    static const uint8_t token[] = {0xa0, 0x9e, 0x62, 0xe4, 0x41, 0x18, 0x03, 0xc3, 0xa2, 0x83, 0x9f,
                                    0xdf, 0x38, 0xa6, 0x89, 0x25, 0xb5, 0x56, 0x3e, 0x43, 0x3f, 0xca,
                                    0x93, 0x09, 0xa4, 0x48, 0x66, 0x6b, 0x17, 0x27, 0x37, 0x85};
    uint8_t octets[RTTCP_JOIN_OCTETS];
    rttcp_join_encode(&key, 258, octets);
    CHECK(memcmp(octets, "rttcp\n\x01\x02", 8) == 0);
    CHECK(memcmp(octets + 8, token, sizeof token) == 0);
    CHECK_EQ(check(octets, sizeof octets), JOIN_VALID);
}

static void a_part_may_become_a_token(void)
{
    uint8_t octets[RTTCP_JOIN_OCTETS + 100] = {0}; /* data after the token make no difference */
    rttcp_join_encode(&key, 258, octets);
    for (size_t n = 0; n < RTTCP_JOIN_OCTETS; n++)
        CHECK_EQ(check(octets, n), JOIN_PART);
    CHECK_EQ(check(octets, sizeof octets), JOIN_VALID);
}

static void one_wrong_bit_anywhere_is_a_wrong_token(void)
{
    uint8_t octets[RTTCP_JOIN_OCTETS];
    for (size_t bit = 0; bit < 8 * sizeof octets; bit++) {
        rttcp_join_encode(&key, 258, octets);
        octets[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_EQ(check(octets, sizeof octets), JOIN_INVALID);
    }
    rttcp_join_encode(&key, 258, octets);
    octets[0] ^= 1;
    CHECK_EQ(check(octets, 1), JOIN_INVALID); /* the token is kept only when it is complete */
}

static void another_session_or_stream_has_another_token(void)
{
    uint8_t octets[RTTCP_JOIN_OCTETS];
    struct rttcp_join_key other = key;
    other.octets[31] ^= 1;
    rttcp_join_encode(&other, 258, octets);
    CHECK_EQ(check(octets, sizeof octets), JOIN_INVALID);
    rttcp_join_encode(&key, 259, octets);
    CHECK_EQ(check(octets, sizeof octets), JOIN_INVALID);
}

int main(void)
{
    for (uint8_t i = 0; i < sizeof key.octets; i++)
        key.octets[i] = i;
    RUN(the_token_is_hmac_sha256_over_the_stream);
    RUN(a_part_may_become_a_token);
    RUN(one_wrong_bit_anywhere_is_a_wrong_token);
    RUN(another_session_or_stream_has_another_token);
    return 0;
}
