#include "control.h"

#include <stdio.h>
#include <string.h>

#include "box.h"
#include "nc_control.h"
#include "nc_jsonl.h"
#include "settings.h"

static json_t *acceptance(struct box *box)
{
    json_t *answer = json_pack("{s:i, s:b}", "v", NC_JSONL_VERSION, "ok", 1);
    json_object_update_new(answer, box_json(box));
    return answer;
}

/* The parameters whose values differ between `before` and `after`. The whole state would be a hundred times as long,
 * and a client may send thousands of changes a second. */
static json_t *changes(const struct params before[2], const struct params after[2])
{
    return json_pack("{s:i, s:b, s:{s:o, s:o}}", "v", NC_JSONL_VERSION, "ok", 1, "changed", "ab",
                     params_changes_json(&before[0], &after[0]), "ba", params_changes_json(&before[1], &after[1]));
}

static int set_value(const char *name, const json_t *value, struct params params[2], struct nc_error *error)
{
    if (!json_is_string(value))
        return nc_fail(error, NC_EXIT_USAGE, "'%.40s': want a text with its unit, such as \"45Mbit\"", name);
    return settings_set(name, json_string_value(value), params, error);
}

/* All values are checked before any is set. */
static json_t *answer_set(struct box *box, const json_t *values)
{
    struct nc_error error;
    const struct params before[2] = {*box_params(box, 0), *box_params(box, 1)};
    struct params params[2] = {before[0], before[1]};
    const char *name;
    json_t *value;
    if (!json_is_object(values))
        return nc_control_refusal("set wants \"values\": an object of parameter names and texts with units");
    json_object_foreach((json_t *)values, name, value)
    {
        if (set_value(name, value, params, &error) < 0)
            return nc_control_refusal(error.text);
    }
    if (box_set(box, params, &error) < 0)
        return nc_control_refusal(error.text);
    return changes(before, params);
}

json_t *control_answer(struct box *box, const char *line, size_t len)
{
    const char *op;
    json_t *answer, *request = nc_control_parse(line, len, &op, &answer);
    if (!request)
        return answer;
    if (op && strcmp(op, "show") == 0)
        answer = acceptance(box);
    else if (op && strcmp(op, "set") == 0)
        answer = answer_set(box, json_object_get(request, "values"));
    else
        answer = nc_control_refusal("want {\"op\":\"show\"} or {\"op\":\"set\",\"values\":{…}}");
    json_decref(request);
    return answer;
}
