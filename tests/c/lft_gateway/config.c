/* The TOML file becomes options. Errors name the line. The file of the key must be private. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "config_file.h"
#include "psk.h"
#include "settings.h"

static const char *write_file(const char *text, mode_t mode)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/lft-config-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
    close(fd);
    return path;
}

static int read_text(const char *text, struct config_arguments *out, struct nc_error *error)
{
    size_t n;
    const struct nc_option *rows = settings_rows(&n);
    const char *path = write_file(text, 0600);
    *out = (struct config_arguments){0};
    int failed = config_file_read(path, rows, n, out, error);
    unlink(path);
    return failed;
}

static void release(struct config_arguments *arguments)
{
    for (size_t i = 0; i < arguments->n; i++)
        free(arguments->at[i]);
    free(arguments->at);
}

static void test_values_become_options(void)
{
    struct nc_error error;
    struct config_arguments got;
    CHECK_EQ(read_text("[rate]\nrate = \"800Mbit\"\nno_redundancy = true\n[relay]\nrouter = false\nlan = [\"eth0\", "
                       "\"eth1\"]\nsessions = 10\n",
                       &got, &error),
             0);
    static const char *const want[] = {"--lan=eth0", "--lan=eth1", "--no-redundancy", "--rate=800Mbit",
                                       "--sessions=10"};
    for (size_t w = 0; w < sizeof want / sizeof want[0]; w++) {
        bool found = false;
        for (size_t i = 0; i < got.n; i++)
            found |= strcmp(got.at[i], want[w]) == 0;
        CHECK(found);
    }
    CHECK_EQ(got.n, sizeof want / sizeof want[0]);
    release(&got);
}

static void test_rates_are_whole_megabits(void)
{
    struct nc_error error;
    struct settings settings = {.psk_file = "psk", .name = "lft", .rate_bps = 7000000};
    CHECK_EQ(settings_check(&settings, &error), 0);
    CHECK(settings_redundancy(&settings));
    settings.rate_bps = 1500000;
    CHECK(settings_check(&settings, &error) < 0 && strstr(error.text, "--rate: 1500000 bit/s"));
    settings.rate_bps = 0;
    CHECK(!settings_redundancy(&settings));
    settings.host_rate_bps = 999999;
    CHECK(settings_check(&settings, &error) < 0 && strstr(error.text, "--host-rate: 999999 bit/s"));
}

static void test_mistakes_name_their_line(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"[rate]\nrate = \"fast\"\n", ":2: --rate 'fast'"},
                 {"[rate]\nspeed = 1\n", ":2: [rate] has no key 'speed'"},
                 {"[relay]\n\nrate = \"1Mbit\"\n", ":3: 'rate' belongs under [rate]"},
                 {"[rate]\nrate = \n", ":2: "},
                 {"[rate]\nrate = true\n", ":2: 'rate': want a text"},
                 {"rate = 1\n", ":1: 'rate' stands outside"},
                 {"[relay]\nrouter = \"yes\"\n", ":2: 'router': want true or false"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nc_error error;
        struct config_arguments got;
        CHECK_EQ(read_text(cases[i].text, &got, &error), -1);
        if (!strstr(error.text, cases[i].want))
            fprintf(stderr, "'%s': %s\n", cases[i].text, error.text);
        CHECK(strstr(error.text, cases[i].want));
        release(&got);
    }
}

static int read_key(const char *text, mode_t mode, uint8_t key[LFT_PSK_BYTES], struct nc_error *error)
{
    const char *path = write_file(text, mode);
    const struct settings settings = {.psk_file = path, .gateway_name = "oslo", .peer_name = "tokyo"};
    int result = psk_read(&settings, key, error);
    unlink(path);
    return result;
}

static void test_keys_must_be_private(void)
{
    static const struct {
        mode_t mode;
        int want;
    } cases[] = {{0600, 0}, {0400, 0}, {0640, -1}, {0604, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t key[LFT_PSK_BYTES];
        struct nc_error error;
        CHECK_EQ(read_key("an everyday text of some length", cases[i].mode, key, &error), cases[i].want);
    }
}

/* A key of 64 hexadecimal digits or 32 octets is used directly. A passphrase is stretched, and gives different keys for
 * different gateway names. */
static void test_forms_of_a_key(void)
{
    static const char digits[] = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F\n";
    uint8_t want[LFT_PSK_BYTES], key[LFT_PSK_BYTES], other[LFT_PSK_BYTES];
    char octets[LFT_PSK_BYTES + 1];
    struct nc_error error;
    for (unsigned i = 0; i < sizeof want; i++) {
        want[i] = (uint8_t)i;
        octets[i] = (char)(i + 1);
    }
    octets[LFT_PSK_BYTES] = '\0';
    CHECK(read_key(digits, 0600, key, &error) == 0 && memcmp(key, want, sizeof want) == 0);
    CHECK(read_key(octets, 0600, key, &error) == 0 && memcmp(key, octets, sizeof key) == 0);
    CHECK(read_key("0123456789abcdef\n", 0600, key, &error) == 0);
    CHECK(read_key("0123456789abcdef", 0600, other, &error) == 0 && memcmp(key, other, sizeof key) == 0);
    CHECK(!memmem(key, sizeof key, "0123456789abcdef", 16));
    const char *path = write_file("0123456789abcdef", 0600);
    const struct settings between_others = {.psk_file = path, .gateway_name = "oslo", .peer_name = "rome"};
    CHECK(psk_read(&between_others, other, &error) == 0 && memcmp(key, other, sizeof key) != 0);
    unlink(path);
    static const char *const refused[] = {"", "\n", "0123456789abcde\n", "two lines of text\nare not one\n",
                                          "\1\2\3\4"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        CHECK(read_key(refused[i], 0600, key, &error) == -1 && strstr(error.text, "want 64 hexadecimal digits"));
}

static void test_sizes_that_carry_no_frame(void)
{
    struct nc_error error;
    struct settings settings = {.psk_file = "psk", .name = "lft"};
    for (settings.mtu = 1; settings.mtu < SETTINGS_MTU_MIN; settings.mtu++)
        CHECK(settings_check(&settings, &error) < 0 && strstr(error.text, "--mtu"));
    CHECK_EQ(settings_check(&settings, &error), 0);
}

int main(void)
{
    test_values_become_options();
    test_rates_are_whole_megabits();
    test_mistakes_name_their_line();
    test_keys_must_be_private();
    test_forms_of_a_key();
    test_sizes_that_carry_no_frame();
    return 0;
}
