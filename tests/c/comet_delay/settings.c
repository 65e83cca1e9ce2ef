/* Names, prefixes and units of the parameters, as `set` takes them. */
#include "settings.h"

#include "check.h"

static void prefixes_choose_the_direction(void)
{
    char why[256];
    struct params p[2] = {{0}, {0}};
    CHECK_EQ(settings_set("delay", "4.2ms", p, why, sizeof why), 0);
    CHECK_EQ(settings_set("ab-rate", "45Mbit", p, why, sizeof why), 0);
    CHECK_EQ(settings_set("ba-loss", "0.0001%", p, why, sizeof why), 0);
    CHECK_EQ(settings_set("framing", "ip", p, why, sizeof why), 0);
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
    static const struct { const char *name, *text, *says; } cases[] = {
        {"delay", "-4ms", "--delay '-4ms': negative"},
        {"ab-reorder", "101%", "--ab-reorder '101%': out of range; allowed is 0% to 100%"},
        {"rate", "fast", "--rate 'fast': not a rate; want for example 45Mbit"},
        {"queue", "10m", "--queue '10m'"},
        {"framing", "atm", "--framing 'atm': allowed is one of l2, ethernet, ip"},
        {"dealy", "1ms", "'dealy': no such parameter"},
        {"both", "1ms", "'both': no such parameter"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[256] = "";
        struct params p[2] = {{.delay_ns = 7}, {.delay_ns = 8}};
        int status = settings_set(cases[i].name, cases[i].text, p, why, sizeof why);
        if (strcmp(cases[i].name, "queue") == 0) { /* 10m is 10 MiB: case is ignored */
            CHECK_EQ(status, 0);
            continue;
        }
        CHECK_EQ(status, -1);
        CHECK(strstr(why, cases[i].says) != NULL);
        CHECK_EQ(p[0].delay_ns, 7);
    }
}

static void command_line_specific_beats_general(void)
{
    struct settings settings;
    struct params p[2];
    char *argv[] = {"run", "--ab-delay", "1ms", "--delay", "5ms", "--a", "tap:x", "--b", "tap:y", "--loss", "1%", "--ba-loss", "0"};
    settings_parse(sizeof argv / sizeof argv[0], argv, &settings, p);
    CHECK_EQ(p[0].delay_ns, 1000000);
    CHECK_EQ(p[1].delay_ns, 5000000);
    CHECK_STR(p[0].loss, "1%");
    CHECK_STR(p[1].loss, "0");
    CHECK_STR(settings.port_a, "tap:x");
    CHECK_EQ(settings.box.poll_ns, 50000);
}

int main(void)
{
    RUN(prefixes_choose_the_direction);
    RUN(wrong_values_say_what_is_allowed);
    RUN(command_line_specific_beats_general);
    return 0;
}
