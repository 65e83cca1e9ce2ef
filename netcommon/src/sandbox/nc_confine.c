#include "nc_confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_sandbox.h"

/* Python makes and removes folders of its cache. */
static const char *const calls[] = {"mkdir", "mkdirat", "rmdir", "utimensat", NULL};

struct request {
    json_t *capabilities, *reads, *writes, *user;
    int off;
};

/* Returns the texts of an array, NULL-terminated; they are valid as long as the array. NULL: memory is short. */
static const char **texts(const json_t *array)
{
    const json_t *value;
    size_t i;
    const char **list = calloc(json_array_size(array) + 1, sizeof *list);
    if (list)
        json_array_foreach(array, i, value) list[i] = json_is_string(value) ? json_string_value(value) : "";
    return list;
}

static uint64_t bits(const json_t *capabilities)
{
    const json_t *name;
    size_t i;
    uint64_t found = 0;
    json_array_foreach(capabilities, i, name)
    {
        if (json_is_string(name) && strcmp(json_string_value(name), "dac_read_search") == 0)
            found |= UINT64_C(1) << CAP_DAC_READ_SEARCH;
    }
    return found;
}

static int enter(const struct request *request, json_t **state, struct nc_error *error)
{
    const struct nc_sandbox_choice choice = {.user = json_string_value(request->user), .off = request->off != 0};
    const char **reads = texts(request->reads), **writes = texts(request->writes);
    const struct nc_sandbox sandbox = {.capabilities = bits(request->capabilities),
                                       .calls = calls,
                                       .reads = reads,
                                       .writes = writes,
                                       .interpreted = true};
    int status = reads && writes ? nc_sandbox_enter(&sandbox, &choice, state, error)
                                 : nc_fail(error, NC_EXIT_MISSING, "no memory for the sandbox");
    free(reads);
    free(writes);
    return status;
}

int nc_confine(const char *text, char *answer, size_t size)
{
    static char name[] = "lfp";
    struct request request = {0};
    struct nc_error error = {0};
    json_t *state = NULL, *given = json_loads(text, 0, NULL);
    program_invocation_short_name = name; /* lines on stderr begin with this name */
    int status = json_unpack(given, "{s:o, s:o, s:o, s:o, s:b}", "capabilities", &request.capabilities, "reads",
                             &request.reads, "writes", &request.writes, "user", &request.user, "off", &request.off);
    if (status < 0)
        nc_fail(&error, NC_EXIT_FAILED, "the sandbox: a request that is not one");
    else
        status = enter(&request, &state, &error);
    char *said = state ? json_dumps(state, 0) : NULL;
    snprintf(answer, size, "%s", said ? said : error.text);
    free(said);
    json_decref(state);
    json_decref(given);
    return status < 0 ? error.status : 0;
}
