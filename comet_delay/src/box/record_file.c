#include "record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct record_file {
    int fd;
    size_t bytes;
    struct comet_record_head *head;
    bool lent; /* another writer fills the rings */
    struct recorder recorders[COMET_RECORD_RINGS];
};

static bool box_writes_to(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = COMET_RECORD_LOCK_BOX, .l_len = 1};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool busy = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return busy;
}

static void fill_head(struct comet_record_head *head, const struct record_settings *settings,
                      const char *const ports[2], const char *text, struct nc_clock_pair clock, uint64_t ring_slots)
{
    memcpy(head->magic, COMET_RECORD_MAGIC, sizeof head->magic);
    head->version = COMET_RECORD_VERSION;
    head->head_bytes = COMET_RECORD_HEAD_BYTES;
    head->slot_bytes = COMET_RECORD_SLOT;
    head->rings = COMET_RECORD_RINGS;
    head->ring_slots = ring_slots;
    head->monotonic_ns = clock.monotonic_ns;
    head->realtime_ns = clock.realtime_ns;
    head->captured_max = (uint32_t)settings->header_bytes;
    head->pid = (uint32_t)getpid();
    for (int p = 0; p < 2; p++)
        snprintf(head->port[p], sizeof head->port[p], "%s", ports[p]);
    size_t len = strlen(text);
    if (len <= COMET_RECORD_TEXT_BYTES) {
        memcpy(head->text, text, len);
        head->text_bytes = (uint32_t)len;
    }
}

/* Allocates the space, locks and maps the file, fills in its head and renames it. 0, or -1 with errno. */
static int make(struct record_file *file, const struct record_settings *settings, const char *const ports[2],
                const char *text, struct nc_clock_pair clock, const char *temporary)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = COMET_RECORD_LOCK_BOX, .l_len = 1};
    uint64_t ring_slots = (settings->memory_bytes - COMET_RECORD_HEAD_BYTES) / (COMET_RECORD_SLOT * COMET_RECORD_RINGS);
    file->bytes = COMET_RECORD_HEAD_BYTES + ring_slots * COMET_RECORD_SLOT * COMET_RECORD_RINGS;
    file->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file->fd < 0)
        return -1;
    errno = posix_fallocate(file->fd, 0, (off_t)file->bytes);
    if (errno || fcntl(file->fd, F_OFD_SETLK, &lock) < 0)
        return -1;
    void *memory = mmap(NULL, file->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file->fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    file->head = memory;
    fill_head(file->head, settings, ports, text, clock, ring_slots);
    uint8_t *slots = (uint8_t *)memory + COMET_RECORD_HEAD_BYTES;
    for (unsigned d = 0; d < COMET_RECORD_RINGS; d++)
        recorder_init(&file->recorders[d], &file->head->ring[d], slots + d * ring_slots * COMET_RECORD_SLOT, ring_slots,
                      settings->header_bytes);
    return rename(temporary, settings->path);
}

struct record_file *record_file_open(const struct record_settings *settings, const char *const ports[2],
                                     const char *text, struct nc_clock_pair clock, struct nc_error *error)
{
    char temporary[4096];
    int n = snprintf(temporary, sizeof temporary, "%s.%d.tmp", settings->path, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary) {
        nc_fail(error, NC_EXIT_USAGE, "--record: the name is longer than %zu bytes", sizeof temporary);
        return NULL;
    }
    if (box_writes_to(settings->path)) {
        nc_fail(error, NC_EXIT_USAGE, "--record '%.200s': a running box writes to it; name another file",
                settings->path);
        return NULL;
    }
    struct record_file *file = calloc(1, sizeof *file);
    if (file && make(file, settings, ports, text, clock, temporary) == 0)
        return file;
    nc_fail(error, NC_EXIT_USAGE,
            "--record '%.200s': cannot make it: %s; name a file on a file system with --record-memory to spare",
            settings->path, strerror(errno));
    if (file && file->fd >= 0)
        unlink(temporary);
    record_file_close(file);
    return NULL;
}

struct recorder *record_file_recorder(struct record_file *file, unsigned direction)
{
    return &file->recorders[direction];
}

void *record_file_lend(struct record_file *file, uint64_t *bytes)
{
    file->lent = true;
    *bytes = file->bytes;
    return file->head;
}

void record_file_close(struct record_file *file)
{
    if (!file)
        return;
    if (file->head) {
        for (unsigned d = 0; d < COMET_RECORD_RINGS; d++)
            if (file->recorders[d].shared && !file->lent)
                recorder_flush(&file->recorders[d]);
        atomic_store(&file->head->ended, 1);
        munmap(file->head, file->bytes);
    }
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}
