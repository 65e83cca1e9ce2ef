#include "nc_jsonl.h"

#include <stdlib.h>
#include <string.h>

int nc_jsonl_event(FILE *out, const char *event, json_t *fields)
{
    json_t *line = json_pack("{s:i, s:s}", "v", NC_JSONL_VERSION, "event", event);
    if (fields) {
        json_object_update_missing(line, fields);
        json_decref(fields);
    }
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(line);
    if (!text)
        return -1;
    int status = fprintf(out, "%s\n", text) < 0 || fflush(out) != 0 ? -1 : 0;
    free(text);
    return status;
}

json_t *nc_jsonl_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char *ascii = strdup(text);
    for (char *c = ascii; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    string = json_string(ascii ? ascii : "out of memory");
    free(ascii);
    return string;
}
