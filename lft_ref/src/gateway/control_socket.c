/* The control socket: clients, their lines and the answers. */
#include "control_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_control.h"
#include "nc_jsonl.h"
#include "nc_quantity.h"

struct client {
    struct client *next;
    struct loop_source source;
    struct control_socket *control;
    size_t used;
    char line[CONTROL_LINE_MAX];
};

struct control_socket {
    struct loop_source source;
    struct loop *loop;
    struct gateway *gateway;
    struct client *first;
    unsigned n;
    int spare; /* spare descriptor, so that a client can always be accepted; -1: none */
    char *path;
};

static void keep_spare(struct control_socket *control)
{
    if (control->spare < 0)
        control->spare = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static void release_spare(struct control_socket *control)
{
    if (control->spare >= 0)
        close(control->spare);
    control->spare = -1;
}

static int accept_client(struct control_socket *control)
{
    int fd = accept4(control->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
        return fd;
    release_spare(control);
    return accept4(control->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static json_t *state(struct gateway *gateway)
{
    json_t *answer = json_pack("{s:i, s:b}", "v", NC_JSONL_VERSION, "ok", 1);
    json_object_update_new(answer, gateway_state(gateway));
    return answer;
}

/* Changes the settings of a `set` request. It checks all values first, so a bad one leaves every setting unchanged. */
static json_t *answer_set(struct gateway *gateway, const json_t *values)
{
    struct nc_error error;
    const char *key;
    json_t *value;
    if (!json_is_object(values))
        return nc_control_refusal("set wants \"values\": an object of setting names and texts");
    for (int apply = 0; apply < 2; apply++)
        json_object_foreach((json_t *)values, key, value)
        {
            if (!json_is_string(value)) {
                nc_fail(&error, NC_EXIT_USAGE, "'%.40s': want a text with its unit, such as \"800Mbit\"", key);
                return nc_control_refusal(error.text);
            }
            if (gateway_set(gateway, key, json_string_value(value), apply, &error) < 0)
                return nc_control_refusal(error.text);
        }
    return state(gateway);
}

static json_t *answer_stop(struct gateway *gateway, const json_t *request)
{
    struct nc_error why;
    uint64_t drain_ns = 0;
    const json_t *within = json_object_get(request, "within");
    const char *text = json_string_value(within);
    if (within && !text)
        return nc_control_refusal("stop wants \"within\" as a text with its unit, such as \"10s\"");
    if (text && nc_quantity_parse(NC_UNIT_DURATION, text, &drain_ns, &why) < 0)
        return nc_control_refusal(why.text);
    gateway_drain(gateway, drain_ns);
    return state(gateway);
}

static json_t *answer_line(struct gateway *gateway, const char *line, size_t n)
{
    const char *op;
    json_t *answer, *request = nc_control_parse(line, n, &op, &answer);
    if (!request)
        return answer;
    if (op && strcmp(op, "show") == 0)
        answer = state(gateway);
    else if (op && strcmp(op, "set") == 0)
        answer = answer_set(gateway, json_object_get(request, "values"));
    else if (op && strcmp(op, "stop") == 0)
        answer = answer_stop(gateway, request);
    else
        answer = nc_control_refusal(
            "want {\"op\":\"show\"}, {\"op\":\"set\",\"values\":{…}} or {\"op\":\"stop\",\"within\":\"10s\"}");
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
    keep_spare(client->control);
    loop_later_free(client->control->loop, client);
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
        if (nc_control_send(client->source.fd, answer_line(client->control->gateway, client->line, length),
                            MSG_DONTWAIT) < 0) {
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
    struct control_socket *control = owner;
    int buffer = 1 << 20, fd = accept_client(control);
    (void)events;
    if (fd < 0) {
        loop_rest(control->loop, &control->source, errno);
        keep_spare(control);
        return;
    }
    struct client *client = control->n < CONTROL_CLIENTS_MAX ? calloc(1, sizeof *client) : NULL;
    if (!client) {
        close(fd);
        keep_spare(control);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    client->source = (struct loop_source){.fd = fd, .ready = client_ready, .owner = client};
    client->control = control;
    client->next = control->first;
    control->first = client;
    control->n++;
    if (loop_add(control->loop, &client->source, EPOLLIN) < 0)
        end_client(client);
}

struct control_socket *control_socket_open(const char *path, struct gateway *gateway, struct nc_error *error)
{
    int fd = nc_control_listen(path, CONTROL_CLIENTS_MAX, "gateway", error);
    if (fd < 0)
        return NULL;
    struct control_socket *control = calloc(1, sizeof *control);
    char *own_path = strdup(path);
    if (control)
        *control = (struct control_socket){.source = {.fd = fd, .ready = listener_ready, .owner = control},
                                           .loop = gateway_loop(gateway),
                                           .gateway = gateway,
                                           .spare = -1,
                                           .path = own_path};
    if (control && own_path && loop_add(control->loop, &control->source, EPOLLIN) == 0) {
        keep_spare(control);
        return control;
    }
    nc_fail(error, NC_EXIT_MISSING, "--control '%s': %s", path, strerror(errno));
    close(fd);
    unlink(path);
    free(own_path);
    free(control);
    return NULL;
}

void control_socket_close(struct control_socket *control)
{
    if (!control)
        return;
    while (control->first)
        end_client(control->first);
    release_spare(control);
    close(control->source.fd);
    if (unlink(control->path) < 0)
        gateway_remove_control(control->gateway);
    free(control->path);
    free(control);
}
