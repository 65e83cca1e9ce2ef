#include "nc_keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nc_sandbox.h"

struct nc_keeper {
    pid_t pid;
    int fd;
};

struct request {
    uint32_t what;
    uint64_t value;
};

struct answer {
    int result;
    struct nc_error error;
};

/* The keeper exits when the daemon's end of the socket closes. It ignores signals to the process group, which are meant
 * for the daemon. */
static _Noreturn void keep(int fd, nc_keeper_act act, void *context, uint64_t capabilities)
{
    struct request request;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "keeper", 0, 0, 0);
    nc_sandbox_limit(capabilities);
    while (recv(fd, &request, sizeof request, 0) == (ssize_t)sizeof request) {
        struct answer answer = {0};
        answer.result = act(context, request.what, request.value, &answer.error);
        send(fd, &answer, sizeof answer, MSG_NOSIGNAL);
    }
    _exit(0);
}

struct nc_keeper *nc_keeper_open(nc_keeper_act act, void *context, uint64_t capabilities, struct nc_error *error)
{
    int ends[2];
    struct nc_keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        nc_fail(error, NC_EXIT_MISSING, "a socket to the keeper: %s", strerror(errno));
        free(keeper);
        return NULL;
    }
    keeper->pid = fork();
    if (keeper->pid == 0) {
        close(ends[0]);
        keep(ends[1], act, context, capabilities);
    }
    close(ends[1]);
    keeper->fd = ends[0];
    if (keeper->pid > 0)
        return keeper;
    nc_fail(error, NC_EXIT_MISSING, "a process for the keeper: %s", strerror(errno));
    close(ends[0]);
    free(keeper);
    return NULL;
}

int nc_keeper_ask(struct nc_keeper *keeper, uint32_t what, uint64_t value, struct nc_error *error)
{
    struct answer answer;
    const struct request request = {.what = what, .value = value};
    if (keeper && send(keeper->fd, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request &&
        recv(keeper->fd, &answer, sizeof answer, 0) == (ssize_t)sizeof answer) {
        if (answer.result < 0)
            *error = answer.error;
        return answer.result;
    }
    return nc_fail(error, NC_EXIT_FAILED, "the privileged process of this daemon has ended");
}

void nc_keeper_close(struct nc_keeper *keeper)
{
    if (!keeper)
        return;
    close(keeper->fd);
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    free(keeper);
}
