/* A far gateway connects the peer's clients to other machines. It connects them to its own loopback addresses, to
 * metadata services and similar addresses only if its settings allow this, and never from one of its own addresses. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "address.h"
#include "far.h"

/* The result of a connect to this destination; LFT_RESULT_NONE: it succeeds. */
static unsigned outcome_with(const struct relay_settings *settings, const struct lft_open *where)
{
    struct far_pair pair = far_make(settings, FAR_MEMORY);
    struct lft_stream *stream = lft_stream_open(pair.session[0], where, NULL);
    unsigned events = 0, code = LFT_RESULTS;
    for (uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S; !events && nc_now_ns() < until_ns;) {
        far_carry(&pair, 0);
        uint64_t now_ns = nc_now_ns();
        loop_turn(pair.loop, now_ns, now_ns + 10 * NC_NS_PER_MS);
        relay_turn(pair.relay, loop_now_ns(pair.loop));
        far_carry(&pair, 1);
        if (lft_session_event(pair.session[0], &events) && events & LFT_EVENT_RESET)
            code = lft_stream_result(stream)->code;
        else if (events & LFT_EVENT_ACCEPTED)
            code = LFT_RESULT_NONE;
    }
    lft_stream_release(stream);
    far_unmake(&pair);
    return code;
}

static unsigned outcome(bool loopback, const struct lft_open *where)
{
    struct relay_settings settings = {.transparent = true};
    struct nc_error error;
    CHECK_EQ(access_init(&settings.destinations, loopback, NULL, NULL, &error), 0);
    CHECK_EQ(access_init(&settings.sources, false, NULL, NULL, &error), 0);
    return outcome_with(&settings, where);
}

static void loopback_is_for_this_machine(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof any;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listener, (struct sockaddr *)&any, size) == 0 && listen(listener, 8) == 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&any, &size), 0);
    struct lft_open v4 = {.family = LFT_FAMILY_IPV4, .destination = {127, 0, 0, 1}}, none = {.family = LFT_FAMILY_IPV4},
                    v6 = {.family = LFT_FAMILY_IPV6, .destination = {[15] = 1}},
                    mapped = {.family = LFT_FAMILY_IPV6, .destination = {[10] = 0xff, 0xff, 127, 0, 0, 1}},
                    name = {.family = LFT_FAMILY_NAME, .name = "localhost"};
    struct lft_open *const all[] = {&v4, &none, &v6, &mapped, &name};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i]->destination_port = ntohs(any.sin_port);
        CHECK_EQ(outcome(false, all[i]), LFT_RESULT_NOT_ALLOWED);
    }
    CHECK_EQ(outcome(true, &v4), LFT_RESULT_NONE);
    close(listener);
}

/* A service on this machine trusts local clients. A peer with the key asks for this service with a local source
 * address. (Such requests once reached the service.) */
static void a_source_of_this_machine_is_nobodys(void)
{
    static const uint8_t sources[][16] = {{127, 0, 0, 1}, {127, 1, 2, 3}, {0}, {224, 0, 0, 1}, {255, 255, 255, 255}};
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof any;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listener, (struct sockaddr *)&any, size) == 0 && listen(listener, 8) == 0);
    CHECK_EQ(getsockname(listener, (struct sockaddr *)&any, &size), 0);
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        struct lft_open where = {.family = LFT_FAMILY_IPV4,
                                 .flags = LFT_OPEN_KEEP_SOURCE,
                                 .destination = {127, 0, 0, 1},
                                 .destination_port = ntohs(any.sin_port)};
        memcpy(where.source, sources[i], sizeof where.source);
        CHECK_EQ(outcome(true, &where), LFT_RESULT_NOT_ALLOWED);
    }
    close(listener);
}

static bool allowed(const struct access *access, const char *text)
{
    struct sockaddr_storage address;
    struct nc_error error;
    CHECK_DONE(address_resolve(text, 80, false, &address, &error), text, error);
    return access_allows(access, &address);
}

static void what_is_denied_by_default(void)
{
    static const char *const no[] = {"169.254.169.254",
                                     "169.254.1.1",
                                     "[fe80::1]",
                                     "[fd00:ec2::254]",
                                     "224.0.0.1",
                                     "255.255.255.255",
                                     "[ff02::1]",
                                     "100.100.100.200",
                                     "[::ffff:169.254.169.254]",
                                     "[64:ff9b::a9fe:a9fe]",
                                     "[64:ff9b::7f00:1]",
                                     "127.0.0.1",
                                     "[::]",
                                     "0.0.0.0"},
                             *const yes[] = {"192.0.2.1", "10.0.0.1",        "169.253.1.1",        "[2001:db8::1]",
                                             "[fd00::1]", "223.255.255.255", "[64:ff9b::c000:201]"};
    struct access access;
    struct nc_error error;
    CHECK_EQ(access_init(&access, false, NULL, NULL, &error), 0);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        CHECK(!allowed(&access, no[i]));
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        CHECK(allowed(&access, yes[i]));
}

static void the_longest_prefix_decides(void)
{
    const struct nc_strings allow = {3, {"10.1.0.0/16", "169.254.169.254", "2001:db8:1::/48"}},
                            deny = {4, {"0.0.0.0/0", "::/0", "10.1.2.3", "10.1.0.0/16"}},
                            deny_one = {3, {"0.0.0.0/0", "::/0", "10.1.2.3"}};
    struct access access;
    struct nc_error error;
    CHECK_EQ(access_init(&access, false, &allow, &deny_one, &error), 0);
    CHECK(allowed(&access, "10.1.255.1") && allowed(&access, "[2001:db8:1::5]"));
    CHECK(allowed(&access, "169.254.169.254") && !allowed(&access, "169.254.169.253"));
    CHECK(!allowed(&access, "10.1.2.3") && !allowed(&access, "10.2.0.1") && !allowed(&access, "[2001:db8:2::1]"));
    CHECK_EQ(access_init(&access, false, &allow, &deny, &error), 0);
    CHECK(!allowed(&access, "10.1.255.1"));
}

static void a_bad_network_is_named(void)
{
    static const char *const bad[] = {"",           "10.0.0.0/33",    "10.0.0.0/",      "10.0.0.0/x", "10.0.0.0/-1",
                                      "10.0.0.1/8", "2001:db8::/129", "server.example", "10.0.0/8",   "10.0.0.0/8/8"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct access_network network;
        struct nc_error error = {0};
        CHECK(access_network_parse("deny", bad[i], &network, &error) < 0);
        CHECK(strncmp(error.text, "--deny '", 8) == 0 && strstr(error.text, "want"));
    }
}

int main(void)
{
    RUN(loopback_is_for_this_machine);
    RUN(a_source_of_this_machine_is_nobodys);
    RUN(what_is_denied_by_default);
    RUN(the_longest_prefix_decides);
    RUN(a_bad_network_is_named);
    return 0;
}
