/* Purpose: pl_command.h. */
#include "pl_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_log.h"

bool pl_is_human(bool human, bool json)
{
    return human || (!json && isatty(STDOUT_FILENO));
}

int pl_fail(bool human, int status, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (human)
        nc_log("%s", text);
    else
        nc_jsonl_error(stdout, status, "%s", text);
    return status;
}

int pl_map(const char *path, struct pl_mapping *mapping, char *why, size_t why_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *mapping = (struct pl_mapping){NULL, 0};
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        snprintf(why, why_size, "'%s': cannot read it: %s", path, fd < 0 ? strerror(errno) : "not a regular file");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (status.st_size > 0) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            madvise(data, (size_t)status.st_size, MADV_SEQUENTIAL);
            *mapping = (struct pl_mapping){data, (size_t)status.st_size};
        }
    }
    close(fd);
    if (mapping->data)
        return 0;
    snprintf(why, why_size, "'%s': %s", path, status.st_size ? "cannot map it into memory" : "is empty");
    return -1;
}

void pl_unmap(struct pl_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->len);
    mapping->data = NULL;
}
