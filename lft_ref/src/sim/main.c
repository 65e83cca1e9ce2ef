/* lft-sim: parses the command line, runs every combination and reports each. */
#include <stdio.h>

#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_program.h"
#include "sim.h"

static int simulate(int argc, char **argv)
{
    struct sim_settings settings;
    struct sim_trial trial;
    struct nc_error error;
    if (sim_settings_parse(&settings, argc, argv, &error) < 0) {
        nc_log_error(stdout, NC_EXIT_USAGE, "%s", error.text);
        return NC_EXIT_USAGE;
    }
    bool human = nc_program_is_human(settings.human, settings.json), good = true;
    int n = sim_trials(&settings);
    for (int i = 0; i < n; i++)
        if (sim_trial_get(&settings, i, &trial, &error) < 0) {
            nc_log_error(stdout, NC_EXIT_USAGE, "%s", error.text);
            return NC_EXIT_USAGE;
        }
    if (human)
        sim_report_head();
    for (int i = 0; i < n; i++) {
        struct sim_result result;
        sim_trial_get(&settings, i, &trial, &error);
        sim_run(&trial, &result);
        sim_report(&trial, &result, human);
        good &= result.complete && result.intact;
    }
    if (!human)
        nc_jsonl_event(stdout, "end", json_pack("{s:i, s:b}", "trials", n, "good", good));
    if (!good)
        nc_log("a trial did not deliver everything");
    return good ? NC_EXIT_OK : NC_EXIT_FAILED;
}

int main(int argc, char **argv)
{
    static const struct nc_program program = {.name = "lft-sim",
                                              .purpose =
                                                  "Runs two gateways' engines over a simulated path in virtual time.",
                                              .run = simulate};
    return nc_program_main(&program, argc, argv);
}
