/* Writes and reads the ledgers of holders (ledger.h). */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "/run/lfp"
#define STARTED_FIELD 20 /* start time: field 22 of proc(5) stat, which is the 20th word after the name */

/* Returns the start time of a process in clock ticks; -1 when it has ended. */
static long long started_ticks(pid_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    char *after = strrchr(text, ')'), *word = after ? strtok_r(after + 1, " ", &after) : NULL;
    if (!word || *word == 'Z' || *word == 'X')
        return -1;
    for (int i = 1; word && i < STARTED_FIELD; i++)
        word = strtok_r(NULL, " ", &after);
    return word ? strtoll(word, NULL, 10) : -1;
}

static json_t *process_json(pid_t pid, const char *name)
{
    return json_pack("{s:i,s:I,s:s}", "pid", (int)pid, "started_ticks", (json_int_t)started_ticks(pid), "name", name);
}

int cc_ledger_write(const char *name, pid_t owner, char *path, size_t path_size)
{
    char unnamed[64];
    if (mkdir(DIRECTORY, 0700) < 0 && errno != EEXIST)
        return -1;
    snprintf(path, path_size, DIRECTORY "/cc-%s-%d.json", name, (int)getpid());
    /* the file gets its final name when it is complete */
    int fd = open(DIRECTORY, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    json_t *ledger = json_pack("{s:o,s:[o],s:[]}", "owner", process_json(owner, "rttcp cc load"), "processes",
                               process_json(getpid(), name), "directories");
    snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", fd);
    unlink(path); /* a file of an earlier process with this id */
    int done =
        ledger && json_dumpfd(ledger, fd, 0) == 0 ? linkat(AT_FDCWD, unnamed, AT_FDCWD, path, AT_SYMLINK_FOLLOW) : -1;
    int failed = errno;
    json_decref(ledger);
    close(fd);
    errno = failed;
    return done;
}

/* Returns the id of a ledger's process if it still lives, otherwise 0. */
static pid_t live_holder(const char *path)
{
    json_t *ledger = json_load_file(path, 0, NULL);
    int pid = 0;
    json_int_t ticks = -1;
    if (json_unpack(ledger, "{s:[{s:i,s:I}]}", "processes", "pid", &pid, "started_ticks", &ticks) < 0 || ticks < 0 ||
        started_ticks(pid) != ticks)
        pid = 0;
    json_decref(ledger);
    return pid;
}

size_t cc_ledger_holders(const char *name, pid_t *pids, size_t n)
{
    char pattern[128];
    glob_t found;
    size_t count = 0;
    snprintf(pattern, sizeof pattern, DIRECTORY "/cc-%s-*.json", name);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        pid_t pid = live_holder(found.gl_pathv[i]);
        if (!pid)
            unlink(found.gl_pathv[i]);
        else if (count++ < n)
            pids[count - 1] = pid;
    }
    globfree(&found);
    return count;
}
