/* The rules of `match`: how a line is read, and what errors say. */
#include "match_rules.h"

#include "check.h"

static int read_text(struct pl_rules *rules, const char *text, struct nc_error *error)
{
    return pl_rules_read(rules, "r", (const uint8_t *)text, strlen(text), error);
}

static void a_line_is_a_rule(void)
{
    struct pl_rules rules;
    struct nc_error error;
    const char *text = "# all kinds\n"
                       "\n"
                       "a.b-c_1 string \"USER \\x00\\n\\\"\\\\\" nocase once # said\r\n"
                       "  web\tregex /GET \\/[a-z]+\\\\\\.php\\// start opener dotall";
    CHECK_DONE(read_text(&rules, text, &error), text, error);
    CHECK_EQ(rules.n, 2);
    CHECK_STR(rules.at[0].name, "a.b-c_1");
    CHECK_EQ(rules.at[0].len, 9);
    CHECK(memcmp(rules.at[0].pattern, "USER \0\n\"\\", 9) == 0);
    CHECK_EQ(rules.at[0].flags, PL_RULE_NOCASE | PL_RULE_ONCE);
    CHECK_EQ(rules.at[0].line, 3);
    CHECK(!rules.at[0].regex && rules.at[1].regex);
    CHECK_STR((const char *)rules.at[1].pattern, "GET /[a-z]+\\\\\\.php/");
    CHECK_EQ(rules.at[1].flags, PL_RULE_START | PL_RULE_OPENER | PL_RULE_DOTALL);
    CHECK_EQ(rules.at[1].line, 4);
    pl_rules_free(&rules);
}

static void an_error_names_file_and_line(void)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"", "'r': has no rule"},
        {"# nothing\n", "'r': has no rule"},
        {"a string \"x\"\nb strin \"x\"\n", "'r' line 2: want `string"},
        {"a! string \"x\"", "'r' line 1: a rule begins with its name"},
        {"a string x", "'r' line 1: a string stands between double quotes"},
        {"a regex x", "'r' line 1: an expression stands between slashes"},
        {"a string \"x", "'r' line 1: the string has no closing quote"},
        {"a regex /x\\/", "'r' line 1: the expression has no closing slash"},
        {"a string \"\\q\"", "'r' line 1: an escape is one of"},
        {"a string \"\\x4\"", "'r' line 1: an escape is one of"},
        {"a string \"\"", "'r' line 1: the pattern is empty"},
        {"a string \"x\"once", "'r' line 1: a space belongs"},
        {"a string \"x\" dotall", "'r' line 1: `start`, `dotall` and `multiline`"},
        {"a string \"x\" twice", "'r' line 1: a flag is one of"},
        {"a regex /x/ once start", "'r' line 1: `once` and `start`"},
        {"a regex /x/ opener answerer", "'r' line 1: `opener` and `answerer`"},
        {"b string \"x\"\na string \"x\"\n\na string \"y\"", "'r' line 4: the name 'a' is taken by line 2"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pl_rules rules;
        struct nc_error error = {.status = 0};
        CHECK_EQ(read_text(&rules, wrong[i].text, &error), -1);
        CHECK_EQ(error.status, NC_EXIT_USAGE);
        if (strncmp(error.text, wrong[i].says, strlen(wrong[i].says)) != 0)
            CHECK_STR(error.text, wrong[i].says);
        pl_rules_free(&rules);
    }
}

static void a_pattern_has_a_largest_length(void)
{
    char text[PL_RULE_PATTERN_MAX + 64];
    struct pl_rules rules;
    struct nc_error error;
    for (int more = 0; more < 2; more++) {
        int len = PL_RULE_PATTERN_MAX - 1 + more;
        snprintf(text, sizeof text, "a string \"%0*d\"", len, 7);
        CHECK_EQ(read_text(&rules, text, &error), more ? -1 : 0);
        pl_rules_free(&rules);
    }
}

int main(void)
{
    RUN(a_line_is_a_rule);
    RUN(an_error_names_file_and_line);
    RUN(a_pattern_has_a_largest_length);
    return 0;
}
