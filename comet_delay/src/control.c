#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "box.h"
#include "nc_jsonl.h"
#include "settings.h"

static json_t *refusal(const char *reason)
{
    return json_pack("{s:i, s:b, s:o}", "v", NC_JSONL_VERSION, "ok", 0, "error", nc_jsonl_text(reason));
}

static json_t *acceptance(struct box *box)
{
    json_t *answer = json_pack("{s:i, s:b}", "v", NC_JSONL_VERSION, "ok", 1);
    json_object_update_new(answer, box_json(box));
    return answer;
}

/* What is another value in `after` than in `before`. The whole state would be a hundred times as long, and changes come
 * in thousands a second. */
static json_t *changes(const struct params before[2], const struct params after[2])
{
    return json_pack("{s:i, s:b, s:{s:o, s:o}}", "v", NC_JSONL_VERSION, "ok", 1, "changed", "ab",
                     params_changes_json(&before[0], &after[0]), "ba", params_changes_json(&before[1], &after[1]));
}

/* All values are checked before any is set. */
static json_t *answer_set(struct box *box, const json_t *values)
{
    char why[512];
    const struct params before[2] = {*box_params(box, 0), *box_params(box, 1)};
    struct params params[2] = {before[0], before[1]};
    const char *name;
    json_t *value;
    if (!json_is_object(values))
        return refusal("set wants \"values\": an object of parameter names and texts with units");
    json_object_foreach((json_t *)values, name, value)
    {
        if (!json_is_string(value)) {
            snprintf(why, sizeof why, "'%.40s': want a text with its unit, such as \"45Mbit\"", name);
            return refusal(why);
        }
        if (settings_set(name, json_string_value(value), params, why, sizeof why) < 0)
            return refusal(why);
    }
    if (box_set(box, params, why, sizeof why) < 0)
        return refusal(why);
    return changes(before, params);
}

json_t *control_answer(struct box *box, const char *line, size_t len)
{
    char why[256];
    json_error_t error;
    json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error), *answer;
    const char *op = request ? json_string_value(json_object_get(request, "op")) : NULL;
    if (!request) {
        snprintf(why, sizeof why, "not JSON: %s", error.text);
        answer = refusal(why);
    } else if (op && strcmp(op, "show") == 0)
        answer = acceptance(box);
    else if (op && strcmp(op, "set") == 0)
        answer = answer_set(box, json_object_get(request, "values"));
    else
        answer = refusal("want {\"op\":\"show\"} or {\"op\":\"set\",\"values\":{…}}");
    json_decref(request);
    return answer;
}

static int send_answer(int fd, json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    if (!text)
        return -1;
    size_t len = strlen(text);
    text[len] = '\n'; /* over the terminator */
    /* blocking, with the socket's send time-out: a client that does not read is dropped */
    ssize_t sent = send(fd, text, len + 1, MSG_NOSIGNAL);
    free(text);
    return sent == (ssize_t)len + 1 ? 0 : -1;
}

int control_client_read(struct control_client *client, struct box *box)
{
    ssize_t n = recv(client->fd, client->line + client->used, sizeof client->line - client->used, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (n == 0)
        return -1;
    client->used += (size_t)n;
    for (char *end; (end = memchr(client->line, '\n', client->used));) {
        size_t len = (size_t)(end - client->line);
        if (send_answer(client->fd, control_answer(box, client->line, len)) < 0)
            return -1;
        client->used -= len + 1;
        memmove(client->line, end + 1, client->used);
    }
    return client->used == sizeof client->line ? -1 : 0;
}

static int unix_address(const char *path, struct sockaddr_un *address, char *why, size_t why_size)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!path[0] || strlen(path) >= sizeof address->sun_path) {
        snprintf(why, why_size, "--control '%s': a socket path has 1 to %zu characters", path,
                 sizeof address->sun_path - 1);
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

int control_listen(const char *path, char *why, size_t why_size)
{
    struct sockaddr_un address;
    if (unix_address(path, &address, why, why_size) < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat status;
    if (fd >= 0 && stat(path, &status) == 0 && S_ISSOCK(status.st_mode)) {
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            snprintf(why, why_size, "--control '%s': another box listens there; choose another path", path);
            close(fd);
            return -1;
        }
        unlink(path); /* left by a box that died */
    }
    mode_t mask = umask(0077);
    int bound = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);
    int saved = errno;
    umask(mask);
    errno = saved;
    if (bound < 0 || listen(fd, CONTROL_CLIENTS_MAX) < 0) {
        snprintf(why, why_size, "--control '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

/* The answer is as long as it is; read until its newline. */
static json_t *read_answer(int fd, char *why, size_t why_size)
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
    if (!answer)
        snprintf(why, why_size, "the box did not answer");
    return answer;
}

json_t *control_request(const char *path, json_t *request, char *why, size_t why_size)
{
    struct sockaddr_un address;
    char *text = json_dumps(request, JSON_COMPACT);
    json_t *answer = NULL;
    json_decref(request);
    if (!text || unix_address(path, &address, why, why_size) < 0) {
        free(text);
        return NULL;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = 5};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        snprintf(why, why_size, "--control '%s': %s; is comet-delay running there?", path, strerror(errno));
    else if (dprintf(fd, "%s\n", text) < 0)
        snprintf(why, why_size, "--control '%s': %s", path, strerror(errno));
    else
        answer = read_answer(fd, why, why_size);
    free(text);
    if (fd >= 0)
        close(fd);
    return answer;
}
