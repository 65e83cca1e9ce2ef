/* Implements record_file.h. */
#include "record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 16 }; /* number of slots read before their room is returned to the box */

static struct flock lock_on(short kind, off_t byte)
{
    return (struct flock){.l_type = kind, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
}

bool pl_record_file_live(struct pl_record_file *file)
{
    struct flock lock = lock_on(F_RDLCK, COMET_RECORD_LOCK_BOX);
    file->live = fcntl(file->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    return file->live;
}

static int map(struct pl_record_file *file, struct nc_error *error)
{
    char reason[200];
    struct stat status;
    if (fstat(file->fd, &status) < 0 || !S_ISREG(status.st_mode))
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': not a regular file", file->path);
    file->bytes = (size_t)status.st_size;
    if (file->bytes < COMET_RECORD_HEAD_BYTES)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': is not a comet-delay record", file->path);
    int protection = PROT_READ | (file->writable ? PROT_WRITE : 0);
    void *data = mmap(NULL, file->bytes, protection, MAP_SHARED, file->fd, 0);
    if (data == MAP_FAILED)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': cannot map it into memory: %s", file->path, strerror(errno));
    file->head = data;
    if (comet_record_check(data, file->bytes, reason, sizeof reason) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': %s", file->path, reason);
    return 0;
}

int pl_record_file_open(struct pl_record_file *file, const char *path, struct nc_error *error)
{
    *file = (struct pl_record_file){.path = path, .writable = true};
    file->fd = open(path, O_RDWR | O_CLOEXEC);
    if (file->fd < 0 && (errno == EACCES || errno == EROFS)) {
        file->writable = false;
        file->fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (file->fd < 0)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': cannot read it: %s", path, strerror(errno));
    struct flock lock = lock_on(file->writable ? F_WRLCK : F_RDLCK, COMET_RECORD_LOCK_READER);
    int result = map(file, error);
    if (result == 0 && fcntl(file->fd, F_OFD_SETLK, &lock) < 0) {
        result = nc_fail(error, NC_EXIT_USAGE, "'%.200s': another reader has it open", path);
    } else if (result == 0 && pl_record_file_live(file) && !file->writable) {
        result = nc_fail(error, NC_EXIT_USAGE,
                         "'%.200s': its box is running, and following it needs permission to write", path);
    }
    if (result < 0) {
        pl_record_file_close(file);
        return -1;
    }
    for (unsigned d = 0; d < COMET_RECORD_RINGS; d++)
        file->at[d] = atomic_load(&file->head->ring[d].tail);
    return 0;
}

void pl_record_file_close(struct pl_record_file *file)
{
    if (file->head)
        munmap(file->head, file->bytes);
    if (file->fd >= 0)
        close(file->fd);
}

uint64_t pl_record_file_read(struct pl_record_file *file, unsigned direction, struct pl_replay *replay)
{
    struct comet_record_ring *ring = &file->head->ring[direction];
    uint64_t n = file->head->ring_slots, head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t at = file->at[direction];
    if (head < at || head - at > n) {
        file->damaged = true;
        return 0;
    }
    uint64_t index = at % n, count = head - at < n - index ? head - at : n - index;
    const uint8_t *slots =
        (const uint8_t *)file->head + COMET_RECORD_HEAD_BYTES + (direction * n + index) * COMET_RECORD_SLOT;
    uint64_t taken = pl_replay_read(replay, direction, slots, slots + count * COMET_RECORD_SLOT, AT_ONCE);
    file->at[direction] += taken;
    if (file->live && file->writable)
        atomic_store_explicit(&ring->tail, file->at[direction], memory_order_release);
    return taken;
}

uint64_t pl_record_file_skipped(const struct pl_record_file *file, unsigned direction)
{
    return atomic_load(&file->head->ring[direction].skipped_packets);
}
