/* Names and parameters in the form in which a user types them. */
#include "catalog.h"

#include "check.h"

static struct nc_error error; /* each test program is a single thread and starts once */
static struct cc_choice choice;

static void other_names_pass(void)
{
    CHECK_EQ(cc_choice_parse(&choice, "cubic", &error), 0);
    CHECK_EQ(cc_choice_parse(&choice, "dctcp", &error), 0);
}

static void parameters_are_read_and_the_rest_is_default(void)
{
    CHECK_EQ(cc_choice_parse(&choice, "lfp_xys:y=16,x=2.5", &error), 1);
    CHECK_EQ(choice.values_q16[0], 163840);
    CHECK_EQ(choice.values_q16[1], 16 << 16);
    CHECK_EQ(choice.values_q16[2], 0);
    CHECK(choice.given);
    CHECK_EQ(cc_choice_parse(&choice, "lfp_xys", &error), 1);
    CHECK(!choice.given);
    CHECK_EQ(choice.values_q16[0], 2 << 16);
}

static void a_bad_parameter_is_one_line_with_what_is_allowed(void)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"lfp_xys:x=0.5", "1 to 1024"},    {"lfp_xys:x=nan", "1 to 1024"},
        {"lfp_xys:x=", "1 to 1024"},       {"lfp_xys:x=2y", "1 to 1024"},
        {"lfp_xys:z=2", "x, y, adaptive"}, {"lfp_xys:", "x, y, adaptive"},
        {"lfp_xys:x", "x, y, adaptive"},   {"lfp_unknown:x=1", "parameters only with lfp_cpeak"},
        {"cubic:x=1", "lfp_xys"},          {"lfp_unknown", "or one of lfp_cpeak"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ(cc_choice_parse(&choice, cases[i].text, &error), -1);
        CHECK_EQ(error.status, NC_EXIT_USAGE);
        CHECK(strstr(error.text, cases[i].said));
    }
}

static void defaults_are_within_their_ranges(void)
{
    const struct cc_entry *entries;
    for (size_t i = 0, n = cc_catalog(&entries); i < n; i++) {
        CHECK(strlen(entries[i].name) <= 15); /* the limit of TCP_CONGESTION and of a BPF map */
        for (size_t at = 0; at < entries[i].n_params; at++) {
            const struct cc_param *param = &entries[i].params[at];
            CHECK(param->least <= param->value && param->value <= param->most && param->most < 65536);
        }
    }
}

int main(void)
{
    RUN(other_names_pass);
    RUN(parameters_are_read_and_the_rest_is_default);
    RUN(a_bad_parameter_is_one_line_with_what_is_allowed);
    RUN(defaults_are_within_their_ranges);
    return 0;
}
