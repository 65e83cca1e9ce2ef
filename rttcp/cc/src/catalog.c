/* Builds the catalog from the parameter lists in the algorithms' headers, so that no default or range is written
 * twice. */
#include "catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t u32;
typedef uint64_t u64;
#define LFP_INLINE static inline __attribute__((unused))
#define LFP_DIV(a, b) ((u64)(a) / (u64)(b))
#include "../algo/lfp_cpeak.h"
#include "../algo/lfp_fast.h"
#include "../algo/lfp_hstcp.h"
#include "../algo/lfp_htcp.h"
#include "../algo/lfp_prague.h"
#include "../algo/lfp_scalable.h"
#include "../algo/lfp_xys.h"

#define ROW(field, value, least, most, help) {#field, help, value, least, most},
#define TABLE(name, PARAMS)                                                                                            \
    static const struct cc_param name##_table[] = {PARAMS(ROW)};                                                       \
    _Static_assert(sizeof name##_table / sizeof name##_table[0] == sizeof(struct lfp_##name##_params) / sizeof(u32),   \
                   "a row each");                                                                                      \
    _Static_assert(sizeof name##_table / sizeof name##_table[0] <= CC_PARAMS_MAX, "room");                             \
    _Static_assert(sizeof(struct lfp_##name) <= 104, "what the kernel keeps for a congestion control")

TABLE(cpeak, LFP_CPEAK_PARAMS);
TABLE(fast, LFP_FAST_PARAMS);
TABLE(hstcp, LFP_HSTCP_PARAMS);
TABLE(htcp, LFP_HTCP_PARAMS);
TABLE(prague, LFP_PRAGUE_PARAMS);
TABLE(scalable, LFP_SCALABLE_PARAMS);
TABLE(xys, LFP_XYS_PARAMS);

#define ENTRY_OF(name, section, source)                                                                                \
    {"lfp_" #name, section, source, name##_table, sizeof name##_table / sizeof name##_table[0]}
#define ENTRY(name, source) ENTRY_OF(name, ".rodata." #name, source)
static const struct cc_entry catalog[] = {
    ENTRY(cpeak, "cpeak-1998: returns quickly to the last good window"),
    ENTRY(fast, "FAST TCP, Jin, Wei and Low, INFOCOM 2004"),
    ENTRY(hstcp, "HighSpeed TCP, RFC 3649"),
    ENTRY(htcp, "H-TCP, draft-leith-tcp-htcp-06"),
    ENTRY_OF(prague, NULL, "TCP Prague of L4S, draft-briscoe-iccrg-prague-congestion-control"),
    ENTRY(scalable, "Scalable TCP, Kelly, CCR 2003"),
    ENTRY(xys, "lfp-1995: x, y and s"),
};

size_t cc_catalog(const struct cc_entry **entries)
{
    *entries = catalog;
    return sizeof catalog / sizeof catalog[0];
}

const struct cc_entry *cc_find(const char *name)
{
    for (size_t i = 0; i < sizeof catalog / sizeof catalog[0]; i++)
        if (strcmp(catalog[i].name, name) == 0)
            return &catalog[i];
    return NULL;
}

const char *cc_names(char out[CC_NAMES_TEXT])
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof catalog / sizeof catalog[0]; i++)
        used += (size_t)snprintf(out + used, CC_NAMES_TEXT - used, "%s%s", i ? ", " : "", catalog[i].name);
    return out;
}

struct cc_choice cc_choice_of(const struct cc_entry *entry)
{
    struct cc_choice choice = {.entry = entry};
    for (size_t i = 0; i < entry->n_params; i++)
        choice.values_q16[i] = LFP_Q16(entry->params[i].value);
    return choice;
}

static int unknown(const struct cc_entry *entry, const char *assignment, struct nc_error *error)
{
    char names[160] = "";
    for (size_t i = 0; i < entry->n_params; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", entry->params[i].name);
    return nc_fail(error, NC_EXIT_USAGE, "%s '%.60s': want KEY=VALUE with a KEY of %s", entry->name, assignment, names);
}

int cc_choice_set(struct cc_choice *choice, const char *assignment, struct nc_error *error)
{
    const struct cc_entry *entry = choice->entry;
    size_t length = strcspn(assignment, "=");
    for (size_t i = 0; i < entry->n_params && assignment[length]; i++) {
        const struct cc_param *param = &entry->params[i];
        if (strlen(param->name) != length || strncmp(param->name, assignment, length) != 0)
            continue;
        char *end;
        double value = strtod(assignment + length + 1, &end);
        if (end == assignment + length + 1 || *end || !(value >= param->least && value <= param->most))
            return nc_fail(error, NC_EXIT_USAGE, "%s '%.60s': want a number of %g to %g (%s)", entry->name, assignment,
                           param->least, param->most, param->help);
        choice->values_q16[i] = LFP_Q16(value);
        choice->given = 1;
        return 0;
    }
    return unknown(entry, assignment, error);
}

int cc_choice_parse(struct cc_choice *choice, const char *text, struct nc_error *error)
{
    char copy[256], names[CC_NAMES_TEXT], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    const struct cc_entry *entry = cc_find(strsep(&rest, ":"));
    if (!entry && (rest || strncmp(copy, "lfp_", 4) == 0))
        return nc_fail(error, NC_EXIT_USAGE, "--congestion '%.60s': want %s %s", text,
                       rest ? "parameters only with" : "a name of the kernel, or one of", cc_names(names));
    if (!entry)
        return 0;
    *choice = cc_choice_of(entry);
    for (char *item; (item = strsep(&rest, ",")) != NULL;)
        if (cc_choice_set(choice, item, error) < 0)
            return -1;
    return 1;
}
