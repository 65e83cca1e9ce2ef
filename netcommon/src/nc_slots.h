/* Objects of one size, in memory that is mapped once for their maximum number. A page of it takes memory once it is
 * used, and keeps it. So when memory runs out, the program still has the objects that it has reserved. Rejected: malloc
 * for each object. When memory is limited, the part of the program that asks for the most would get all of it. */
#ifndef NC_SLOTS_H
#define NC_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct nc_slot;
struct nc_slots {
    uint8_t *at;
    size_t stride, most, used_once; /* used_once: number of objects that have ever been taken */
    struct nc_slot *free;
};

/* Returns 0, or -1 with errno. `slots` must stay where it is. */
int nc_slots_init(struct nc_slots *slots, size_t bytes, size_t most);
void nc_slots_destroy(struct nc_slots *slots); /* no effect on a struct of zeros */
void *nc_slots_take(struct nc_slots *slots);   /* the object's contents are undefined; NULL: all objects are taken */
void nc_slots_give(void *object);              /* `object` may be NULL */

#endif
