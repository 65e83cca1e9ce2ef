/* How many bytes of which packets a snap filter keeps, as libpcap's own interpreter of BPF runs it. */
#include "snap_filter.h"

#include <stdlib.h>

#include "check.h"

enum { SNAP_MAX = 1500 };

/* What the program keeps of an IPv4 packet of `protocol` to `port`. */
static u_int kept(const struct bpf_program *program, uint8_t protocol, uint16_t port)
{
    uint8_t frame[SNAP_MAX] = {[12] = 8, [13] = 0, [14] = 0x45, [23] = protocol};
    frame[36] = (uint8_t)(port >> 8);
    frame[37] = (uint8_t)port;
    return bpf_filter(program->bf_insns, frame, sizeof frame, sizeof frame);
}

static int compile(const char *filter, const char *const *texts, size_t n, struct bpf_program *program,
                   struct nc_error *error)
{
    struct pl_snap_rule rules[4];
    pcap_t *dead = pcap_open_dead(DLT_EN10MB, SNAP_MAX);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(pl_snap_rule_parse(texts[i], &rules[i], error), 0);
    int status = pl_snap_filter(dead, filter, 128, rules, n, program, error);
    pcap_close(dead);
    return status;
}

static void the_first_rule_that_fits_says_the_length(void)
{
    const char *rules[] = {"tcp port 5001=1500", "tcp=96", "udp=64"};
    struct bpf_program program;
    struct nc_error error;
    CHECK_EQ(compile(NULL, rules, 3, &program, &error), 0);
    CHECK_EQ(kept(&program, 6, 5001), 1500);
    CHECK_EQ(kept(&program, 6, 80), 96);
    CHECK_EQ(kept(&program, 17, 5001), 64);
    CHECK_EQ(kept(&program, 50, 0), 128);
    free(program.bf_insns);
}

static void a_filter_holds_for_every_rule(void)
{
    const char *rules[] = {"tcp=96", "tcp[13] & 2 != 0 or not ip=64"};
    struct bpf_program program;
    struct nc_error error;
    CHECK_EQ(compile("port 80 or esp", rules, 2, &program, &error), 0);
    CHECK_EQ(kept(&program, 6, 80), 96);
    CHECK_EQ(kept(&program, 17, 80), 128);
    CHECK_EQ(kept(&program, 6, 81), 0);
    CHECK_EQ(kept(&program, 17, 81), 0);
    CHECK_EQ(kept(&program, 50, 0), 128);
    free(program.bf_insns);
}

static void without_rules_it_is_the_filter(void)
{
    struct bpf_program program;
    struct nc_error error;
    CHECK_EQ(compile(NULL, NULL, 0, &program, &error), 0);
    CHECK_EQ(kept(&program, 1, 0), 128);
    free(program.bf_insns);
}

static void a_mistake_names_its_option(void)
{
    const char *wrong[] = {"tcp", "=96", "tcp=", "tcp=1", "tcp=1GB", "tcp=96Mbit"};
    struct pl_snap_rule rule;
    struct nc_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(pl_snap_rule_parse(wrong[i], &rule, &error), -1);
        CHECK(strstr(error.text, "--snap-of '"));
    }
    struct bpf_program program;
    CHECK_EQ(compile(NULL, (const char *[]){"nonsense=96"}, 1, &program, &error), -1);
    CHECK(strstr(error.text, "--snap-of 'nonsense'"));
    CHECK_EQ(compile("nonsense", NULL, 0, &program, &error), -1);
    CHECK(strstr(error.text, "--filter 'nonsense'"));
}

int main(void)
{
    RUN(the_first_rule_that_fits_says_the_length);
    RUN(a_filter_holds_for_every_rule);
    RUN(without_rules_it_is_the_filter);
    RUN(a_mistake_names_its_option);
    return 0;
}
