/* The file that `--record` names (RECORD.md): one recorder for each direction, in memory shared with a reader.
 *
 * The file is made under a temporary name and renamed when its head is valid. So a reader never sees an incomplete
 * head, and a reader of an earlier box's file keeps that file. While the box lives it holds a lock on byte 0, which the
 * kernel releases even when the box is killed; that is how a reader knows whether the box is still there. */
#ifndef COMET_RECORD_FILE_H
#define COMET_RECORD_FILE_H

#include <stdint.h>

#include "nc_clock.h"
#include "nc_error.h"
#include "recorder.h"

struct record_settings {
    const char *path;      /* NULL: no record */
    uint64_t memory_bytes; /* of the file */
    uint64_t header_bytes; /* kept of each frame */
};

struct record_file;

/* Makes the file and allocates its space, so that writing to it cannot fail. It replaces a file of that name, unless a
 * running box writes to it. `ports`: the names of a and b. `text`: the parameters at the start. Returns NULL with the
 * error. */
struct record_file *record_file_open(const struct record_settings *settings, const char *const ports[2],
                                     const char *text, struct nc_clock_pair clock, struct nc_error *error);

struct recorder *record_file_recorder(struct record_file *file, unsigned direction);

/* The memory of the file, for another writer instead of this process's recorders. From then on these only show where
 * the rings are and what is published in them. */
void *record_file_lend(struct record_file *file, uint64_t *bytes);

/* Marks the record as complete. The file stays. NULL is allowed. */
void record_file_close(struct record_file *file);

#endif
