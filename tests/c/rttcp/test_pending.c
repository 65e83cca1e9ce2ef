/* Pending connections. A complete first message makes a session. Silence, or octets that are not a message, end the
 * connection. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "pending.h"

static struct rttcp_pending pending;
static struct rttcp_places places;

static struct rttcp_origin origin_of(uint8_t host)
{
    return (struct rttcp_origin){.ipv4 = true, .octets = {10, 0, 0, host}};
}

static int peer_from(uint8_t host, uint64_t now_ns)
{
    int pair[2];
    struct rttcp_origin origin = origin_of(host);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    rttcp_pending_add(&pending, pair[1], &origin, now_ns);
    return pair[0];
}

static int peer(uint64_t now_ns)
{
    return peer_from(1, now_ns);
}

/* Accepts the next connection, as the server does; -1 if there is none. */
static int take(void)
{
    int64_t next = rttcp_pending_next(&pending, &places, false);
    return next < 0 ? -1 : rttcp_pending_take(&pending, (size_t)next);
}

static void look(void)
{
    CHECK(poll(pending.fds, pending.n, 0) >= 0);
}

static void a_whole_message_gets_in(void)
{
    int silent = peer(1), half = peer(2), whole = peer(3), nonsense = peer(4), gone = peer(5);
    CHECK_EQ(write(half, "\0\0\0\5ab", 6), 6);
    CHECK_EQ(write(whole, "\0\0\0\2{}", 6), 6);
    CHECK_EQ(write(nonsense, "GET / HTTP/1.1", 14), 14);
    close(gone);
    look();
    int fd = take();
    CHECK(fd >= 0);
    CHECK_EQ(pending.n, 4);
    close(fd);
    CHECK_EQ(take(), -1);
    look();
    rttcp_pending_sweep(&pending, &places, 6, 10); /* less time has passed than the time-out */
    CHECK_EQ(pending.n, 2);                        /* the silent connection, and the one with half a message, may still
                                                    * wait */
    CHECK_EQ(write(half, "cde", 3), 3);
    look();
    fd = take();
    CHECK(fd >= 0);
    close(fd);
    rttcp_pending_sweep(&pending, &places, 12, 10);
    CHECK_EQ(pending.n, 0); /* silent for too long */
    close(silent);
    close(half);
    close(whole);
    close(nonsense);
}

static void the_oldest_goes_when_it_is_full(void)
{
    int zero = open("/dev/null", 0);
    CHECK(zero >= 0);
    for (size_t i = 0; i < RTTCP_PENDING_MAX; i++) { /* descriptors that are nobody's */
        struct rttcp_origin from = origin_of((uint8_t)i);
        rttcp_pending_add(&pending, -1, &from, i);
    }
    struct rttcp_origin origin = origin_of(1);
    rttcp_pending_add(&pending, zero, &origin, 99999);
    CHECK_EQ(pending.n, RTTCP_PENDING_MAX);
    CHECK_EQ(pending.since_ns[0], 1);
    CHECK_EQ(pending.fds[RTTCP_PENDING_MAX - 1].fd, zero);
    rttcp_pending_close(&pending);
    CHECK_EQ(pending.n, 0);
}

/* Half a message of a peer that has closed stays readable forever. Without a check the loop would spin and miss
 * signals. */
static void half_a_message_of_a_closed_peer_goes_at_once(void)
{
    int half = peer(1);
    CHECK_EQ(write(half, "\0\0", 2), 2);
    close(half);
    look();
    rttcp_pending_sweep(&pending, &places, 1, UINT64_MAX);
    CHECK_EQ(pending.n, 0);
}

/* Connections of one origin evict each other, but not an older connection of another origin. */
static void an_origin_has_its_share_and_no_more(void)
{
    for (size_t i = 0; i <= RTTCP_PENDING_SHARE; i++) {
        struct rttcp_origin origin = origin_of(i == 0 ? 2 : 1);
        rttcp_pending_add(&pending, -1, &origin, i);
    }
    CHECK_EQ(pending.n, RTTCP_PENDING_SHARE + 1);
    struct rttcp_origin origin = origin_of(1);
    rttcp_pending_add(&pending, -1, &origin, 99999);
    CHECK_EQ(pending.n, RTTCP_PENDING_SHARE + 1);
    CHECK_EQ(pending.since_ns[0], 0);
    CHECK_EQ(pending.since_ns[1], 2);
    rttcp_pending_close(&pending);
}

/* Without descriptors a connection must be evicted. The oldest of all might be one that came before a flood. */
static void a_flood_loses_its_own(void)
{
    struct rttcp_origin one = origin_of(1), other = origin_of(2);
    rttcp_pending_add(&pending, -1, &other, 0);
    for (uint64_t i = 1; i <= 3; i++)
        rttcp_pending_add(&pending, -1, &one, i);
    rttcp_pending_add(&pending, -1, &other, 4);
    for (uint64_t left = 3; left >= 2; left--) {
        CHECK(rttcp_pending_close_one(&pending));
        CHECK_EQ(pending.since_ns[0], 0);
        CHECK_EQ(pending.since_ns[1], 5 - left);
    }
    CHECK_EQ(pending.n, 3);
    while (rttcp_pending_close_one(&pending))
        ;
    CHECK_EQ(pending.n, 0);
}

/* A TLS hello is a first message, too. Peers without a session are served first. */
static void the_one_with_the_fewest_is_next(void)
{
    struct rttcp_origin first = origin_of(1);
    int many = peer_from(1, 1), none = peer_from(2, 2);
    rttcp_places_take(&places, &first, 1);
    CHECK_EQ(write(many, "\0\0\0\2{}", 6), 6);
    look();
    CHECK_EQ(rttcp_pending_next(&pending, &places, false), 0);
    CHECK_EQ(write(none, "\x16\3\1\0\2ab", 7), 7);
    look();
    CHECK_EQ(rttcp_pending_next(&pending, &places, false), 1);
    rttcp_pending_close(&pending);
    close(many);
    close(none);
}

int main(void)
{
    CHECK_EQ(rttcp_places_create(&places, 4), 0);
    RUN(a_whole_message_gets_in);
    RUN(the_oldest_goes_when_it_is_full);
    RUN(half_a_message_of_a_closed_peer_goes_at_once);
    RUN(an_origin_has_its_share_and_no_more);
    RUN(a_flood_loses_its_own);
    RUN(the_one_with_the_fewest_is_next);
    rttcp_places_release(&places);
    return 0;
}
