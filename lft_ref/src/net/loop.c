/* The epoll loop, and memory that is freed at the end of a turn. */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "nc_slots.h"

enum { EVENTS = 256 };
#define REST_NS (100 * NC_NS_PER_MS)

struct dead {
    struct dead *next;
};

struct loop {
    int epoll;
    uint64_t now_ns;
    struct dead *dead, *given;   /* linked lists of memory to free and of objects to give back; the first octets of each
                                  * element are the link */
    struct loop_source *at_rest; /* until wake_ns */
    uint64_t wake_ns;
};

struct loop *loop_create(void)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->now_ns = nc_now_ns();
    if (loop->epoll < 0) {
        free(loop);
        return NULL;
    }
    return loop;
}

void loop_bury(struct loop *loop)
{
    while (loop->dead) {
        struct dead *next = loop->dead->next;
        free(loop->dead);
        loop->dead = next;
    }
    while (loop->given) {
        struct dead *next = loop->given->next;
        nc_slots_give(loop->given);
        loop->given = next;
    }
}

void loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    loop_bury(loop);
    close(loop->epoll);
    free(loop);
}

int loop_add(struct loop *loop, struct loop_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, source->fd, &event);
}

void loop_change(struct loop *loop, struct loop_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    epoll_ctl(loop->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

static void wake(struct loop *loop)
{
    while (loop->at_rest) {
        struct loop_source *source = loop->at_rest;
        loop->at_rest = source->next_at_rest;
        if (source->fd >= 0)
            loop_change(loop, source, EPOLLIN);
    }
}

/* close() removes a descriptor from the epoll set only if no duplicate of it exists. This program makes no
 * duplicates. */
void loop_close(struct loop *loop, struct loop_source *source)
{
    if (source->fd < 0)
        return;
    close(source->fd);
    source->fd = -1;
    wake(loop);
}

static bool is_at_rest(const struct loop *loop, const struct loop_source *source)
{
    const struct loop_source *at = loop->at_rest;
    while (at && at != source)
        at = at->next_at_rest;
    return at;
}

bool loop_rest(struct loop *loop, struct loop_source *listener, int error)
{
    if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM)
        return false;
    if (is_at_rest(loop, listener))
        return true;
    listener->next_at_rest = loop->at_rest;
    loop->at_rest = listener;
    loop->wake_ns = loop->now_ns + REST_NS;
    loop_change(loop, listener, 0);
    return true;
}

/* Later events of this batch may still point to the owner's loop_source. The link overwrites its first octets only; its
 * `fd` stays -1. */
static void put_aside(struct dead **list, void *memory)
{
    struct dead *dead = memory;
    dead->next = *list;
    *list = dead;
}

void loop_later_free(struct loop *loop, void *memory)
{
    put_aside(&loop->dead, memory);
}

void loop_later_give(struct loop *loop, void *object)
{
    put_aside(&loop->given, object);
}

int loop_turn(struct loop *loop, uint64_t now_ns, uint64_t until_ns)
{
    struct epoll_event events[EVENTS];
    if (loop->at_rest && now_ns >= loop->wake_ns)
        wake(loop);
    if (loop->at_rest)
        until_ns = nc_min(until_ns, loop->wake_ns);
    uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    int n = epoll_pwait2(loop->epoll, events, EVENTS, &timeout, NULL);
    loop->now_ns = wait_ns ? nc_now_ns() : now_ns;
    for (int i = 0; i < n; i++) {
        struct loop_source *source = events[i].data.ptr;
        if (source->fd >= 0)
            source->ready(source->owner, events[i].events);
    }
    loop_bury(loop);
    return n > 0 ? n : 0;
}

uint64_t loop_now_ns(const struct loop *loop)
{
    return loop->now_ns;
}
