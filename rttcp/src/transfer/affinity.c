#include "affinity.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rttcp_affinity_set(const char *option, const char *cpu, struct nc_error *error)
{
    char *end;
    cpu_set_t set;
    if (!cpu || !cpu[0])
        return 0;
    unsigned long n = strtoul(cpu, &end, 10);
    CPU_ZERO(&set);
    if (cpu[0] < '0' || cpu[0] > '9' || *end || n >= CPU_SETSIZE)
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.20s': want the number of a processor, 0 to %ld", option, cpu,
                       sysconf(_SC_NPROCESSORS_CONF) - 1);
    CPU_SET(n, &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "--%s %lu: %s; this machine may use 0 to %ld", option, n, strerror(errno),
                   sysconf(_SC_NPROCESSORS_CONF) - 1);
}
