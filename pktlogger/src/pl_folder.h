/* A result folder that appears whole or not at all: it is filled under a temporary name beside its own and renamed.
 * An existing folder is taken only when it is empty. */
#ifndef PL_FOLDER_H
#define PL_FOLDER_H

#include <stddef.h>

struct pl_folder {
    const char *path;
    char temporary[4096];
    int fd; /* of the temporary folder; write into it */
};

/* 0, or -1 with a one-line reason. */
int pl_folder_begin(struct pl_folder *folder, const char *path, char *why, size_t why_size);

/* Gives it its name. 0, or -1 with a reason; the temporary folder is gone either way. */
int pl_folder_commit(struct pl_folder *folder, char *why, size_t why_size);

/* Removes what was written. */
void pl_folder_abort(struct pl_folder *folder);

/* The temporary name for a file or folder: ".NAME.PID.tmp" in the same folder. 0, or -1 when it does not fit. */
int pl_temporary_name(const char *path, char *out, size_t size);

#endif
