/* The thread of the control socket when the process has no descriptor left for a client. */
#include "control_thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "box.h"
#include "check.h"
#include "nc_clock.h"
#include "nc_control.h"

json_t *box_json(struct box *box)
{
    (void)box;
    return json_object();
}

const struct params *box_params(const struct box *box, unsigned direction)
{
    static const struct params params;
    (void)box;
    (void)direction;
    return &params;
}

int box_set(struct box *box, const struct params params[2], struct nc_error *error)
{
    (void)box;
    (void)params;
    (void)error;
    return 0;
}

struct served {
    int control_fd, signal_fd;
};

static void *serve(void *owner)
{
    const struct served *served = owner;
    control_thread_run(NULL, served->control_fd, served->signal_fd, 0);
    return NULL;
}

static uint64_t cpu_ns(pthread_t thread)
{
    clockid_t clock;
    struct timespec time;
    CHECK_EQ(pthread_getcpuclockid(thread, &clock), 0);
    CHECK_EQ(clock_gettime(clock, &time), 0);
    return (uint64_t)time.tv_sec * NC_NS_PER_S + (uint64_t)time.tv_nsec;
}

static int connected(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = 60};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

/* The limit is the lowest free number, so no descriptor can be opened. */
static struct rlimit take_descriptors_away(void)
{
    struct rlimit before, none;
    int lowest = dup(0);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    close(lowest);
    none = (struct rlimit){(rlim_t)lowest, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

/* A loop that spins takes all the processor time that it can get: about 500 ms here, or 20 ms on a machine that 25
 * others use. Five checks a second take about 0.1 ms. */
static void without_descriptors_it_waits_and_then_answers(void)
{
    char folder[] = "/tmp/lfp-test-XXXXXX", path[64], answer[128] = "";
    struct nc_error error;
    int signals[2];
    pthread_t thread;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/control", folder);
    struct served served = {.control_fd = nc_control_listen(path, 8, "box", &error)};
    CHECK(served.control_fd >= 0);
    CHECK_EQ(pipe(signals), 0);
    served.signal_fd = signals[0];
    int client = connected(path);
    struct rlimit before = take_descriptors_away();
    CHECK_EQ(pthread_create(&thread, NULL, serve, &served), 0);
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    CHECK(cpu_ns(thread) < 10 * NC_NS_PER_MS);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    CHECK_EQ(send(client, "{\"op\":\"show\"}\n", 14, 0), 14);
    CHECK(recv(client, answer, sizeof answer - 1, 0) > 0);
    CHECK(strstr(answer, "\"ok\":true"));
    CHECK_EQ(write(signals[1], "", 1), 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    close(client);
    close(served.control_fd);
    close(signals[0]);
    close(signals[1]);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    RUN(without_descriptors_it_waits_and_then_answers);
    return 0;
}
