/* What clients of the proxies say, octet by octet. */
#include <string.h>

#include "check.h"
#include "proxy_request.h"

/* Feeds a dialogue one octet at a time; replies are thrown away. */
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
    CHECK_EQ(FEED(&r, PROXY_HTTP, "GET / HTTP/1.1\r\n\r\n"), PROXY_BAD);
    CHECK(strstr((const char *)r.reply, " 405 "));
    CHECK_EQ(FEED(&r, PROXY_HTTP, "CONNECT host HTTP/1.1\r\n\r\n"), PROXY_BAD);
    CHECK_EQ(FEED(&r, PROXY_HTTP, "CONNECT host:0 HTTP/1.1\r\n\r\n"), PROXY_BAD);
    CHECK_EQ(FEED(&r, PROXY_HTTP, "CONNECT host:65536 HTTP/1.1\r\n\r\n"), PROXY_BAD);
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
    test_destinations();
    return 0;
}
