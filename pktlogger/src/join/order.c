/* Implements order.h. */
#include "order.h"

#include <string.h>

enum { EXTENT_MAX = 4096, COMPACT_FROM = 4096 }; /* EXTENT_MAX bounds the work for one part */

static void close_part(struct pl_order *order, const struct pl_order_part *part)
{
    if (part->overtaken == 0)
        return;
    order->reordered++;
    order->extent_sum += part->overtaken;
    if (part->overtaken > order->extent_max)
        order->extent_max = part->overtaken;
    if (part->t_received_ns - part->first_ns > order->late_max_ns)
        order->late_max_ns = part->t_received_ns - part->first_ns;
}

int pl_order_add(struct pl_order *order, int64_t t_sent_ns, int64_t t_received_ns)
{
    struct pl_order_part part = {.t_received_ns = t_received_ns, .first_ns = INT64_MAX};
    /* A part that had arrived before this one was sent cannot be overtaken any more. */
    while (order->first < order->open.n && order->open.at[order->first].t_received_ns <= t_sent_ns)
        close_part(order, &order->open.at[order->first++]);
    if (order->first >= COMPACT_FROM && order->first * 2 > order->open.n) {
        order->open.n -= order->first;
        memmove(order->open.at, order->open.at + order->first, order->open.n * sizeof part);
        order->first = 0;
    }
    size_t place = order->open.n, least = order->first;
    if (place - least > EXTENT_MAX)
        least = place - EXTENT_MAX;
    for (; place > least && order->open.at[place - 1].t_received_ns > t_received_ns; place--) {
        struct pl_order_part *overtaken = &order->open.at[place - 1];
        overtaken->overtaken++;
        overtaken->first_ns = t_received_ns < overtaken->first_ns ? t_received_ns : overtaken->first_ns;
    }
    if (place > order->first && order->open.at[place - 1].t_received_ns > t_received_ns)
        return 0; /* it has overtaken more parts than are counted */
    if (PL_APPEND(&order->open, part) < 0)
        return -1;
    if (place + 1 < order->open.n) { /* otherwise it is in order */
        memmove(order->open.at + place + 1, order->open.at + place, (order->open.n - 1 - place) * sizeof part);
        order->open.at[place] = part;
    }
    return 0;
}

void pl_order_end(struct pl_order *order)
{
    while (order->first < order->open.n)
        close_part(order, &order->open.at[order->first++]);
    free(order->open.at);
    order->open.at = NULL;
    order->open.n = order->open.room = order->first = 0;
}
