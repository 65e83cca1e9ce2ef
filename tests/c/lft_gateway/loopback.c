/* A far gateway connects the peer's clients to other machines, and to its own loopback only where it was told to. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "address.h"
#include "check.h"
#include "loop.h"
#include "nc_clock.h"
#include "relay.h"
#include "session.h"

enum { ROOM = 2048, MEMORY = 8 << 20 };

/* A near session, which asks, and the far gateway's relay with its session. */
struct pair {
    struct lft_session *session[2];
    struct lft_pool *pool[2];
    struct loop *loop;
    struct relay *relay;
};

static void carry(struct pair *pair, unsigned from)
{
    for (;;) {
        struct lft_buffer *buffer = lft_pool_take(pair->pool[1 - from], 1);
        struct lft_source source = lft_session_source(pair->session[from]),
                          sink = lft_session_source(pair->session[1 - from]);
        size_t n = source.fill(source.user, buffer->at, ROOM - 64, 1);
        if (n)
            sink.deliver(sink.user, buffer, buffer->at, n, 1);
        lft_pool_release(pair->pool[1 - from], buffer);
        if (!n)
            return;
    }
}

static struct pair make(bool allow)
{
    const struct relay_settings settings = {
        .sessions_max = 10, .half_open_max = 10, .half_open_ns = 60 * NC_NS_PER_S, .allow_loopback = allow};
    struct pair pair;
    for (unsigned end = 0; end < 2; end++) {
        const struct lft_session_config config = {
            .initiator = end == 0, .streams_max = 10, .tx_memory_bytes = MEMORY, .rx_memory_bytes = MEMORY};
        pair.pool[end] = lft_pool_create(ROOM, MEMORY);
        pair.session[end] = lft_session_create(&config, pair.pool[end]);
    }
    pair.loop = loop_create();
    pair.relay = relay_create(&settings, pair.loop, pair.session[1]);
    return pair;
}

static void unmake(struct pair *pair)
{
    relay_destroy(pair->relay);
    loop_destroy(pair->loop);
    for (unsigned end = 0; end < 2; end++) {
        lft_session_destroy(pair->session[end]);
        lft_pool_destroy(pair->pool[end]);
    }
}

/* What becomes of a connect to this place: LFT_RESULT_NONE when it succeeds. */
static unsigned outcome(bool allow, const struct lft_open *where)
{
    struct pair pair = make(allow);
    struct lft_stream *stream = lft_stream_open(pair.session[0], where, NULL);
    unsigned events = 0, code = LFT_RESULTS;
    for (uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S; !events && nc_now_ns() < until_ns;) {
        carry(&pair, 0);
        uint64_t now_ns = nc_now_ns();
        loop_turn(pair.loop, now_ns, now_ns + 10 * NC_NS_PER_MS);
        relay_turn(pair.relay, loop_now_ns(pair.loop));
        carry(&pair, 1);
        if (lft_session_event(pair.session[0], &events) && events & LFT_EVENT_RESET)
            code = lft_stream_result(stream)->code;
        else if (events & LFT_EVENT_ACCEPTED)
            code = LFT_RESULT_NONE;
    }
    lft_stream_release(stream);
    unmake(&pair);
    return code;
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

int main(void)
{
    RUN(loopback_is_for_this_machine);
    return 0;
}
