#include "channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"

static long wait_again(struct rttcp_channel *channel, short events)
{
    channel->events = events;
    return CHANNEL_WAIT;
}

static long plain_read(struct rttcp_channel *channel, uint8_t *to, size_t size, struct nc_error *error)
{
    (void)error;
    ssize_t n = recv(channel->fd, to, size, MSG_DONTWAIT);
    if (n > 0)
        return n;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? wait_again(channel, POLLIN) : CHANNEL_CLOSED;
}

static long plain_write(struct rttcp_channel *channel, const uint8_t *from, size_t size, struct nc_error *error)
{
    ssize_t n = send(channel->fd, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0)
        return n;
    if (errno == EAGAIN || errno == EINTR)
        return wait_again(channel, POLLOUT);
    nc_fail(error, NC_EXIT_FAILED, "control connection: %s", strerror(errno));
    return CHANNEL_BAD;
}

static void plain_close(struct rttcp_channel *channel)
{
    (void)channel; /* closing the connection ends it */
}

struct rttcp_channel rttcp_channel_plain(int fd)
{
    static const struct rttcp_channel_kind plain = {plain_read, plain_write, plain_close};
    return (struct rttcp_channel){.fd = fd, .kind = &plain};
}

long rttcp_channel_read(struct rttcp_channel *channel, uint8_t *to, size_t size, struct nc_error *error)
{
    return channel->kind->read(channel, to, size, error);
}

long rttcp_channel_write(struct rttcp_channel *channel, const uint8_t *from, size_t size, struct nc_error *error)
{
    return channel->kind->write(channel, from, size, error);
}

bool rttcp_channel_wait(const struct rttcp_channel *channel, uint64_t deadline_ns)
{
    uint64_t now = nc_now_ns();
    uint64_t left_ns = deadline_ns > now ? deadline_ns - now : 0;
    struct timespec left = {.tv_sec = (time_t)(left_ns / NC_NS_PER_S), .tv_nsec = (long)(left_ns % NC_NS_PER_S)};
    return ppoll(&(struct pollfd){.fd = channel->fd, .events = channel->events}, 1, &left, NULL) > 0;
}

void rttcp_channel_close(struct rttcp_channel *channel)
{
    if (channel->fd < 0)
        return;
    channel->kind->close(channel);
    close(channel->fd);
    channel->fd = -1;
}
