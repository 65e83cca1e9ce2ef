#include "nc_jsonl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"

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

void nc_jsonl_error(FILE *out, int status, const char *format, ...)
{
    char message[900];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    nc_log("%s", message);
    nc_jsonl_event(out, "error", json_pack("{s:i, s:o}", "status", status, "message", nc_jsonl_text(message)));
}
