#include "lobby.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"

enum greeting { WHOLE, PART, NONSENSE };

static enum greeting look(int fd)
{
    uint32_t length;
    uint8_t peeked[RTTCP_FRAME_HEADER + RTTCP_GREETING_MAX];
    ssize_t n = recv(fd, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? PART : NONSENSE;
    if (n == 0)
        return NONSENSE;
    if (n < RTTCP_FRAME_HEADER)
        return PART;
    memcpy(&length, peeked, sizeof length);
    length = be32toh(length);
    if (length < 2 || length > RTTCP_GREETING_MAX)
        return NONSENSE;
    return (size_t)n >= RTTCP_FRAME_HEADER + length ? WHOLE : PART;
}

static void remove_at(struct rttcp_lobby *lobby, size_t i)
{
    lobby->n--;
    memmove(&lobby->fds[i], &lobby->fds[i + 1], (lobby->n - i) * sizeof lobby->fds[0]);
    memmove(&lobby->since_ns[i], &lobby->since_ns[i + 1], (lobby->n - i) * sizeof lobby->since_ns[0]);
}

static void close_at(struct rttcp_lobby *lobby, size_t i)
{
    close(lobby->fds[i].fd);
    remove_at(lobby, i);
}

void rttcp_lobby_add(struct rttcp_lobby *lobby, int fd, uint64_t now_ns)
{
    int much = RTTCP_FRAME_HEADER;
    if (lobby->n == RTTCP_LOBBY_PLACES)
        close_at(lobby, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &much, sizeof much);
    lobby->fds[lobby->n] = (struct pollfd){.fd = fd, .events = POLLIN};
    lobby->since_ns[lobby->n++] = now_ns;
}

int rttcp_lobby_take(struct rttcp_lobby *lobby)
{
    int one = 1;
    for (size_t i = 0; i < lobby->n; i++) {
        if (!lobby->fds[i].revents || look(lobby->fds[i].fd) != WHOLE)
            continue;
        int fd = lobby->fds[i].fd;
        setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
        remove_at(lobby, i);
        return fd;
    }
    return -1;
}

/* A part of a message would be readable for ever: it waits for one octet more. */
static void wait_for_more(int fd)
{
    uint8_t peeked[RTTCP_FRAME_HEADER + RTTCP_GREETING_MAX];
    ssize_t n = recv(fd, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    int much = n > 0 ? (int)n + 1 : RTTCP_FRAME_HEADER;
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &much, sizeof much);
}

void rttcp_lobby_sweep(struct rttcp_lobby *lobby, uint64_t silent_since_ns)
{
    for (size_t i = lobby->n; i-- > 0;) {
        enum greeting greeting = lobby->fds[i].revents ? look(lobby->fds[i].fd) : PART;
        if (lobby->since_ns[i] < silent_since_ns || greeting == NONSENSE)
            close_at(lobby, i);
        else if (lobby->fds[i].revents && greeting == PART)
            wait_for_more(lobby->fds[i].fd);
    }
}

void rttcp_lobby_close(struct rttcp_lobby *lobby)
{
    while (lobby->n)
        close_at(lobby, lobby->n - 1);
}
