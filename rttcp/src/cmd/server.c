/* The receiver's main loop: accepts a control connection, keeps it pending until its first message has arrived
 * (pending.h), forks a session, and reaps it. There are no threads here, so fork is safe. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
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
#include "nc_sandbox.h"
#include "pending.h"
#include "places.h"
#include "roles.h"
#include "session.h"
#include "sock.h"
#include "stop.h"

#define PATIENCE_NS (NC_NS_PER_S / 4) /* period of checks for connections and places that have timed out */

struct server {
    const struct rttcp_settings *settings;
    const struct rttcp_output *output;
    int listen_fd;
    struct rttcp_places places; /* the slots for sessions, each with its process */
    uint64_t closed_until_ns;   /* until this time no session can lose its place to a waiting peer */
    uint64_t served, failed;
    int last_status;
    struct rttcp_pending *pending;
    FILE *samples; /* file for the session's samples; NULL: no samples are wanted */
};

static void reap(struct server *server, int flags)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, flags)) > 0;) {
        enum rttcp_place_is place = rttcp_places_free(&server->places, pid);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : NC_EXIT_FAILED;
        if (code == RTTCP_NO_SESSION || place == PLACE_LOST)
            continue;
        if (WIFSIGNALED(status))
            nc_log("a session's process %d ended by signal %d", (int)pid, WTERMSIG(status));
        server->served++;
        server->failed += code != NC_EXIT_OK;
        server->last_status = code;
    }
}

static void run_child(struct server *server, int fd, uint64_t place, pid_t parent, const sigset_t *signals)
{
    sigprocmask(SIG_SETMASK, signals, NULL);
    rttcp_stop_with_parent(parent);
    close(server->listen_fd);
    int status = rttcp_receiver_session(fd, &server->places, place, server->settings, server->samples, server->output);
    exit(status == RTTCP_NO_SESSION ? status : rttcp_output_check(status));
}

static void begin_session(struct server *server, int fd, const struct rttcp_origin *origin, const sigset_t *signals)
{
    uint64_t place = rttcp_places_take(&server->places, origin, nc_now_ns());
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        rttcp_pending_close(server->pending);
        free(server->pending);
        run_child(server, fd, place, parent, signals);
    }
    close(fd);
    server->places.at[place].pid = pid;
    if (pid < 0) {
        nc_log("cannot fork a process for a session: %s", strerror(errno));
        rttcp_places_free(&server->places, pid);
    }
}

/* Running out of descriptors is handled like a full list: the origin with the most connections loses one. Otherwise the
 * listener would stay readable, and the loop would spin. */
static void take_connections(struct server *server)
{
    for (;;) {
        struct sockaddr_storage from = {0};
        int fd = accept4(server->listen_fd, (struct sockaddr *)&from, &(socklen_t){sizeof from}, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && rttcp_pending_close_one(server->pending))
            continue;
        if (fd < 0)
            return;
        struct rttcp_origin origin = rttcp_origin_of(&from);
        rttcp_pending_add(server->pending, fd, &origin, nc_now_ns());
    }
}

static bool has_room(const struct server *server)
{
    return server->places.taken < server->places.n;
}

/* Returns the place that a session must give up to a peer of `origin` (NULL: of any origin) when no place is free for
 * the peer, or -1. Only one session loses its place at a time; the place is free when that session's process has
 * exited. */
static int64_t find_loser(const struct server *server, const struct rttcp_origin *origin)
{
    const struct rttcp_places *places = &server->places;
    uint64_t now = nc_now_ns();
    if ((has_room(server) && !origin) || now < server->closed_until_ns || rttcp_places_has(places, PLACE_LOST))
        return -1;
    return rttcp_places_loser(places, origin, now);
}

/* Returns the events for which a pending connection is polled. There are none while no place is free for it and no
 * session may lose its place. */
static short events_of(const struct server *server, const struct rttcp_origin *origin)
{
    bool waits = rttcp_places_full_for(&server->places, origin) && find_loser(server, origin) < 0;
    return waits ? 0 : POLLIN | POLLRDHUP;
}

/* While no place is free and no session may lose its place, pending connections are not polled: the exit of a session's
 * process, or a time-out, wakes the loop. Returns whether they were polled. */
static bool wait_for_something(struct server *server, const sigset_t *signals)
{
    struct rttcp_pending *pending = server->pending;
    bool open = has_room(server) || find_loser(server, NULL) >= 0;
    bool timed = pending->n > 0; /* a session that becomes idle for long enough may lose its place */
    struct timespec patience = {.tv_sec = PATIENCE_NS / NC_NS_PER_S, .tv_nsec = PATIENCE_NS % NC_NS_PER_S};
    pending->fds[pending->n] = (struct pollfd){.fd = server->listen_fd, .events = POLLIN};
    for (size_t i = 0; i <= pending->n; i++)
        pending->fds[i].revents = 0;
    for (size_t i = 0; i < pending->n; i++)
        pending->fds[i].events = open ? events_of(server, &pending->origins[i]) : 0;
    size_t first = open ? 0 : pending->n; /* otherwise only the listener */
    if (ppoll(pending->fds + first, pending->n + 1 - first, timed ? &patience : NULL, signals) < 0)
        for (size_t i = 0; i <= pending->n; i++)
            pending->fds[i].revents = 0;
    return open;
}

/* Ends a session that has not begun or is idle, in favour of a waiting peer. It sends SIGKILL, because an orderly end
 * may take seconds and such a session has nothing to save. */
static void make_room(struct server *server)
{
    char text[RTTCP_ORIGIN_TEXT];
    int64_t next = rttcp_pending_next(server->pending, &server->places, true);
    if (next < 0)
        return;
    int64_t loser = find_loser(server, &server->pending->origins[next]);
    if (loser < 0)
        server->closed_until_ns = nc_now_ns() + PATIENCE_NS;
    bool begun = loser >= 0 && atomic_load(&server->places.states[loser].is) == PLACE_BEGUN;
    if (loser < 0 || !rttcp_place_lose(&server->places.states[loser], nc_now_ns()))
        return;
    rttcp_origin_text(&server->places.at[loser].origin, text);
    nc_log("%s: dropped: its session %s, and all %llu --sessions are taken", text,
           begun ? "is idle, and its origin has half of the places" : "had not begun",
           (unsigned long long)server->places.n);
    kill(server->places.at[loser].pid, SIGKILL);
}

static void begin_sessions(struct server *server, const sigset_t *signals)
{
    for (int64_t i; has_room(server) && (i = rttcp_pending_next(server->pending, &server->places, false)) >= 0;) {
        struct rttcp_origin origin = server->pending->origins[i];
        begin_session(server, rttcp_pending_take(server->pending, (size_t)i), &origin, signals);
    }
}

/* Signals are blocked except inside ppoll, so that none is lost between the check of the flag and the wait. */
static void loop(struct server *server, const sigset_t *signals)
{
    while (!rttcp_stop_requested() && !(server->settings->once && server->served > 0)) {
        bool polled = wait_for_something(server, signals);
        bool knocked = server->pending->fds[server->pending->n].revents != 0;
        reap(server, WNOHANG);
        begin_sessions(server, signals);
        make_room(server);
        if (polled) /* a connection that waits for a place may stay pending longer than others */
            rttcp_pending_sweep(server->pending, &server->places, nc_now_ns(), RTTCP_HANDSHAKE_NS);
        if (knocked)
            take_connections(server);
    }
}

/* Asks the running sessions to stop and waits for them, since each prints its `end` line. A second signal ends the
 * wait. */
static void finish(struct server *server, const sigset_t *signals)
{
    sigprocmask(SIG_SETMASK, signals, NULL);
    for (uint64_t i = 0; i < server->places.n; i++)
        if (atomic_load(&server->places.states[i].is) != PLACE_FREE)
            kill(server->places.at[i].pid, SIGTERM);
    while (server->places.taken > 0) {
        uint64_t before = server->places.taken;
        reap(server, 0);
        if (server->places.taken == before && errno == ECHILD)
            break;
    }
}

static void say_ready(struct server *server, json_t *sandbox)
{
    char where[80];
    struct sockaddr_storage local = {0};
    getsockname(server->listen_fd, (struct sockaddr *)&local, &(socklen_t){sizeof local});
    rttcp_address_text(&local, where, sizeof where);
    rttcp_output_ready(server->output, rttcp_local_port(server->listen_fd), where, sandbox);
}

/* Binds to the processor and the port, allocates the lists, and opens the file of samples, which the sandbox would
 * prevent later. Returns 0 or -1; close_server is allowed after either. */
static int open_server(struct server *server, struct nc_error *error)
{
    const struct rttcp_settings *settings = server->settings;
    nc_program_raise_descriptors(); /* each pending connection needs one */
    if (rttcp_affinity_set("cpu", settings->cpu, error) < 0)
        return -1;
    server->pending = calloc(1, sizeof *server->pending);
    if (rttcp_places_create(&server->places, settings->once ? 1 : settings->sessions) < 0 || !server->pending)
        return nc_fail(error, NC_EXIT_MISSING, "--sessions %llu: no memory for so many",
                       (unsigned long long)settings->sessions);
    server->listen_fd =
        rttcp_listen(settings->bind, rttcp_family(settings->ipv4, settings->ipv6), (uint16_t)settings->port, error);
    if (server->listen_fd < 0)
        return -1;
    fcntl(server->listen_fd, F_SETFL, O_NONBLOCK);
    server->samples = settings->samples ? rttcp_file_open("samples", settings->samples, error) : NULL;
    return server->samples || !settings->samples ? 0 : -1;
}

/* Keeps CAP_NET_ADMIN: peers need it for windows beyond rmem_max and for congestion controls that are restricted to
 * root. The seccomp filter allows only socket options to use it. */
static int confine(struct server *server, json_t **sandbox, struct nc_error *error)
{
    static const char *const reads[] = {"/proc/sys/net", "/etc/ssl", "/usr/lib/ssl", NULL};
    const struct rttcp_settings *settings = server->settings;
    bool low = settings->data_port > 0 && settings->data_port < IPPORT_RESERVED;
    const struct nc_sandbox limits = {.capabilities = UINT64_C(1) << CAP_NET_ADMIN | (uint64_t)low
                                                                                         << CAP_NET_BIND_SERVICE,
                                      .calls = (const char *const[]){"sendfile", "splice", "tee", "vmsplice", NULL},
                                      .reads = reads};
    return nc_sandbox_enter(&limits, &settings->sandbox, sandbox, error);
}

static void close_server(struct server *server)
{
    if (server->pending)
        rttcp_pending_close(server->pending);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    if (server->samples)
        fclose(server->samples);
    free(server->pending);
    rttcp_places_release(&server->places);
}

static void serve(struct server *server, json_t *sandbox)
{
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ours, &before);
    say_ready(server, sandbox);
    loop(server, &before);
    finish(server, &before);
    rttcp_output_stopped(server->output, server->served, server->failed);
}

int rttcp_server_run(const struct rttcp_settings *settings, const struct rttcp_output *output)
{
    struct nc_error error;
    struct server server = {.settings = settings, .output = output, .listen_fd = -1};
    int status = NC_EXIT_OK;
    json_t *sandbox = NULL;
    if (open_server(&server, &error) == 0 && confine(&server, &sandbox, &error) == 0) {
        serve(&server, sandbox);
        status = settings->once ? server.last_status : NC_EXIT_OK;
    } else {
        rttcp_output_error(output, &error);
        status = error.status;
    }
    close_server(&server);
    return status;
}
