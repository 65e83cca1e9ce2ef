#include "pending.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "first_message.h"

#define MESSAGE_MIN 4 /* fewer octets are no message */
#define PEEKED (RTTCP_FIRST_MESSAGE_HEADER_MAX + RTTCP_FIRST_MESSAGE_MAX)

/* Peeks at the octets that have arrived, without removing them from the socket. */
static enum rttcp_first peek(int fd)
{
    uint8_t peeked[PEEKED];
    ssize_t n = recv(fd, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? FIRST_PART : FIRST_INVALID;
    return n == 0 ? FIRST_INVALID : rttcp_first_message(peeked, peeked + n);
}

static void remove_at(struct rttcp_pending *pending, size_t i)
{
    struct rttcp_origin origin = pending->origins[i];
    pending->n--;
    memmove(&pending->fds[i], &pending->fds[i + 1], (pending->n - i) * sizeof pending->fds[0]);
    memmove(&pending->since_ns[i], &pending->since_ns[i + 1], (pending->n - i) * sizeof pending->since_ns[0]);
    memmove(&pending->origins[i], &pending->origins[i + 1], (pending->n - i) * sizeof pending->origins[0]);
    memmove(&pending->older[i], &pending->older[i + 1], (pending->n - i) * sizeof pending->older[0]);
    for (; i < pending->n; i++)
        pending->older[i] -= rttcp_origin_same(&pending->origins[i], &origin);
}

static void close_at(struct rttcp_pending *pending, size_t i)
{
    close(pending->fds[i].fd);
    remove_at(pending, i);
}

static void close_oldest_of(struct rttcp_pending *pending, const struct rttcp_origin *origin)
{
    size_t i = 0;
    while (!rttcp_origin_same(&pending->origins[i], origin))
        i++;
    close_at(pending, i);
}

void rttcp_pending_add(struct rttcp_pending *pending, int fd, const struct rttcp_origin *origin, uint64_t now_ns)
{
    int much = MESSAGE_MIN;
    size_t older = 0;
    for (size_t i = 0; i < pending->n; i++)
        older += rttcp_origin_same(&pending->origins[i], origin);
    if (older >= RTTCP_PENDING_SHARE) {
        close_oldest_of(pending, origin);
        older--;
    } else if (pending->n == RTTCP_PENDING_MAX)
        rttcp_pending_close_one(pending);
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &much, sizeof much);
    pending->fds[pending->n] = (struct pollfd){.fd = fd, .events = POLLIN | POLLRDHUP};
    pending->origins[pending->n] = *origin;
    pending->older[pending->n] = older;
    pending->since_ns[pending->n++] = now_ns;
}

bool rttcp_pending_close_one(struct rttcp_pending *pending)
{
    size_t busiest = 0;
    if (pending->n == 0)
        return false;
    for (size_t i = 1; i < pending->n; i++)
        if (pending->older[i] > pending->older[busiest])
            busiest = i;
    struct rttcp_origin origin = pending->origins[busiest];
    close_oldest_of(pending, &origin);
    return true;
}

int64_t rttcp_pending_next(const struct rttcp_pending *pending, const struct rttcp_places *places, bool full)
{
    int64_t next = -1;
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < pending->n && fewest > 0; i++) {
        if (!pending->fds[i].revents || rttcp_places_full_for(places, &pending->origins[i]) != full ||
            peek(pending->fds[i].fd) != FIRST_WHOLE)
            continue;
        uint64_t taken = rttcp_places_taken(places, &pending->origins[i]);
        next = taken < fewest ? (int64_t)i : next;
        fewest = taken < fewest ? taken : fewest;
    }
    return next;
}

int rttcp_pending_take(struct rttcp_pending *pending, size_t i)
{
    int one = 1, fd = pending->fds[i].fd;
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
    remove_at(pending, i);
    return fd;
}

/* A socket that holds a part of a message would stay readable. This makes poll wait until one more octet has
 * arrived. */
static void wait_for_more(int fd)
{
    uint8_t peeked[PEEKED];
    ssize_t n = recv(fd, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    int much = n > 0 ? (int)n + 1 : MESSAGE_MIN;
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &much, sizeof much);
}

/* True when the first octets cannot begin a message, or when the peer has closed after a part of a message. In the
 * second case no more octets will arrive, and the socket would stay readable for ever. */
static bool is_hopeless(const struct pollfd *polled, enum rttcp_first first)
{
    return first == FIRST_INVALID || (first == FIRST_PART && polled->revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void rttcp_pending_sweep(struct rttcp_pending *pending, const struct rttcp_places *places, uint64_t now_ns,
                         uint64_t patience_ns)
{
    for (size_t i = pending->n; i-- > 0;) {
        const struct pollfd *polled = &pending->fds[i];
        enum rttcp_first first = polled->revents ? peek(polled->fd) : FIRST_PART;
        bool late = now_ns - pending->since_ns[i] > patience_ns && !rttcp_places_full_for(places, &pending->origins[i]);
        if (late || is_hopeless(polled, first) || polled->revents & POLLERR)
            close_at(pending, i);
        else if (polled->revents && first == FIRST_PART)
            wait_for_more(polled->fd);
    }
}

void rttcp_pending_close(struct rttcp_pending *pending)
{
    while (pending->n)
        close_at(pending, pending->n - 1);
}
