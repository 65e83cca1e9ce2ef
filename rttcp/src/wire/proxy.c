/* The proxy's protocols: proxy.h. */
#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nc_clock.h"

enum { VERSION = 5, CONNECT = 1, IPV4 = 1, NAME = 3, IPV6 = 4, HEAD = 4, NO_AUTHENTICATION = 0 };
static const char *const kinds[] = {"", "socks5://", "http://"};
static const char *const socks_refusals[] = {"",
                                             "general failure",
                                             "not allowed by its rules",
                                             "network unreachable",
                                             "host unreachable",
                                             "connection refused",
                                             "time to live expired",
                                             "command not supported",
                                             "type of address not supported"};

static int wrong_text(const char *text, struct nc_error *error)
{
    return nc_fail(error, NC_EXIT_USAGE, "--proxy '%.80s': want socks5://HOST:PORT or http://HOST:PORT", text);
}

int rttcp_proxy_parse(const char *text, struct rttcp_proxy *proxy, struct nc_error *error)
{
    *proxy = (struct rttcp_proxy){.kind = RTTCP_PROXY_NONE};
    const char *host = NULL;
    for (int kind = RTTCP_PROXY_SOCKS5; kind <= RTTCP_PROXY_HTTP && !host; kind++)
        if (strncmp(text, kinds[kind], strlen(kinds[kind])) == 0) {
            proxy->kind = (enum rttcp_proxy_kind)kind;
            host = text + strlen(kinds[kind]);
        }
    const char *colon = host ? strrchr(host, ':') : NULL;
    if (!colon || colon == host)
        return wrong_text(text, error);
    char *end;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || port == 0 || port > UINT16_MAX)
        return wrong_text(text, error);
    bool brackets = host[0] == '[' && colon[-1] == ']';
    size_t n = (size_t)(colon - host) - (brackets ? 2 : 0);
    if (n == 0 || n >= sizeof proxy->host || (!brackets && memchr(host, ':', n)))
        return wrong_text(text, error);
    memcpy(proxy->host, host + (brackets ? 1 : 0), n);
    proxy->port = (uint16_t)port;
    return 0;
}

static long socks_request(const char *host, uint16_t port, uint8_t *words, struct nc_error *error)
{
    static const uint8_t head[] = {VERSION, CONNECT, 0};
    size_t n = sizeof head, length = strlen(host);
    memcpy(words, head, n);
    if (inet_pton(AF_INET, host, words + n + 1) == 1) {
        words[n] = IPV4;
        n += 5;
    } else if (inet_pton(AF_INET6, host, words + n + 1) == 1) {
        words[n] = IPV6;
        n += 17;
    } else if (length > UINT8_MAX) {
        return nc_fail(error, NC_EXIT_USAGE, "--transmit '%.80s': a name of at most 255 characters with --proxy", host);
    } else {
        words[n++] = NAME;
        words[n++] = (uint8_t)length;
        memcpy(words + n, host, length);
        n += length;
    }
    words[n++] = (uint8_t)(port >> 8);
    words[n++] = (uint8_t)port;
    return (long)n;
}

static long http_request(const char *host, uint16_t port, uint8_t *words, struct nc_error *error)
{
    bool colons = strchr(host, ':') != NULL;
    const char *open = colons ? "[" : "", *close = colons ? "]" : "";
    int n = snprintf((char *)words, RTTCP_PROXY_ANSWER_MAX, "CONNECT %s%s%s:%u HTTP/1.1\r\nHost: %s%s%s:%u\r\n\r\n",
                     open, host, close, port, open, host, close, port);
    if (n >= RTTCP_PROXY_ANSWER_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "--transmit '%.80s…': too long a name for --proxy", host);
    return n;
}

long rttcp_proxy_words(const struct rttcp_proxy *proxy, int step, const char *host, uint16_t port,
                       uint8_t words[RTTCP_PROXY_ANSWER_MAX], struct nc_error *error)
{
    static const uint8_t greeting[] = {VERSION, 1, NO_AUTHENTICATION};
    if (proxy->kind == RTTCP_PROXY_HTTP)
        return step == 0 ? http_request(host, port, words, error) : 0;
    if (step == 0) {
        memcpy(words, greeting, sizeof greeting);
        return sizeof greeting;
    }
    return step == 1 ? socks_request(host, port, words, error) : 0;
}

static int not_an_answer(const struct rttcp_proxy *proxy, struct nc_error *error)
{
    return nc_fail(error, NC_EXIT_FAILED, "--proxy %s%s:%u: what it says is not %s", kinds[proxy->kind], proxy->host,
                   proxy->port, proxy->kind == RTTCP_PROXY_HTTP ? "HTTP" : "SOCKS5");
}

static int refused(const struct rttcp_proxy *proxy, const char *why, struct nc_error *error)
{
    return nc_fail(error, NC_EXIT_FAILED, "--proxy %s%s:%u: it refuses the connection: %s", kinds[proxy->kind],
                   proxy->host, proxy->port, why);
}

/* The size of an answer whose first octets have arrived, or 0 for an unknown type of address. */
static size_t socks_size(const uint8_t *at, size_t n)
{
    if (at[3] == NAME)
        return n > HEAD ? (size_t)HEAD + 1 + at[4] + 2 : (size_t)HEAD + 1;
    return at[3] == IPV4 ? HEAD + 4 + 2 : at[3] == IPV6 ? HEAD + 16 + 2 : 0;
}

static int socks_answer(const struct rttcp_proxy *proxy, int step, const uint8_t *at, size_t n, struct nc_error *error)
{
    if (n > 0 && at[0] != VERSION)
        return not_an_answer(proxy, error);
    if (step == 1) {
        if (n < 2)
            return 0;
        return at[1] == NO_AUTHENTICATION ? 1 : refused(proxy, "it wants a password, which rttcp has not", error);
    }
    if (n < HEAD)
        return 0;
    if (at[1])
        return refused(proxy,
                       at[1] < sizeof socks_refusals / sizeof socks_refusals[0] ? socks_refusals[at[1]]
                                                                                : "why "
                                                                                  "is not known",
                       error);
    size_t size = socks_size(at, n);
    return size == 0 ? not_an_answer(proxy, error) : n >= size;
}

static int http_answer(const struct rttcp_proxy *proxy, const uint8_t *at, size_t n, struct nc_error *error)
{
    static const char version[] = "HTTP/1.", end[] = "\r\n\r\n";
    const size_t version_n = sizeof version - 1, end_n = sizeof end - 1;
    char status[64];
    if (memcmp(at, version, n < version_n ? n : version_n) != 0)
        return not_an_answer(proxy, error);
    if (n < end_n || memcmp(at + n - end_n, end, end_n) != 0)
        return 0;
    if (n < version_n + 5 || at[version_n + 1] != ' ')
        return not_an_answer(proxy, error);
    if (at[version_n + 2] == '2')
        return 1;
    snprintf(status, sizeof status, "%.*s", (int)strcspn((const char *)at + version_n + 2, "\r\n"),
             (const char *)at + version_n + 2);
    return refused(proxy, status, error);
}

int rttcp_proxy_answer(const struct rttcp_proxy *proxy, int step, const uint8_t *at, size_t n, struct nc_error *error)
{
    if (proxy->kind == RTTCP_PROXY_HTTP)
        return step == 2 ? http_answer(proxy, at, n, error) : 1;
    return step == 0 ? 1 : socks_answer(proxy, step, at, n, error);
}

static int read_octet(const struct rttcp_proxy *proxy, int fd, uint8_t *octet, uint64_t deadline_ns,
                      struct nc_error *error)
{
    const char *why = strerror(ETIMEDOUT);
    for (uint64_t now; (now = nc_now_ns()) < deadline_ns;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, (int)((deadline_ns - now) / NC_NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t n = recv(fd, octet, 1, 0);
        if (n == 1)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        why = n == 0 ? "it closes the connection" : strerror(errno);
        break;
    }
    return refused(proxy, why, error);
}

int rttcp_proxy_step(const struct rttcp_proxy *proxy, int fd, int step, const char *host, uint16_t port,
                     uint64_t deadline_ns, struct nc_error *error)
{
    uint8_t octets[RTTCP_PROXY_ANSWER_MAX];
    int judged;
    size_t n = 0;
    while ((judged = rttcp_proxy_answer(proxy, step, octets, n, error)) == 0) {
        if (n == sizeof octets)
            return not_an_answer(proxy, error);
        if (read_octet(proxy, fd, &octets[n++], deadline_ns, error) < 0)
            return -1;
    }
    long said = judged < 0 ? -1 : rttcp_proxy_words(proxy, step, host, port, octets, error);
    if (said < 0)
        return -1;
    if (said > 0 && send(fd, octets, (size_t)said, MSG_NOSIGNAL) != said)
        return refused(proxy, strerror(errno), error);
    return 0;
}
