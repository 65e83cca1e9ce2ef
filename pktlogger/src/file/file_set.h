/* The files of a capture that was written as a set. Their names are dumpcap's, NAME_NNNNN_YYYYMMDDHHMMSS.EXT, so
 * Wireshark lists them as one file set. Writers and readers name the whole set NAME.EXT.
 * Rejected: a list file next to the captures. It can be lost or disagree with the folder. */
#ifndef PL_FILE_SET_H
#define PL_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_file_set {
    char **paths; /* in order of their numbers */
    uint64_t *numbers;
    size_t n;
};

/* Finds the files of the set `path`. Returns 0, or -1 with errno. A set without files is not an error. */
int pl_file_set_find(struct pl_file_set *set, const char *path);

void pl_file_set_free(struct pl_file_set *set);

/* Makes the path of file `number` of the set `path`, begun at `realtime_ns`. Returns 0, or -1 when it does not fit. */
int pl_file_set_name(const char *path, uint64_t number, int64_t realtime_ns, char *out, size_t size);

/* True for names that end in .zst: such files are compressed. */
bool pl_is_zstd_name(const char *path);

/* The ending of a compressed file's name (.zst, .gz, .xz, .lz4) with its dot; "" for other names. */
const char *pl_packed_ending(const char *path);

#endif
