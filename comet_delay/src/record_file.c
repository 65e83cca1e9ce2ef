/* Purpose: record.h. The file: made under a temporary name and renamed when its head is valid, so that a reader never sees half a
 * head and one that still reads the file of an earlier box keeps it. While the box lives it holds a lock on byte 0, which
 * the kernel gives up when it is killed: that is how a reader knows. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct recorder {
    int fd;
    size_t bytes;
    struct nc_record_head *head;
    struct record_ring rings[NC_RECORD_RINGS];
};

static bool box_writes_to(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = NC_RECORD_LOCK_BOX, .l_len = 1};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool busy = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return busy;
}

static void fill_head(struct nc_record_head *head, const struct recorder_settings *settings, const char *const ports[2],
                      const char *text, struct nc_clock_pair clock, uint64_t ring_slots)
{
    memcpy(head->magic, NC_RECORD_MAGIC, sizeof head->magic);
    head->version = NC_RECORD_VERSION;
    head->head_bytes = NC_RECORD_HEAD_BYTES;
    head->slot_bytes = NC_RECORD_SLOT;
    head->rings = NC_RECORD_RINGS;
    head->ring_slots = ring_slots;
    head->monotonic_ns = clock.monotonic_ns;
    head->realtime_ns = clock.realtime_ns;
    head->captured_max = (uint32_t)settings->header_bytes;
    head->pid = (uint32_t)getpid();
    for (int p = 0; p < 2; p++)
        snprintf(head->port[p], sizeof head->port[p], "%s", ports[p]);
    size_t len = strlen(text);
    if (len <= NC_RECORD_TEXT_BYTES) {
        memcpy(head->text, text, len);
        head->text_bytes = (uint32_t)len;
    }
}

/* Space, mapping, lock, head, name. 0, or -1 with errno. */
static int make(struct recorder *recorder, const struct recorder_settings *settings, const char *const ports[2],
                const char *text, struct nc_clock_pair clock, const char *temporary)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = NC_RECORD_LOCK_BOX, .l_len = 1};
    uint64_t ring_slots = (settings->memory_bytes - NC_RECORD_HEAD_BYTES) / (NC_RECORD_SLOT * NC_RECORD_RINGS);
    recorder->bytes = NC_RECORD_HEAD_BYTES + ring_slots * NC_RECORD_SLOT * NC_RECORD_RINGS;
    recorder->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (recorder->fd < 0)
        return -1;
    errno = posix_fallocate(recorder->fd, 0, (off_t)recorder->bytes);
    if (errno || fcntl(recorder->fd, F_OFD_SETLK, &lock) < 0)
        return -1;
    void *memory = mmap(NULL, recorder->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, recorder->fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    recorder->head = memory;
    fill_head(recorder->head, settings, ports, text, clock, ring_slots);
    uint8_t *slots = (uint8_t *)memory + NC_RECORD_HEAD_BYTES;
    for (unsigned d = 0; d < NC_RECORD_RINGS; d++)
        record_ring_init(&recorder->rings[d], &recorder->head->ring[d], slots + d * ring_slots * NC_RECORD_SLOT, ring_slots,
                         settings->header_bytes);
    return rename(temporary, settings->path);
}

struct recorder *recorder_open(const struct recorder_settings *settings, const char *const ports[2], const char *text,
                               struct nc_clock_pair clock, char *why, size_t why_size)
{
    char temporary[4096];
    int n = snprintf(temporary, sizeof temporary, "%s.%d.tmp", settings->path, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary) {
        snprintf(why, why_size, "--record: the name is longer than %zu bytes", sizeof temporary);
        return NULL;
    }
    if (box_writes_to(settings->path)) {
        snprintf(why, why_size, "--record '%.200s': a running box writes to it; name another file", settings->path);
        return NULL;
    }
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (recorder && make(recorder, settings, ports, text, clock, temporary) == 0)
        return recorder;
    snprintf(why, why_size, "--record '%.200s': cannot make it: %s; name a file on a file system with --record-memory to spare",
             settings->path, strerror(errno));
    if (recorder && recorder->fd >= 0)
        unlink(temporary);
    recorder_close(recorder);
    return NULL;
}

struct record_ring *recorder_ring(struct recorder *recorder, unsigned direction)
{
    return &recorder->rings[direction];
}

void recorder_close(struct recorder *recorder)
{
    if (!recorder)
        return;
    if (recorder->head) {
        for (unsigned d = 0; d < NC_RECORD_RINGS; d++)
            if (recorder->rings[d].shared)
                record_flush(&recorder->rings[d]);
        atomic_store(&recorder->head->ended, 1);
        munmap(recorder->head, recorder->bytes);
    }
    if (recorder->fd >= 0)
        close(recorder->fd);
    free(recorder);
}
