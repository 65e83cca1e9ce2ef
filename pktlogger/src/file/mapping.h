/* A file mapped for reading in one pass. */
#ifndef PL_MAPPING_H
#define PL_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

struct pl_mapping {
    const uint8_t *data;
    size_t len;
    size_t forgotten; /* bytes from the start whose memory was released */
};

/* Returns 0, or -1 with a reason that names the file. */
int pl_map(const char *path, struct pl_mapping *mapping, struct nc_error *error);

/* Releases the memory of everything before `upto`, some MB at a time. The data stay in the page cache and are mapped
 * again from there if they are read again. Set `forgotten` to 0 before another reading from the start. Without this
 * function the process seems to hold all of a long file in memory. */
void pl_mapping_forget(struct pl_mapping *mapping, const uint8_t *upto);

/* Maps the next part of the file into memory at once, which costs less than many page faults. */
void pl_mapping_want(const uint8_t *from, size_t len);

void pl_unmap(struct pl_mapping *mapping);

#endif
