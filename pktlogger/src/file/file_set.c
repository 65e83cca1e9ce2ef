/* Implements file_set.h. */
#include "file_set.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "nc_clock.h"

enum { NUMBER_DIGITS = 5, NUMBER_DIGITS_MAX = 18, TIME_DIGITS = 14 };

/* A path in three parts: folder with its slash, name, extension with its dot (".pcapng", ".pcapng.zst"). */
struct parts {
    const char *folder, *name, *extension;
    int folder_len, name_len;
};

const char *pl_packed_ending(const char *path)
{
    static const char *const endings[] = {".zst", ".gz", ".xz", ".lz4"};
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (len > n && strcmp(path + len - n, endings[i]) == 0)
            return path + len - n;
    }
    return path + len;
}

bool pl_is_zstd_name(const char *path)
{
    return strcmp(pl_packed_ending(path), ".zst") == 0;
}

static struct parts parts_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = name + strlen(name);
    const char *dot = end - strlen(pl_packed_ending(name)), *before = dot;
    while (before > name + 1 && *--before != '.')
        ;
    if (before > name && *before == '.')
        dot = before;
    return (struct parts){path, name, dot, (int)(name - path), (int)(dot - name)};
}

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* The number of a folder entry in the set; false for any other file. */
static bool number_of(const struct parts *parts, const char *entry, uint64_t *number)
{
    if (strncmp(entry, parts->name, (size_t)parts->name_len) != 0 || entry[parts->name_len] != '_')
        return false;
    const char *at = entry + parts->name_len + 1;
    size_t n = digits(at);
    if (n < NUMBER_DIGITS || n > NUMBER_DIGITS_MAX || at[n] != '_' || digits(at + n + 1) != TIME_DIGITS)
        return false;
    *number = strtoull(at, NULL, 10);
    return strcmp(at + n + 1 + TIME_DIGITS, parts->extension) == 0;
}

/* Skips links and pipes. The user named only the set, not its files, so somebody else may have put a link or a pipe
 * there. */
static bool is_file(int folder, const char *entry)
{
    struct stat found;
    return fstatat(folder, entry, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode);
}

static int add(struct pl_file_set *set, size_t *room, const struct parts *parts, const char *entry, uint64_t number)
{
    if (set->n == *room) {
        size_t more = *room ? *room * 2 : 16;
        char **paths = realloc(set->paths, more * sizeof *paths);
        if (!paths)
            return -1;
        set->paths = paths;
        uint64_t *numbers = realloc(set->numbers, more * sizeof *numbers);
        if (!numbers)
            return -1;
        set->numbers = numbers;
        *room = more;
    }
    size_t bytes = (size_t)parts->folder_len + strlen(entry) + 1;
    char *path = malloc(bytes);
    if (!path)
        return -1;
    snprintf(path, bytes, "%.*s%s", parts->folder_len, parts->folder, entry);
    size_t at = set->n++; /* a folder lists its entries in no particular order */
    for (; at > 0 &&
           (set->numbers[at - 1] > number || (set->numbers[at - 1] == number && strcmp(set->paths[at - 1], path) > 0));
         at--) {
        set->numbers[at] = set->numbers[at - 1];
        set->paths[at] = set->paths[at - 1];
    }
    set->numbers[at] = number;
    set->paths[at] = path;
    return 0;
}

int pl_file_set_find(struct pl_file_set *set, const char *path)
{
    struct parts parts = parts_of(path);
    char folder[4096];
    size_t room = 0;
    *set = (struct pl_file_set){.n = 0};
    int n = snprintf(folder, sizeof folder, "%.*s", parts.folder_len, parts.folder);
    DIR *dir = n < (int)sizeof folder ? opendir(n ? folder : ".") : NULL;
    if (!dir)
        return -1;
    int result = 0;
    uint64_t number;
    for (const struct dirent *entry; result == 0 && (entry = readdir(dir));)
        if (number_of(&parts, entry->d_name, &number) && is_file(dirfd(dir), entry->d_name))
            result = add(set, &room, &parts, entry->d_name, number);
    closedir(dir);
    if (result < 0) {
        pl_file_set_free(set);
        errno = ENOMEM;
    }
    return result;
}

void pl_file_set_free(struct pl_file_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        free(set->paths[i]);
    free(set->paths);
    free(set->numbers);
    *set = (struct pl_file_set){.n = 0};
}

int pl_file_set_name(const char *path, uint64_t number, int64_t realtime_ns, char *out, size_t size)
{
    struct parts parts = parts_of(path);
    time_t seconds = (time_t)(realtime_ns / (int64_t)NC_NS_PER_S);
    struct tm local;
    char text[TIME_DIGITS + 16] = "";
    if (!localtime_r(&seconds, &local) || strftime(text, sizeof text, "%Y%m%d%H%M%S", &local) != TIME_DIGITS)
        return -1;
    int n = snprintf(out, size, "%.*s%.*s_%0*" PRIu64 "_%s%s", parts.folder_len, parts.folder, parts.name_len,
                     parts.name, NUMBER_DIGITS, number, text, parts.extension);
    return n > 0 && (size_t)n < size ? 0 : -1;
}
