/* Sets the parameters of the built-in module (builtin.h) through its files in /sys. */
#include "builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PARAMETERS "/sys/module/tcp_lfp/parameters"

bool cc_builtin_present(void)
{
    return access(PARAMETERS, F_OK) == 0;
}

int cc_builtin_set(const struct cc_choice *choice, struct nc_error *error)
{
    for (size_t i = 0; i < choice->entry->n_params; i++) {
        char path[128], value[16];
        const char *algorithm = choice->entry->name + strlen("lfp_");
        snprintf(path, sizeof path, PARAMETERS "/%s_%s", algorithm, choice->entry->params[i].name);
        int length = snprintf(value, sizeof value, "%u", choice->values_q16[i]), fd = open(path, O_WRONLY | O_CLOEXEC);
        bool written = fd >= 0 && write(fd, value, (size_t)length) == length;
        int why = errno;
        if (fd >= 0)
            close(fd);
        if (!written)
            return nc_fail(error, NC_EXIT_MISSING, "%s: %s: %s", choice->entry->name, path, strerror(why));
    }
    return 0;
}
