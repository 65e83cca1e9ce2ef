#include "psk.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checks the file itself. */
static int check_file(const char *path, const struct stat *status, struct nc_error *error)
{
    const enum nc_exit usage = NC_EXIT_USAGE;
    if (!S_ISREG(status->st_mode))
        return nc_fail(error, usage, "--psk-file '%s': not a regular file", path);
    if (status->st_uid != geteuid())
        return nc_fail(error, usage, "--psk-file '%s': belongs to user %u, want %u; use chown", path,
                       (unsigned)status->st_uid, (unsigned)geteuid());
    if (status->st_mode & 077)
        return nc_fail(error, usage, "--psk-file '%s': mode %04o lets others in, want 0600 or 0400; use chmod", path,
                       (unsigned)status->st_mode & 07777);
    return 0;
}

/* Reads the whole file, up to LFT_TEXT_MAX + 2 octets. Returns their number, or -1 with the reason. */
static ssize_t read_file(const char *path, uint8_t octets[LFT_TEXT_MAX + 2], struct nc_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        nc_fail(error, NC_EXIT_USAGE, "--psk-file '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    ssize_t n = check_file(path, &status, error);
    if (n == 0 && (n = read(fd, octets, LFT_TEXT_MAX + 2)) < 0)
        nc_fail(error, NC_EXIT_USAGE, "--psk-file '%s': %s", path, strerror(errno));
    close(fd);
    return n;
}

/* Printable ASCII alone: random octets look like that once in 10^13 keys. */
static bool is_text(const uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] < ' ' || at[i] > '~')
            return false;
    return true;
}

static bool is_hexadecimal(const uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!at[i] || !strchr("0123456789abcdefABCDEF", at[i]))
            return false;
    return n == 2 * LFT_PSK_BYTES;
}

static int stretch(const struct settings *settings, const uint8_t *text, size_t n, uint8_t key[LFT_PSK_BYTES],
                   struct nc_error *error)
{
    struct lft_names names;
    bool initiator = settings->peer;
    lft_names_make(&names, initiator ? settings->gateway_name : settings->peer_name,
                   initiator ? settings->peer_name : settings->gateway_name);
    if (lft_psk_of_text(text, n, &names, key))
        return 0;
    return nc_fail(error, NC_EXIT_MISSING, "--psk-file '%s': no memory to stretch a text; want a key of genkey",
                   settings->psk_file);
}

/* Which of the three forms the file has, and the key from it. */
static int take(const struct settings *settings, uint8_t *octets, size_t n, uint8_t key[LFT_PSK_BYTES],
                struct nc_error *error)
{
    size_t text_n = n && octets[n - 1] == '\n' ? n - 1 : n;
    if (is_hexadecimal(octets, text_n)) {
        size_t bytes;
        octets[text_n] = '\0';
        return OPENSSL_hexstr2buf_ex(key, LFT_PSK_BYTES, &bytes, (const char *)octets, '\0') ? 0 : -1;
    }
    if (n == LFT_PSK_BYTES && !is_text(octets, n)) {
        memcpy(key, octets, n);
        return 0;
    }
    if (!is_text(octets, text_n) || text_n < LFT_TEXT_MIN || text_n > LFT_TEXT_MAX)
        return nc_fail(
            error, NC_EXIT_USAGE,
            "--psk-file '%s': %zu octets; want 64 hexadecimal digits (lft-gateway genkey), 32 octets, or one "
            "line of %d to %d octets of text",
            settings->psk_file, n, LFT_TEXT_MIN, LFT_TEXT_MAX);
    return stretch(settings, octets, text_n, key, error);
}

int psk_read(const struct settings *settings, uint8_t key[LFT_PSK_BYTES], struct nc_error *error)
{
    uint8_t octets[LFT_TEXT_MAX + 3];
    ssize_t n = read_file(settings->psk_file, octets, error);
    int result = n < 0 ? -1 : take(settings, octets, (size_t)n, key, error);
    lft_wipe(octets, sizeof octets);
    return result;
}
