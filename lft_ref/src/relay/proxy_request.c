/* SOCKS5 (RFC 1928), octet by octet, and HTTP: CONNECT, and plain requests for http:// (RFC 9112, 3.2.2), whose head is
 * rewritten for the server.
 *
 * A client of a plain proxy may ask for another server in its next request. This proxy carries octets and does not
 * examine anything after the head, so the rewritten head says "Connection: close": a connection carries one request.
 * Rejected: parsing bodies and responses to keep connections open; that is a caching proxy's job. */
#include "proxy_request.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

#define SCHEME "http://"
/* Header fields that are not passed to the server: they concern client and proxy only. Host is among them because it is
 * derived from the target. */
static const char *const dropped[] = {"connection", "proxy-connection",    "keep-alive", "te",
                                      "upgrade",    "proxy-authorization", "host"};

struct head {
    char text[PROXY_REQUEST_MAX];
    size_t n;
    bool full;
};

static void put(struct head *head, const char *at, size_t n)
{
    head->full |= n > sizeof head->text - head->n;
    if (head->full)
        return;
    memcpy(head->text + head->n, at, n);
    head->n += n;
}

#define PUT(head, text) put(head, text, sizeof text - 1)

static enum proxy_parsed bad(struct proxy_request *request, const char *status)
{
    int n = snprintf((char *)request->reply, sizeof request->reply, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);
    request->reply_bytes = (size_t)n;
    return PROXY_BAD;
}

#define BAD_REQUEST "400 Bad Request"
#define TOO_LARGE "431 Request Header Fields Too Large"

static bool is_dropped(const char *line, size_t n)
{
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (n == strlen(dropped[i]) && strncasecmp(line, dropped[i], n) == 0)
            return true;
    return false;
}

/* Copies the fields that concern the server. `at` is behind the first line, `end` behind the last field's line end.
 * False: one of the lines is not a field. */
static bool put_fields(struct head *head, const char *at, const char *end)
{
    while (at < end) {
        const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
        const char *colon = line_end ? memchr(at, ':', (size_t)(line_end - at)) : NULL;
        if (!colon || colon == at || memchr(at, ' ', (size_t)(colon - at)) || memchr(at, '\t', (size_t)(colon - at)))
            return false;
        if (!is_dropped(at, (size_t)(colon - at)))
            put(head, at, (size_t)(line_end + 2 - at));
        at = line_end + 2;
    }
    return true;
}

/* Parses "HOST" or "HOST:PORT"; the default port is 80. */
static int destination(const char *at, size_t n, struct lft_open *where)
{
    char text[LFT_NAME_MAX + 16];
    if (!n || n > sizeof text - 4 || memchr(at, '@', n))
        return -1;
    memcpy(text, at, n);
    const char *bracket = memchr(at, ']', n);
    size_t host = bracket ? (size_t)(bracket - at) : 0;
    if (!memchr(at + host, ':', n - host)) {
        memcpy(text + n, ":80", 3);
        n += 3;
    }
    return proxy_destination(text, n, where);
}

/* METHOD http://AUTHORITY[/PATH] HTTP/1.x; `head` becomes the server's. */
static bool rewrite(struct proxy_request *request, struct head *head, const char *line_end, const char *end)
{
    const char *text = (const char *)request->text, *space = memchr(text, ' ', (size_t)(line_end - text));
    const char *last = memrchr(text, ' ', (size_t)(line_end - text));
    size_t scheme = sizeof SCHEME - 1;
    if (!space || space == text || last - space < (ptrdiff_t)(1 + scheme) || line_end - last != 9 ||
        memcmp(last, " HTTP/1.", 8) != 0 || strncasecmp(space + 1, SCHEME, scheme) != 0 ||
        memchr(space + 1, ' ', (size_t)(last - space - 1)))
        return false;
    const char *authority = space + 1 + scheme, *path = authority;
    while (path < last && *path != '/' && *path != '?' && *path != '#')
        path++;
    if (destination(authority, (size_t)(path - authority), &request->where) < 0)
        return false;
    put(head, text, (size_t)(space + 1 - text));
    if (path == last || *path != '/')
        PUT(head, "/");
    put(head, path, (size_t)(line_end + 2 - path));
    PUT(head, "Host: ");
    put(head, authority, (size_t)(path - authority));
    PUT(head, "\r\nConnection: close\r\nVia: 1.1 lft-gateway\r\n");
    bool fields = put_fields(head, line_end + 2, end + 2);
    PUT(head, "\r\n");
    return fields;
}

static enum proxy_parsed plain(struct proxy_request *request, const char *line_end, const char *end)
{
    struct head head = {.n = 0};
    size_t said = (size_t)(end + 4 - (const char *)request->text), rest = request->used - said;
    if (!rewrite(request, &head, line_end, end))
        return bad(request, BAD_REQUEST);
    if (head.full || head.n + rest > sizeof request->text)
        return bad(request, TOO_LARGE);
    memmove(request->text + head.n, request->text + said, rest);
    memcpy(request->text, head.text, head.n);
    request->used = head.n + rest;
    request->kind = PROXY_HTTP_PLAIN;
    return PROXY_GO;
}

/* Parses a request's head: a first line, fields, an empty line. It ignores the fields of CONNECT. */
static enum proxy_parsed http_request(struct proxy_request *request)
{
    const char *text = (const char *)request->text;
    size_t from = request->looked > 3 ? request->looked - 3 : 0;
    const char *end = memmem(text + from, request->used - from, "\r\n\r\n", 4);
    request->looked = request->used;
    if (!end)
        return request->used < PROXY_REQUEST_MAX ? PROXY_MORE : bad(request, TOO_LARGE);
    const char *line_end = memmem(text, request->used, "\r\n", 2), *target = text + 8;
    if (line_end - text < 8 || memcmp(text, "CONNECT ", 8) != 0)
        return plain(request, line_end, end);
    const char *space = memchr(target, ' ', (size_t)(line_end - target));
    if (!space || line_end - space != 9 || memcmp(space, " HTTP/1.", 8) != 0 ||
        proxy_destination(target, (size_t)(space - target), &request->where) < 0)
        return bad(request, BAD_REQUEST);
    request->used -= (size_t)(end + 4 - text);
    memmove(request->text, end + 4, request->used);
    return PROXY_GO;
}

enum proxy_parsed proxy_request_parse(struct proxy_request *request)
{
    if (request->kind == PROXY_HTTP)
        return http_request(request);
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
