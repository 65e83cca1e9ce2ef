#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_quantity.h"

struct client {
    struct client *next;
    struct loop_source source;
    struct control *control;
    size_t used;
    char line[CONTROL_LINE_MAX];
};

struct control {
    struct loop_source source;
    struct loop *loop;
    struct gateway *gateway;
    struct client *first;
    unsigned n;
    struct sockaddr_un address;
};

static json_t *refusal(const char *reason)
{
    return json_pack("{s:i, s:b, s:o}", "v", NC_JSONL_VERSION, "ok", 0, "error", nc_jsonl_text(reason));
}

static json_t *state(struct gateway *gateway)
{
    json_t *answer = json_pack("{s:i, s:b}", "v", NC_JSONL_VERSION, "ok", 1);
    json_object_update_new(answer, gateway_state(gateway));
    return answer;
}

/* All values are checked before any is set. */
static json_t *answer_set(struct gateway *gateway, const json_t *values)
{
    char why[400];
    const char *key;
    json_t *value;
    if (!json_is_object(values))
        return refusal("set wants \"values\": an object of setting names and texts");
    for (int apply = 0; apply < 2; apply++)
        json_object_foreach((json_t *)values, key, value)
        {
            if (!json_is_string(value)) {
                snprintf(why, sizeof why, "'%.40s': want a text with its unit, such as \"800Mbit\"", key);
                return refusal(why);
            }
            if (gateway_set(gateway, key, json_string_value(value), apply, why, sizeof why) < 0)
                return refusal(why);
        }
    return state(gateway);
}

static json_t *answer_stop(struct gateway *gateway, const json_t *request)
{
    char why[200];
    uint64_t drain_ns = 0;
    const char *text = json_string_value(json_object_get(request, "within"));
    if (text && nc_quantity_parse(NC_UNIT_DURATION, text, &drain_ns, why, sizeof why) < 0)
        return refusal(why);
    gateway_drain(gateway, drain_ns);
    return state(gateway);
}

json_t *control_answer(struct gateway *gateway, const char *line, size_t n)
{
    char why[256];
    json_error_t error;
    json_t *request = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error), *answer;
    const char *op = request ? json_string_value(json_object_get(request, "op")) : NULL;
    if (!request) {
        snprintf(why, sizeof why, "not JSON: %s", error.text);
        answer = refusal(why);
    } else if (op && strcmp(op, "show") == 0)
        answer = state(gateway);
    else if (op && strcmp(op, "set") == 0)
        answer = answer_set(gateway, json_object_get(request, "values"));
    else if (op && strcmp(op, "stop") == 0)
        answer = answer_stop(gateway, request);
    else
        answer = refusal("want {\"op\":\"show\"}, {\"op\":\"set\",\"values\":{…}} or {\"op\":\"stop\",\"within\":\"10s\"}");
    json_decref(request);
    return answer;
}

static void end_client(struct client *client)
{
    struct client **at = &client->control->first;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    client->control->n--;
    loop_close(client->control->loop, &client->source);
    loop_later_free(client->control->loop, client);
}

static int send_answer(int fd, json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    if (!text)
        return -1;
    size_t n = strlen(text);
    text[n] = '\n'; /* over the terminator */
    ssize_t sent = send(fd, text, n + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    free(text);
    return sent == (ssize_t)n + 1 ? 0 : -1;
}

static void client_ready(void *owner, uint32_t events)
{
    struct client *client = owner;
    (void)events;
    ssize_t n = recv(client->source.fd, client->line + client->used, sizeof client->line - client->used, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end_client(client);
        return;
    }
    client->used += (size_t)n;
    for (char *end; (end = memchr(client->line, '\n', client->used));) {
        size_t length = (size_t)(end - client->line);
        if (send_answer(client->source.fd, control_answer(client->control->gateway, client->line, length)) < 0) {
            end_client(client);
            return;
        }
        client->used -= length + 1;
        memmove(client->line, end + 1, client->used);
    }
    if (client->used == sizeof client->line)
        end_client(client);
}

static void listener_ready(void *owner, uint32_t events)
{
    struct control *control = owner;
    int buffer = 1 << 20, fd = accept4(control->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    (void)events;
    if (fd < 0)
        return;
    struct client *client = control->n < CONTROL_CLIENTS_MAX ? calloc(1, sizeof *client) : NULL;
    if (!client) {
        close(fd);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    client->source = (struct loop_source){fd, client_ready, client};
    client->control = control;
    client->next = control->first;
    control->first = client;
    control->n++;
    if (loop_add(control->loop, &client->source, EPOLLIN) < 0)
        end_client(client);
}

static int unix_address(const char *path, struct sockaddr_un *address, char *why, size_t why_size)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!path[0] || strlen(path) >= sizeof address->sun_path) {
        snprintf(why, why_size, "--control '%s': a socket path has 1 to %zu characters", path, sizeof address->sun_path - 1);
        return -1;
    }
    strcpy(address->sun_path, path);
    return 0;
}

/* -1 with errno; a socket nobody listens at is taken over. */
static int listen_at(const struct sockaddr_un *address)
{
    struct stat status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
    if (fd < 0)
        return -1;
    if (stat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode)) {
        if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            error = EADDRINUSE;
        else
            unlink(address->sun_path);
    }
    mode_t mask = umask(0077);
    if (!error && (bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 || listen(fd, CONTROL_CLIENTS_MAX) < 0))
        error = errno;
    umask(mask);
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

struct control *control_open(const char *path, struct gateway *gateway, struct loop *loop, char *why, size_t why_size)
{
    struct control *control = calloc(1, sizeof *control);
    if (!control || unix_address(path, &control->address, why, why_size) < 0) {
        free(control);
        return NULL;
    }
    control->loop = loop;
    control->gateway = gateway;
    control->source = (struct loop_source){listen_at(&control->address), listener_ready, control};
    if (control->source.fd < 0 || loop_add(loop, &control->source, EPOLLIN) < 0) {
        snprintf(why, why_size, "--control '%s': %s", path, errno == EADDRINUSE ? "another gateway listens there; choose another path" : strerror(errno));
        if (control->source.fd >= 0)
            close(control->source.fd);
        free(control);
        return NULL;
    }
    return control;
}

void control_close(struct control *control)
{
    if (!control)
        return;
    while (control->first)
        end_client(control->first);
    close(control->source.fd);
    unlink(control->address.sun_path);
    free(control);
}

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

json_t *control_request(const char *path, json_t *request, char *why, size_t why_size)
{
    const struct timeval patience = {.tv_sec = 5};
    struct sockaddr_un address;
    char *text = json_dumps(request, JSON_COMPACT);
    json_t *answer = NULL;
    json_decref(request);
    if (!text || unix_address(path, &address, why, why_size) < 0) {
        free(text);
        return NULL;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        snprintf(why, why_size, "--control '%s': %s; is lft-gateway running there?", path, strerror(errno));
    else if (dprintf(fd, "%s\n", text) < 0 || !(answer = read_answer(fd)))
        snprintf(why, why_size, "--control '%s': the gateway did not answer", path);
    free(text);
    if (fd >= 0)
        close(fd);
    return answer;
}
