#include "nc_slots.h"

#include <errno.h>
#include <sanitizer/asan_interface.h>

#include "nc_pages.h"

enum { ALIGN = 16 };

/* Stands before each object. */
struct nc_slot {
    struct nc_slots *of;
    struct nc_slot *next; /* while it is free */
};

int nc_slots_init(struct nc_slots *slots, size_t bytes, size_t most)
{
    size_t stride = (sizeof(struct nc_slot) + bytes + ALIGN - 1) / ALIGN * ALIGN;
    *slots = (struct nc_slots){.stride = stride, .most = most};
    if (most > SIZE_MAX / stride) {
        errno = ENOMEM;
        return -1;
    }
    slots->at = nc_pages_map(stride * most);
    return slots->at ? 0 : -1;
}

void nc_slots_destroy(struct nc_slots *slots)
{
    if (slots->at)
        ASAN_UNPOISON_MEMORY_REGION(slots->at, slots->stride * slots->most);
    nc_pages_unmap(slots->at, slots->stride * slots->most);
    *slots = (struct nc_slots){.at = NULL};
}

void *nc_slots_take(struct nc_slots *slots)
{
    struct nc_slot *slot = slots->free;
    if (slot)
        slots->free = slot->next;
    else if (slots->used_once < slots->most)
        slot = (struct nc_slot *)(slots->at + slots->stride * slots->used_once++);
    else
        return NULL;
    slot->of = slots;
    ASAN_UNPOISON_MEMORY_REGION(slot + 1, slots->stride - sizeof *slot);
    return slot + 1;
}

void nc_slots_give(void *object)
{
    if (!object)
        return;
    struct nc_slot *slot = (struct nc_slot *)object - 1;
    ASAN_POISON_MEMORY_REGION(object, slot->of->stride - sizeof *slot);
    slot->next = slot->of->free;
    slot->of->free = slot;
}
