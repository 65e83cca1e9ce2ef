/* The option table. A parse that ends the program runs in a child process, whose exit status and stderr are what a user
 * sees. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "nc_log.h"
#include "nc_options.h"

struct settings {
    bool quiet;
    const char *host;
    int mode;
    uint64_t delay_ns, rate_bps;
    struct nc_strings interfaces;
    struct nc_quantities losses;
};

static const char *const modes[] = {"fast", "slow", NULL};

#define AT(field) .offset = offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option table[] = {
    {.name = "general", .kind = NC_OPT_SECTION},
    {.name = "quiet", .letter = 'q', .kind = NC_OPT_FLAG, .help = "say less", AT(quiet)},
    {.name = "host", .letter = 'H', .kind = NC_OPT_STRING, .metavar = "HOST", .help = "where to", AT(host)},
    {.name = "mode", .kind = NC_OPT_CHOICE, .choices = modes, .default_text = "slow", .help = "how", AT(mode)},
    {.name = "delay", .letter = 'd', .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "10ms",
     .min = 1000, .max = 1000000000, .help = "one-way delay", AT(delay_ns)},
    {.name = "rate", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_RATE, .min = 1000, .default_text = "1Mbit",
     .help = "rate",
     AT(rate_bps)},
    {.name = "interface", .letter = 'i', .kind = NC_OPT_LIST, .help = "may be repeated", AT(interfaces)},
    {.name = "loss", .kind = NC_OPT_QUANTITIES, .unit = NC_UNIT_RATIO, .default_text = "1%", .max = NC_RATIO_ONE / 2,
     .help = "a value or several", AT(losses)},
};
/* clang-format on */
enum { ROWS = sizeof table / sizeof table[0], QUIET = 1, DELAY = 4 };
static const struct nc_usage usage = {"tool [options]", "Does a thing.", "example: tool"};

struct ended {
    int status;
    char out[8192], err[1024];
};

static void drain(int fd, char *text, size_t size)
{
    size_t used = 0;
    for (ssize_t n; used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = '\0';
    close(fd);
}

static int count_args(char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return argc;
}

static struct ended run_child(char **argv)
{
    struct ended ended;
    int out[2], err[2], status;
    CHECK(pipe(out) == 0 && pipe(err) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct settings settings;
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        nc_options_parse(table, ROWS, &usage, &settings, NULL, count_args(argv), argv);
        _exit(99);
    }
    close(out[1]);
    close(err[1]);
    drain(out[0], ended.out, sizeof ended.out);
    drain(err[0], ended.err, sizeof ended.err);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    ended.status = WEXITSTATUS(status);
    return ended;
}
#define RUN_CHILD(...) run_child((char *[]){"tool", __VA_ARGS__, NULL})

static int parse(struct settings *settings, bool *given, char **argv)
{
    return nc_options_parse(table, ROWS, &usage, settings, given, count_args(argv), argv);
}
#define PARSE(settings, given, ...) parse(settings, given, (char *[]){"tool", __VA_ARGS__, NULL})

static void defaults(void)
{
    struct settings settings;
    memset(&settings, 0xff, sizeof settings);
    nc_options_defaults(table, ROWS, &settings);
    CHECK(!settings.quiet);
    CHECK(!settings.host);
    CHECK_EQ(settings.mode, 1);
    CHECK_EQ(settings.delay_ns, 10000000);
    CHECK_EQ(settings.rate_bps, 1000000);
    CHECK_EQ(settings.interfaces.n, 0);
    CHECK_EQ(settings.losses.n, 1);
    CHECK_EQ(settings.losses.at[0], NC_RATIO_ONE / 100);
}

static void the_first_of_several_values_replaces_the_default(void)
{
    struct settings settings;
    CHECK_EQ(PARSE(&settings, NULL, "--loss", "0", "--loss=10%"), 4);
    CHECK_EQ(settings.losses.n, 2);
    CHECK_EQ(settings.losses.at[0], 0);
    CHECK_EQ(settings.losses.at[1], NC_RATIO_ONE / 10);
}

static void values_land_in_the_settings(void)
{
    struct settings settings;
    bool given[ROWS];
    char *argv[] = {"tool", "-qd",    "4.2ms",  "first", "--mode=fast", "-i",     "a", "--interface",
                    "b",    "--rate", "10Gbit", "-H",    "example",     "second", NULL};
    int rest = parse(&settings, given, argv);
    CHECK(settings.quiet);
    CHECK_EQ(settings.delay_ns, 4200000);
    CHECK_EQ(settings.mode, 0);
    CHECK_EQ(settings.interfaces.n, 2);
    CHECK_STR(settings.interfaces.at[1], "b");
    CHECK_EQ(settings.rate_bps, UINT64_C(10000000000));
    CHECK_STR(settings.host, "example");
    CHECK_EQ(count_args(argv) - rest, 2);
    CHECK_STR(argv[rest], "first"); /* positional arguments are moved behind */
    CHECK(given[QUIET] && given[DELAY]);
    CHECK(PARSE(&settings, given, "-q", "--", "-d") == 3); /* and a second parse starts again */
    CHECK(!given[DELAY] && settings.delay_ns == 10000000);
}

/* Each mistake must give exit status 2 and one line that contains all of these words. */
static void mistakes_are_told_in_one_line(void)
{
    static const struct {
        char *argv[4];
        const char *words[4];
    } rows[] = {
        {{"tool", "--delay", "soon"}, {"--delay", "'soon'", "100ms"}},
        {{"tool", "--delay=-5ms"}, {"--delay", "'-5ms'", "negative"}},
        {{"tool", "-d2s"}, {"--delay", "'2s'", "1us", "1s"}},
        {{"tool", "--rate", "1bit"}, {"--rate", "'1bit'", "1Kbit or more"}},
        {{"tool", "--rate", ""}, {"--rate", "''"}},
        {{"tool", "--loss=0", "--loss", "51%"}, {"--loss", "'51%'", "0% to 50%"}},
        {{"tool", "--mode", "medium"}, {"--mode", "'medium'", "fast, slow"}},
        {{"tool", "--dleay", "5ms"}, {"--dleay", "no such option; did you mean --delay?", "--help"}},
        {{"tool", "--dleay=5ms"}, {"--dleay=5ms", "did you mean --delay?"}},
        {{"tool", "--frobnicate"}, {"--frobnicate", "no such option, or short for several"}},
        {{"tool", "-z"}, {"-z", "no such option"}},
        {{"tool", "-qz"}, {"-z", "no such option"}},
        {{"tool", "--delay"}, {"--delay", "wants a value"}},
        {{"tool", "-d"}, {"-d", "wants a value"}},
        {{"tool", "--quiet=yes"}, {"--quiet", "takes no value"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *argv[5] = {rows[i].argv[0], rows[i].argv[1], rows[i].argv[2], rows[i].argv[3], NULL};
        struct ended ended = run_child(argv);
        CHECK_EQ(ended.status, NC_EXIT_USAGE);
        CHECK(strchr(ended.err, '\n') == ended.err + strlen(ended.err) - 1);
        /* stdout is not a terminal here: a program that reads it gets the error event, one line */
        CHECK(strstr(ended.out, "{\"v\":1,\"event\":\"error\",\"status\":2,") == ended.out);
        CHECK(strchr(ended.out, '\n') == ended.out + strlen(ended.out) - 1);
        for (size_t j = 0; j < 4 && rows[i].words[j]; j++)
            if (!strstr(ended.err, rows[i].words[j])) {
                fprintf(stderr, "'%s %s': no '%s' in: %s", argv[1], argv[2] ? argv[2] : "", rows[i].words[j],
                        ended.err);
                CHECK(!"a word is missing");
            }
    }
}

static void too_many_of_a_list(void)
{
    static char *const rows[][2] = {{"--interface", "eth0"}, {"--loss", "0"}};
    for (size_t row = 0; row < 2; row++) {
        char *argv[2 * NC_STRINGS_MAX + 4] = {"tool"};
        for (int i = 0; i <= NC_STRINGS_MAX; i++) {
            argv[1 + 2 * i] = rows[row][0];
            argv[2 + 2 * i] = rows[row][1];
        }
        struct ended ended = run_child(argv);
        CHECK_EQ(ended.status, NC_EXIT_USAGE);
        CHECK(strstr(ended.err, rows[row][0]) && strstr(ended.err, "16"));
    }
}

/* The bounds of a row, in the words of the error message. If --help left one out, users would have to try values. */
static void help_shows_both_kinds_of_range(void)
{
    struct ended ended = RUN_CHILD("--help"), low = RUN_CHILD("--rate", "999bit");
    CHECK(strstr(ended.out, "one-way delay [10ms] (1us to 1s)\n"));
    CHECK(strstr(ended.out, "rate [1Mbit] (1Kbit or more)\n"));
    CHECK(strstr(ended.out, "--loss RATIO") && strstr(ended.out, "a value or several [1%] (0% to 50%)\n"));
    CHECK(strstr(low.err, "allowed is 1Kbit or more"));
}

static void help_names_every_option(void)
{
    struct ended ended = RUN_CHILD("--help"), brief = RUN_CHILD("-h");
    CHECK_EQ(ended.status, 0);
    CHECK_STR(ended.err, "");
    CHECK_STR(ended.out, brief.out);
    for (size_t i = 0; i < ROWS; i++)
        CHECK(strstr(ended.out, table[i].name) && (!table[i].help || strstr(ended.out, table[i].help)));
    CHECK(strstr(ended.out, "usage: tool [options]"));
    CHECK(strstr(ended.out, "fast|slow") && strstr(ended.out, "[10ms]") && strstr(ended.out, "HOST"));
}

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static void options_json_is_the_table(void)
{
    struct ended ended = RUN_CHILD("--options-json");
    CHECK_EQ(ended.status, 0);
    json_t *answer = json_loads(ended.out, 0, NULL);
    CHECK(answer);
    CHECK_STR(text_of(answer, "tool"), program_invocation_short_name);
    CHECK_STR(text_of(answer, "verb"), "tool"); /* argv[0] of a verb is its name */
    const json_t *rows = json_object_get(answer, "options");
    CHECK_EQ(json_array_size(rows), ROWS - 1); /* without the section */
    const json_t *quiet = json_array_get(rows, 0), *mode = json_array_get(rows, 2), *rate = json_array_get(rows, 4);
    CHECK_STR(text_of(quiet, "kind"), "flag");
    CHECK(json_is_false(json_object_get(quiet, "default")) && json_is_null(json_object_get(quiet, "metavar")));
    CHECK_STR(text_of(mode, "default"), "slow");
    CHECK_EQ(json_array_size(json_object_get(mode, "choices")), 2);
    CHECK_STR(text_of(mode, "metavar"), "fast|slow");
    CHECK_STR(text_of(rate, "minimum_text"), "1Kbit");
    CHECK(json_is_null(json_object_get(rate, "maximum")) && json_is_null(json_object_get(rate, "maximum_text")));
    CHECK(json_is_null(json_object_get(rate, "letter")));
    json_decref(answer);
}

static void options_json_has_quantities_in_base_units_and_as_text(void)
{
    struct ended ended = RUN_CHILD("--options-json");
    json_t *answer = json_loads(ended.out, 0, NULL);
    const json_t *delay = json_array_get(json_object_get(answer, "options"), DELAY - 1);
    CHECK_STR(text_of(delay, "name"), "delay");
    CHECK_STR(text_of(delay, "letter"), "d");
    CHECK_STR(text_of(delay, "kind"), "quantity");
    CHECK_STR(text_of(delay, "unit"), "duration");
    CHECK_STR(text_of(delay, "metavar"), "DURATION");
    CHECK_EQ(json_integer_value(json_object_get(delay, "default")), 10000000);
    CHECK_STR(text_of(delay, "default_text"), "10ms");
    CHECK_EQ(json_integer_value(json_object_get(delay, "minimum")), 1000);
    CHECK_STR(text_of(delay, "minimum_text"), "1us");
    CHECK_EQ(json_integer_value(json_object_get(delay, "maximum")), 1000000000);
    CHECK_STR(text_of(delay, "maximum_text"), "1s");
    json_decref(answer);
}

/* The use by the control socket: a refused value must leave the setting unchanged. */
static void a_refused_value_changes_nothing(void)
{
    struct settings settings;
    struct nc_error error;
    nc_options_defaults(table, ROWS, &settings);
    CHECK_EQ(nc_option_set(&table[DELAY], "5s", &settings, &error), -1);
    CHECK(strstr(error.text, "--delay") && strstr(error.text, "'5s'"));
    CHECK_EQ(settings.delay_ns, 10000000);
    CHECK_EQ(nc_option_set(&table[DELAY], "1s", &settings, &error), 0);
    CHECK_EQ(settings.delay_ns, 1000000000);
}

int main(void)
{
    RUN(defaults);
    RUN(values_land_in_the_settings);
    RUN(the_first_of_several_values_replaces_the_default);
    RUN(mistakes_are_told_in_one_line);
    RUN(too_many_of_a_list);
    RUN(help_names_every_option);
    RUN(help_shows_both_kinds_of_range);
    RUN(options_json_is_the_table);
    RUN(options_json_has_quantities_in_base_units_and_as_text);
    RUN(a_refused_value_changes_nothing);
    return 0;
}
