/* What a confined interpreter can and cannot do. Each action is tried in a child process. */
#include "nc_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

struct places {
    char read[64], write[64];
};

static bool fails_with(long result, int wanted)
{
    if (result == -1 && errno == wanted)
        return true;
    fprintf(stderr, "result %ld, errno %d (%s), want errno %d\n", result, errno, strerror(errno), wanted);
    return false;
}

static bool holds(const char *state, const char *what)
{
    json_t *said = json_loads(state, 0, NULL);
    bool found = json_is_true(json_object_get(said, what));
    json_decref(said);
    return found;
}

static bool files(const char *state, const struct places *places)
{
    char inside[96], other[96];
    snprintf(inside, sizeof inside, "%s/new", places->write);
    snprintf(other, sizeof other, "%s/new", places->read);
    int made = open(inside, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!holds(state, "landlock"))
        return made >= 0 && unlink(inside) == 0;
    return made >= 0 && ftruncate(made, 0) == 0 && unlink(inside) == 0 && open(places->read, O_RDONLY) >= 0 &&
           fails_with(open(other, O_WRONLY | O_CREAT, 0600), EACCES) &&
           fails_with(open("/etc/passwd", O_RDONLY), EACCES) && fails_with(mkdir(other, 0700), EACCES);
}

static bool calls(const char *state, const struct places *places)
{
    (void)places;
    if (!holds(state, "seccomp"))
        return true;
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return fails_with(code == MAP_FAILED ? -1 : 0, ENOSYS) && data != MAP_FAILED &&
           fails_with(mprotect(data, 4096, PROT_READ | PROT_EXEC), ENOSYS) &&
           fails_with(socket(AF_UNIX, SOCK_STREAM, 0), ENOSYS) && fails_with(socket(AF_INET, SOCK_STREAM, 0), ENOSYS) &&
           fails_with(execl("/bin/true", "true", (char *)NULL), EPERM);
}

/* The parent of this process is outside of its sandbox. */
static bool signals(const char *state, const struct places *places)
{
    (void)places;
    bool older = !holds(state, "landlock") || kill(getppid(), 0) == 0; /* ABI below 6: only the user restricts
                                                                        * signals */
    return older || fails_with(kill(getppid(), 0), EPERM);
}

static int inside(const struct places *places, bool (*act)(const char *state, const struct places *places))
{
    int status;
    char request[256], state[512];
    snprintf(request, sizeof request,
             "{\"capabilities\":[],\"reads\":[\"%s\",\"/none\"],\"writes\":[\"%s\"],\"user\":null,\"off\":false}",
             places->read, places->write);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQ(nc_confine(request, state, sizeof state), 0);
        _exit(act(state, places) ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void an_interpreter_keeps_its_folders_and_nothing_else(void)
{
    struct places places = {"/tmp/nc_confine_r.XXXXXX", "/tmp/nc_confine_w.XXXXXX"};
    CHECK(mkdtemp(places.read) && mkdtemp(places.write));
    CHECK(chmod(places.read, 0755) == 0 && chmod(places.write, 0777) == 0); /* files of other users, too, because the
                                                                             * child becomes nobody */
    CHECK_EQ(inside(&places, files), 0);
    CHECK_EQ(inside(&places, calls), 0);
    CHECK_EQ(inside(&places, signals), 0);
    CHECK(rmdir(places.read) == 0 && rmdir(places.write) == 0);
}

static void what_is_not_a_request_is_an_error(void)
{
    static const char *const wrong[] = {"", "{", "[]", "{}", "{\"capabilities\":[],\"reads\":[],\"writes\":[]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char said[128];
        CHECK_EQ(nc_confine(wrong[i], said, sizeof said), 1);
        CHECK_STR(said, "the sandbox: a request that is not one");
    }
}

static void a_wrong_user_is_one_line(void)
{
    char said[160];
    CHECK_EQ(nc_confine("{\"capabilities\":[],\"reads\":[],\"writes\":[],\"user\":\"no such user\",\"off\":false}",
                        said, sizeof said),
             2);
    CHECK_STR(said, "--user 'no such user': no such user; name one that owns nothing, or root to stay root");
}

int main(void)
{
    RUN(an_interpreter_keeps_its_folders_and_nothing_else);
    RUN(what_is_not_a_request_is_an_error);
    RUN(a_wrong_user_is_one_line);
    return 0;
}
