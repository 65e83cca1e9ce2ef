/* Names of metrics in Prometheus's base units, which end a name here as there: delay_ns is delay_seconds. */
#ifndef NC_METRIC_H
#define NC_METRIC_H

#include <stddef.h>

/* Writes the name in its base unit, and returns the factor to that: "delay_ns" becomes "delay_seconds", 1e-9. A name
 * without one of our units stays as it is. */
double nc_metric_base_unit(const char *name, char *out, size_t size);

#endif
