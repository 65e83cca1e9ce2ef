/* The command line of `comet-delay run` and the names that `set` takes: one parameter table (params.c), three rows for
 * each parameter — both directions, a to b, b to a — and the box's own options. */
#ifndef COMET_SETTINGS_H
#define COMET_SETTINGS_H

#include "box.h"
#include "params.h"

struct settings {
    struct box_settings box;
    const char *port_a, *port_b, *control;
    bool human, json, parent_death, check;
    struct params both, ab, ba;
};

/* Parses `run`'s command line; exits 2 on a bad one. params[0] is a to b. */
void settings_parse(int argc, char **argv, struct settings *settings, struct params params[2]);

/* Sets one parameter by name (`loss`, `ab-rate`, `ba-delay`) in params[0], params[1] or both. 0, or -1 with a reason. */
int settings_set(const char *name, const char *text, struct params params[2], char *why, size_t why_size);

#endif
