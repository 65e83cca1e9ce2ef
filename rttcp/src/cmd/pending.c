#include "pending.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control_connection.h"

enum first_message { WHOLE, PART, INVALID };

/* Looks at the octets that have arrived, without taking them. */
static enum first_message peek(int fd)
{
    uint32_t length;
    uint8_t peeked[RTTCP_FRAME_HEADER + RTTCP_FIRST_MESSAGE_MAX];
    ssize_t n = recv(fd, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? PART : INVALID;
    if (n == 0)
        return INVALID;
    if (n < RTTCP_FRAME_HEADER)
        return PART;
    memcpy(&length, peeked, sizeof length);
    length = be32toh(length);
    if (length < 2 || length > RTTCP_FIRST_MESSAGE_MAX)
        return INVALID;
    return (size_t)n >= RTTCP_FRAME_HEADER + length ? WHOLE : PART;
}

static void remove_at(struct rttcp_pending *pending, size_t i)
{
    pending->n--;
    memmove(&pending->fds[i], &pending->fds[i + 1], (pending->n - i) * sizeof pending->fds[0]);
    memmove(&pending->since_ns[i], &pending->since_ns[i + 1], (pending->n - i) * sizeof pending->since_ns[0]);
}

static void close_at(struct rttcp_pending *pending, size_t i)
{
    close(pending->fds[i].fd);
    remove_at(pending, i);
}

void rttcp_pending_add(struct rttcp_pending *pending, int fd, uint64_t now_ns)
{
    int much = RTTCP_FRAME_HEADER;
    if (pending->n == RTTCP_PENDING_MAX)
        close_at(pending, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &much, sizeof much);
    pending->fds[pending->n] = (struct pollfd){.fd = fd, .events = POLLIN};
    pending->since_ns[pending->n++] = now_ns;
}

int rttcp_pending_take(struct rttcp_pending *pending)
{
    int one = 1;
    for (size_t i = 0; i < pending->n; i++) {
        if (!pending->fds[i].revents || peek(pending->fds[i].fd) != WHOLE)
            continue;
        int fd = pending->fds[i].fd;
        setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
        remove_at(pending, i);
        return fd;
    }
    return -1;
}

/* The socket would stay readable with a part of a message in it, so poll waits until one octet more has arrived. */
static void wait_for_more(int fd)
{
    uint8_t peeked[RTTCP_FRAME_HEADER + RTTCP_FIRST_MESSAGE_MAX];
    ssize_t n = recv(fd, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    int much = n > 0 ? (int)n + 1 : RTTCP_FRAME_HEADER;
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &much, sizeof much);
}

void rttcp_pending_sweep(struct rttcp_pending *pending, uint64_t silent_since_ns)
{
    for (size_t i = pending->n; i-- > 0;) {
        enum first_message first = pending->fds[i].revents ? peek(pending->fds[i].fd) : PART;
        if (pending->since_ns[i] < silent_since_ns || first == INVALID)
            close_at(pending, i);
        else if (pending->fds[i].revents && first == PART)
            wait_for_more(pending->fds[i].fd);
    }
}

void rttcp_pending_close(struct rttcp_pending *pending)
{
    while (pending->n)
        close_at(pending, pending->n - 1);
}
