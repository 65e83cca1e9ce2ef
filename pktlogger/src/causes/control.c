/* Implements control.h. */
#include "control.h"

#include <string.h>

static const struct {
    const char *name;
    enum pl_control control;
} controls[] = {
    {"bbr", PL_CONTROL_RATE},
    {"bbr1", PL_CONTROL_RATE},
    {"bbr2", PL_CONTROL_MARKED_RATE},
    {"bbr3", PL_CONTROL_MARKED_RATE},
    {"bic", PL_CONTROL_WINDOW},
    {"cdg", PL_CONTROL_WINDOW},
    {"cubic", PL_CONTROL_WINDOW},
    {"dctcp", PL_CONTROL_WINDOW},
    {"dctcp-reno", PL_CONTROL_WINDOW},
    {"highspeed", PL_CONTROL_WINDOW},
    {"htcp", PL_CONTROL_WINDOW},
    {"hybla", PL_CONTROL_WINDOW},
    {"illinois", PL_CONTROL_WINDOW},
    {"lfp_cpeak", PL_CONTROL_WINDOW},
    {"lfp_fast", PL_CONTROL_WINDOW},
    {"lfp_hstcp", PL_CONTROL_WINDOW},
    {"lfp_htcp", PL_CONTROL_WINDOW},
    {"lfp_prague", PL_CONTROL_WINDOW},
    {"lfp_prague-reno", PL_CONTROL_WINDOW},
    {"lfp_scalable", PL_CONTROL_WINDOW},
    {"lfp_xys", PL_CONTROL_WINDOW},
    {"lp", PL_CONTROL_WINDOW},
    {"reno", PL_CONTROL_WINDOW},
    {"scalable", PL_CONTROL_WINDOW},
    {"vegas", PL_CONTROL_WINDOW},
    {"veno", PL_CONTROL_WINDOW},
    {"westwood", PL_CONTROL_WINDOW},
    {"yeah", PL_CONTROL_WINDOW},
};

enum pl_control pl_control_named(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        if (strlen(controls[i].name) == len && memcmp(controls[i].name, name, len) == 0)
            return controls[i].control;
    return PL_CONTROL_UNKNOWN;
}
