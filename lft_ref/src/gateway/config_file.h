/* The TOML file of settings. Its tables are the headings of `lft-gateway run --help`, its keys the options' names with
 * _ instead of -. A value is a text with a unit, a number, a boolean for a flag, or an array for an option that may be
 * given several times. */
#ifndef LFT_CONFIG_FILE_H
#define LFT_CONFIG_FILE_H

#include <stddef.h>

#include "nc_error.h"
#include "nc_options.h"

struct config_arguments {
    size_t n, size;
    char **at;
};

/* Converts the file to equivalent command-line arguments. Returns 0, or -1 with a reason that names file and line. */
int config_file_read(const char *path, const struct nc_option *rows, size_t n, struct config_arguments *out,
                     struct nc_error *error);

#endif
