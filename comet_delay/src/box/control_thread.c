#include "control_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "nc_clock.h"
#include "nc_control.h"
#include "nc_log.h"

/* A connected client, and what has come of its next line. */
struct client {
    int fd; /* -1: no client */
    size_t used;
    char line[CONTROL_LINE_MAX];
};

/* Reads what is there and answers every whole line. -1 when the client has gone, or has sent a line that is too
 * long. */
static int read_client(struct client *client, struct box *box)
{
    ssize_t n = recv(client->fd, client->line + client->used, sizeof client->line - client->used, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0)
        return -1;
    client->used += (size_t)n;
    for (char *end; (end = memchr(client->line, '\n', client->used));) {
        size_t len = (size_t)(end - client->line);
        /* blocking, with the socket's send time-out: a client that does not read is dropped */
        if (nc_control_send(client->fd, control_answer(box, client->line, len), 0) < 0)
            return -1;
        client->used -= len + 1;
        memmove(client->line, end + 1, client->used);
    }
    return client->used == sizeof client->line ? -1 : 0;
}

static void accept_client(struct client *clients, int control_fd)
{
    int fd = accept4(control_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct timeval patience = {.tv_usec = 200000}; /* a client that does not read must not hold up the others */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (int i = 0; i < CONTROL_THREAD_CLIENTS_MAX; i++)
        if (clients[i].fd < 0) {
            clients[i].fd = fd;
            clients[i].used = 0;
            return;
        }
    close(fd);
}

/* Waits until `end_ns` for one thing to do and does it. Returns false at a signal. */
static bool step(struct box *box, struct client *clients, int control_fd, int signal_fd, uint64_t end_ns)
{
    enum { SIGNAL, LISTEN, CLIENTS, N = CLIENTS + CONTROL_THREAD_CLIENTS_MAX };
    struct pollfd fds[N] = {{signal_fd, POLLIN, 0}, {control_fd, POLLIN, 0}};
    for (int i = 0; i < CONTROL_THREAD_CLIENTS_MAX; i++)
        fds[CLIENTS + i] = (struct pollfd){clients[i].fd, POLLIN, 0};
    uint64_t now_ns = nc_now_ns(), wait_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    if (ppoll(fds, N, end_ns == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return true;
    if (fds[LISTEN].revents)
        accept_client(clients, control_fd);
    for (int i = 0; i < CONTROL_THREAD_CLIENTS_MAX; i++)
        if (fds[CLIENTS + i].fd >= 0 && fds[CLIENTS + i].revents && read_client(&clients[i], box) < 0) {
            close(clients[i].fd);
            clients[i].fd = -1;
        }
    return !fds[SIGNAL].revents;
}

void control_thread_run(struct box *box, int control_fd, int signal_fd, uint64_t duration_ns)
{
    struct client *clients = calloc(CONTROL_THREAD_CLIENTS_MAX, sizeof *clients);
    if (!clients)
        nc_die(NC_EXIT_MISSING, "out of memory");
    for (int i = 0; i < CONTROL_THREAD_CLIENTS_MAX; i++)
        clients[i].fd = -1;
    uint64_t end_ns = duration_ns ? nc_now_ns() + duration_ns : UINT64_MAX;
    while (nc_now_ns() < end_ns && step(box, clients, control_fd, signal_fd, end_ns))
        ;
    for (int i = 0; i < CONTROL_THREAD_CLIENTS_MAX; i++)
        if (clients[i].fd >= 0)
            close(clients[i].fd);
    free(clients);
}
