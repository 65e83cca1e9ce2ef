/* Implements mapping.h. */
#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, FORGET_BYTES = 2 << 20 }; /* a multiple of every page size */

int pl_map(const char *path, struct pl_mapping *mapping, struct nc_error *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *mapping = (struct pl_mapping){.data = NULL};
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        nc_fail(error, NC_EXIT_USAGE, "'%s': cannot read it: %s", path,
                fd < 0 ? strerror(errno) : "not a regular file");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (status.st_size > 0) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            madvise(data, (size_t)status.st_size, MADV_SEQUENTIAL);
            *mapping = (struct pl_mapping){.data = data, .len = (size_t)status.st_size};
        }
    }
    close(fd);
    if (mapping->data)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "'%s': %s", path, status.st_size ? "cannot map it into memory" : "is empty");
}

void pl_mapping_forget(struct pl_mapping *mapping, const uint8_t *upto)
{
    size_t passed = (size_t)(upto - mapping->data) & ~(size_t)(FORGET_BYTES - 1);
    if (passed <= mapping->forgotten)
        return;
    madvise((void *)(uintptr_t)(mapping->data + mapping->forgotten), passed - mapping->forgotten, MADV_DONTNEED);
    mapping->forgotten = passed;
}

void pl_mapping_want(const uint8_t *from, size_t len)
{
#ifdef MADV_POPULATE_READ
    uintptr_t begin = (uintptr_t)from & ~(uintptr_t)(PAGE_BYTES - 1);
    madvise((void *)begin, (uintptr_t)from + len - begin, MADV_POPULATE_READ); /* since Linux 5.14 */
#else
    (void)from;
    (void)len;
#endif
}

void pl_unmap(struct pl_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->len);
    mapping->data = NULL;
}
