/* A C interface to toml++ (toml_values.cc). It is the only C++ file, because no C library for TOML is packaged. */
#ifndef LFT_TOML_VALUES_H
#define LFT_TOML_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "nc_error.h"

#ifdef __cplusplus
extern "C" {
#endif
/* Takes one value of the file as text. Returns 0 to go on, or -1 to stop. */
typedef int toml_value(void *user, const char *table, const char *key, const char *text, bool is_flag, unsigned line);
/* Gives every value of every table to `value`; an array is given as one value after another. Returns 0, or -1 when
 * the file is not TOML (with the reason) or when `value` stopped it. */
int toml_values(const char *path, toml_value *value, void *user, struct nc_error *error);
#ifdef __cplusplus
}
#endif

#endif
