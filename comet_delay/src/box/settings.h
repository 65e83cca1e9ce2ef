/* The command line of `comet-delay run`, and the names that `set` takes. Each parameter of the table in params.c
 * becomes three options: for both directions, for a to b, and for b to a. The box's own options are added. */
#ifndef COMET_SETTINGS_H
#define COMET_SETTINGS_H

#include "box.h"
#include "nc_sandbox.h"
#include "params.h"

struct settings {
    struct box_settings box;
    const char *port_a, *port_b, *control;
    struct nc_sandbox_choice sandbox;
    bool human, json, parent_death, check;
    struct params both, ab, ba;
};

/* Parses the command line of `run`, and exits with status 2 when it is wrong. params[0] is for the direction from a to
 * b. */
void settings_parse(int argc, char **argv, struct settings *settings, struct params params[2]);

/* Sets one parameter by name (`loss`, `ab-rate`, `ba-delay`) in params[0], params[1] or both. 0, or -1 with the
 * error. */
int settings_set(const char *name, const char *text, struct params params[2], struct nc_error *error);

#endif
