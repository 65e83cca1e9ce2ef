/* A packet that waits in a queue, and first-in, first-out lists of such packets. The packet's owner allocates it, with
 * its own data after this struct; disciplines move it from list to list and never copy it. */
#ifndef COMET_QUEUED_LIST_H
#define COMET_QUEUED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queued {
    struct queued *next;
    uint64_t arrival_ns;
    uint64_t number; /* in its direction; random numbers depend on it */
    uint64_t flow;   /* hash of addresses and ports; 0 if no discipline needs it */
    uint32_t bytes;  /* on the line */
    uint32_t ack;    /* of a packet that is `ack_only` */
    bool ect;        /* ECN-capable transport: may be marked instead of dropped */
    bool ect1;       /* ECT(1) or CE: a packet of an L4S flow (RFC 9331) */
    bool ack_only;   /* plain acknowledgement: TCP without data, SACK or other flags */
    bool marked;
    uint8_t fate; /* enum fate, of a packet in the list of dropped ones */
};

struct queued_list {
    struct queued *head, *tail;
};

static inline void queued_push(struct queued_list *list, struct queued *packet)
{
    packet->next = NULL;
    if (list->head)
        list->tail->next = packet;
    else
        list->head = packet;
    list->tail = packet;
}

static inline struct queued *queued_pop(struct queued_list *list)
{
    struct queued *packet = list->head;
    if (packet)
        list->head = packet->next;
    return packet;
}

/* Moves all of `from` behind all of `to`. */
static inline void queued_append(struct queued_list *to, struct queued_list *from)
{
    if (!from->head)
        return;
    if (to->head)
        to->tail->next = from->head;
    else
        to->head = from->head;
    to->tail = from->tail;
    from->head = NULL;
}

#endif
