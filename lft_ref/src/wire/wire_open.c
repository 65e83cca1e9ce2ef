/* The bodies of OPEN, REFUSE and RESET chunks. */
#include <assert.h>
#include <string.h>

#include "nc_bytes.h"
#include "wire.h"

static const char *const result_texts[] = {
    [LFT_RESULT_NONE] = "none",
    [LFT_RESULT_REFUSED] = "connection refused",
    [LFT_RESULT_TIMED_OUT] = "connection timed out",
    [LFT_RESULT_NET_UNREACHABLE] = "network unreachable",
    [LFT_RESULT_HOST_UNREACHABLE] = "host unreachable",
    [LFT_RESULT_ICMP] = "unreachable by ICMP",
    [LFT_RESULT_NAME_UNKNOWN] = "name unknown",
    [LFT_RESULT_NO_RESOURCES] = "no resources",
    [LFT_RESULT_NOT_ALLOWED] = "not allowed",
    [LFT_RESULT_RESET] = "connection reset",
    [LFT_RESULT_PEER_RESTARTED] = "peer gateway restarted",
    [LFT_RESULT_OUTAGE] = "tunnel outage too long",
    [LFT_RESULT_IDLE] = "idle too long",
    [LFT_RESULT_STOPPED] = "gateway stopped",
    [LFT_RESULT_PROTOCOL] = "protocol error",
};
static_assert(sizeof result_texts / sizeof result_texts[0] == LFT_RESULTS, "a text for every result code");

const char *lft_result_text(unsigned code)
{
    return code < LFT_RESULTS ? result_texts[code] : "unknown result";
}

static size_t address_bytes(unsigned family)
{
    return family == LFT_FAMILY_IPV4 ? 4 : 16;
}

size_t lft_open_put(uint8_t at[LFT_OPEN_BODY_MAX], const struct lft_open *open)
{
    size_t name = open->family == LFT_FAMILY_NAME ? strlen(open->name) : 0;
    assert(name <= LFT_NAME_MAX);
    at[0] = open->family;
    at[1] = (uint8_t)name;
    nc_put16(at + 2, open->destination_port);
    nc_put16(at + 4, open->source_port);
    nc_put16(at + 6, open->flags);
    if (open->family == LFT_FAMILY_NAME) {
        memcpy(at + 8, open->name, name);
        return 8 + name;
    }
    size_t n = address_bytes(open->family);
    memcpy(at + 8, open->source, n);
    memcpy(at + 8 + n, open->destination, n);
    return 8 + 2 * n;
}

int lft_open_get(const uint8_t *at, const uint8_t *end, struct lft_open *open)
{
    memset(open, 0, sizeof *open);
    if (end - at < 8)
        return -1;
    open->family = at[0];
    size_t name = at[1];
    open->destination_port = nc_get16(at + 2);
    open->source_port = nc_get16(at + 4);
    open->flags = nc_get16(at + 6);
    at += 8;
    if (open->family == LFT_FAMILY_NAME) {
        if (!name || (size_t)(end - at) != name || memchr(at, 0, name))
            return -1;
        memcpy(open->name, at, name);
        return 0;
    }
    if ((open->family != LFT_FAMILY_IPV4 && open->family != LFT_FAMILY_IPV6) || name)
        return -1;
    size_t n = address_bytes(open->family);
    if ((size_t)(end - at) != 2 * n)
        return -1;
    memcpy(open->source, at, n);
    memcpy(open->destination, at + n, n);
    return 0;
}

void lft_result_put(uint8_t at[LFT_RESULT_BYTES], const struct lft_result *result)
{
    at[0] = result->code;
    at[1] = result->icmp_type;
    at[2] = result->icmp_code;
    at[3] = result->flags;
    memcpy(at + 4, result->from, sizeof result->from);
}

int lft_result_get(const uint8_t *at, const uint8_t *end, struct lft_result *result)
{
    if (end - at != LFT_RESULT_BYTES)
        return -1;
    *result = (struct lft_result){.code = at[0], .icmp_type = at[1], .icmp_code = at[2], .flags = at[3]};
    memcpy(result->from, at + 4, sizeof result->from);
    return 0;
}
