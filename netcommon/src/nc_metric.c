#include "nc_metric.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *suffix, *unit;
    double factor;
} units[] = {{"_ns", "_seconds", 1e-9}, {"_bps", "_bits_per_second", 1}, {"_ppb", "_ratio", 1e-9}};

double nc_metric_base_unit(const char *name, char *out, size_t size)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t cut = strlen(units[i].suffix);
        if (len > cut && strcmp(name + len - cut, units[i].suffix) == 0) {
            snprintf(out, size, "%.*s%s", (int)(len - cut), name, units[i].unit);
            return units[i].factor;
        }
    }
    snprintf(out, size, "%s", name);
    return 1;
}
