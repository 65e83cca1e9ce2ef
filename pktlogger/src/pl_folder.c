/* Purpose: pl_folder.h. rename() replaces an empty folder and refuses a full one, which is just what is wanted. */
#include "pl_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pl_temporary_name(const char *path, char *out, size_t size)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t base = len;
    while (base > 0 && path[base - 1] != '/')
        base--;
    int n = snprintf(out, size, "%.*s.%.*s.%d.tmp", (int)base, path, (int)(len - base), path + base, (int)getpid());
    return len && base < len && n > 0 && (size_t)n < size ? 0 : -1;
}

/* Only the final rename decides; this tells early, before minutes of work. */
static int check_free(const char *path, char *why, size_t why_size)
{
    struct stat status;
    if (stat(path, &status) < 0 && errno == ENOENT)
        return 0;
    if (rmdir(path) == 0) /* it was empty: put it back as it was */
        return mkdir(path, status.st_mode & 07777);
    snprintf(why, why_size, "--output '%s': exists and is not an empty folder; remove it or name another", path);
    return -1;
}

int pl_folder_begin(struct pl_folder *folder, const char *path, char *why, size_t why_size)
{
    folder->path = path;
    folder->fd = -1;
    if (pl_temporary_name(path, folder->temporary, sizeof folder->temporary) < 0) {
        snprintf(why, why_size, "--output '%.200s': not a usable folder name", path);
        return -1;
    }
    if (check_free(path, why, why_size) < 0)
        return -1;
    if (mkdir(folder->temporary, 0777) == 0)
        folder->fd = open(folder->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0) {
        snprintf(why, why_size, "--output '%s': cannot make it: %s", path, strerror(errno));
        return -1;
    }
    return 0;
}

int pl_folder_commit(struct pl_folder *folder, char *why, size_t why_size)
{
    if (rename(folder->temporary, folder->path) < 0) {
        snprintf(why, why_size, "--output '%s': %s", folder->path, strerror(errno));
        pl_folder_abort(folder);
        return -1;
    }
    close(folder->fd);
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

void pl_folder_abort(struct pl_folder *folder)
{
    close(folder->fd);
    nftw(folder->temporary, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
