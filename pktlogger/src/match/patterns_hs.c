/* Implements patterns.h with libhs in its streaming mode. A string becomes an expression of \xHH, which the engine
 * recognises as a literal. The length of a string gives the start of its match, so that it does not need
 * HS_FLAG_SOM_LEFTMOST, which costs memory and speed. */
#include "patterns.h"

#include <hs.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pl_patterns {
    hs_database_t *database;
    hs_scratch_t *scratch;
    size_t stream_bytes, n;
    uint32_t *literal_len; /* of each rule; 0: an expression */
    bool *started;         /* the engine reports where the match begins */
};

/* The arguments of hs_compile_multi: parallel arrays. */
struct expressions {
    char **text;
    unsigned *flags, *ids;
    size_t n;
};

const char *pl_patterns_engine(void)
{
    return hs_version();
}

static void free_expressions(struct expressions *all)
{
    for (size_t i = 0; all->text && i < all->n; i++)
        free(all->text[i]);
    free(all->text);
    free(all->flags);
    free(all->ids);
}

static char *expression_of(const struct pl_rule *rule)
{
    if (rule->regex)
        return strdup((const char *)rule->pattern);
    char *text = malloc(4 * rule->len + 1);
    for (size_t i = 0; text && i < rule->len; i++)
        snprintf(text + 4 * i, 5, "\\x%02x", rule->pattern[i]);
    return text;
}

static unsigned flags_of(const struct pl_rule *rule)
{
    return (rule->flags & PL_RULE_NOCASE ? HS_FLAG_CASELESS : 0) |
           (rule->flags & PL_RULE_ONCE ? HS_FLAG_SINGLEMATCH : 0) |
           (rule->flags & PL_RULE_START ? HS_FLAG_SOM_LEFTMOST : 0) |
           (rule->flags & PL_RULE_DOTALL ? HS_FLAG_DOTALL : 0) |
           (rule->flags & PL_RULE_MULTILINE ? HS_FLAG_MULTILINE : 0);
}

static int make_expressions(const struct pl_rules *rules, struct expressions *all)
{
    *all = (struct expressions){calloc(rules->n, sizeof *all->text), calloc(rules->n, sizeof *all->flags),
                                calloc(rules->n, sizeof *all->ids), rules->n};
    if (!all->text || !all->flags || !all->ids)
        return -1;
    for (size_t i = 0; i < rules->n; i++) {
        all->text[i] = expression_of(&rules->at[i]);
        all->flags[i] = flags_of(&rules->at[i]);
        all->ids[i] = (unsigned)i;
        if (!all->text[i])
            return -1;
    }
    return 0;
}

static int refused(const struct pl_rules *rules, const char *file, hs_compile_error_t *why, struct nc_error *error)
{
    if (why->expression >= 0)
        nc_fail(error, NC_EXIT_USAGE, "'%.200s' line %u: the expression of '%s' is refused: %.200s", file,
                rules->at[why->expression].line, rules->at[why->expression].name, why->message);
    else
        nc_fail(error, NC_EXIT_MISSING, "'%.200s': the rules cannot be compiled: %.200s", file, why->message);
    hs_free_compile_error(why);
    return -1;
}

static int compile(struct pl_patterns *made, const struct pl_rules *rules, const char *file, struct nc_error *error)
{
    struct expressions all;
    hs_compile_error_t *why = NULL;
    unsigned mode = HS_MODE_STREAM;
    for (size_t i = 0; i < rules->n; i++) {
        const struct pl_rule *rule = &rules->at[i];
        made->literal_len[i] = rule->regex ? 0 : (uint32_t)rule->len;
        made->started[i] = rule->flags & PL_RULE_START;
        if (made->started[i])
            mode |= HS_MODE_SOM_HORIZON_LARGE;
    }
    if (make_expressions(rules, &all) < 0) {
        free_expressions(&all);
        return nc_fail(error, NC_EXIT_MISSING, "out of memory");
    }
    hs_error_t status = hs_compile_multi((const char *const *)all.text, all.flags, all.ids, (unsigned)all.n, mode, NULL,
                                         &made->database, &why);
    free_expressions(&all);
    if (status != HS_SUCCESS)
        return refused(rules, file, why, error);
    if (hs_alloc_scratch(made->database, &made->scratch) != HS_SUCCESS ||
        hs_stream_size(made->database, &made->stream_bytes) != HS_SUCCESS)
        return nc_fail(error, NC_EXIT_MISSING, "out of memory");
    return 0;
}

struct pl_patterns *pl_patterns_compile(const struct pl_rules *rules, const char *file, struct nc_error *error)
{
    if (hs_valid_platform() != HS_SUCCESS) {
        nc_fail(error, NC_EXIT_MISSING, "this processor lacks what the pattern matcher needs (SSSE3 or its like)");
        return NULL;
    }
    struct pl_patterns *made = calloc(1, sizeof *made);
    if (made) {
        made->n = rules->n;
        made->literal_len = calloc(rules->n, sizeof *made->literal_len);
        made->started = calloc(rules->n, sizeof *made->started);
    }
    if (!made || !made->literal_len || !made->started)
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
    else if (compile(made, rules, file, error) == 0)
        return made;
    pl_patterns_free(made);
    return NULL;
}

void pl_patterns_free(struct pl_patterns *patterns)
{
    if (!patterns)
        return;
    hs_free_scratch(patterns->scratch);
    hs_free_database(patterns->database);
    free(patterns->literal_len);
    free(patterns->started);
    free(patterns);
}

size_t pl_patterns_stream_bytes(const struct pl_patterns *patterns)
{
    return patterns->stream_bytes;
}

void *pl_patterns_open(struct pl_patterns *patterns)
{
    hs_stream_t *stream = NULL;
    return hs_open_stream(patterns->database, 0, &stream) == HS_SUCCESS ? stream : NULL;
}

/* The context of on_event. */
struct event {
    const struct pl_patterns *patterns;
    pl_on_match *on_match;
    void *context;
};

static int on_event(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *context)
{
    const struct event *event = context;
    (void)flags;
    uint64_t start = UINT64_MAX;
    if (event->patterns->literal_len[id])
        start = to - event->patterns->literal_len[id];
    else if (event->patterns->started[id])
        start = from; /* HS_OFFSET_PAST_HORIZON (more than 2^32 bytes ago) is also ULLONG_MAX: the start is not known */
    event->on_match(event->context, id, start, to);
    return 0;
}

int pl_patterns_scan(struct pl_patterns *patterns, void *stream, const uint8_t *data, size_t len, pl_on_match *on_match,
                     void *context)
{
    struct event event = {patterns, on_match, context};
    hs_error_t status =
        hs_scan_stream(stream, (const char *)data, (unsigned)len, 0, patterns->scratch, on_event, &event);
    return status == HS_SUCCESS ? 0 : -1;
}

void pl_patterns_reset(struct pl_patterns *patterns, void *stream)
{
    (void)patterns;
    hs_reset_stream(stream, 0, NULL, NULL, NULL);
}

void pl_patterns_close(struct pl_patterns *patterns, void *stream, pl_on_match *on_match, void *context)
{
    struct event event = {patterns, on_match, context};
    hs_close_stream(stream, on_match ? patterns->scratch : NULL, on_match ? on_event : NULL, &event);
}
