/* Follows the record file of a delay box while the box writes it. record_format.h has the layout, comet_delay/RECORD.md
 * the rules for writer and reader. While the box runs, the reader returns slots to it. When the box has ended, the file
 * is read from where an earlier reader stopped. It is not changed, so that it can be read again. */
#ifndef PL_RECORD_FILE_H
#define PL_RECORD_FILE_H

#include "nc_error.h"
#include "replay.h"

struct pl_record_file {
    const char *path;
    int fd;
    size_t bytes;
    struct comet_record_head *head;
    uint64_t at[COMET_RECORD_RINGS]; /* number of slots read */
    bool live;                       /* the box ran at the last check */
    bool writable;
    bool damaged; /* the cursors contradict each other, so the rest cannot be read */
};

/* Returns 0, or -1 with a one-line reason that names the file. */
int pl_record_file_open(struct pl_record_file *file, const char *path, struct nc_error *error);
void pl_record_file_close(struct pl_record_file *file);

/* Checks whether the box still runs; while it runs, it holds a lock on the file. */
bool pl_record_file_live(struct pl_record_file *file);

/* Reads the available records of one direction, up to some MB. Returns the number of slots read. */
uint64_t pl_record_file_read(struct pl_record_file *file, unsigned direction, struct pl_replay *replay);

/* Number of packets of a direction for which the file had no room. */
uint64_t pl_record_file_skipped(const struct pl_record_file *file, unsigned direction);

#endif
