/* Finds the acknowledgements that the receiver sent and when each reached the sender. They are paired like data
 * (match.h), with the acknowledgement number in place of the border. */
#include "transfer.h"

#include <stdlib.h>

#include "match.h"

typedef PL_VECTOR(struct pl_piece) pieces;

/* Collects the packets against the data's direction that acknowledge. The owner of a piece is the packet's index. `ids`
 * is set when one packet has an IPv4 identification. */
static int collect(pieces *list, const struct pl_packet *packets, size_t n, unsigned data_dir, int64_t delta, bool *ids)
{
    for (size_t i = 0; i < n; i++) {
        const struct pl_packet *packet = &packets[i];
        uint64_t ack = packet->ack + (uint64_t)delta;
        if (packet->dir == data_dir || packet->ack >= UINT64_MAX / 4 || ack >= UINT64_MAX / 4)
            continue;
        struct pl_piece piece = {.start = ack, .t_ns = packet->t_ns, .owner = i};
        *ids = *ids || packet->ip_id;
        if (PL_APPEND(list, piece) < 0)
            return -1;
    }
    return 0;
}

static void set_tokens(pieces *list, const struct pl_packet *packets, bool ids)
{
    for (size_t i = 0; i < list->n; i++)
        list->at[i].token = ids ? packets[list->at[i].owner].ip_id : packets[list->at[i].owner].tsval;
}

static int by_owner(const void *left, const void *right)
{
    const struct pl_piece *a = left, *b = right;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static int add_rows(struct pl_transfer *t, pieces *sent)
{
    if (sent->n > 1)
        qsort(sent->at, sent->n, sizeof *sent->at, by_owner); /* into the order of sending again */
    for (size_t i = 0; i < sent->n; i++) {
        const struct pl_piece *piece = &sent->at[i];
        struct pl_ack row = {
            .flow = t->number,
            .ack = piece->start,
            .t_sent_ns = piece->t_ns,
            .window = t->receiver[piece->owner].window,
            .t_received_ns = piece->match == PL_UNMATCHED ? -1 : t->sender[piece->match].t_ns,
        };
        if (PL_APPEND(&t->acks, row) < 0)
            return -1;
    }
    return 0;
}

int pl_join_acks(struct pl_transfer *t)
{
    pieces sent = {0}, received = {0};
    bool ids_sent = false, ids_received = false;
    int result = collect(&sent, t->receiver, t->receiver_n, t->receiver_dir, t->delta, &ids_sent) < 0 ||
                         collect(&received, t->sender, t->sender_n, t->dir, 0, &ids_received) < 0
                     ? -1
                     : 0;
    if (result == 0) {
        bool ids = ids_sent && ids_received, tokens = ids || pl_flow_timestamps(t->flow);
        set_tokens(&sent, t->receiver, ids);
        set_tokens(&received, t->sender, ids);
        result = pl_match(sent.at, sent.n, received.at, received.n, tokens);
    }
    if (result == 0)
        result = add_rows(t, &sent);
    free(sent.at);
    free(received.at);
    return result;
}
