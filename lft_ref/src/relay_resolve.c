/* Names for the proxies, looked up on the far side, where they mean what the server's network says. getaddrinfo blocks, so every
 * look-up has a thread; its answer comes back through a pipe as one pointer. Answers to connections that ended meanwhile are thrown away. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "io.h"
#include "relay.h"

enum { LOOKUPS_MAX = 64 };

struct lookup {
    struct lookup *next;
    const struct relay_connection *connection; /* NULL: nobody waits any more */
    int answer_fd, failed;
    struct sockaddr_storage address;
    char port[8];
    char name[LFT_NAME_MAX + 1];
};

struct relay_resolver {
    struct loop_source source;
    struct relay *relay;
    int answer_fd;
    unsigned under_way;
    struct lookup *first;
};

static void *look_up(void *argument)
{
    struct lookup *lookup = argument;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    lookup->failed = getaddrinfo(lookup->name, lookup->port, &hints, &found);
    if (!lookup->failed)
        memcpy(&lookup->address, found->ai_addr, found->ai_addrlen);
    if (found)
        freeaddrinfo(found);
    while (write(lookup->answer_fd, &lookup, sizeof lookup) < 0 && errno == EINTR)
        ;
    return NULL;
}

static void answer(struct relay_resolver *resolver, struct lookup *lookup)
{
    struct relay_connection *connection = (struct relay_connection *)(uintptr_t)lookup->connection;
    struct lookup **at = &resolver->first;
    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
    resolver->under_way--;
    if (connection && lookup->failed)
        relay_far_fail(connection, (struct lft_result){.code = LFT_RESULT_NAME_UNKNOWN});
    else if (connection)
        relay_far_connect(connection, &lookup->address, NULL);
    free(lookup);
}

static void ready(void *owner, uint32_t events)
{
    struct relay_resolver *resolver = owner;
    struct lookup *lookup;
    (void)events;
    while (read(resolver->source.fd, &lookup, sizeof lookup) == sizeof lookup)
        answer(resolver, lookup);
}

struct relay_resolver *resolver_create(struct relay *relay)
{
    int ends[2];
    struct relay_resolver *resolver = calloc(1, sizeof *resolver);
    if (!resolver || pipe2(ends, O_CLOEXEC) < 0) {
        free(resolver);
        return NULL;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *resolver = (struct relay_resolver){.source = {ends[0], ready, resolver}, .relay = relay, .answer_fd = ends[1]};
    if (loop_add(relay_loop(relay), &resolver->source, EPOLLIN) < 0) {
        resolver_destroy(resolver);
        return NULL;
    }
    return resolver;
}

void resolver_destroy(struct relay_resolver *resolver)
{
    struct lookup *lookup;
    if (!resolver)
        return;
    fcntl(resolver->source.fd, F_SETFL, 0); /* look-ups end by themselves; wait for theirs */
    while (resolver->under_way && read(resolver->source.fd, &lookup, sizeof lookup) == sizeof lookup) {
        lookup->connection = NULL;
        answer(resolver, lookup);
    }
    close(resolver->source.fd);
    close(resolver->answer_fd);
    free(resolver);
}

int resolver_ask(struct relay_resolver *resolver, struct relay_connection *connection, const char *name, uint16_t port)
{
    pthread_t thread;
    pthread_attr_t attributes;
    struct lookup *lookup = resolver->under_way < LOOKUPS_MAX ? calloc(1, sizeof *lookup) : NULL;
    if (!lookup)
        return -1;
    lookup->connection = connection;
    lookup->answer_fd = resolver->answer_fd;
    snprintf(lookup->name, sizeof lookup->name, "%s", name);
    snprintf(lookup->port, sizeof lookup->port, "%u", port);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attributes, look_up, lookup);
    pthread_attr_destroy(&attributes);
    if (failed) {
        free(lookup);
        return -1;
    }
    lookup->next = resolver->first;
    resolver->first = lookup;
    resolver->under_way++;
    return 0;
}

void resolver_forget(struct relay_resolver *resolver, const struct relay_connection *connection)
{
    for (struct lookup *lookup = resolver->first; lookup; lookup = lookup->next)
        if (lookup->connection == connection)
            lookup->connection = NULL;
}
