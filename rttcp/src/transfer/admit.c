/* Chooses the connection that becomes a stream. Without a key it is the first one from the peer's address. With a key
 * every connection from there is a candidate until its token has arrived, so that a silent or forged connection keeps
 * nobody out. When there are too many candidates, the oldest is closed. sock.h has the interface. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "nc_clock.h"
#include "sock.h"

#define CANDIDATES_MAX 64

struct door {
    int listen_fd, control_fd;
    struct sockaddr_storage peer; /* who may come in */
    const struct rttcp_join_key *key;
    uint64_t stream;
    nfds_t n; /* candidates */
    /* the polled descriptors: candidates, oldest first, then the listener, then the control connection */
    struct pollfd fds[CANDIDATES_MAX + 2];
};

/* Removes a candidate from the list and returns its descriptor. */
static int remove_candidate(struct door *door, nfds_t i)
{
    int fd = door->fds[i].fd;
    door->n--;
    memmove(&door->fds[i], &door->fds[i + 1], (door->n - i) * sizeof door->fds[0]);
    return fd;
}

/* Returns the descriptor of the stream, or -1 when the new connection is a candidate or was closed. */
static int take_connection(struct door *door)
{
    struct sockaddr_storage from = {0};
    int fd = accept4(door->listen_fd, (struct sockaddr *)&from, &(socklen_t){sizeof from}, SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    if (!rttcp_same_host(&from, &door->peer)) {
        close(fd);
        return -1;
    }
    if (!door->key->wanted)
        return fd;
    if (door->n == CANDIDATES_MAX)
        close(remove_candidate(door, 0));
    door->fds[door->n++] = (struct pollfd){.fd = fd, .events = POLLIN | POLLRDHUP};
    return -1;
}

static void wake_at(int fd, int octets)
{
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &octets, sizeof octets);
}

/* Peeks at a candidate's token without consuming the data after it. */
static enum rttcp_join look_at(const struct door *door, int fd)
{
    uint8_t octets[RTTCP_JOIN_OCTETS];
    ssize_t n = recv(fd, octets, sizeof octets, MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? JOIN_PART : JOIN_INVALID;
    enum rttcp_join join = rttcp_join_check(door->key, door->stream, octets, octets + n);
    if (join == JOIN_PART)
        wake_at(fd, (int)n + 1); /* the socket would stay readable with a part of a token in it */
    else if (join == JOIN_VALID && recv(fd, octets, sizeof octets, MSG_DONTWAIT) != sizeof octets)
        return JOIN_INVALID;
    return join;
}

/* Returns the descriptor of the candidate whose token is valid, or -1. */
static int take_candidate(struct door *door)
{
    for (nfds_t i = door->n; i-- > 0;) {
        if (!door->fds[i].revents)
            continue;
        enum rttcp_join join = look_at(door, door->fds[i].fd);
        bool closed = door->fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR);
        if (join == JOIN_INVALID || (join == JOIN_PART && closed))
            close(remove_candidate(door, i));
        if (join != JOIN_VALID)
            continue;
        int fd = remove_candidate(door, i);
        wake_at(fd, 1);
        return fd;
    }
    return -1;
}

/* Returns the stream's descriptor, or -1 with the error. A signal requests a stop (session/stop.h). */
static int wait_at(struct door *door, uint64_t deadline_ns, struct nc_error *error)
{
    for (uint64_t now; (now = nc_now_ns()) < deadline_ns;) {
        struct pollfd *listener = &door->fds[door->n], *control = listener + 1;
        *listener = (struct pollfd){.fd = door->listen_fd, .events = POLLIN};
        *control = (struct pollfd){.fd = door->control_fd, .events = POLLRDHUP};
        int ready = poll(door->fds, door->n + 2, (int)((deadline_ns - now) / NC_NS_PER_MS) + 1);
        if (ready < 0 && errno == EINTR)
            return nc_fail(error, NC_EXIT_FAILED, "stopped by a signal before the data connections were there");
        if (ready <= 0)
            continue;
        bool knocked = listener->revents != 0, alone = control->revents != 0;
        int fd = take_candidate(door);
        if (fd < 0 && knocked)
            fd = take_connection(door);
        if (fd >= 0)
            return fd;
        if (alone && !knocked)
            return nc_fail(error, NC_EXIT_FAILED, "the sender went away before it opened its data connections");
    }
    return nc_fail(error, NC_EXIT_FAILED, "the sender did not open its data connection (port %u) in time",
                   rttcp_local_port(door->listen_fd));
}

int rttcp_data_accept(int listen_fd, int control_fd, const struct rttcp_join_key *key, uint64_t stream,
                      uint64_t deadline_ns, struct nc_error *error)
{
    struct door door = {.listen_fd = listen_fd, .control_fd = control_fd, .key = key, .stream = stream};
    getpeername(control_fd, (struct sockaddr *)&door.peer, &(socklen_t){sizeof door.peer});
    int fd = wait_at(&door, deadline_ns, error);
    while (door.n)
        close(remove_candidate(&door, door.n - 1));
    return fd;
}

int rttcp_data_join(int fd, const struct rttcp_join_key *key, uint64_t stream, bool sending, struct nc_error *error)
{
    uint8_t octets[RTTCP_JOIN_OCTETS];
    if (!key->wanted)
        return 0;
    rttcp_join_encode(key, stream, octets);
    ssize_t n = send(fd, octets, sizeof octets, MSG_NOSIGNAL | (sending ? MSG_MORE : 0)); /* into an empty buffer */
    if (n == sizeof octets)
        return 0;
    return nc_fail(error, NC_EXIT_FAILED, "data connection: its token could not be sent: %s",
                   n < 0 ? strerror(errno) : "the send buffer took a part of it");
}
