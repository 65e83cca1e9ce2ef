/* `rttcp watch`. The samples stay in memory until the end, as in a transfer, so that writing them does not disturb the
 * connections. */
#include "watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "output.h"
#include "stop.h"
#include "watched.h"

#define ANSWER_BYTES (1 << 16) /* receive buffer; the kernel uses at most half of it for one answer */
#define ANSWER_S 10            /* the longest wait for one answer of the kernel */

struct watch_settings {
    uint64_t port, sample_ns;
    const char *samples;
    bool parent_death;
};

#define OFFSET(member) offsetof(struct watch_settings, member)
static const struct nc_option table[] = {
    NC_QUANTITY("port", port, NC_UNIT_COUNT, NULL, 1, 65535,
                "watch the connections with this port at either end; needed", .letter = 'p', .metavar = "PORT"),
    NC_STRING("samples", samples, "FILE", "write the samples to FILE at the end, JSON lines; needed"),
    NC_QUANTITY("sample", sample_ns, NC_UNIT_DURATION, "10ms", NC_NS_PER_MS / 10, 3600 * NC_NS_PER_S,
                "time between samples"),
    NC_FLAG("parent-death", parent_death, "end when the parent process ends"),
};
#define ROWS (sizeof table / sizeof table[0])

static const struct nc_usage usage = {
    .synopsis = "rttcp watch --port PORT --samples FILE [--sample 10ms]",
    .purpose =
        "Samples TCP_INFO of the TCP connections of any program of this network namespace until SIGTERM or SIGINT.",
    .epilog = "example:\n"
              "  rttcp watch --port 443 --samples tcp.jsonl                 what holds that upload up?",
};

static int failed(struct nc_error *error, int status, int number)
{
    return nc_fail(error, status, "sock_diag: %s; watching needs a kernel with INET_DIAG (modprobe tcp_diag)",
                   strerror(number));
}

static int open_diag(struct nc_error *error)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return failed(error, NC_EXIT_MISSING, errno);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = ANSWER_S}, sizeof(struct timeval));
    return fd;
}

/* Asks the kernel about the connections of one family, and adds the samples that it returns. */
static int look(int fd, uint8_t family, uint16_t port, struct rttcp_watched *watched, uint8_t *buffer,
                struct nc_error *error)
{
    int refused = 0;
    size_t length = rttcp_watched_ask(buffer, family, port);
    if (send(fd, buffer, length, 0) < 0)
        return failed(error, NC_EXIT_FAILED, errno);
    for (;;) {
        ssize_t n = recv(fd, buffer, ANSWER_BYTES, 0);
        if (n < 0)
            return failed(error, NC_EXIT_FAILED, errno);
        switch (rttcp_watched_read(watched, nc_now_ns(), buffer, buffer + n, &refused)) {
        case RTTCP_ANSWER_DONE:
            return 0;
        case RTTCP_ANSWER_REFUSED:
            return failed(error, NC_EXIT_MISSING, refused);
        case RTTCP_ANSWER_MORE:
            break;
        }
    }
}

static int look_at_all(int fd, uint16_t port, struct rttcp_watched *watched, uint8_t *buffer, struct nc_error *error)
{
    if (look(fd, AF_INET, port, watched, buffer, error) < 0)
        return -1;
    return look(fd, AF_INET6, port, watched, buffer, error);
}

/* Takes samples once per period, and once more when it stops. Signals are unblocked only while it waits. */
static int watch(int fd, const struct watch_settings *settings, struct rttcp_watched *watched, uint8_t *buffer,
                 struct nc_error *error)
{
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, &before);
    uint64_t at_ns = nc_now_ns();
    int status = look_at_all(fd, (uint16_t)settings->port, watched, buffer, error);
    if (status == 0)
        nc_jsonl_event(stdout, "ready", json_pack("{s:I}", "port", (json_int_t)settings->port));
    while (status == 0 && !rttcp_stop_requested()) {
        uint64_t now_ns = nc_now_ns();
        at_ns += ((now_ns - at_ns) / settings->sample_ns + 1) * settings->sample_ns; /* what was missed is skipped */
        uint64_t wait_ns = at_ns - now_ns;
        struct timespec wait = {.tv_sec = (time_t)(wait_ns / NC_NS_PER_S), .tv_nsec = (long)(wait_ns % NC_NS_PER_S)};
        ppoll(NULL, 0, &wait, &before);
        status = look_at_all(fd, (uint16_t)settings->port, watched, buffer, error);
    }
    return status;
}

static int write_samples(const struct rttcp_watched *watched, const char *path, struct nc_error *error)
{
    const struct rttcp_samples *all[] = {&watched->samples};
    FILE *file = rttcp_file_open("samples", path, error);
    if (!file || rttcp_samples_write(all, 1, file, path, error) < 0)
        return -1;
    json_t *fields = json_pack("{s:I, s:I, s:I, s:I}", "connections", (json_int_t)watched->n, "samples",
                               (json_int_t)watched->samples.n, "dropped", (json_int_t)watched->samples.dropped,
                               "malformed", (json_int_t)watched->malformed);
    nc_jsonl_event(stdout, "end", fields);
    return 0;
}

/* Creates the file before anything is watched, so that a wrong name is reported at once. */
static int run(const struct watch_settings *settings, struct rttcp_watched *watched, uint8_t *buffer,
               struct nc_error *error)
{
    FILE *file = rttcp_file_open("samples", settings->samples, error);
    int fd = file ? open_diag(error) : -1;
    if (file)
        fclose(file);
    if (fd < 0)
        return -1;
    int status = watch(fd, settings, watched, buffer, error);
    close(fd);
    return status == 0 ? write_samples(watched, settings->samples, error) : -1;
}

int rttcp_watch_main(int argc, char **argv)
{
    struct watch_settings settings;
    struct nc_error error;
    int first = nc_options_parse(table, ROWS, &usage, &settings, NULL, argc, argv);
    if (first < argc)
        nc_die(NC_EXIT_USAGE, "watch: '%.80s': not an option; see --help", argv[first]);
    if (!settings.port || !settings.samples)
        nc_die(NC_EXIT_USAGE, "watch: want --port PORT and --samples FILE; see --help");
    rttcp_stop_install();
    if (settings.parent_death)
        rttcp_stop_with_parent(getppid());
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    uint8_t *buffer = malloc(ANSWER_BYTES);
    int status =
        watched && buffer ? run(&settings, watched, buffer, &error) : nc_fail(&error, NC_EXIT_MISSING, "out of memory");
    if (watched)
        rttcp_samples_release(&watched->samples);
    free(watched);
    free(buffer);
    if (status < 0)
        nc_log_error(stdout, error.status, "%s", error.text);
    return rttcp_output_check(status < 0 ? error.status : NC_EXIT_OK);
}
