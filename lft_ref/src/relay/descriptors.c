/* Handles the case that the process has no descriptor left. As with connections, sources share descriptors fairly, so
 * that a source with many sockets does not keep out one with few. The listener accepts its next client with a spare
 * descriptor and looks at the client's source. If another source has more sockets, an idle socket of the busiest source
 * is closed to make room; otherwise the client is turned away, as it is when the limit --sessions is reached.
 * Rejected: leaving clients in the kernel's queue; clients of all sources would wait until the busy source closes
 * sockets. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay_internal.h"

static bool is_short(int error)
{
    return error == EMFILE || error == ENFILE;
}

bool relay_make_room(struct relay *relay, const struct share_key *newcomer, int error)
{
    if (!is_short(error) || !shares_has_heavier(relay->sockets, newcomer))
        return false;
    relay->counters.sockets_evicted++;
    connection_end_idle(relay->sockets, offsetof(struct relay_connection, socket), newcomer);
    return true;
}

void relay_keep_spare(struct relay *relay)
{
    if (relay->spare < 0)
        relay->spare = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

void relay_release_spare(struct relay *relay)
{
    if (relay->spare >= 0)
        close(relay->spare);
    relay->spare = -1;
}

bool relay_descriptor_left(struct relay *relay, const struct share_key *newcomer)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = errno;
    if (fd >= 0)
        close(fd);
    return fd >= 0 || relay_make_room(relay, newcomer, error);
}

struct share_key relay_source_of(const struct sockaddr_storage *client)
{
    uint8_t address[16] = {0};
    if (client->ss_family == AF_INET6)
        memcpy(address, &((const struct sockaddr_in6 *)client)->sin6_addr, 16);
    else
        memcpy(address, &((const struct sockaddr_in *)client)->sin_addr, 4);
    return share_key(client->ss_family == AF_INET6 ? 6 : 4, address);
}

static int accept_one(int listener, struct sockaddr_storage *client)
{
    socklen_t size = sizeof *client;
    return accept4(listener, (struct sockaddr *)client, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int relay_accept(struct relay *relay, struct loop_source *listener, struct sockaddr_storage *client, bool *full)
{
    int fd = accept_one(listener->fd, client);
    *full = false;
    if (fd < 0 && is_short(errno)) {
        relay->counters.accepts_without_descriptor++;
        relay_release_spare(relay);
        fd = accept_one(listener->fd, client);
        int error = errno;
        if (fd >= 0) {
            struct share_key newcomer = relay_source_of(client);
            *full = !relay_make_room(relay, &newcomer, EMFILE);
        }
        if (!*full)
            relay_keep_spare(relay);
        errno = error;
    }
    if (fd < 0)
        loop_rest(relay->loop, listener, errno);
    return fd;
}

void relay_turn_away(struct relay *relay, int fd)
{
    relay->counters.near_limited++;
    close(fd);
    relay_keep_spare(relay);
}
