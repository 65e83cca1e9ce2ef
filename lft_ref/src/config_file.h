/* The TOML file: tables are the headings of `lft-gateway run --help`, keys the options' names with _ in place of -, values texts with units,
 * numbers, booleans for flags and arrays for what may be given several times. Parsing is toml++'s (config_file.cc, the one C++ file, because
 * no C library for TOML is packaged); here is what a key means. */
#ifndef LFT_CONFIG_FILE_H
#define LFT_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "nc_options.h"

struct config_arguments { size_t n, size; char **at; };

/* Command-line arguments that say the same as the file. 0, or -1 with one line that names file and line. */
int config_file_read(const char *path, const struct nc_option *rows, size_t n, struct config_arguments *out, char *why, size_t why_size);

#ifdef __cplusplus
extern "C" {
#endif
/* One value of the file. Returns 0 to go on, or -1 to stop. */
typedef int config_value(void *user, const char *table, const char *key, const char *text, bool is_flag, unsigned line);
/* 0; -1 with a reason: the file is not TOML, or `value` stopped it. */
int config_toml_walk(const char *path, config_value *value, void *user, char *why, size_t why_size);
#ifdef __cplusplus
}
#endif

#endif
