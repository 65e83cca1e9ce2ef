/* A result folder that appears whole or not at all. It is filled under a temporary name in the same parent folder and
 * then renamed. An existing folder is used only when it is empty. */
#ifndef PL_FOLDER_H
#define PL_FOLDER_H

#include <stddef.h>

#include "nc_error.h"

struct pl_folder {
    const char *path;
    char temporary[4096];
    int fd; /* the temporary folder, for openat */
};

/* Makes the temporary folder. Returns 0, or -1 with a one-line reason. */
int pl_folder_begin(struct pl_folder *folder, const char *path, struct nc_error *error);

/* The same for results that nobody keeps, in $TMPDIR or /var/tmp; pl_folder_abort removes them. */
int pl_folder_begin_unkept(struct pl_folder *folder, struct nc_error *error);

/* Gives the folder its final name. Returns 0, or -1 with a reason; the temporary folder is gone in both cases. */
int pl_folder_commit(struct pl_folder *folder, struct nc_error *error);

/* Removes the temporary folder with its contents. Does nothing after a commit. */
void pl_folder_abort(struct pl_folder *folder);

/* Removes the folder `name` in the temporary folder. */
void pl_folder_remove(const struct pl_folder *folder, const char *name);

/* Makes the temporary name for a file or folder: ".NAME.PID.tmp" in the same folder. Returns 0, or -1 when the name
 * does not fit. */
int pl_temporary_name(const char *path, char *out, size_t size);

#endif
