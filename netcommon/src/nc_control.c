#include "nc_control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_log.h"

json_t *nc_control_refusal(const char *reason)
{
    return json_pack("{s:i, s:b, s:o}", "v", NC_JSONL_VERSION, "ok", 0, "error", nc_jsonl_text(reason));
}

static int unix_address(const char *path, struct sockaddr_un *address, struct nc_error *error)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!path[0] || strlen(path) >= sizeof address->sun_path)
        return nc_fail(error, NC_EXIT_USAGE, "--control '%s': a socket path has 1 to %zu characters", path,
                       sizeof address->sun_path - 1);
    strcpy(address->sun_path, path);
    return 0;
}

int nc_control_listen(const char *path, int backlog, const char *what, struct nc_error *error)
{
    struct sockaddr_un address;
    if (unix_address(path, &address, error) < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat status;
    if (fd >= 0 && stat(path, &status) == 0 && S_ISSOCK(status.st_mode)) {
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            close(fd);
            return nc_fail(error, NC_EXIT_USAGE, "--control '%s': another %s listens there; choose another path", path,
                           what);
        }
        unlink(path); /* left by a daemon that died */
    }
    mode_t mask = umask(0177); /* mode 0600 from the start, whatever the caller's umask */
    int bound = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
    int saved = errno;
    umask(mask);
    errno = saved;
    if (bound < 0 || listen(fd, backlog) < 0) {
        nc_fail(error, NC_EXIT_USAGE, "--control '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

json_t *nc_control_parse(const char *line, size_t len, const char **op, json_t **answer)
{
    char why[256];
    json_error_t error;
    json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
    if (!request) {
        snprintf(why, sizeof why, "not JSON: %s", error.text);
        *answer = nc_control_refusal(why);
        return NULL;
    }
    *op = json_string_value(json_object_get(request, "op"));
    return request;
}

int nc_control_send(int fd, json_t *answer, int flags)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    if (!text)
        return -1;
    size_t len = strlen(text);
    text[len] = '\n'; /* over the terminator */
    ssize_t sent = send(fd, text, len + 1, MSG_NOSIGNAL | flags);
    free(text);
    return sent == (ssize_t)len + 1 ? 0 : -1;
}

/* Reads an answer of any length up to its newline. */
static json_t *read_answer(int fd)
{
    size_t used = 0, size = 1 << 20;
    char *text = malloc(size);
    json_t *answer = NULL;
    while (text && used < size) {
        ssize_t n = recv(fd, text + used, size - used, 0);
        if (n <= 0)
            break;
        used += (size_t)n;
        if (text[used - 1] == '\n') {
            answer = json_loadb(text, used, 0, NULL);
            break;
        }
    }
    free(text);
    return answer;
}

static void could_not_connect(const char *path, const char *program, int failed, struct nc_error *error)
{
    if (failed == EACCES || failed == EPERM)
        nc_fail(error, NC_EXIT_FAILED, "--control '%s': %s; want root, or the user who started %s", path,
                strerror(failed), program);
    else
        nc_fail(error, NC_EXIT_FAILED, "--control '%s': %s; is %s running there?", path, strerror(failed), program);
}

json_t *nc_control_request(const char *path, json_t *request, const char *program, struct nc_error *error)
{
    struct sockaddr_un address;
    char *text = json_dumps(request, JSON_COMPACT);
    json_t *answer = NULL;
    json_decref(request);
    if (!text)
        nc_fail(error, NC_EXIT_FAILED, "out of memory");
    if (!text || unix_address(path, &address, error) < 0) {
        free(text);
        return NULL;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = 5};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        could_not_connect(path, program, errno, error);
    else if (dprintf(fd, "%s\n", text) < 0 || !(answer = read_answer(fd)))
        nc_fail(error, NC_EXIT_FAILED, "--control '%s': %s did not answer", path, program);
    free(text);
    if (fd >= 0)
        close(fd);
    return answer;
}

json_t *nc_control_ask(const char *path, json_t *request, const char *program)
{
    struct nc_error error;
    if (!path)
        nc_die(NC_EXIT_USAGE, "--control: missing; want the socket that %s run was given", program);
    json_t *answer = nc_control_request(path, request, program, &error);
    if (!answer)
        nc_die(error.status, "%s", error.text);
    if (!json_is_true(json_object_get(answer, "ok"))) {
        const char *reason = json_string_value(json_object_get(answer, "error"));
        nc_die(NC_EXIT_USAGE, "%s", reason ? reason : "the daemon refused and gave no reason");
    }
    return answer;
}

json_t *nc_control_values(int argc, char **argv, int at, const char *example)
{
    json_t *values = json_object();
    if (at == argc)
        nc_die(NC_EXIT_USAGE, "set: nothing to set; want NAME=VALUE, for example %s", example);
    for (; at < argc; at++) {
        char *equals = strchr(argv[at], '=');
        if (!equals)
            nc_die(NC_EXIT_USAGE, "'%s': want NAME=VALUE, for example %s", argv[at], example);
        *equals = '\0';
        if (json_object_set_new(values, argv[at], nc_jsonl_text(equals + 1)) < 0)
            nc_die(NC_EXIT_USAGE, "'%s': no setting has this name", argv[at]);
    }
    return values;
}
