/* Names of metrics in Prometheus's base units. A unit ends the name in both conventions: delay_ns becomes
 * delay_seconds. */
#ifndef NC_METRIC_H
#define NC_METRIC_H

#include <stddef.h>

/* Writes the name with its base unit, and returns the factor to that unit: "delay_ns" becomes "delay_seconds" with
 * factor 1e-9. A name without one of our units stays as it is. */
double nc_metric_base_unit(const char *name, char *out, size_t size);

#endif
