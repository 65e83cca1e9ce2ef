/* Connections through a proxy: which texts name a proxy, what is sent to it, and what its answers mean. */
#include "check.h"
#include "proxy.h"

static struct rttcp_proxy made(const char *text)
{
    struct rttcp_proxy proxy;
    struct nc_error error;
    CHECK_EQ(rttcp_proxy_parse(text, &proxy, &error), 0);
    return proxy;
}

static void texts_name_a_kind_a_host_and_a_port(void)
{
    static const char *const wrong[] = {"",
                                        "10.0.0.1:1080",
                                        "socks4://10.0.0.1:1080",
                                        "socks5://10.0.0.1",
                                        "socks5://:1080",
                                        "socks5://10.0.0.1:",
                                        "socks5://10.0.0.1:0",
                                        "socks5://10.0.0.1:65536",
                                        "socks5://10.0.0.1:1080x",
                                        "socks5://fd00::1:1080",
                                        "http://[]:80",
                                        "http://proxy:80/"};
    struct rttcp_proxy proxy = made("socks5://proxy.lan:1080");
    CHECK(proxy.kind == RTTCP_PROXY_SOCKS5 && strcmp(proxy.host, "proxy.lan") == 0 && proxy.port == 1080);
    proxy = made("http://[fd00::1]:65535");
    CHECK(proxy.kind == RTTCP_PROXY_HTTP && strcmp(proxy.host, "fd00::1") == 0 && proxy.port == 65535);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct nc_error error;
        CHECK(rttcp_proxy_parse(wrong[i], &proxy, &error) < 0 && error.status == NC_EXIT_USAGE);
    }
}

static void says(const struct rttcp_proxy *proxy, int step, const char *host, const char *octets, size_t n)
{
    uint8_t words[RTTCP_PROXY_ANSWER_MAX];
    struct nc_error error;
    CHECK_EQ(rttcp_proxy_words(proxy, step, host, 5020, words, &error), n);
    CHECK(memcmp(words, octets, n) == 0);
}

/* RFC 1928, sections 3 and 4; RFC 9110, section 9.3.6. */
static void words_are_those_of_the_protocols(void)
{
    char request[] = "CONNECT rcv:5020 HTTP/1.1\r\nHost: rcv:5020\r\n\r\n";
    char request6[] = "CONNECT [fd00::2]:5020 HTTP/1.1\r\nHost: [fd00::2]:5020\r\n\r\n";
    struct rttcp_proxy socks = made("socks5://p:1"), http = made("http://p:1");
    says(&socks, 0, "rcv", "\5\1\0", 3);
    says(&socks, 1, "rcv", "\5\1\0\3\3rcv\x13\x9c", 10);
    says(&socks, 1, "10.0.2.1", "\5\1\0\1\12\0\2\1\x13\x9c", 10);
    says(&socks, 1, "fd00::2", "\5\1\0\4\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2\x13\x9c", 22);
    says(&socks, 2, "rcv", "", 0);
    says(&http, 0, "rcv", request, sizeof request - 1);
    says(&http, 0, "fd00::2", request6, sizeof request6 - 1);
    says(&http, 1, "rcv", "", 0);
}

/* Octet by octet: `n` octets must be a complete answer, and fewer an incomplete one. */
static void whole_at(const struct rttcp_proxy *proxy, int step, const char *octets, size_t n)
{
    struct nc_error error;
    for (size_t k = 0; k < n; k++)
        CHECK_EQ(rttcp_proxy_answer(proxy, step, (const uint8_t *)octets, k, &error), 0);
    CHECK_EQ(rttcp_proxy_answer(proxy, step, (const uint8_t *)octets, n, &error), 1);
}

static void refuses(const struct rttcp_proxy *proxy, int step, const char *octets, size_t n, const char *why)
{
    struct nc_error error;
    CHECK(rttcp_proxy_answer(proxy, step, (const uint8_t *)octets, n, &error) < 0);
    CHECK(strstr(error.text, why) && error.status == NC_EXIT_FAILED);
}

static void answers_are_read_to_their_last_octet(void)
{
    char good[] = "HTTP/1.1 200 Connection established\r\nVia: p\r\n\r\n", bad[] = "HTTP/1.0 502 Bad gateway\r\n\r\n";
    struct rttcp_proxy socks = made("socks5://p:1"), http = made("http://p:1");
    whole_at(&socks, 0, "", 0);
    whole_at(&socks, 1, "\5\0", 2);
    whole_at(&socks, 2, "\5\0\0\1\0\0\0\0\0\0", 10);
    whole_at(&socks, 2, "\5\0\0\3\2ab\0\0", 9);
    whole_at(&socks, 2, "\5\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
    whole_at(&http, 0, "", 0);
    whole_at(&http, 1, "", 0);
    whole_at(&http, 2, good, sizeof good - 1);
    refuses(&socks, 1, "\5\xff", 2, "password");
    refuses(&socks, 1, "HT", 2, "not SOCKS5");
    refuses(&socks, 2, "\5\5\0\1", 4, "connection refused");
    refuses(&socks, 2, "\5\x63\0\1", 4, "not known");
    refuses(&socks, 2, "\5\0\0\7", 4, "not SOCKS5");
    refuses(&http, 2, bad, sizeof bad - 1, "502 Bad gateway");
    refuses(&http, 2, "\5\0", 2, "not HTTP");
    refuses(&http, 2, "HTTP/1.\r\n\r\n", 11, "not HTTP");
}

int main(void)
{
    RUN(texts_name_a_kind_a_host_and_a_port);
    RUN(words_are_those_of_the_protocols);
    RUN(answers_are_read_to_their_last_octet);
    return 0;
}
