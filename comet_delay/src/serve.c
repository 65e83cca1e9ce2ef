#include "serve.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "nc_clock.h"
#include "nc_log.h"

static void accept_client(struct control_client *clients, int control_fd)
{
    int fd = accept4(control_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct timeval patience = {.tv_usec = 200000}; /* a client that does not read must not hold up the others */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        if (clients[i].fd < 0) {
            clients[i].fd = fd;
            clients[i].used = 0;
            return;
        }
    close(fd);
}

/* Waits until `end_ns` for one thing to do and does it. Returns false at a signal. */
static bool step(struct box *box, struct control_client *clients, int control_fd, int signal_fd, uint64_t end_ns)
{
    enum { SIGNAL, LISTEN, CLIENTS, N = CLIENTS + CONTROL_CLIENTS_MAX };
    struct pollfd fds[N] = {{signal_fd, POLLIN, 0}, {control_fd, POLLIN, 0}};
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        fds[CLIENTS + i] = (struct pollfd){clients[i].fd, POLLIN, 0};
    uint64_t now_ns = nc_now_ns(), wait_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    if (ppoll(fds, N, end_ns == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return true;
    if (fds[LISTEN].revents)
        accept_client(clients, control_fd);
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        if (fds[CLIENTS + i].fd >= 0 && fds[CLIENTS + i].revents && control_client_read(&clients[i], box) < 0) {
            close(clients[i].fd);
            clients[i].fd = -1;
        }
    return !fds[SIGNAL].revents;
}

void serve(struct box *box, int control_fd, int signal_fd, uint64_t duration_ns)
{
    struct control_client *clients = calloc(CONTROL_CLIENTS_MAX, sizeof *clients);
    if (!clients)
        nc_die(NC_EXIT_MISSING, "out of memory");
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        clients[i].fd = -1;
    uint64_t end_ns = duration_ns ? nc_now_ns() + duration_ns : UINT64_MAX;
    while (nc_now_ns() < end_ns && step(box, clients, control_fd, signal_fd, end_ns))
        ;
    for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
        if (clients[i].fd >= 0)
            close(clients[i].fd);
    free(clients);
}
