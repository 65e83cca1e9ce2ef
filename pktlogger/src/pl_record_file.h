/* A delay box's record file, followed while the box writes it (nc_record.h says how, comet_delay/RECORD.md what).
 * While the box lives, what was read is given back to it; a file that nobody writes to any more is read from where an
 * earlier reader stopped, and left as it is, so it can be read again. */
#ifndef PL_RECORD_FILE_H
#define PL_RECORD_FILE_H

#include "pl_record.h"

struct pl_record_file {
    const char *path;
    int fd;
    size_t bytes;
    struct nc_record_head *head;
    uint64_t at[NC_RECORD_RINGS]; /* slots read */
    bool live;                    /* the box was there when last looked */
    bool writable;
    bool damaged;                 /* cursors contradict each other: the rest cannot be read */
};

/* 0, or -1 with a one-line reason that names the file. */
int pl_record_file_open(struct pl_record_file *file, const char *path, char *why, size_t why_size);
void pl_record_file_close(struct pl_record_file *file);

/* Whether the box still runs: it holds its lock. */
bool pl_record_file_live(struct pl_record_file *file);

/* Takes in what there is of one direction, up to some MB. Returns the slots read. */
uint64_t pl_record_file_read(struct pl_record_file *file, unsigned direction, struct pl_record *record);

/* Packets of a direction that found no room in the file. */
uint64_t pl_record_file_skipped(const struct pl_record_file *file, unsigned direction);

#endif
