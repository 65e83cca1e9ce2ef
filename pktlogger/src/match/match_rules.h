/* The rules of `pktlogger match`, one per line (FORMAT.md section 8):
 *
 *     login    string "USER root\r\n" nocase
 *     request  regex  /GET \/[a-z]+\.php/ opener once
 *
 * Invariants: a set that was read has at least one rule, no two rules share a name, and no pattern is empty. Regular
 * expressions are checked by the engine that compiles them, not here.
 * Rejected: the rule language of Snort and Suricata. Most of it (protocols, sticky buffers, thresholds) would have to
 * be refused. A rule of which only a part is supported would find something else than its author meant. */
#ifndef PL_MATCH_RULES_H
#define PL_MATCH_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum { PL_RULE_NAME_MAX = 64, PL_RULE_PATTERN_MAX = 4096, PL_RULE_LINE_MAX = 16384, PL_RULES_MAX = 65536 };

enum pl_rule_flag {
    PL_RULE_NOCASE = 1,     /* ASCII letters match in either case */
    PL_RULE_ONCE = 2,       /* at most one hit per direction of a connection */
    PL_RULE_START = 4,      /* also say where a regular expression's match begins */
    PL_RULE_DOTALL = 8,     /* regex: `.` matches a newline */
    PL_RULE_MULTILINE = 16, /* regex: `^` and `$` match at newlines */
    PL_RULE_OPENER = 32,    /* only what the opener of the connection sends */
    PL_RULE_ANSWERER = 64,  /* only what the other side sends */
};

struct pl_rule {
    char name[PL_RULE_NAME_MAX + 1];
    bool regex;       /* else a string */
    unsigned flags;   /* enum pl_rule_flag */
    unsigned line;    /* in the file, from 1 */
    uint8_t *pattern; /* bytes of the string, or text of the expression; one more byte, a NUL, follows */
    size_t len;
};

struct pl_rules {
    struct pl_rule *at;
    size_t n, room;
};

/* Reads the rules at [text, text + len). Errors use `file` as the name of their source: "'rules' line 7: …". Returns 0,
 * or -1 with the error (status 2). pl_rules_free is allowed after either. */
int pl_rules_read(struct pl_rules *rules, const char *file, const uint8_t *text, size_t len, struct nc_error *error);
void pl_rules_free(struct pl_rules *rules);

#endif
