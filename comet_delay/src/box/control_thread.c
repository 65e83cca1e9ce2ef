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
#include "nc_range.h"

/* How long the thread accepts no client after accept has failed for lack of descriptors or memory. A waiting client
 * keeps the socket readable, so trying again at once would take a whole processor from the packets. Rejected: a spare
 * descriptor with which to turn clients away. At the limit of the whole machine that one cannot be used either. */
#define NO_ROOM_NS (100 * NC_NS_PER_MS)

/* A connected client, and the part of its next line that has arrived. */
struct client {
    int fd;
    size_t used;
    char line[CONTROL_LINE_MAX];
};

struct control_thread {
    struct box *box;
    int control_fd, signal_fd;
    uint64_t end_ns, listen_ns; /* end of the duration; time from which clients are accepted again */
    int n;
    struct client clients[CONTROL_THREAD_CLIENTS_MAX];
};

/* Reads the octets that have arrived and answers every complete line. Returns -1 when the client has gone, or has sent
 * a line that is too long. */
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
        /* blocks until the socket's send time-out: a client that does not read is dropped */
        if (nc_control_send(client->fd, control_answer(box, client->line, len), 0) < 0)
            return -1;
        client->used -= len + 1;
        memmove(client->line, end + 1, client->used);
    }
    return client->used == sizeof client->line ? -1 : 0;
}

static void accept_client(struct control_thread *thread)
{
    int fd = accept4(thread->control_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
            thread->listen_ns = nc_now_ns() + NO_ROOM_NS;
        return;
    }
    if (thread->n == CONTROL_THREAD_CLIENTS_MAX) {
        close(fd);
        return;
    }
    struct timeval patience = {.tv_usec = 200000}; /* a client that does not read must not delay the others */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    thread->clients[thread->n].fd = fd;
    thread->clients[thread->n++].used = 0;
}

static void drop_client(struct control_thread *thread, int i)
{
    close(thread->clients[i].fd);
    if (i != --thread->n)
        thread->clients[i] = thread->clients[thread->n];
}

/* Waits for one event and handles it. Returns false at a signal. It polls only open descriptors, because poll refuses
 * more entries than the process may have descriptors. */
static bool step(struct control_thread *thread)
{
    enum { SIGNAL, LISTEN, CLIENTS, N = CLIENTS + CONTROL_THREAD_CLIENTS_MAX };
    uint64_t now_ns = nc_now_ns(), until_ns = thread->end_ns;
    bool listens = thread->listen_ns <= now_ns;
    struct pollfd fds[N] = {{thread->signal_fd, POLLIN, 0}, {listens ? thread->control_fd : -1, POLLIN, 0}};
    for (int i = 0; i < thread->n; i++)
        fds[CLIENTS + i] = (struct pollfd){thread->clients[i].fd, POLLIN, 0};
    if (!listens)
        until_ns = nc_min(until_ns, thread->listen_ns);
    uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    if (ppoll(fds, CLIENTS + (nfds_t)thread->n, until_ns == UINT64_MAX ? NULL : &timeout, NULL) <= 0)
        return true;
    for (int i = thread->n - 1; i >= 0; i--)
        if (fds[CLIENTS + i].revents && read_client(&thread->clients[i], thread->box) < 0)
            drop_client(thread, i);
    if (fds[LISTEN].revents)
        accept_client(thread);
    return !fds[SIGNAL].revents;
}

void control_thread_run(struct box *box, int control_fd, int signal_fd, uint64_t duration_ns)
{
    struct control_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        nc_die(NC_EXIT_MISSING, "out of memory");
    thread->box = box;
    thread->control_fd = control_fd;
    thread->signal_fd = signal_fd;
    thread->end_ns = duration_ns ? nc_now_ns() + duration_ns : UINT64_MAX;
    while (nc_now_ns() < thread->end_ns && step(thread))
        ;
    while (thread->n)
        drop_client(thread, thread->n - 1);
    free(thread);
}
