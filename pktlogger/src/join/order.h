/* Measures reordering between sender and receiver: which parts arrived after parts that were sent later, and how many
 * parts overtook each of them. Parts are given in order of sending. Memory holds only the parts under way, because only
 * these may still be overtaken. Parts that arrived at the same moment (in one super-packet) did not overtake each
 * other. */
#ifndef PL_ORDER_H
#define PL_ORDER_H

#include <stdint.h>

#include "vector.h"

struct pl_order_part {
    int64_t t_received_ns, first_ns; /* first_ns: earliest arrival among the parts that overtook this one */
    uint32_t overtaken;              /* number of parts that overtook this one */
};

struct pl_order {
    PL_VECTOR(struct pl_order_part) open; /* from `first` on, in order of arrival */
    size_t first;
    uint64_t reordered, extent_sum;
    uint32_t extent_max;
    int64_t
        late_max_ns; /* largest time between the first overtaking arrival and the arrival of the part; 0: no part was overtaken */
};

/* Takes the next part that arrived. Returns 0, or -1 without memory. */
int pl_order_add(struct pl_order *order, int64_t t_sent_ns, int64_t t_received_ns);

/* No more parts come: counts the open ones and releases the memory. */
void pl_order_end(struct pl_order *order);

#endif
