/* lft-sim: parse, run every combination, report each. */
#include <stdio.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_log.h"
#include "sim.h"

int main(int argc, char **argv)
{
    struct sim_settings settings;
    struct sim_trial trial;
    char why[240];
    if (sim_settings_parse(&settings, argc, argv, why, sizeof why) < 0) {
        nc_jsonl_error(stdout, NC_EXIT_USAGE, "%s", why);
        return NC_EXIT_USAGE;
    }
    bool human = settings.human || (!settings.json && isatty(STDOUT_FILENO)), good = true;
    int n = sim_trials(&settings);
    for (int i = 0; i < n; i++)
        if (sim_trial_get(&settings, i, &trial, why, sizeof why) < 0) {
            nc_jsonl_error(stdout, NC_EXIT_USAGE, "%s", why);
            return NC_EXIT_USAGE;
        }
    if (human)
        sim_report_head();
    for (int i = 0; i < n; i++) {
        struct sim_result result;
        sim_trial_get(&settings, i, &trial, why, sizeof why);
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
