/* What a capture point writes: one file, or a set of files (file_set.h) of which one at a time is open. Each file of a
 * set is complete, with its own drop counts, and gets its final name before the next file is made. So a capture that is
 * killed loses one file, and the counts of a set's files add up to those of a single file.
 * Rejected: names without a time, as tcpdump -C makes them. A second capture would overwrite some of them. */
#ifndef PL_OUTPUT_H
#define PL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"
#include "writer.h"

enum { PL_FILES_MAX = 100000, PL_OUTPUT_COMMENT_MAX = 4000 };

/* When a new file begins; 0: never for this reason. Without either reason there is one file and no set. */
struct pl_rotation {
    uint64_t bytes;       /* a file's packet blocks, before compression, are at most this long */
    uint64_t interval_ns; /* measured from the beginning of the capture */
    uint64_t files;       /* the newest files are kept; 0: all */
};

/* Packets lost since the capture began. */
struct pl_drop_counts {
    uint64_t kernel, interface, ring;
};

struct pl_output {
    struct pl_writer writer; /* of the open file */
    const char *path;        /* as given */
    struct pl_writer_info info;
    struct pl_rotation rotation;
    char name[4096];              /* of the open file */
    uint64_t number;              /* of the open file; 0: no set */
    int64_t begun_ns;             /* of the open file */
    int64_t *kept_ns;             /* array of rotation.files elements: element i has the time when the latest of the
                                   * files i, i + rotation.files, … was begun. NULL: all files are kept */
    struct pl_drop_counts before; /* drops already reported in finished files */
    uint64_t packets, bytes;      /* of finished files */
    char comment[PL_OUTPUT_COMMENT_MAX]; /* comment that no packet carries yet; "": none */
    int64_t comment_ns;                  /* the first packet from this time on carries it */
};

/* True when new files are begun. */
bool pl_rotates(const struct pl_rotation *rotation);

/* Makes the first file. A set is refused if files of that name exist. What `info` points to must outlive the output.
 * Returns 0, or -1 with the error; pl_output_abort is allowed after either. */
int pl_output_open(struct pl_output *output, const char *path, const struct pl_writer_info *info,
                   const struct pl_rotation *rotation, int64_t now_ns, struct nc_error *error);

/* Writes one packet. An error stays in output->writer.error, and all later packets are lost. */
void pl_output_packet(struct pl_output *output, int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire);

/* The first packet at or after `t_ns` carries this comment; if there is none, the statistics of the last file do.
 * Comments that wait for the same packet are joined by "; ", as many as fit into PL_OUTPUT_COMMENT_MAX. */
void pl_output_comment(struct pl_output *output, int64_t t_ns, const char *text);

/* Finishes the open file at `now_ns` and begins the next one of the set. Errors as above. */
void pl_output_rotate(struct pl_output *output, int64_t now_ns, const struct pl_drop_counts *drops);

/* Finishes the open file. Returns 0, or -1 with errno; writer.kept says whether the file was kept with what was written
 * before the error. */
int pl_output_finish(struct pl_output *output, int64_t end_ns, const struct pl_drop_counts *drops);

/* Removes the unfinished file, if there is one. */
void pl_output_abort(struct pl_output *output);

#endif
