/* The receiver's main loop: accept a control connection, keep it pending until its first message is there (pending.h),
 * fork a session, reap it. There are no threads here, so fork is safe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "affinity.h"
#include "nc_clock.h"
#include "nc_program.h"
#include "nc_log.h"
#include "pending.h"
#include "roles.h"
#include "session.h"
#include "sock.h"
#include "stop.h"

struct server {
    const struct rttcp_settings *settings;
    const struct rttcp_output *output;
    int listen_fd;
    pid_t *children; /* settings->sessions entries; 0: free */
    uint64_t running, served, failed;
    int last_status;
    struct rttcp_pending *pending;
};

static void reap(struct server *server, int flags)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, flags)) > 0;) {
        for (uint64_t i = 0; i < server->settings->sessions; i++)
            if (server->children[i] == pid)
                server->children[i] = 0;
        server->running--;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : NC_EXIT_FAILED;
        if (WIFSIGNALED(status))
            nc_log("a session's process %d ended by signal %d", (int)pid, WTERMSIG(status));
        if (code == RTTCP_NO_SESSION)
            continue;
        server->served++;
        server->failed += code != NC_EXIT_OK;
        server->last_status = code;
    }
}

static void run_child(struct server *server, int fd, pid_t parent, const sigset_t *signals)
{
    sigprocmask(SIG_SETMASK, signals, NULL);
    rttcp_stop_with_parent(parent);
    close(server->listen_fd);
    int status = rttcp_receiver_session(fd, server->settings, server->output);
    exit(status == RTTCP_NO_SESSION ? status : rttcp_output_check(status));
}

static void begin_session(struct server *server, int fd, const sigset_t *signals)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        free(server->children);
        rttcp_pending_close(server->pending);
        free(server->pending);
        run_child(server, fd, parent, signals);
    }
    close(fd);
    if (pid < 0) {
        nc_log("cannot fork a process for a session: %s", strerror(errno));
        return;
    }
    for (uint64_t i = 0; i < server->settings->sessions; i++)
        if (server->children[i] == 0) {
            server->children[i] = pid;
            break;
        }
    server->running++;
}

static void take_connections(struct server *server)
{
    for (int fd; (fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0;)
        rttcp_pending_add(server->pending, fd, nc_now_ns());
}

static bool has_room(const struct server *server)
{
    return server->running < (server->settings->once ? 1 : server->settings->sessions);
}

/* While all sessions are taken, pending connections are not polled: the end of a session's process wakes the loop. */
static void wait_for_something(struct server *server, const sigset_t *signals)
{
    struct rttcp_pending *pending = server->pending;
    bool room = has_room(server);
    struct timespec patience = {.tv_sec = 1};
    pending->fds[pending->n] = (struct pollfd){.fd = server->listen_fd, .events = POLLIN};
    for (size_t i = 0; i <= pending->n; i++)
        pending->fds[i].revents = 0;
    size_t first = room ? 0 : pending->n; /* without room only the listener */
    if (ppoll(pending->fds + first, pending->n + 1 - first, room && pending->n ? &patience : NULL, signals) < 0)
        for (size_t i = 0; i <= pending->n; i++)
            pending->fds[i].revents = 0;
}

/* Signals are blocked except inside ppoll, so that none is lost between the check of the flag and the wait. */
static void loop(struct server *server, const sigset_t *signals)
{
    while (!rttcp_stop_requested() && !(server->settings->once && server->served > 0)) {
        wait_for_something(server, signals);
        bool knocked = server->pending->fds[server->pending->n].revents != 0;
        reap(server, WNOHANG);
        for (int fd; has_room(server) && (fd = rttcp_pending_take(server->pending)) >= 0;)
            begin_session(server, fd, signals);
        if (has_room(server))
            rttcp_pending_sweep(server->pending, nc_now_ns() - RTTCP_HANDSHAKE_NS);
        if (knocked)
            take_connections(server);
    }
}

/* Tells the running sessions to stop and awaits them, since each prints its `end` line. A second signal ends the
 * wait. */
static void finish(struct server *server, const sigset_t *signals)
{
    sigprocmask(SIG_SETMASK, signals, NULL);
    for (uint64_t i = 0; i < server->settings->sessions; i++)
        if (server->children[i])
            kill(server->children[i], SIGTERM);
    while (server->running > 0) {
        uint64_t before = server->running;
        reap(server, 0);
        if (server->running == before && errno == ECHILD)
            break;
    }
}

static void say_ready(struct server *server)
{
    char where[80];
    struct sockaddr_storage local = {0};
    getsockname(server->listen_fd, (struct sockaddr *)&local, &(socklen_t){sizeof local});
    rttcp_address_text(&local, where, sizeof where);
    rttcp_output_ready(server->output, rttcp_local_port(server->listen_fd), where);
}

/* Binds to the processor and the port, and allocates the lists. Returns 0 or -1; close_server is allowed after
 * either. */
static int open_server(struct server *server, struct nc_error *error)
{
    const struct rttcp_settings *settings = server->settings;
    nc_program_raise_descriptors(); /* each pending connection needs one */
    if (rttcp_affinity_set("cpu", settings->cpu, error) < 0)
        return -1;
    server->children = calloc(settings->sessions, sizeof *server->children);
    server->pending = calloc(1, sizeof *server->pending);
    if (!server->children || !server->pending)
        return nc_fail(error, NC_EXIT_MISSING, "--sessions %llu: no memory for so many",
                       (unsigned long long)settings->sessions);
    server->listen_fd =
        rttcp_listen(settings->bind, rttcp_family(settings->ipv4, settings->ipv6), (uint16_t)settings->port, error);
    if (server->listen_fd < 0)
        return -1;
    fcntl(server->listen_fd, F_SETFL, O_NONBLOCK);
    return 0;
}

static void close_server(struct server *server)
{
    if (server->pending)
        rttcp_pending_close(server->pending);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    free(server->pending);
    free(server->children);
}

static void serve(struct server *server)
{
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ours, &before);
    say_ready(server);
    loop(server, &before);
    finish(server, &before);
    rttcp_output_stopped(server->output, server->served, server->failed);
}

int rttcp_server_run(const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    struct nc_error error;
    struct server server = {.settings = settings, .output = output, .listen_fd = -1};
    int status = NC_EXIT_OK;
    if (open_server(&server, &error) == 0) {
        serve(&server);
        status = settings->once ? server.last_status : NC_EXIT_OK;
    } else {
        rttcp_output_error(output, &error);
        status = error.status;
    }
    close_server(&server);
    return status;
}
