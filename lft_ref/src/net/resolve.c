#include "resolve.h"

#include <ares.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { TRIES = 4, FIRST_WAIT_MS = 1000 }; /* tries per server; each wait is twice the previous one */

struct lookup {
    struct lookup *dead; /* the loop's, once freed */
    struct lookup *previous, *next;
    struct resolver *resolver;
    ares_channel channel;
    void *user;
    uint64_t deadline_ns;
    bool done, found;
    struct sockaddr_storage address;
    struct name_socket *sockets;
};

/* A socket of c-ares that our loop watches. c-ares closes it. */
struct name_socket {
    struct name_socket *dead; /* the loop's, once freed */
    struct name_socket *next;
    struct lookup *lookup;
    struct loop_source source;
};

struct resolver {
    struct loop *loop;
    resolver_answered *answered;
    const char *servers;
    struct lookup *first;
};

static void forget_socket(struct lookup *lookup, struct name_socket *socket)
{
    for (struct name_socket **at = &lookup->sockets; *at; at = &(*at)->next)
        if (*at == socket) {
            *at = socket->next;
            break;
        }
    socket->source.fd = -1;
    loop_later_free(lookup->resolver->loop, socket);
}

static void unlink_lookup(struct lookup *lookup)
{
    *(lookup->previous ? &lookup->previous->next : &lookup->resolver->first) = lookup->next;
    if (lookup->next)
        lookup->next->previous = lookup->previous;
    lookup->previous = NULL;
    ares_destroy(lookup->channel); /* the channel reports its sockets to sockets_change */
    lookup->channel = NULL;
    loop_later_free(lookup->resolver->loop, lookup);
}

/* Destroys the channel, so it must not be called inside a callback of the channel. */
static void finish_if_done(struct lookup *lookup)
{
    if (!lookup->done || !lookup->channel)
        return;
    unlink_lookup(lookup);
    lookup->resolver->answered(lookup->user, lookup->found ? &lookup->address : NULL);
}

static void ready(void *owner, uint32_t events)
{
    const struct name_socket *socket = owner;
    struct lookup *lookup = socket->lookup;
    int fd = socket->source.fd;
    ares_process_fd(lookup->channel, events & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
                    events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
    finish_if_done(lookup);
}

static void sockets_change(void *user, ares_socket_t fd, int readable, int writable)
{
    struct lookup *lookup = user;
    struct loop *loop = lookup->resolver->loop;
    uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);
    struct name_socket *socket = lookup->sockets;
    while (socket && socket->source.fd != fd)
        socket = socket->next;
    if (socket && events)
        loop_change(loop, &socket->source, events);
    else if (socket)
        forget_socket(lookup, socket);
    if (socket || !events || !(socket = calloc(1, sizeof *socket)))
        return; /* when memory is short, nothing more happens and the look-up fails at its deadline */
    *socket = (struct name_socket){
        .next = lookup->sockets, .lookup = lookup, .source = {.fd = fd, .ready = ready, .owner = socket}};
    lookup->sockets = socket;
    if (loop_add(loop, &socket->source, events) < 0)
        forget_socket(lookup, socket);
}

static void got(void *user, int status, int timeouts, struct ares_addrinfo *found)
{
    struct lookup *lookup = user;
    (void)timeouts;
    lookup->done = true;
    if (status == ARES_SUCCESS && found && found->nodes) {
        lookup->found = true;
        memcpy(&lookup->address, found->nodes->ai_addr, found->nodes->ai_addrlen);
    }
    if (found)
        ares_freeaddrinfo(found);
}

struct resolver *resolver_create(struct loop *loop, resolver_answered *answered, const char *servers)
{
    struct resolver *resolver = calloc(1, sizeof *resolver);
    if (!resolver || ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
        free(resolver);
        return NULL;
    }
    *resolver = (struct resolver){.loop = loop, .answered = answered, .servers = servers};
    return resolver;
}

void resolver_destroy(struct resolver *resolver)
{
    while (resolver->first)
        unlink_lookup(resolver->first);
    ares_library_cleanup();
    free(resolver);
}

static bool open_channel(struct lookup *lookup)
{
    struct ares_options options = {
        .timeout = FIRST_WAIT_MS, .tries = TRIES, .sock_state_cb = sockets_change, .sock_state_cb_data = lookup};
    const char *servers = lookup->resolver->servers;
    if (ares_init_options(&lookup->channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB) !=
        ARES_SUCCESS)
        return false;
    if (!servers || ares_set_servers_ports_csv(lookup->channel, servers) == ARES_SUCCESS)
        return true;
    ares_destroy(lookup->channel);
    return false;
}

int resolver_ask(struct resolver *resolver, const char *name, uint16_t port, void *user)
{
    const struct ares_addrinfo_hints hints = {.ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NUMERICSERV};
    struct lookup *lookup = calloc(1, sizeof *lookup);
    char service[8];
    if (!lookup)
        return -1;
    *lookup = (struct lookup){.resolver = resolver,
                              .user = user,
                              .next = resolver->first,
                              .deadline_ns = loop_now_ns(resolver->loop) + RESOLVER_MOST_NS};
    if (!open_channel(lookup)) {
        free(lookup);
        return -1;
    }
    if (resolver->first)
        resolver->first->previous = lookup;
    resolver->first = lookup;
    snprintf(service, sizeof service, "%u", port);
    ares_getaddrinfo(lookup->channel, name, service, &hints, got, lookup);
    finish_if_done(lookup);
    return 0;
}

void resolver_forget(struct resolver *resolver, const void *user)
{
    struct lookup *lookup = resolver->first;
    while (lookup && lookup->user != user)
        lookup = lookup->next;
    if (lookup)
        unlink_lookup(lookup);
}

/* An answer may end other look-ups, which then have no channel; their memory remains valid until the end of the
 * turn. */
void resolver_tick(struct resolver *resolver, uint64_t now_ns)
{
    for (struct lookup *lookup = resolver->first, *next; lookup; lookup = next) {
        next = lookup->next;
        if (!lookup->channel)
            continue;
        ares_process_fd(lookup->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        lookup->done |= now_ns >= lookup->deadline_ns;
        finish_if_done(lookup);
    }
}
