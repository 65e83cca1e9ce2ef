/* `rttcp cc list | load | unload | hold`, and the loading of an algorithm for one transfer. */
#include "loader.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "builtin.h"
#include "catalog.h"
#include "holder.h"
#include "ledger.h"
#include "link.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "output.h"

struct cc_settings {
    struct nc_strings set;
    bool all, parent_death, verbose, json, human;
};

#define OFFSET(field) offsetof(struct cc_settings, field)
static const struct nc_option table[] = {
    NC_LIST("set", set, "KEY=VALUE", "a parameter of the algorithm; may be given several times"),
    NC_FLAG("all", all, "unload: end every holder of every algorithm"),
    NC_FLAG("parent-death", parent_death, "hold: end when the parent process dies"),
    NC_FLAG("verbose", verbose, "show what the kernel says about a program that it refuses"),
    NC_FLAG("json", json, "JSON lines on stdout; default unless stdout is a terminal"),
    NC_FLAG("human", human, "text on stdout; default on a terminal"),
};

static const struct nc_usage usage = {
    .synopsis = "rttcp cc list\n       rttcp cc load NAME [--set KEY=VALUE]…\n       rttcp cc unload NAME | --all\n"
                "       rttcp cc hold NAME [--set KEY=VALUE]… [--parent-death]",
    .purpose = "Loads congestion controls into the kernel as BPF programs.",
    .epilog = "load starts a process in the background that holds the algorithm until unload; each load needs its own "
              "unload.\n"
              "hold does the same in the foreground until SIGTERM. A transfer with --congestion NAME loads it itself.",
};

/* Prints values with four decimal places, because Q16 has no more. */
static json_t *params_json(const struct cc_choice *choice)
{
    json_t *object = json_object();
    for (size_t i = 0; i < choice->entry->n_params; i++)
        json_object_set_new(object, choice->entry->params[i].name,
                            json_real((double)((choice->values_q16[i] * UINT64_C(10000) + 32768) >> 16) / 1e4));
    return object;
}

static void say(const struct cc_settings *settings, const char *event, const struct cc_choice *choice, pid_t holder)
{
    pid_t pids[1];
    struct cc_choice loaded;
    bool present = cc_link_state(choice->entry, &loaded);
    size_t holders = cc_ledger_holders(choice->entry->name, pids, 1);
    if (!settings->human) {
        json_t *fields = json_pack("{s:s,s:s,s:b,s:b,s:I,s:o}", "name", choice->entry->name, "source",
                                   choice->entry->source, "virtual_only", !choice->entry->section, "loaded", present,
                                   "holders", (json_int_t)holders, "parameters", params_json(&loaded));
        if (holder > 0)
            json_object_set_new(fields, "pid", json_integer(holder));
        nc_jsonl_event(stdout, event, fields);
        return;
    }
    json_t *object = params_json(&loaded);
    char *params = json_dumps(object, JSON_REAL_PRECISION(4) | JSON_COMPACT);
    json_decref(object);
    printf("%-13s %-10s holders %zu  %s\n%24s %s\n", choice->entry->name, present ? "loaded" : "not loaded", holders,
           choice->entry->source, "", params ? params : "");
    free(params);
}

static int verb_list(const struct cc_settings *settings, struct cc_choice *choice, struct nc_error *error)
{
    (void)choice;
    (void)error;
    const struct cc_entry *entries;
    for (size_t i = 0, n = cc_catalog(&entries); i < n; i++) {
        struct cc_choice each = cc_choice_of(&entries[i]);
        say(settings, "congestion", &each, 0);
    }
    return 0;
}

static int verb_load(const struct cc_settings *settings, struct cc_choice *choice, struct nc_error *error)
{
    int leash;
    pid_t holder = cc_holder_start(choice, settings->verbose, &leash, error);
    if (holder < 0)
        return -1;
    say(settings, "loaded", choice, holder);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        close(leash); /* ends the holder, because nobody would know its process id */
        return nc_fail(error, NC_EXIT_FAILED, "stdout: could not be written; %s is not left loaded",
                       choice->entry->name);
    }
    return cc_holder_keep(leash) == 0 ? 0
                                      : nc_fail(error, NC_EXIT_FAILED, "%s: process %d that held it has ended",
                                                choice->entry->name, (int)holder);
}

static int unload_one(const struct cc_settings *settings, struct cc_choice *choice, struct nc_error *error)
{
    if (cc_holder_end(choice->entry, error) < 0)
        return -1;
    say(settings, "unloaded", choice, 0);
    return 0;
}

static int verb_unload(const struct cc_settings *settings, struct cc_choice *choice, struct nc_error *error)
{
    const struct cc_entry *entries;
    pid_t pids[1];
    if (!settings->all)
        return unload_one(settings, choice, error);
    for (size_t i = 0, n = cc_catalog(&entries); i < n; i++) {
        struct cc_choice each = cc_choice_of(&entries[i]);
        while (cc_ledger_holders(entries[i].name, pids, 1) > 0)
            if (unload_one(settings, &each, error) < 0)
                return -1;
    }
    return 0;
}

static int verb_hold(const struct cc_settings *settings, struct cc_choice *choice, struct nc_error *error)
{
    pid_t parent = getppid();
    int link = cc_link_open(choice, settings->verbose, error);
    if (link < 0)
        return -1;
    say(settings, "ready", choice, getpid());
    fflush(stdout);
    cc_holder_wait(settings->parent_death, parent);
    close(link);
    say(settings, "end", choice, 0);
    return 0;
}

static const struct verb {
    const char *name;
    bool wants_algorithm, takes_set, takes_all, takes_parent_death;
    int (*run)(const struct cc_settings *settings, struct cc_choice *choice, struct nc_error *error);
} verbs[] = {
    {"list", false, false, false, false, verb_list},
    {"load", true, true, false, false, verb_load},
    {"unload", true, false, true, false, verb_unload},
    {"hold", true, true, false, true, verb_hold},
};

/* An option that the verb does not take is an error; if it were ignored, it would seem to be in force. */
static int check(const struct verb *verb, const struct cc_settings *settings, int words, char **word,
                 struct nc_error *error)
{
    int wanted = verb->wants_algorithm && !settings->all;
    if (settings->set.n && !verb->takes_set)
        return nc_fail(error, NC_EXIT_USAGE, "--set '%.40s': an option of cc load and cc hold", settings->set.at[0]);
    if (settings->all && !verb->takes_all)
        return nc_fail(error, NC_EXIT_USAGE, "--all: an option of cc unload");
    if (settings->parent_death && !verb->takes_parent_death)
        return nc_fail(error, NC_EXIT_USAGE, "--parent-death: an option of cc hold");
    if (words > wanted)
        return nc_fail(error, NC_EXIT_USAGE, "cc %s '%.40s': want %s%s; see rttcp cc --help", verb->name, word[wanted],
                       wanted ? "one name" : "no name", settings->all ? " with --all" : "");
    return 0;
}

static int choose(struct cc_choice *choice, const struct verb *verb, const struct cc_settings *settings,
                  const char *name, struct nc_error *error)
{
    char names[CC_NAMES_TEXT];
    const struct cc_entry *entry = name ? cc_find(name) : NULL;
    if (!entry)
        return nc_fail(error, NC_EXIT_USAGE, "cc %s '%.40s': want one of %s", verb->name, name ? name : "",
                       cc_names(names));
    *choice = cc_choice_of(entry);
    for (size_t at = 0; at < settings->set.n; at++)
        if (cc_choice_set(choice, settings->set.at[at], error) < 0)
            return -1;
    return 0;
}

static int run(const struct cc_settings *settings, int words, char **word, struct nc_error *error)
{
    for (size_t i = 0; words > 0 && i < sizeof verbs / sizeof verbs[0]; i++) {
        const struct verb *verb = &verbs[i];
        struct cc_choice choice = {0};
        if (strcmp(verb->name, word[0]) != 0)
            continue;
        if (check(verb, settings, words - 1, word + 1, error) < 0 ||
            (verb->wants_algorithm && !settings->all &&
             choose(&choice, verb, settings, words > 1 ? word[1] : NULL, error) < 0))
            return -1;
        return verb->run(settings, &choice, error);
    }
    return nc_fail(error, NC_EXIT_USAGE, "cc '%.40s': want list, load, unload or hold", words > 0 ? word[0] : "");
}

int cc_main(int argc, char **argv)
{
    struct cc_settings settings;
    struct nc_error error;
    int at = nc_options_parse(table, sizeof table / sizeof table[0], &usage, &settings, NULL, argc, argv);
    if (settings.json && settings.human)
        nc_die(NC_EXIT_USAGE, "--json and --human: give one of them");
    settings.human = nc_program_is_human(settings.human, settings.json);
    if (cc_builtin_present())
        nc_log("this kernel has the congestion controls built in: nothing needs loading");
    if (run(&settings, argc - at, argv + at, &error) == 0)
        return rttcp_output_check(NC_EXIT_OK);
    if (settings.human)
        nc_log("%s", error.text);
    else
        nc_log_error(stdout, error.status, "%s", error.text);
    return error.status;
}

int cc_hold_for_transfer(const char *text, const char **kernel_name, struct nc_error *error)
{
    struct cc_choice choice;
    *kernel_name = text;
    int ours = text ? cc_choice_parse(&choice, text, error) : 0;
    if (ours <= 0)
        return ours;
    *kernel_name = choice.entry->name;
    if (cc_builtin_present())
        return cc_builtin_set(&choice, error);
    return cc_link_open(&choice, false, error) < 0 ? -1 : 0; /* the descriptor closes when the process ends */
}
