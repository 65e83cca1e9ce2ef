/* The receiver's main loop: accept a control connection, let it wait until it has said something (lobby.h), fork a session,
 * reap. No threads here, so fork is safe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "affinity.h"
#include "lobby.h"
#include "nc_clock.h"
#include "session.h"
#include "sock.h"
#include "stop.h"

struct server {
    const struct rttcp_settings *settings;
    const struct rttcp_output *output;
    int listen_fd;
    pid_t *children; /* settings->sessions places; 0: free */
    uint64_t running, served, failed;
    int last_status;
    struct rttcp_lobby *lobby;
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
        rttcp_lobby_close(server->lobby);
        free(server->lobby);
        run_child(server, fd, parent, signals);
    }
    close(fd);
    if (pid < 0) {
        nc_log("no process to be had for a session: %s", strerror(errno));
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
        rttcp_lobby_add(server->lobby, fd, nc_now_ns());
}

static bool has_room(const struct server *server)
{
    return server->running < (server->settings->once ? 1 : server->settings->sessions);
}

/* Nobody who waits for room is looked at: a child that ends wakes us. */
static void wait_for_something(struct server *server, const sigset_t *signals)
{
    struct rttcp_lobby *lobby = server->lobby;
    bool room = has_room(server);
    struct timespec patience = {.tv_sec = 1};
    lobby->fds[lobby->n] = (struct pollfd){.fd = server->listen_fd, .events = POLLIN};
    for (size_t i = 0; i <= lobby->n; i++)
        lobby->fds[i].revents = 0;
    size_t first = room ? 0 : lobby->n; /* the silent are not polled while there is no room */
    if (ppoll(lobby->fds + first, lobby->n + 1 - first, room && lobby->n ? &patience : NULL, signals) < 0)
        for (size_t i = 0; i <= lobby->n; i++)
            lobby->fds[i].revents = 0;
}

/* Signals are blocked except inside ppoll, so none is lost between a look at the flags and the wait. */
static void loop(struct server *server, const sigset_t *signals)
{
    while (!rttcp_stop_requested() && !(server->settings->once && server->served > 0)) {
        wait_for_something(server, signals);
        bool knocked = server->lobby->fds[server->lobby->n].revents != 0;
        reap(server, WNOHANG);
        for (int fd; has_room(server) && (fd = rttcp_lobby_take(server->lobby)) >= 0;)
            begin_session(server, fd, signals);
        if (has_room(server))
            rttcp_lobby_sweep(server->lobby, nc_now_ns() - RTTCP_HANDSHAKE_NS);
        if (knocked)
            take_connections(server);
    }
}

/* Sessions under way are told to stop, and awaited: each prints its end. A second signal ends this wait. */
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

/* Everybody who waits in the lobby has a descriptor. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int rttcp_server_run(const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    struct rttcp_error error;
    sigset_t ours, before;
    struct server server = {.settings = settings, .output = output};
    server.children = calloc(settings->sessions, sizeof *server.children);
    server.lobby = calloc(1, sizeof *server.lobby);
    raise_descriptors();
    if (rttcp_affinity_set("cpu", settings->cpu, &error) < 0) {
        rttcp_output_error(output, &error);
        return error.status;
    }
    server.listen_fd = rttcp_listen(settings->bind, rttcp_family(settings->ipv4, settings->ipv6), (uint16_t)settings->port,
                                    &error);
    if (server.listen_fd < 0 || !server.children || !server.lobby) {
        rttcp_output_error(output, &error);
        free(server.lobby);
        free(server.children);
        return error.status;
    }
    fcntl(server.listen_fd, F_SETFL, O_NONBLOCK);
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ours, &before);
    say_ready(&server);
    loop(&server, &before);
    finish(&server, &before);
    rttcp_output_stopped(output, server.served, server.failed);
    rttcp_lobby_close(server.lobby);
    free(server.lobby);
    close(server.listen_fd);
    free(server.children);
    return settings->once ? server.last_status : NC_EXIT_OK;
}
