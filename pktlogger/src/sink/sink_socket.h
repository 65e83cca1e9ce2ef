/* The sockets of a sink: UDP with receive offload (UDP_GRO), or a raw socket for TCP-shaped packets. The kernel sets
 * arrival times (SO_TIMESTAMPNS), so they do not depend on when this process runs. Messages that found the socket's
 * buffer full are counted separately (SO_RXQ_OVFL), because this machine lost them and not the path. */
#ifndef PL_SINK_SOCKET_H
#define PL_SINK_SOCKET_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "arrivals.h"
#include "nc_error.h"

struct pl_sink_socket;

struct pl_sink_settings {
    struct sockaddr_storage at; /* address and port; [::] is both families */
    bool tcp;
    uint64_t buffer_bytes;
};

/* NULL with the error. */
struct pl_sink_socket *pl_sink_open(const struct pl_sink_settings *settings, struct nc_error *error);

enum { PL_SINK_FDS = 2 }; /* each raw socket has one address family */
void pl_sink_poll(const struct pl_sink_socket *sink, struct pollfd fds[PL_SINK_FDS]);

/* Takes the messages that have arrived, at most a few hundred. Returns their number, or -1 with the error. */
int pl_sink_take(struct pl_sink_socket *sink, struct pl_arrivals *arrivals, struct nc_error *error);

/* Messages that found the socket's buffer full, as reported with the last arrival. */
uint64_t pl_sink_drops(const struct pl_sink_socket *sink);

void pl_sink_close(struct pl_sink_socket *sink);

#endif
