#include "key.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nc_secret.h"

/* scrypt (RFC 7914): 32 MB and about 0.1 s for each guess. Both ends have to use the same numbers, so they belong to
 * the protocol (PROTOCOL.md). */
#define SCRYPT_N (UINT64_C(1) << 15)
#define SCRYPT_R 8
#define SCRYPT_P 1
#define SCRYPT_MEMORY (UINT64_C(64) << 20)
static const char scrypt_salt[] = "rttcp --key, protocol version 4";

static bool is_hexadecimal(const uint8_t *content, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isxdigit(content[i]))
            return false;
    return size == 2 * RTTCP_KEY_OCTETS;
}

/* Makes the key of the content of a file. Returns false without memory. */
static bool make(struct rttcp_key *key, const uint8_t *content, size_t size)
{
    size_t written;
    char digits[2 * RTTCP_KEY_OCTETS + 1] = "";
    if (!is_hexadecimal(content, size))
        key->given =
            EVP_PBE_scrypt((const char *)content, size, (const unsigned char *)scrypt_salt, sizeof scrypt_salt - 1,
                           SCRYPT_N, SCRYPT_R, SCRYPT_P, SCRYPT_MEMORY, key->octets, sizeof key->octets) == 1;
    else {
        memcpy(digits, content, size);
        key->given = OPENSSL_hexstr2buf_ex(key->octets, sizeof key->octets, &written, digits, '\0') == 1;
        OPENSSL_cleanse(digits, sizeof digits);
    }
    return key->given;
}

/* Makes the mark by which a sender notices that its own host answers. Nobody without the key can link the mark to a
 * machine. Each namespace of a machine counts as a separate host. */
static void mark_host(struct rttcp_key *key)
{
    char boot[64] = "", text[160];
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    struct stat space;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    key->host[0] = '\0';
    if (!file)
        return;
    bool known = fgets(boot, sizeof boot, file) && stat("/proc/self/ns/net", &space) == 0;
    fclose(file);
    if (!known)
        return;
    int n = snprintf(text, sizeof text, "rttcp host %s %llu %llu", boot, (unsigned long long)space.st_dev,
                     (unsigned long long)space.st_ino);
    if (!HMAC(EVP_sha256(), key->octets, sizeof key->octets, (const uint8_t *)text, (size_t)n, digest, &size))
        return;
    for (int i = 0; i < (RTTCP_HOST_TEXT - 1) / 2; i++)
        snprintf(key->host + 2 * i, 3, "%02x", digest[i]);
}

static int take_content(struct rttcp_key *key, const char *path, const uint8_t *content, ssize_t size,
                        struct nc_error *error)
{
    if (size > 0 && content[size - 1] == '\n')
        size--;
    if (size < RTTCP_KEY_FILE_MIN || size > RTTCP_KEY_FILE_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "--key '%.80s': want %d to %d octets; e.g. `openssl rand -hex 32 > FILE`",
                       path, RTTCP_KEY_FILE_MIN, RTTCP_KEY_FILE_MAX);
    if (make(key, content, (size_t)size)) {
        mark_host(key);
        return 0;
    }
    return nc_fail(error, NC_EXIT_MISSING, "--key '%.80s': no memory to stretch the text by scrypt (32 MB)", path);
}

int rttcp_key_read(struct rttcp_key *key, const char *path, struct nc_error *error)
{
    uint8_t content[RTTCP_KEY_FILE_MAX + 2];
    ssize_t size = nc_secret_read("--key", path, content, sizeof content, error);
    int status = size < 0 ? -1 : take_content(key, path, content, size, error);
    OPENSSL_cleanse(content, sizeof content);
    return status;
}
