/* stdout has versioned JSON lines, one object per line, each written and flushed as a whole: {"v":1,"event":"ready",…}.
 * jansson builds and prints the objects; this file adds only the envelope. Errors: nc_log.h. */
#ifndef NC_JSONL_H
#define NC_JSONL_H

#include <jansson.h>
#include <stdio.h>

#define NC_JSONL_VERSION 1

/* Writes {"v":1,"event":EVENT, …fields}\n in one write and releases `fields` (which may be NULL). Returns 0, or -1 when
 * the stream fails because its reader has gone. */
int nc_jsonl_event(FILE *out, const char *event, json_t *fields);

/* A JSON string of any bytes. In a text that is not UTF-8 every byte beyond ASCII becomes '?', so that a message that
 * quotes bad input is never lost. */
json_t *nc_jsonl_text(const char *text);

#endif
