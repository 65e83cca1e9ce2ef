/* Implements analyse_lists.h. */
#include "analyse_lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_quantity.h"
#include "losses.h"

#define SCALE_LEAST_NS UINT64_C(100000)
#define SCALE_MOST_NS (UINT64_C(1000) * 1000000000)

/* Reads "1ms,100ms". */
static int read_scales(const char *text, struct pl_pace *pace, struct nc_error *error)
{
    char copy[256], *rest = copy;
    struct nc_error why;
    if (strlen(text) >= sizeof copy)
        return nc_fail(error, NC_EXIT_USAGE, "--scales '%.60s…': too long; want up to 4 times, as in 1ms,100ms", text);
    strcpy(copy, text);
    for (char *part; (part = strsep(&rest, ","));) {
        uint64_t ns = 0;
        if (pace->scale_n == PL_SCALES_MAX || nc_quantity_parse(NC_UNIT_DURATION, part, &ns, &why) < 0 ||
            ns < SCALE_LEAST_NS || ns > SCALE_MOST_NS)
            return nc_fail(error, NC_EXIT_USAGE,
                           "--scales '%s': want 1 to 4 times from 100us to 1000s with commas between, as in 1ms,100ms",
                           text);
        pace->scales_ns[pace->scale_n++] = (int64_t)ns;
    }
    return 0;
}

/* The error for an unknown cause. It lists the causes that may be ruled out for a path. */
static int refuse_causes(const char *text, struct nc_error *error)
{
    char known[256];
    size_t used = 0;
    for (int cause = 0; cause < PL_LOSS_N; cause++)
        if (PL_PATH_CAUSES & 1U << cause && used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                                     pl_loss_name((enum pl_loss_cause)cause));
    return nc_fail(error, NC_EXIT_USAGE,
                   "--ruled-out '%s': want some of %s, with commas between, as in aqm,random_before", text, known);
}

/* Reads "aqm,random_before". */
static int read_causes(const char *text, unsigned *causes, struct nc_error *error)
{
    char copy[256], *rest = copy;
    if (strlen(text) >= sizeof copy)
        return nc_fail(error, NC_EXIT_USAGE, "--ruled-out '%.60s…': too long; want each cause once", text);
    strcpy(copy, text);
    for (char *part; (part = strsep(&rest, ","));) {
        int cause = 0;
        while (cause < PL_LOSS_N && strcmp(part, pl_loss_name((enum pl_loss_cause)cause)) != 0)
            cause++;
        if (cause == PL_LOSS_N || !(PL_PATH_CAUSES & 1U << cause))
            return refuse_causes(text, error);
        *causes |= 1U << cause;
    }
    return 0;
}

/* Reads "1767225605000000000-1767225607500000000,-1767225609000000000". */
static int read_outages(const char *text, struct pl_lists *lists, struct nc_error *error)
{
    int64_t before = -1;
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        char *end = (char *)(uintptr_t)at;
        errno = 0;
        long long down = *at == '-' ? INT64_MIN : strtoll(at, &end, 10), up = -1;
        bool begins = *at == '-' || (*at >= '0' && *at <= '9' && down > before && *end == '-');
        if (begins && end[1] >= '0' && end[1] <= '9')
            up = strtoll(end + 1, &end, 10);
        if (lists->outage_n == PL_OUTAGES_MAX || (*end && *end != ',') || errno || up <= before || up <= down)
            return nc_fail(error, NC_EXIT_USAGE,
                           "--outages '%.60s': want up to %d spans BEGIN-END in rising order, in nanoseconds of the "
                           "captures' clock, with commas between; -END where the beginning is not known",
                           text, PL_OUTAGES_MAX);
        lists->down_ns[lists->outage_n] = down;
        lists->up_ns[lists->outage_n++] = before = up;
        at = end;
    }
    return 0;
}

int pl_lists_read(struct pl_lists *lists, const char *scales, const char *ruled_out, const char *outages,
                  struct nc_error *error)
{
    if (read_scales(scales, &lists->pace, error) < 0 || (outages && read_outages(outages, lists, error) < 0))
        return -1;
    return ruled_out ? read_causes(ruled_out, &lists->ruled_out, error) : 0;
}
