/* Implements match_rules.h: a cursor over one line at a time. Duplicate names are found by sorting at the end, because
 * comparing each of 65,536 rules with each would take too long. */
#include "match_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    unsigned line;
    const char *file;
    struct nc_error *error;
};

static const struct {
    const char *name;
    unsigned flag;
    bool regex_only;
} flag_names[] = {
    {"nocase", PL_RULE_NOCASE, false},     {"once", PL_RULE_ONCE, false},          {"start", PL_RULE_START, true},
    {"dotall", PL_RULE_DOTALL, true},      {"multiline", PL_RULE_MULTILINE, true}, {"opener", PL_RULE_OPENER, false},
    {"answerer", PL_RULE_ANSWERER, false},
};

static int fail(const struct cursor *cursor, const char *what)
{
    return nc_fail(cursor->error, NC_EXIT_USAGE, "'%.200s' line %u: %s", cursor->file, cursor->line, what);
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static void skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end && is_space(*cursor->at))
        cursor->at++;
}

/* The next word, which ends at a space, and its length. */
static size_t take_word(struct cursor *cursor, const uint8_t **word)
{
    skip_space(cursor);
    *word = cursor->at;
    while (cursor->at < cursor->end && !is_space(*cursor->at))
        cursor->at++;
    return (size_t)(cursor->at - *word);
}

static bool is_name_byte(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '.' || byte == '_' || byte == '-';
}

static int take_name(struct cursor *cursor, struct pl_rule *rule)
{
    const uint8_t *word;
    size_t len = take_word(cursor, &word);
    if (len > PL_RULE_NAME_MAX)
        return fail(cursor, "the rule's name is longer than 64 characters");
    for (size_t i = 0; i < len; i++)
        if (!is_name_byte(word[i]))
            return fail(cursor, "a rule begins with its name, which has letters, digits, '.', '_' and '-' only");
    memcpy(rule->name, word, len);
    rule->name[len] = '\0';
    return 0;
}

static int take_kind(struct cursor *cursor, struct pl_rule *rule)
{
    const uint8_t *word;
    size_t len = take_word(cursor, &word);
    rule->regex = len == 5 && memcmp(word, "regex", 5) == 0;
    if (rule->regex || (len == 6 && memcmp(word, "string", 6) == 0))
        return 0;
    return fail(cursor, "want `string \"…\"` or `regex /…/` behind the rule's name");
}

static int hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The byte for the escape sequence at the cursor (after the backslash); -1: there is no such sequence. */
static int take_escape(struct cursor *cursor)
{
    static const char from[] = "nrt0\\\"", to[] = "\n\r\t\0\\\"";
    if (cursor->at == cursor->end)
        return -1;
    uint8_t byte = *cursor->at++;
    for (size_t i = 0; i < sizeof from - 1; i++)
        if (byte == (uint8_t)from[i])
            return (uint8_t)to[i];
    if (byte != 'x' || cursor->end - cursor->at < 2)
        return -1;
    int high = hex_digit(cursor->at[0]), low = hex_digit(cursor->at[1]);
    cursor->at += 2;
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Reads one byte of the pattern. In a string, escapes are replaced; in an expression, only `\/` is. -1: bad. */
static int take_pattern_byte(struct cursor *cursor, bool regex)
{
    uint8_t byte = *cursor->at++;
    if (byte != '\\')
        return byte;
    if (!regex)
        return take_escape(cursor);
    if (cursor->at < cursor->end && *cursor->at == '/')
        return *cursor->at++;
    return byte;
}

static int take_pattern(struct cursor *cursor, struct pl_rule *rule)
{
    uint8_t limit = rule->regex ? '/' : '"', bytes[PL_RULE_PATTERN_MAX];
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at++ != limit)
        return fail(cursor, rule->regex ? "an expression stands between slashes: regex /…/"
                                        : "a string stands between double quotes: string \"…\"");
    while (cursor->at < cursor->end && *cursor->at != limit) {
        bool escaped_pair = rule->regex && *cursor->at == '\\' && cursor->end - cursor->at > 1 && cursor->at[1] != '/';
        int byte = take_pattern_byte(cursor, rule->regex);
        if (byte < 0)
            return fail(cursor, "an escape is one of \\n \\r \\t \\0 \\\\ \\\" \\xHH");
        if (rule->len + 2 > sizeof bytes)
            return fail(cursor, "the pattern is longer than 4,095 bytes");
        bytes[rule->len++] = (uint8_t)byte;
        if (escaped_pair) /* after `\\` the slash is not escaped */
            bytes[rule->len++] = *cursor->at++;
    }
    if (cursor->at++ >= cursor->end)
        return fail(cursor, rule->regex ? "the expression has no closing slash" : "the string has no closing quote");
    if (rule->len == 0)
        return fail(cursor, "the pattern is empty");
    if (rule->regex && memchr(bytes, 0, rule->len))
        return fail(cursor, "an expression holds a NUL byte; write \\x00");
    if (!(rule->pattern = malloc(rule->len + 1)))
        return fail(cursor, "out of memory");
    memcpy(rule->pattern, bytes, rule->len);
    rule->pattern[rule->len] = '\0';
    return 0;
}

static int take_flag(struct cursor *cursor, const uint8_t *word, size_t len, struct pl_rule *rule)
{
    for (size_t i = 0; i < sizeof flag_names / sizeof *flag_names; i++) {
        if (strlen(flag_names[i].name) != len || memcmp(word, flag_names[i].name, len) != 0)
            continue;
        if (flag_names[i].regex_only && !rule->regex)
            return fail(cursor, "`start`, `dotall` and `multiline` are for expressions, not for strings");
        rule->flags |= flag_names[i].flag;
        return 0;
    }
    return fail(cursor, "a flag is one of nocase, once, start, dotall, multiline, opener, answerer");
}

static int take_flags(struct cursor *cursor, struct pl_rule *rule)
{
    const uint8_t *word;
    if (cursor->at < cursor->end && !is_space(*cursor->at))
        return fail(cursor, "a space belongs between the pattern and its flags");
    for (size_t len; (len = take_word(cursor, &word)) > 0 && word[0] != '#';)
        if (take_flag(cursor, word, len, rule) < 0)
            return -1;
    if ((rule->flags & PL_RULE_ONCE) && (rule->flags & PL_RULE_START))
        return fail(cursor, "`once` and `start` exclude each other; leave one out");
    if ((rule->flags & PL_RULE_OPENER) && (rule->flags & PL_RULE_ANSWERER))
        return fail(cursor, "`opener` and `answerer` exclude each other; leave both out for both directions");
    return 0;
}

static struct pl_rule *add_rule(struct pl_rules *rules, const struct cursor *cursor)
{
    if (rules->n == PL_RULES_MAX)
        return fail(cursor, "more than 65,536 rules"), NULL;
    if (rules->n == rules->room) {
        size_t room = rules->room ? rules->room * 2 : 64;
        struct pl_rule *grown = realloc(rules->at, room * sizeof *grown);
        if (!grown)
            return fail(cursor, "out of memory"), NULL;
        rules->at = grown;
        rules->room = room;
    }
    struct pl_rule *rule = &rules->at[rules->n++];
    *rule = (struct pl_rule){.line = cursor->line};
    return rule;
}

static int take_line(struct pl_rules *rules, struct cursor *cursor)
{
    if (cursor->end - cursor->at > PL_RULE_LINE_MAX)
        return fail(cursor, "longer than 16,384 bytes");
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at == '#')
        return 0;
    struct pl_rule *rule = add_rule(rules, cursor);
    if (!rule || take_name(cursor, rule) < 0 || take_kind(cursor, rule) < 0 || take_pattern(cursor, rule) < 0)
        return -1;
    return take_flags(cursor, rule);
}

static int by_name(const void *a, const void *b)
{
    const struct pl_rule *left = *(const struct pl_rule *const *)a, *right = *(const struct pl_rule *const *)b;
    int order = strcmp(left->name, right->name);
    return order ? order : left->line < right->line ? -1 : 1;
}

static int check_names(const struct pl_rules *rules, const char *file, struct nc_error *error)
{
    const struct pl_rule **sorted = malloc((rules->n + 1) * sizeof *sorted);
    if (!sorted)
        return nc_fail(error, NC_EXIT_MISSING, "out of memory");
    for (size_t i = 0; i < rules->n; i++)
        sorted[i] = &rules->at[i];
    qsort(sorted, rules->n, sizeof *sorted, by_name);
    int status = 0;
    for (size_t i = 1; i < rules->n && status == 0; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status =
                nc_fail(error, NC_EXIT_USAGE, "'%.200s' line %u: the name '%s' is taken by line %u; give it another",
                        file, sorted[i]->line, sorted[i]->name, sorted[i - 1]->line);
    free(sorted);
    return status;
}

int pl_rules_read(struct pl_rules *rules, const char *file, const uint8_t *text, size_t len, struct nc_error *error)
{
    *rules = (struct pl_rules){.n = 0};
    struct cursor cursor = {.file = file, .error = error};
    for (const uint8_t *at = text, *end = text + len; at < end;) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        cursor.at = at;
        cursor.end = newline ? newline : end;
        cursor.line++;
        at = newline ? newline + 1 : end;
        if (take_line(rules, &cursor) < 0)
            return -1;
    }
    if (rules->n == 0)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': has no rule; want lines as in: login string \"USER root\"",
                       file);
    return check_names(rules, file, error);
}

void pl_rules_free(struct pl_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        free(rules->at[i].pattern);
    free(rules->at);
    *rules = (struct pl_rules){.n = 0};
}
