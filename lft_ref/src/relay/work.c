/* Work lists: connections that have work now, that wait for the host rate, that wait until an earlier connection has
 * ended, and that wait until their host has acknowledged its last data (last_words.c). A connection is in at most one
 * list. */
#include "relay_internal.h"

static void append(struct work_list *list, struct relay_connection *connection)
{
    if (connection->queued || connection->ended)
        return;
    connection->queued = true;
    connection->next_work = NULL;
    *list->end = connection;
    list->end = &connection->next_work;
}

void connection_enqueue(struct relay_connection *connection)
{
    append(&connection->relay->work, connection);
}

void relay_hold(struct relay_connection *connection)
{
    append(&connection->relay->held, connection);
}

void relay_wait_for_end(struct relay_connection *connection)
{
    append(&connection->relay->waiting, connection);
}

/* When the first connection of the list is due, examines all of them. */
void relay_look_later(struct relay_connection *connection, uint64_t at_ns)
{
    struct relay *relay = connection->relay;
    if (!relay->last.first)
        relay->last_ns = at_ns;
    append(&relay->last, connection);
}

static bool take_out(struct work_list *list, struct relay_connection *connection)
{
    struct relay_connection **at = &list->first;
    while (*at && *at != connection)
        at = &(*at)->next_work;
    if (!*at)
        return false;
    *at = connection->next_work;
    if (list->end == &connection->next_work)
        list->end = at;
    connection->queued = false;
    return true;
}

void relay_dequeue(struct relay_connection *connection)
{
    struct relay *relay = connection->relay;
    struct work_list *const lists[] = {&relay->work, &relay->held, &relay->waiting, &relay->last};
    for (size_t i = 0; connection->queued && i < sizeof lists / sizeof lists[0]; i++)
        take_out(lists[i], connection);
}

static void move_to_work(struct relay *relay, struct work_list *list)
{
    if (!list->first)
        return;
    *relay->work.end = list->first;
    relay->work.end = list->end;
    *list = (struct work_list){NULL, &list->first};
}

void relay_end_hold(struct relay *relay)
{
    move_to_work(relay, &relay->held);
}

void relay_end_wait(struct relay *relay)
{
    move_to_work(relay, &relay->waiting);
}

void relay_end_look(struct relay *relay)
{
    move_to_work(relay, &relay->last);
}
