/* SOCKS5, octet by octet; what clients of every proxy are told. */
#include "proxy_request.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_bytes.h"

static enum proxy_parsed reply(struct proxy_request *request, enum proxy_parsed kind, const void *at, size_t n)
{
    memcpy(request->reply, at, n);
    request->reply_bytes = n;
    return kind;
}

static void take(struct proxy_request *request, size_t n)
{
    request->used -= n;
    memmove(request->text, request->text + n, request->used);
}

/* SOCKS5: VER NMETHODS METHODS… */
static enum proxy_parsed socks_methods(struct proxy_request *request)
{
    const uint8_t *at = request->text;
    if (request->used < 2)
        return request->used && at[0] != 5 ? reply(request, PROXY_BAD, "\5\xff", 2) : PROXY_MORE;
    size_t n = 2u + at[1];
    if (at[0] != 5)
        return reply(request, PROXY_BAD, "\5\xff", 2);
    if (request->used < n)
        return PROXY_MORE;
    bool open = memchr(at + 2, 0, at[1]) != NULL; /* "no authentication" is offered */
    take(request, n);
    request->step = 1;
    return open ? reply(request, PROXY_REPLY, "\5\0", 2) : reply(request, PROXY_BAD, "\5\xff", 2);
}

static enum proxy_parsed socks_bad(struct proxy_request *request, uint8_t code)
{
    const uint8_t words[10] = {5, code, 0, 1};
    return reply(request, PROXY_BAD, words, sizeof words);
}

/* VER CMD RSV ATYP ADDR PORT */
static enum proxy_parsed socks_request(struct proxy_request *request)
{
    const uint8_t *at = request->text;
    struct lft_open *where = &request->where;
    if (request->used < 5)
        return PROXY_MORE;
    size_t address = at[3] == 1 ? 4u : at[3] == 4 ? 16u : at[3] == 3 ? 1u + at[4] : 0;
    if (at[0] != 5 || !address || (at[3] == 3 && !at[4]))
        return socks_bad(request, at[0] != 5 ? 1 : 8);
    if (at[1] != 1)
        return socks_bad(request, 7);
    if (request->used < 6 + address)
        return PROXY_MORE;
    *where = (struct lft_open){.destination_port = nc_get16(at + 4 + address)};
    if (at[3] == 3) {
        where->family = LFT_FAMILY_NAME;
        memcpy(where->name, at + 5, at[4]);
    } else {
        where->family = at[3] == 4 ? LFT_FAMILY_IPV6 : LFT_FAMILY_IPV4;
        memcpy(where->destination, at + 4, address);
    }
    if (at[3] == 3 && strlen(where->name) != at[4])
        return socks_bad(request, 1);
    take(request, 6 + address);
    return PROXY_GO;
}

int proxy_destination(const char *text, size_t n, struct lft_open *where)
{
    char host[LFT_NAME_MAX + 3], *end;
    const char *colon = NULL;
    for (size_t i = 0; i < n; i++)
        if (text[i] == ':')
            colon = text + i;
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof host || n - (size_t)(colon - text) > 6)
        return -1;
    char digits[8] = "";
    memcpy(digits, colon + 1, n - (size_t)(colon - text) - 1);
    unsigned long port = strtoul(digits, &end, 10);
    if (!digits[0] || digits[0] == '-' || *end || port == 0 || port > 65535)
        return -1;
    size_t length = (size_t)(colon - text);
    bool bracket = text[0] == '[' && colon[-1] == ']';
    length -= bracket ? 2 : 0;
    memcpy(host, text + bracket, length);
    host[length] = '\0';
    *where = (struct lft_open){.destination_port = (uint16_t)port};
    if (inet_pton(AF_INET, host, where->destination) == 1)
        where->family = LFT_FAMILY_IPV4;
    else if (inet_pton(AF_INET6, host, where->destination) == 1)
        where->family = LFT_FAMILY_IPV6;
    else if (!bracket && length && length <= LFT_NAME_MAX && strlen(host) == length && !strchr(host, ':')) {
        where->family = LFT_FAMILY_NAME;
        memcpy(where->name, host, length);
    } else
        return -1;
    return 0;
}

enum proxy_parsed proxy_request_parse(struct proxy_request *request)
{
    if (request->kind == PROXY_HTTP)
        return proxy_http_parse(request);
    return request->step == 0 ? socks_methods(request) : socks_request(request);
}

static size_t socks_answer(const struct lft_result *result, uint8_t out[128])
{
    static const uint8_t codes[LFT_RESULTS] = {
        [LFT_RESULT_NONE] = 0,
        [LFT_RESULT_REFUSED] = 5,
        [LFT_RESULT_TIMED_OUT] = 4,
        [LFT_RESULT_NET_UNREACHABLE] = 3,
        [LFT_RESULT_HOST_UNREACHABLE] = 4,
        [LFT_RESULT_ICMP] = 4,
        [LFT_RESULT_NAME_UNKNOWN] = 4,
        [LFT_RESULT_NOT_ALLOWED] = 2,
    };
    uint8_t code = !result ? 0 : result->code < LFT_RESULTS && codes[result->code] ? codes[result->code] : 1;
    const uint8_t words[10] = {5, code, 0, 1};
    memcpy(out, words, sizeof words);
    return sizeof words;
}

size_t proxy_request_answer(enum proxy_kind kind, const struct lft_result *result, uint8_t out[128])
{
    if (kind == PROXY_FORWARD)
        return 0;
    if (kind == PROXY_SOCKS5)
        return socks_answer(result, out);
    if (!result && kind == PROXY_HTTP_PLAIN)
        return 0; /* the server answers */
    if (!result)
        return (size_t)snprintf((char *)out, 128, "HTTP/1.1 200 Connection Established\r\n\r\n");
    bool late = result->code == LFT_RESULT_TIMED_OUT;
    return (size_t)snprintf((char *)out, 128, "HTTP/1.1 %s (%s)\r\nContent-Length: 0\r\n\r\n",
                            late ? "504 Gateway Timeout" : "502 Bad Gateway", lft_result_text(result->code));
}
