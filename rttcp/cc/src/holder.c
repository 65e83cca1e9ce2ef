/* A holder is a process that only keeps a descriptor open. However it ends, the kernel then removes the algorithm
 * (link.h). Until the starter has printed the holder's process id, the two are connected by a socket, the leash. If the
 * starter is killed before that, the closed leash ends the holder too, so that no unknown holder remains. */
#include "holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"
#include "link.h"

#define HOLDERS_MAX 64
#define END_TIMEOUT_MS 5000

static void wait_for_end(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (sigwait(&set, &number) != 0)
        ;
}

void cc_holder_wait(bool parent_death, pid_t parent)
{
    if (parent_death) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            return;
    }
    wait_for_end();
}

/* The background process. It sends its id, or -errno, through the leash. */
static void hold(const char *name, pid_t owner, int leash)
{
    char path[128], keep;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL); /* block the signals before any other process can know this process id */
    setsid();
    int said = cc_ledger_write(name, owner, path, sizeof path) < 0 ? -errno : (int)getpid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    bool told = chdir("/") == 0 && send(leash, &said, sizeof said, MSG_NOSIGNAL) == sizeof said;
    if (told && said > 0 && recv(leash, &keep, 1, 0) == 1) {
        close(leash);
        wait_for_end();
    }
    if (said > 0)
        unlink(path);
    _exit(NC_EXIT_OK);
}

pid_t cc_holder_start(const struct cc_choice *choice, bool verbose, int *leash, struct nc_error *error)
{
    int link = cc_link_open(choice, verbose, error), ends[2], said = -EPIPE;
    if (link < 0)
        return -1;
    pid_t owner = getppid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        close(link);
        return nc_fail(error, NC_EXIT_FAILED, "%s: socketpair: %s", choice->entry->name, strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        hold(choice->entry->name, owner, ends[1]);
    }
    close(ends[1]);
    close(link);
    if (child < 0 || recv(ends[0], &said, sizeof said, 0) != sizeof said || said < 0) {
        close(ends[0]);
        return nc_fail(error, NC_EXIT_FAILED, "%s: no process to hold it: %s", choice->entry->name,
                       strerror(child < 0 ? errno : -said));
    }
    *leash = ends[0];
    return said;
}

int cc_holder_keep(int leash)
{
    int status = send(leash, "k", 1, MSG_NOSIGNAL) == 1 ? 0 : -1;
    close(leash);
    return status;
}

int cc_holder_end(const struct cc_entry *entry, struct nc_error *error)
{
    pid_t pids[HOLDERS_MAX];
    if (cc_ledger_holders(entry->name, pids, HOLDERS_MAX) == 0)
        return nc_fail(error, NC_EXIT_FAILED, "%s: nothing holds it by `rttcp cc load`", entry->name);
    int fd = (int)syscall(SYS_pidfd_open, pids[0], 0);
    if (fd < 0)
        return errno == ESRCH
                   ? 0
                   : nc_fail(error, NC_EXIT_FAILED, "%s: process %d: %s", entry->name, (int)pids[0], strerror(errno));
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    int done =
        syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0 && poll(&ended, 1, END_TIMEOUT_MS) == 1 ? 0 : -1;
    close(fd);
    return done == 0 ? 0 : nc_fail(error, NC_EXIT_FAILED, "%s: process %d does not end", entry->name, (int)pids[0]);
}
