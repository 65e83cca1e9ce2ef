/* Pending connections: a whole first message makes a session; silence, and octets that are no message, end the
 * connection. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "pending.h"

static struct rttcp_pending pending;

static int peer(uint64_t now_ns)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    rttcp_pending_add(&pending, pair[1], now_ns);
    return pair[0];
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
    int fd = rttcp_pending_take(&pending);
    CHECK(fd >= 0);
    CHECK_EQ(pending.n, 4);
    close(fd);
    CHECK_EQ(rttcp_pending_take(&pending), -1);
    look();
    rttcp_pending_sweep(&pending, 0);
    CHECK_EQ(pending.n, 2); /* the silent and the half one may still */
    CHECK_EQ(write(half, "cde", 3), 3);
    look();
    fd = rttcp_pending_take(&pending);
    CHECK(fd >= 0);
    close(fd);
    rttcp_pending_sweep(&pending, 2);
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
    pending.n = RTTCP_PENDING_MAX;
    for (size_t i = 0; i < RTTCP_PENDING_MAX; i++) { /* descriptors that are nobody's */
        pending.fds[i] = (struct pollfd){.fd = -1};
        pending.since_ns[i] = i;
    }
    rttcp_pending_add(&pending, zero, 99999);
    CHECK_EQ(pending.n, RTTCP_PENDING_MAX);
    CHECK_EQ(pending.since_ns[0], 1);
    CHECK_EQ(pending.fds[RTTCP_PENDING_MAX - 1].fd, zero);
    rttcp_pending_close(&pending);
    CHECK_EQ(pending.n, 0);
}

int main(void)
{
    RUN(a_whole_message_gets_in);
    RUN(the_oldest_goes_when_it_is_full);
    return 0;
}
