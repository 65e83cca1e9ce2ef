#include "auth.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define KEY_MIN 16

int rttcp_key_read(struct rttcp_key *key, const char *path, struct nc_error *error)
{
    uint8_t octets[sizeof key->octets + 2];
    FILE *file = fopen(path, "rbe");
    if (!file)
        return nc_fail(error, NC_EXIT_USAGE, "--key '%s': %s", path, strerror(errno));
    size_t size = fread(octets, 1, sizeof octets, file);
    fclose(file);
    if (size && octets[size - 1] == '\n')
        size--;
    if (size < KEY_MIN || size > sizeof key->octets)
        return nc_fail(error, NC_EXIT_USAGE, "--key '%s': want %d to %zu octets; e.g. `openssl rand -hex 32 > FILE`",
                       path, KEY_MIN, sizeof key->octets);
    memcpy(key->octets, octets, size);
    key->size = size;
    return 0;
}

static void to_hex(const uint8_t *octets, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        snprintf(out + 2 * i, 3, "%02x", octets[i]);
}

void rttcp_auth_challenge(char out[RTTCP_CHALLENGE_TEXT])
{
    uint8_t random[16];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        abort(); /* never for 16 octets (getrandom(2)) */
    to_hex(random, sizeof random, out);
}

void rttcp_auth_prove(const struct rttcp_key *key, const char *role, const char *server_challenge,
                      const char *client_challenge, const char *params, char out[RTTCP_PROOF_TEXT])
{
    uint8_t proof[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    size_t room = strlen(role) + strlen(server_challenge) + strlen(client_challenge) + strlen(params) + 4;
    char *text = malloc(room);
    if (!text)
        abort();
    int n = snprintf(text, room, "%s\n%s\n%s\n%s", role, server_challenge, client_challenge, params);
    HMAC(EVP_sha256(), key->octets, (int)key->size, (const uint8_t *)text, (size_t)n, proof, &size);
    free(text);
    to_hex(proof, 32, out);
}

bool rttcp_auth_same(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && CRYPTO_memcmp(a, b, strlen(a)) == 0;
}
