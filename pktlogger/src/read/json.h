/* The JSON of flows.json, and the parts that it shares with summary.json. */
#ifndef PL_JSON_H
#define PL_JSON_H

#include <jansson.h>

#include "index.h"

/* The whole of flows.json. */
json_t *pl_json_index(const struct pl_index *index);

/* {"address","port"} */
json_t *pl_json_endpoint(const struct pl_flow *flow, unsigned side);

/* "none", "classic", "accecn", or null where it is not known. */
json_t *pl_json_ecn(const struct pl_flow *flow);

/* {"kernel","interface","process"}, or null if the capture has no drop counts. */
json_t *pl_json_drops(const struct pl_reader *reader);

/* The description of a capture: frames by kind, time span, drops. */
json_t *pl_json_capture(const struct pl_index *index);

/* Writes and releases `value`. Returns 0, or -1 with errno. */
int pl_json_write(int dir_fd, const char *name, json_t *value);

#endif
