/* `pktlogger --causes-json`: the table of all causes, for programs that show them. */
#include <stdio.h>

#include <jansson.h>

#include "command.h"
#include "names.h"
#include "nc_program.h"

static json_t *list_json(enum pl_cause_list list)
{
    size_t n;
    const struct pl_cause_row *rows = pl_cause_rows(list, &n);
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:s, s:s?}", "name", rows[i].name, "words",
                                               rows[i].words, "role", rows[i].role, "description", rows[i].description,
                                               "advice", rows[i].advice));
    return array;
}

int pl_cmd_causes_json(void)
{
    json_t *object = json_pack("{s:i, s:o, s:o, s:o, s:o}", "v", 1, "limits", list_json(PL_CAUSES_LIMITS), "losses",
                               list_json(PL_CAUSES_LOSSES), "stops", list_json(PL_CAUSES_STOPS), "verdicts",
                               list_json(PL_CAUSES_VERDICTS));
    json_dumpf(object, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(object);
    return NC_EXIT_OK;
}
