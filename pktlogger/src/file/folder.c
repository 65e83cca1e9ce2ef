/* Implements folder.h. rename() does what is needed: it replaces an empty folder, and fails on one with contents. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Reports early, before minutes of work, that a folder is not empty. The final rename checks this again. */
static int check_free(const char *path, struct nc_error *error)
{
    struct stat status;
    if (stat(path, &status) < 0 && errno == ENOENT)
        return 0;
    if (rmdir(path) < 0)
        return nc_fail(error, NC_EXIT_USAGE,
                       "--output '%s': exists and is not an empty folder; remove it or name another", path);
    if (mkdir(path, status.st_mode & 07777) == 0) /* the folder was empty: restores it */
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "--output '%s': cannot create it: %s", path, strerror(errno));
}

int pl_folder_begin(struct pl_folder *folder, const char *path, struct nc_error *error)
{
    folder->path = path;
    folder->fd = -1;
    if (pl_temporary_name(path, folder->temporary, sizeof folder->temporary) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--output '%.200s': not a usable folder name", path);
    if (check_free(path, error) < 0)
        return -1;
    if (mkdir(folder->temporary, 0777) == 0)
        folder->fd = open(folder->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--output '%s': cannot create it: %s", path, strerror(errno));
    return 0;
}

int pl_folder_begin_unkept(struct pl_folder *folder, struct nc_error *error)
{
    const char *under = getenv("TMPDIR");
    under = under && *under ? under : "/var/tmp";
    int n = snprintf(folder->temporary, sizeof folder->temporary, "%s/pktlogger-XXXXXX", under);
    folder->path = under;
    folder->fd = -1;
    if (n > 0 && (size_t)n < sizeof folder->temporary && mkdtemp(folder->temporary))
        folder->fd = open(folder->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0)
        return nc_fail(error, NC_EXIT_FAILED, "cannot make a folder in '%.200s' ($TMPDIR): %s", under, strerror(errno));
    return 0;
}

int pl_folder_commit(struct pl_folder *folder, struct nc_error *error)
{
    if (rename(folder->temporary, folder->path) < 0) {
        nc_fail(error, NC_EXIT_FAILED, "--output '%s': %s", folder->path, strerror(errno));
        pl_folder_abort(folder);
        return -1;
    }
    close(folder->fd);
    folder->fd = -1;
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

void pl_folder_abort(struct pl_folder *folder)
{
    if (folder->fd < 0)
        return;
    close(folder->fd);
    folder->fd = -1;
    nftw(folder->temporary, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void pl_folder_remove(const struct pl_folder *folder, const char *name)
{
    char path[sizeof folder->temporary + 64];
    snprintf(path, sizeof path, "%s/%s", folder->temporary, name);
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
