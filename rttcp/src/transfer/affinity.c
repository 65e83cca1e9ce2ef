#include "affinity.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int parse(const char *option, const char *cpu, cpu_set_t *set, struct nc_error *error)
{
    char *end;
    unsigned long n = strtoul(cpu, &end, 10);
    CPU_ZERO(set);
    if (cpu[0] < '0' || cpu[0] > '9' || *end || n >= CPU_SETSIZE)
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.20s': want the number of a processor, 0 to %ld", option, cpu,
                       sysconf(_SC_NPROCESSORS_CONF) - 1);
    CPU_SET(n, set);
    return 0;
}

int rttcp_affinity_set(const char *option, const char *cpu, struct nc_error *error)
{
    cpu_set_t set;
    if (!cpu || !cpu[0])
        return 0;
    if (parse(option, cpu, &set, error) < 0)
        return -1;
    if (sched_setaffinity(0, sizeof set, &set) == 0)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "--%s %s: %s; this machine may use 0 to %ld", option, cpu, strerror(errno),
                   sysconf(_SC_NPROCESSORS_CONF) - 1);
}

int rttcp_affinity_narrow(const char *option, const char *cpu, struct nc_error *error)
{
    cpu_set_t wanted, allowed;
    if (!cpu[0])
        return 0;
    if (parse(option, cpu, &wanted, error) < 0)
        return -1;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        CPU_AND(&allowed, &allowed, &wanted);
        if (!CPU_COUNT(&allowed))
            return nc_fail(error, NC_EXIT_USAGE,
                           "--%s %s: the receiver may not use that processor, by its --cpu or its affinity; leave the "
                           "option out or name one of its own",
                           option, cpu);
    }
    return rttcp_affinity_set(option, cpu, error);
}
