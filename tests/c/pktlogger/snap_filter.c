/* How many bytes of which packets a snap filter keeps, as libpcap's own BPF interpreter runs it. */
#include "snap_filter.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tcp_headers.h"

enum { SNAP_MAX = 1500 };

/* What the program keeps of an IPv4 packet of `protocol` to `port`. */
static u_int kept(const struct bpf_program *program, uint8_t protocol, uint16_t port)
{
    uint8_t frame[SNAP_MAX] = {[12] = 8, [13] = 0, [14] = 0x45, [23] = protocol};
    frame[36] = (uint8_t)(port >> 8);
    frame[37] = (uint8_t)port;
    return bpf_filter(program->bf_insns, frame, sizeof frame, sizeof frame);
}

static int compile_for(const char *filter, const char *const *texts, size_t n, bool no_data,
                       struct bpf_program *program, struct nc_error *error)
{
    struct pl_snap_rule rules[4];
    pcap_t *dead = pcap_open_dead(DLT_EN10MB, SNAP_MAX);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(pl_snap_rule_parse(texts[i], &rules[i], error), 0);
    const struct pl_snap snap = {.bytes = 128, .no_data = no_data, .rules = rules, .rule_n = n};
    int status = pl_snap_filter(dead, filter, &snap, program, error);
    pcap_close(dead);
    return status;
}

static int compile(const char *filter, const char *const *texts, size_t n, struct bpf_program *program,
                   struct nc_error *error)
{
    return compile_for(filter, texts, n, false, program, error);
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

/* A frame of `version` 4 or 6 with TCP whose header has `words` of 4 bytes. */
static void make_tcp(uint8_t *frame, int version, unsigned words)
{
    size_t ip = version == 4 ? 20 : 40;
    memset(frame, 0xff, SNAP_MAX);
    memcpy(frame + 12, version == 4 ? "\x08\x00" : "\x86\xdd", 2);
    frame[14] = version == 4 ? 0x45 : 0x6f;
    if (version == 4)
        memcpy(frame + 20, "\x40\x00\x40\x06", 4); /* the flag DF, TTL, TCP */
    else
        frame[20] = 6;
    frame[14 + ip + 12] = (uint8_t)(words << 4 | 0xf);
}

static u_int kept_of(const struct bpf_program *program, const uint8_t *frame, u_int len)
{
    return bpf_filter(program->bf_insns, frame, len, len);
}

static void without_data_headers_are_kept_whatever_their_length(void)
{
    uint8_t frame[SNAP_MAX];
    struct bpf_program program;
    struct nc_error error;
    CHECK_EQ(compile_for(NULL, NULL, 0, true, &program, &error), 0);
    for (unsigned words = 5; words < 16; words++)
        for (int version = 4; version <= 6; version += 2) {
            make_tcp(frame, version, words);
            u_int headers = (version == 4 ? 34 : 54) + 4 * words;
            CHECK_EQ(kept_of(&program, frame, SNAP_MAX), headers);
            CHECK(headers <= PL_TCP_HEADERS_BYTES_MAX);
        }
    free(program.bf_insns);
}

static void no_packet_is_lost_because_it_is_short(void)
{
    uint8_t frame[SNAP_MAX];
    struct bpf_program program;
    struct nc_error error;
    CHECK_EQ(compile_for(NULL, NULL, 0, true, &program, &error), 0);
    for (int version = 4; version <= 6; version += 2)
        for (u_int len = 14; len < 200; len++) {
            make_tcp(frame, version, 8);
            u_int ip = version == 4 ? 34 : 54;
            CHECK_EQ(kept_of(&program, frame, len), len < ip + 20 ? 128 : ip + 32);
        }
    free(program.bf_insns);
}

static void what_is_no_plain_tcp_is_kept_as_the_snap_length_says(void)
{
    uint8_t frame[SNAP_MAX];
    struct bpf_program program;
    struct nc_error error;
    CHECK_EQ(compile_for("not port 7", (const char *[]){"udp=64"}, 1, true, &program, &error), 0);
    make_tcp(frame, 4, 8);
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 66);
    frame[20] = 0x20; /* the first fragment has the header, a later one only data */
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 66);
    frame[21] = 1;
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 34);
    frame[23] = 17;
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 64);
    frame[23] = 50;
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 128);
    make_tcp(frame, 4, 8);
    frame[14] = 0x46; /* with options */
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 128);
    make_tcp(frame, 6, 8);
    frame[20] = 0; /* hop-by-hop options */
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 128);
    make_tcp(frame, 6, 8);
    frame[13] = 0; /* neither IPv4 nor IPv6 */
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 128);
    make_tcp(frame, 4, 8);
    memcpy(frame + 36, "\0\x7", 2);
    CHECK_EQ(kept_of(&program, frame, SNAP_MAX), 0);
    free(program.bf_insns);
}

static void the_largest_is_that_of_any_packet(void)
{
    const struct pl_snap_rule rules[] = {{"tcp", 65}, {"udp", 300}};
    CHECK_EQ(pl_snap_largest(&(struct pl_snap){.bytes = 64}), 64);
    CHECK_EQ(pl_snap_largest(&(struct pl_snap){.bytes = 64, .no_data = true}), PL_TCP_HEADERS_BYTES_MAX);
    CHECK_EQ(pl_snap_largest(&(struct pl_snap){.bytes = 128, .no_data = true}), 128);
    CHECK_EQ(pl_snap_largest(&(struct pl_snap){.bytes = 128, .rules = rules, .rule_n = 2}), 300);
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
    RUN(without_data_headers_are_kept_whatever_their_length);
    RUN(no_packet_is_lost_because_it_is_short);
    RUN(what_is_no_plain_tcp_is_kept_as_the_snap_length_says);
    RUN(the_largest_is_that_of_any_packet);
    RUN(a_mistake_names_its_option);
    return 0;
}
