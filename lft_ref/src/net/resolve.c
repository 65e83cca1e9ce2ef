#include "resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { LOOKUPS_MAX = 64, NAME_MAX_BYTES = 256 };

struct lookup {
    struct lookup *next;
    void *user; /* NULL: nobody waits any more */
    int answer_fd, failed;
    struct sockaddr_storage address;
    char port[8];
    char name[NAME_MAX_BYTES];
};

struct resolver {
    struct loop_source source;
    resolver_answered *answered;
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

static void answer(struct resolver *resolver, struct lookup *lookup)
{
    struct lookup **at = &resolver->first;
    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
    resolver->under_way--;
    if (lookup->user)
        resolver->answered(lookup->user, lookup->failed ? NULL : &lookup->address);
    free(lookup);
}

static void ready(void *owner, uint32_t events)
{
    struct resolver *resolver = owner;
    struct lookup *lookup;
    (void)events;
    while (read(resolver->source.fd, &lookup, sizeof lookup) == sizeof lookup)
        answer(resolver, lookup);
}

struct resolver *resolver_create(struct loop *loop, resolver_answered *answered)
{
    int ends[2];
    struct resolver *resolver = calloc(1, sizeof *resolver);
    if (!resolver || pipe2(ends, O_CLOEXEC) < 0) {
        free(resolver);
        return NULL;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *resolver = (struct resolver){
        .source = {.fd = ends[0], .ready = ready, .owner = resolver}, .answered = answered, .answer_fd = ends[1]};
    if (loop_add(loop, &resolver->source, EPOLLIN) < 0) {
        resolver_destroy(resolver);
        return NULL;
    }
    return resolver;
}

void resolver_destroy(struct resolver *resolver)
{
    struct lookup *lookup;
    if (!resolver)
        return;
    fcntl(resolver->source.fd, F_SETFL, 0); /* blocking from here on: every look-up ends by itself */
    while (resolver->under_way && read(resolver->source.fd, &lookup, sizeof lookup) == sizeof lookup) {
        lookup->user = NULL;
        answer(resolver, lookup);
    }
    close(resolver->source.fd);
    close(resolver->answer_fd);
    free(resolver);
}

/* Starts the thread of a look-up. Returns 0 or an error number. */
static int start(struct lookup *lookup)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attributes, look_up, lookup);
    pthread_attr_destroy(&attributes);
    return failed;
}

int resolver_ask(struct resolver *resolver, const char *name, uint16_t port, void *user)
{
    struct lookup *lookup = resolver->under_way < LOOKUPS_MAX ? calloc(1, sizeof *lookup) : NULL;
    if (!lookup)
        return -1;
    lookup->user = user;
    lookup->answer_fd = resolver->answer_fd;
    snprintf(lookup->name, sizeof lookup->name, "%s", name);
    snprintf(lookup->port, sizeof lookup->port, "%u", port);
    if (start(lookup)) {
        free(lookup);
        return -1;
    }
    lookup->next = resolver->first;
    resolver->first = lookup;
    resolver->under_way++;
    return 0;
}

void resolver_forget(struct resolver *resolver, const void *user)
{
    for (struct lookup *lookup = resolver->first; lookup; lookup = lookup->next)
        if (lookup->user == user)
            lookup->user = NULL;
}
