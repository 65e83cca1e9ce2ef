/* Any bytes as a file of rules. Checked: accepted rules satisfy the invariants of match_rules.h, and an error is one
 * line that names the file. */
#include <stdlib.h>
#include <string.h>

#include "match_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_rules rules;
    struct nc_error error = {.status = 0};
    if (pl_rules_read(&rules, "rules", data, size, &error) < 0) {
        check(error.status == NC_EXIT_USAGE || error.status == NC_EXIT_MISSING);
        check(strncmp(error.text, "'rules' ", 7) == 0 && !strchr(error.text, '\n'));
    } else {
        check(rules.n > 0);
        for (size_t i = 0; i < rules.n; i++) {
            const struct pl_rule *rule = &rules.at[i];
            check(rule->name[0] && rule->len > 0 && rule->len < PL_RULE_PATTERN_MAX && rule->pattern[rule->len] == 0);
            check(!rule->regex || strlen((const char *)rule->pattern) == rule->len);
            check(i == 0 || rules.at[i - 1].line < rule->line);
        }
    }
    pl_rules_free(&rules);
    return 0;
}
