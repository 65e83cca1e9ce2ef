/* Dialogues of clients with the proxies, octet by octet. */
#include <string.h>

#include "check.h"
#include "proxy_request.h"

/* Passes a dialogue on, one octet at a time. Replies are discarded. */
static enum proxy_parsed feed(struct proxy_request *request, enum proxy_kind kind, const void *at, size_t n)
{
    enum proxy_parsed parsed = PROXY_MORE;
    memset(request, 0, sizeof *request);
    request->kind = kind;
    for (size_t i = 0; i < n && (parsed == PROXY_MORE || parsed == PROXY_REPLY); i++) {
        request->text[request->used++] = ((const uint8_t *)at)[i];
        parsed = proxy_request_parse(request);
    }
    return parsed;
}
#define FEED(request, kind, text) feed(request, kind, text, sizeof text - 1)

static void test_socks(void)
{
    struct proxy_request r;
    CHECK_EQ(FEED(&r, PROXY_SOCKS5, "\5\1\0\5\1\0\1\300\0\2\1\0\120"), PROXY_GO);
    CHECK_EQ(r.where.family, LFT_FAMILY_IPV4);
    CHECK_EQ(r.where.destination_port, 80);
    CHECK(memcmp(r.where.destination, "\300\0\2\1", 4) == 0);
    CHECK_EQ(FEED(&r, PROXY_SOCKS5, "\5\2\1\0\5\1\0\3\4name\1\273"), PROXY_GO);
    CHECK(strcmp(r.where.name, "name") == 0 && r.where.destination_port == 443);
    CHECK_EQ(FEED(&r, PROXY_SOCKS5, "\5\1\2"), PROXY_BAD);           /* wants a password */
    CHECK_EQ(FEED(&r, PROXY_SOCKS5, "\4\1"), PROXY_BAD);             /* SOCKS4 */
    CHECK_EQ(FEED(&r, PROXY_SOCKS5, "\5\1\0\5\2\0\1\1"), PROXY_BAD); /* BIND */
    CHECK_EQ(FEED(&r, PROXY_SOCKS5, "\5\1\0\5\1\0\3\3a\0b\0\1"), PROXY_BAD);
}

static void test_http(void)
{
    struct proxy_request r;
    CHECK_EQ(FEED(&r, PROXY_HTTP, "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n"), PROXY_GO);
    CHECK_EQ(r.where.family, LFT_FAMILY_IPV6);
    CHECK_EQ(r.where.destination_port, 443);
    CHECK_EQ(FEED(&r, PROXY_HTTP, "GET / HTTP/1.1\r\n\r\n"), PROXY_BAD); /* no proxy's request */
    CHECK(strstr((const char *)r.reply, " 400 "));
    CHECK_EQ(FEED(&r, PROXY_HTTP, "CONNECT host HTTP/1.1\r\n\r\n"), PROXY_BAD);
    CHECK_EQ(FEED(&r, PROXY_HTTP, "CONNECT host:0 HTTP/1.1\r\n\r\n"), PROXY_BAD);
    CHECK_EQ(FEED(&r, PROXY_HTTP, "CONNECT host:65536 HTTP/1.1\r\n\r\n"), PROXY_BAD);
}

/* Whether the octets for the server are these. */
static bool sends(const struct proxy_request *r, const char *wanted)
{
    return r->used == strlen(wanted) && memcmp(r->text, wanted, r->used) == 0;
}

static void test_plain_http(void)
{
    struct proxy_request r;
    CHECK_EQ(FEED(&r, PROXY_HTTP,
                  "GET http://example.org/a?b HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\n"
                  "Connection: keep-alive\r\nAccept: */*\r\n\r\n"),
             PROXY_GO);
    CHECK(r.where.family == LFT_FAMILY_NAME && strcmp(r.where.name, "example.org") == 0);
    CHECK_EQ(r.where.destination_port, 80);
    CHECK(sends(&r, "GET /a?b HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\nVia: 1.1 lft-gateway\r\n"
                    "Accept: */*\r\n\r\n"));
    CHECK_EQ(FEED(&r, PROXY_HTTP, "HEAD HTTP://[2001:db8::1]:8080 HTTP/1.0\r\n\r\n"), PROXY_GO);
    CHECK(r.where.family == LFT_FAMILY_IPV6 && r.where.destination_port == 8080);
    CHECK(
        sends(&r, "HEAD / HTTP/1.0\r\nHost: [2001:db8::1]:8080\r\nConnection: close\r\nVia: 1.1 lft-gateway\r\n\r\n"));
    uint8_t none[128];
    const struct lft_result refused = {.code = LFT_RESULT_REFUSED};
    CHECK_EQ(proxy_request_answer(r.kind, NULL, none), 0); /* the server answers */
    CHECK(proxy_request_answer(r.kind, &refused, none) > 0 && strstr((const char *)none, " 502 "));
}

static void test_wrong_plain_http(void)
{
    static const char *const wrong[] = {
        "GET https://a/ HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\n\r\n",
        "GET http://user@a/ HTTP/1.1\r\n\r\n",
        "GET http://a:0/ HTTP/1.1\r\n\r\n",
        "GET http://a/ HTTP/2.0\r\n\r\n",
        "GET http://a/b c HTTP/1.1\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\n folded\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost : a\r\n\r\n",
        " http://a/ HTTP/1.1\r\n\r\n",
        "\r\n\r\n",
    };
    struct proxy_request r;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQ(feed(&r, PROXY_HTTP, wrong[i], strlen(wrong[i])), PROXY_BAD);
}

/* A body that came with the head stays after it; a head without room for what is added is too large. */
static void test_what_follows_a_plain_head(void)
{
    static const char post[] = "POST http://a/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
    struct proxy_request r = {.kind = PROXY_HTTP, .used = sizeof post - 1};
    memcpy(r.text, post, r.used);
    CHECK_EQ(proxy_request_parse(&r), PROXY_GO);
    CHECK(sends(
        &r, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nVia: 1.1 lft-gateway\r\nContent-Length: 3\r\n\r\nabc"));
    r = (struct proxy_request){.kind = PROXY_HTTP, .used = sizeof r.text};
    memset(r.text, 'x', sizeof r.text);
    memcpy(r.text, "GET http://a/ HTTP/1.1\r\nLong: ", 30);
    memcpy(r.text + sizeof r.text - 4, "\r\n\r\n", 4);
    CHECK_EQ(proxy_request_parse(&r), PROXY_BAD);
    CHECK(strstr((const char *)r.reply, " 431 "));
}

static void test_destinations(void)
{
    struct lft_open where;
    CHECK_EQ(proxy_destination("192.0.2.1:80", 12, &where), 0);
    CHECK_EQ(proxy_destination("example.org:80", 14, &where), 0);
    CHECK_EQ(where.family, LFT_FAMILY_NAME);
    CHECK_EQ(proxy_destination("2001:db8::1", 11, &where), -1);
    CHECK_EQ(proxy_destination(":80", 3, &where), -1);
    CHECK_EQ(proxy_destination("[]:80", 5, &where), -1);
}

int main(void)
{
    test_socks();
    test_http();
    test_plain_http();
    test_wrong_plain_http();
    test_what_follows_a_plain_head();
    test_destinations();
    return 0;
}
