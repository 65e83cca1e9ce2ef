/* The shared key: proofs agree only where key, challenges, role and parameters do. */
#include "auth.h"
#include "check.h"

static void proofs_depend_on_everything(void)
{
    static const struct rttcp_key key = {3, "abc"}, other = {3, "abd"};
    char first[RTTCP_PROOF_TEXT], again[RTTCP_PROOF_TEXT], proof[RTTCP_PROOF_TEXT];
    rttcp_auth_prove(&key, "sender", "s", "c", "{}", first);
    rttcp_auth_prove(&key, "sender", "s", "c", "{}", again);
    CHECK(rttcp_auth_same(first, again));
    CHECK_EQ(strlen(first), 64);
    static const char *const rows[][4] = {{"receiver", "s", "c", "{}"},
                                          {"sender", "t", "c", "{}"},
                                          {"sender", "s", "d", "{}"},
                                          {"sender", "s", "c", "{1}"}};
    for (size_t i = 0; i < 4; i++) {
        rttcp_auth_prove(&key, rows[i][0], rows[i][1], rows[i][2], rows[i][3], proof);
        CHECK(!rttcp_auth_same(first, proof));
    }
    rttcp_auth_prove(&other, "sender", "s", "c", "{}", proof);
    CHECK(!rttcp_auth_same(first, proof));
    CHECK(!rttcp_auth_same(first, ""));
}

static void one_wrong_character_is_a_wrong_proof(void)
{
    static const struct rttcp_key key = {3, "abc"};
    char proof[RTTCP_PROOF_TEXT], forged[RTTCP_PROOF_TEXT];
    rttcp_auth_prove(&key, "sender", "s", "c", "{}", proof);
    for (size_t i = 0; i < strlen(proof); i++) {
        memcpy(forged, proof, sizeof forged);
        forged[i] = forged[i] == '0' ? '1' : '0';
        CHECK(!rttcp_auth_same(proof, forged));
    }
}

/* RFC 4231 has no text with our separators; this value is from `openssl dgst -sha256 -hmac Jefe`. */
static void the_proof_is_hmac_sha256(void)
{
    static const struct rttcp_key key = {4, "Jefe"};
    char proof[RTTCP_PROOF_TEXT];
    rttcp_auth_prove(&key, "sender", "s", "c", "{}", proof);
    CHECK_STR(proof, "9a97cb4c98a87f7ed92aad60d3eb7296db5d6f2a4e5efe3e27378457bf70dbfb");
}

static void challenges_are_new(void)
{
    char a[RTTCP_CHALLENGE_TEXT], b[RTTCP_CHALLENGE_TEXT];
    rttcp_auth_challenge(a);
    rttcp_auth_challenge(b);
    CHECK_EQ(strlen(a), 32);
    CHECK(strcmp(a, b) != 0);
}

int main(void)
{
    RUN(proofs_depend_on_everything);
    RUN(one_wrong_character_is_a_wrong_proof);
    RUN(the_proof_is_hmac_sha256);
    RUN(challenges_are_new);
    return 0;
}
