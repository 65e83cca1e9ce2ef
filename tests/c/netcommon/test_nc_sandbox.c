/* What a confined process can no longer do. Each action is tried in a child process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "nc_sandbox.h"

#define READABLE "/proc/sys/kernel/ostype"

static json_t *enter(const struct nc_sandbox_choice *choice)
{
    static const char *const reads[] = {READABLE, NULL};
    static const struct nc_sandbox limits = {.reads = reads};
    json_t *state;
    struct nc_error error;
    CHECK_EQ(nc_sandbox_enter(&limits, choice, &state, &error), 0);
    return state;
}

static bool holds(const json_t *state, const char *what)
{
    return json_is_true(json_object_get(state, what));
}

/* Runs `act` in a child inside the sandbox. Returns the wait status; the child's exit status is 0 if `act` behaved as
 * expected. */
static int inside(bool (*act)(const json_t *state))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        json_t *state = enter(&(struct nc_sandbox_choice){0});
        _exit(act(state) ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static bool fails_with(long result, int wanted)
{
    if (result == -1 && errno == wanted)
        return true;
    fprintf(stderr, "result %ld, errno %d (%s), want errno %d\n", result, errno, strerror(errno), wanted);
    return false;
}

static bool files(const json_t *state)
{
    if (!holds(state, "landlock"))
        return true;
    int readable = open(READABLE, O_RDONLY);
    return readable >= 0 && fails_with(open("/etc/passwd", O_RDONLY), EACCES) &&
           fails_with(open("/tmp/nc_sandbox", O_WRONLY | O_CREAT, 0600), EACCES);
}

static bool connections(const json_t *state)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return false;
    int result = connect(fd, (struct sockaddr *)&to, sizeof to);
    return !holds(state, "landlock") || fails_with(result, EACCES) || fails_with(result, ECONNREFUSED); /* ABI < 4 */
}

static bool calls(const json_t *state)
{
    if (!holds(state, "seccomp"))
        return true;
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return fails_with(memory == MAP_FAILED ? -1 : 0, ENOSYS) && fails_with(socket(AF_NETLINK, SOCK_RAW, 0), ENOSYS) &&
           fails_with(socket(AF_PACKET, SOCK_RAW, 0), ENOSYS) && fails_with(chdir("/"), ENOSYS);
}

static bool privilege(const json_t *state)
{
    bool sanitized = !holds(state, "seccomp") && !holds(state, "landlock");
    return geteuid() != 0 && fails_with(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM) &&
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && (sanitized || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
}

static bool program(const json_t *state)
{
    if (!holds(state, "seccomp"))
        raise(SIGSYS); /* without a filter: ends as if the filter had killed the child */
    signal(SIGSYS, SIG_IGN);
    execl("/bin/true", "true", (char *)NULL);
    return false;
}

static void what_is_not_needed_is_refused(void)
{
    CHECK_EQ(inside(files), 0);
    CHECK_EQ(inside(connections), 0);
    CHECK_EQ(inside(calls), 0);
    if (geteuid() == 0)
        CHECK_EQ(inside(privilege), 0);
}

static void a_program_that_is_started_ends_the_process(void)
{
    int status = inside(program);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static bool signal_stays(const json_t *state)
{
    int asked = 0;
    (void)state;
    prctl(PR_GET_PDEATHSIG, &asked, 0, 0, 0);
    return asked == SIGTERM;
}

/* The kernel clears the parent-death signal when the process changes its user, so it must be set again. */
static void the_parents_end_still_ends_the_process(void)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        _exit(signal_stays(enter(&(struct nc_sandbox_choice){0})) ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static void a_wrong_user_is_an_error(void)
{
    json_t *state;
    struct nc_error error;
    static const struct nc_sandbox limits = {0};
    CHECK(nc_sandbox_enter(&limits, &(struct nc_sandbox_choice){.user = "no such user"}, &state, &error) < 0);
    CHECK_STR(error.text, "--user 'no such user': no such user; name one that owns nothing, or root to stay root");
    CHECK_EQ(error.status, NC_EXIT_USAGE);
}

static void without_a_sandbox_nothing_changes(void)
{
    uid_t before = geteuid();
    json_t *state = enter(&(struct nc_sandbox_choice){.off = true});
    CHECK(!holds(state, "seccomp") && !holds(state, "landlock") && !holds(state, "no_new_privs"));
    CHECK_EQ(geteuid(), before);
    CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
    json_decref(state);
}

int main(void)
{
    RUN(what_is_not_needed_is_refused);
    RUN(a_program_that_is_started_ends_the_process);
    RUN(the_parents_end_still_ends_the_process);
    RUN(a_wrong_user_is_an_error);
    RUN(without_a_sandbox_nothing_changes);
    return 0;
}
