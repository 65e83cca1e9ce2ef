#include "client.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "human.h"
#include "nc_control.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_program.h"

struct client_settings {
    const char *control;
    bool human, json;
};

#define OFFSET(field) offsetof(struct client_settings, field)
static const struct nc_option rows[] = {
    CLIENT_CONTROL_ROW,
    NC_FLAG("human", human, "text on stdout (the default on a terminal)"),
    NC_FLAG("json", json, "one JSON object on stdout (the default elsewhere)"),
};

static json_t *ask(const char *control, json_t *request)
{
    return nc_control_ask(control, request, "comet-delay");
}

json_t *client_state(const char *control)
{
    return ask(control, json_pack("{s:s}", "op", "show"));
}

static int print(const struct client_settings *settings, json_t *answer)
{
    if (nc_program_is_human(settings->human, settings->json))
        human_state(stdout, answer);
    else {
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
    }
    json_decref(answer);
    return NC_EXIT_OK;
}

/* Prints the values that `set` changed, one per line. */
static int print_changes(const struct client_settings *settings, json_t *answer)
{
    static const char *const directions[] = {"ab", "ba"};
    if (!nc_program_is_human(settings->human, settings->json))
        return print(settings, answer);
    const json_t *changed = json_object_get(answer, "changed");
    for (size_t d = 0; d < sizeof directions / sizeof directions[0]; d++) {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(changed, directions[d]), name, value)
        {
            char *text = json_dumps(value, JSON_ENCODE_ANY);
            printf("%s %s: %s\n", directions[d], name, text ? text : "");
            free(text);
        }
    }
    json_decref(answer);
    return NC_EXIT_OK;
}

static int parse(int argc, char **argv, const struct nc_usage *usage, struct client_settings *settings)
{
    return nc_options_parse(rows, sizeof rows / sizeof rows[0], usage, settings, NULL, argc, argv);
}

int client_show(int argc, char **argv)
{
    static const struct nc_usage usage = {.synopsis = "comet-delay show --control SOCKET",
                                          .purpose = "Parameters, statistics and verdict of a running box."};
    struct client_settings settings;
    int at = parse(argc, argv, &usage, &settings);
    if (at < argc)
        nc_die(NC_EXIT_USAGE, "'%s': show takes no arguments", argv[at]);
    return print(&settings, client_state(settings.control));
}

int client_set(int argc, char **argv)
{
    static const struct nc_usage usage = {
        .synopsis = "comet-delay set --control SOCKET NAME=VALUE…",
        .purpose = "Changes parameters of a running box, all at once or, if one is wrong, none.",
        .epilog = "NAME is a path option of comet-delay run: loss=0.1% ab-rate=45Mbit ba-delay=10ms"};
    struct client_settings settings;
    int at = parse(argc, argv, &usage, &settings);
    json_t *values = nc_control_values(argc, argv, at, "rate=45Mbit");
    return print_changes(&settings, ask(settings.control, json_pack("{s:s, s:o}", "op", "set", "values", values)));
}
