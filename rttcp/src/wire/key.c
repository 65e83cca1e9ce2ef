#include "key.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool rttcp_key_make(struct rttcp_key *key, const uint8_t *content, size_t size)
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

/* Checks whose file it is and who may read it. */
static int check_file(const char *path, const struct stat *file, struct nc_error *error)
{
    if (!S_ISREG(file->st_mode))
        return nc_fail(error, NC_EXIT_USAGE, "--key '%.80s': not a regular file; want a file with the key", path);
    if (file->st_uid != geteuid())
        return nc_fail(error, NC_EXIT_USAGE, "--key '%.80s': belongs to user %u, want %u: chown %u %.80s", path,
                       (unsigned)file->st_uid, (unsigned)geteuid(), (unsigned)geteuid(), path);
    if (file->st_mode & 077)
        return nc_fail(error, NC_EXIT_USAGE,
                       "--key '%.80s': mode %04o lets others in, want 0600 or 0400: chmod 600 %.80s", path,
                       (unsigned)file->st_mode & 07777, path);
    return 0;
}

static int take_content(struct rttcp_key *key, const char *path, const uint8_t *content, ssize_t size,
                        struct nc_error *error)
{
    if (size > 0 && content[size - 1] == '\n')
        size--;
    if (size < RTTCP_KEY_FILE_MIN || size > RTTCP_KEY_FILE_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "--key '%.80s': want %d to %d octets; e.g. `openssl rand -hex 32 > FILE`",
                       path, RTTCP_KEY_FILE_MIN, RTTCP_KEY_FILE_MAX);
    if (rttcp_key_make(key, content, (size_t)size))
        return 0;
    return nc_fail(error, NC_EXIT_MISSING, "--key '%.80s': no memory to stretch the text by scrypt (32 MB)", path);
}

int rttcp_key_read(struct rttcp_key *key, const char *path, struct nc_error *error)
{
    struct stat file;
    uint8_t content[RTTCP_KEY_FILE_MAX + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed = errno;
    if (fd >= 0 && fstat(fd, &file) < 0) {
        failed = errno;
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--key '%.80s': %s", path, strerror(failed));
    int status = check_file(path, &file, error);
    if (status == 0)
        status = take_content(key, path, content, read(fd, content, sizeof content), error);
    OPENSSL_cleanse(content, sizeof content);
    close(fd);
    return status;
}
