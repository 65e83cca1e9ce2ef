/* The lobby: who has said something whole gets in, who is silent or talks nonsense goes. */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "lobby.h"

static struct rttcp_lobby lobby;

static int guest(uint64_t now_ns)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    rttcp_lobby_add(&lobby, pair[1], now_ns);
    return pair[0];
}

static void look(void)
{
    CHECK(poll(lobby.fds, lobby.n, 0) >= 0);
}

static void a_whole_message_gets_in(void)
{
    int silent = guest(1), half = guest(2), whole = guest(3), nonsense = guest(4), gone = guest(5);
    CHECK_EQ(write(half, "\0\0\0\5ab", 6), 6);
    CHECK_EQ(write(whole, "\0\0\0\2{}", 6), 6);
    CHECK_EQ(write(nonsense, "GET / HTTP/1.1", 14), 14);
    close(gone);
    look();
    int fd = rttcp_lobby_take(&lobby);
    CHECK(fd >= 0);
    CHECK_EQ(lobby.n, 4);
    close(fd);
    CHECK_EQ(rttcp_lobby_take(&lobby), -1);
    look();
    rttcp_lobby_sweep(&lobby, 0);
    CHECK_EQ(lobby.n, 2); /* the silent and the half one may still */
    CHECK_EQ(write(half, "cde", 3), 3);
    look();
    fd = rttcp_lobby_take(&lobby);
    CHECK(fd >= 0);
    close(fd);
    rttcp_lobby_sweep(&lobby, 2);
    CHECK_EQ(lobby.n, 0); /* silent for too long */
    close(silent);
    close(half);
    close(whole);
    close(nonsense);
}

static void the_oldest_goes_when_it_is_full(void)
{
    int zero = open("/dev/null", 0);
    CHECK(zero >= 0);
    lobby.n = RTTCP_LOBBY_PLACES;
    for (size_t i = 0; i < RTTCP_LOBBY_PLACES; i++) { /* descriptors that are nobody's */
        lobby.fds[i] = (struct pollfd){.fd = -1};
        lobby.since_ns[i] = i;
    }
    rttcp_lobby_add(&lobby, zero, 99999);
    CHECK_EQ(lobby.n, RTTCP_LOBBY_PLACES);
    CHECK_EQ(lobby.since_ns[0], 1);
    CHECK_EQ(lobby.fds[RTTCP_LOBBY_PLACES - 1].fd, zero);
    rttcp_lobby_close(&lobby);
    CHECK_EQ(lobby.n, 0);
}

int main(void)
{
    RUN(a_whole_message_gets_in);
    RUN(the_oldest_goes_when_it_is_full);
    return 0;
}
