/* Configuration files. The result is either a one-line error that contains the file's name, or options that each begin
 * with two dashes. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config_file.h"
#include "settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct nc_error error;
    char path[64];
    size_t n;
    const struct nc_option *rows = settings_rows(&n);
    struct config_arguments arguments = {0};
    if (fd < 0)
        fd = memfd_create("configuration", MFD_CLOEXEC);
    assert(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (config_file_read(path, rows, n, &arguments, &error) < 0)
        assert(strncmp(error.text, path, strlen(path)) == 0 && !strchr(error.text, '\n'));
    for (size_t i = 0; i < arguments.n; i++) {
        assert(strncmp(arguments.at[i], "--", 2) == 0);
        free(arguments.at[i]);
    }
    free(arguments.at);
    return 0;
}
