#include "psk.h"

#include <openssl/crypto.h>
#include <string.h>

#include "nc_secret.h"

/* True for printable ASCII only; random octets look like that once in 10^13 keys. */
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

/* Detects which of the three forms the file has, and makes the key from it. */
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
    ssize_t n = nc_secret_read("--psk-file", settings->psk_file, octets, LFT_TEXT_MAX + 2, error);
    int result = n < 0 ? -1 : take(settings, octets, (size_t)n, key, error);
    lft_wipe(octets, sizeof octets);
    return result;
}
