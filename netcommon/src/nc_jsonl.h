/* stdout is versioned JSON lines, one object a line, written and flushed whole: {"v":1,"event":"ready",…}.
 * jansson builds and prints; this adds only the envelope. */
#ifndef NC_JSONL_H
#define NC_JSONL_H

#include <jansson.h>
#include <stdio.h>

#define NC_JSONL_VERSION 1

/* Writes {"v":1,"event":EVENT, …fields}\n in one write and releases `fields` (may be NULL). Returns 0, or -1 when the
 * stream fails (a reader that went away). */
int nc_jsonl_event(FILE *out, const char *event, json_t *fields);

/* A JSON string of any bytes: what is not UTF-8 is written with '?' for every byte beyond ASCII, so that a message which
 * quotes bad input is never lost. */
json_t *nc_jsonl_text(const char *text);

/* The error contract of every tool: {"event":"error","status":1,"message":…} on stdout and the same line on stderr. */
void nc_jsonl_error(FILE *out, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
