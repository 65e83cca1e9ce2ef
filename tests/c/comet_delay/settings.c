/* Names, prefixes and units of the parameters that `set` accepts. */
#include "models.h"
#include "settings.h"

#include "check.h"

static void prefixes_choose_the_direction(void)
{
    struct nc_error error;
    struct params p[2] = {{0}, {0}};
    CHECK_EQ(settings_set("delay", "4.2ms", p, &error), 0);
    CHECK_EQ(settings_set("ab-rate", "45Mbit", p, &error), 0);
    CHECK_EQ(settings_set("ba-loss", "0.0001%", p, &error), 0);
    CHECK_EQ(settings_set("framing", "ip", p, &error), 0);
    CHECK_EQ(p[0].delay_ns, 4200000);
    CHECK_EQ(p[1].delay_ns, 4200000);
    CHECK_EQ(p[0].rate_bps, 45000000);
    CHECK_EQ(p[1].rate_bps, 0);
    CHECK_STR(p[0].loss, "");
    CHECK_STR(p[1].loss, "0.0001%");
    CHECK_EQ(p[0].framing, FRAMING_IP);
    CHECK_EQ(p[1].framing, FRAMING_IP);
}

static void wrong_values_say_what_is_allowed(void)
{
    static const struct {
        const char *name, *text, *says;
    } cases[] = {
        {"delay", "-4ms", "--delay '-4ms': negative"},
        {"ab-reorder", "101%", "--ab-reorder '101%': out of range; allowed is 0% to 100%"},
        {"rate", "fast", "--rate 'fast': not a rate; want for example 45Mbit"},
        {"queue", "10m", "--queue '10m'"},
        {"framing", "atm", "--framing 'atm': allowed is one of l2, ethernet, ip"},
        {"dealy", "1ms", "'dealy': no such parameter"},
        {"both", "1ms", "'both': no such parameter"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nc_error error;
        struct params p[2] = {{.delay_ns = 7}, {.delay_ns = 8}};
        int status = settings_set(cases[i].name, cases[i].text, p, &error);
        if (strcmp(cases[i].name, "queue") == 0) { /* 10m is 10 MiB: case is ignored */
            CHECK_EQ(status, 0);
            continue;
        }
        CHECK_EQ(status, -1);
        CHECK(strstr(error.text, cases[i].says) != NULL);
        CHECK_EQ(p[0].delay_ns, 7);
    }
}

static void command_line_specific_beats_general(void)
{
    struct settings settings;
    struct params p[2];
    char *argv[] = {"run", "--ab-delay", "1ms",    "--delay", "5ms",       "--a", "tap:x",
                    "--b", "tap:y",      "--loss", "1%",      "--ba-loss", "0"};
    settings_parse(sizeof argv / sizeof argv[0], argv, &settings, p);
    CHECK_EQ(p[0].delay_ns, 1000000);
    CHECK_EQ(p[1].delay_ns, 5000000);
    CHECK_STR(p[0].loss, "1%");
    CHECK_STR(p[1].loss, "0");
    CHECK_STR(settings.port_a, "tap:x");
    CHECK_EQ(settings.box.worker.poll_ns, 50000);
}

/* The default parameters of the command line, changed by names and values as by `set`. */
static struct params path(int n, const char *const pairs[])
{
    struct settings settings;
    struct params p[2];
    struct nc_error error;
    char *argv[] = {"run"};
    settings_parse(1, argv, &settings, p);
    for (int i = 0; i < n; i += 2)
        CHECK_EQ(settings_set(pairs[i], pairs[i + 1], p, &error), 0);
    return p[0];
}

static struct models_held held(int n, const char *const pairs[])
{
    struct nc_error error;
    struct models models;
    struct params p = path(n, pairs);
    CHECK_EQ(models_build(&p, &models, &error), 0);
    struct models_held all = models_held(&p, &models);
    models_free(&models);
    return all;
}
#define HELD(...) held(sizeof (const char *[]){__VA_ARGS__} / sizeof(char *), (const char *const[]){__VA_ARGS__})

static void a_path_holds_its_highest_rate_times_its_longest_delay(void)
{
    CHECK_EQ(HELD("delay", "100ms", "rate", "800Mbit").bytes, 10000000);
    CHECK_EQ(HELD("delay", "100ms", "rate", "800Mbit", "queue", "1MB").bytes, 10000000 + (1 << 20));
    /* the trace counts, not the rate that the trace replaces */
    CHECK_EQ(HELD("delay", "100ms", "rate", "1Mbit", "rate-trace", "rate:0s=8Mbit,1s=800Mbit,2s=80Mbit").bytes,
             10000000);
    CHECK_EQ(HELD("delay", "100ms", "jitter", "50ms", "rate", "800Mbit").bytes, 15000000);
    CHECK_EQ(HELD("delay", "100ms", "jitter", "normal:25ms", "rate", "800Mbit").bytes, 20000000);
}

static void what_changed_is_what_has_another_value(void)
{
    struct params before = path(0, NULL),
                  after = path(6, (const char *const[]){"delay", "0ns", "rate", "45Mbit", "loss", "1%"});
    json_t *changes = params_changes_json(&before, &after);
    CHECK_EQ(json_object_size(changes), 2);
    CHECK_EQ(json_integer_value(json_object_get(changes, "rate_bps")), 45000000);
    CHECK_STR(json_string_value(json_object_get(changes, "loss")), "1%");
    json_decref(changes);
}

int main(void)
{
    RUN(prefixes_choose_the_direction);
    RUN(wrong_values_say_what_is_allowed);
    RUN(command_line_specific_beats_general);
    RUN(a_path_holds_its_highest_rate_times_its_longest_delay);
    RUN(what_changed_is_what_has_another_value);
    return 0;
}
