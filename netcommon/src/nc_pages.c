#include "nc_pages.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t bytes)
{
    size_t page = page_bytes();
    return (bytes + page - 1) / page * page;
}

void *nc_pages_map(size_t bytes)
{
    size_t table = whole_pages(bytes), all = table + page_bytes();
    if (table < bytes || all < table) {
        errno = ENOMEM;
        return NULL;
    }
    void *at = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (mprotect(at, table, PROT_READ | PROT_WRITE) == 0)
        return at;
    int failed = errno;
    munmap(at, all);
    errno = failed;
    return NULL;
}

void nc_pages_unmap(void *at, size_t bytes)
{
    if (at)
        munmap(at, whole_pages(bytes) + page_bytes());
}

void nc_pages_clear(void *at, size_t bytes)
{
    if (madvise(at, whole_pages(bytes), MADV_DONTNEED) < 0)
        memset(at, 0, bytes);
}
