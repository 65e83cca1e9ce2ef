/* Changing rates in virtual time: exact times of exit, no loss by rounding, and traces against a packet-by-packet
 * model. */
#include "rate_trace.h"

#include <unistd.h>

#include "check.h"
#include "model_file.h"
#include "model_text.h"
#include "nc_clock.h"
#include "random.h"

static struct rate_trace trace_of(const char *text)
{
    struct rate_trace trace;
    struct nc_error error;
    CHECK_DONE(rate_trace_parse(text, &trace, &error), text, error);
    return trace;
}

static struct rate_trace file_trace(const char *prefix, const char *content)
{
    char path[40], text[120];
    file_of(content, prefix, "", path, text);
    struct rate_trace trace = trace_of(text);
    unlink(path);
    return trace;
}

static struct rate_trace mahimahi_of(const char *content)
{
    return file_trace("mahimahi:", content);
}

static void constant_rate_is_a_serial_line(void)
{
    struct rate_trace trace = trace_of("7Mbit"), none = trace_of("0bit");
    struct rate_trace_state state;
    rate_trace_init(&state, 500);
    for (int i = 0; i < 1000000; i++) /* 1714285.714… ns each */
        rate_trace_exit(&state, &trace, 500, 1500);
    CHECK_EQ(state.exit_ns, 500 + UINT64_C(1500) * 8 * 1000000 * NC_NS_PER_S / 7000000);
    uint64_t later_ns = state.exit_ns + 1000000;
    CHECK_EQ(rate_trace_exit(&state, &trace, later_ns, 7), later_ns + 8000); /* idle: the fraction is forgotten */
    rate_trace_init(&state, 0);
    CHECK_EQ(rate_trace_exit(&state, &none, 123, 9000), 123);
    CHECK_EQ(rate_trace_planning_bps(&trace), 7000000);
}

static void steps_hold_in_the_middle_of_a_packet(void)
{
    struct rate_trace trace = trace_of("rate:0s=8Mbit,1ms=80Mbit,2ms=0bit,5ms=8Mbit"); /* 1 µs a byte, 0.1, none, 1 */
    struct rate_trace_state state;
    rate_trace_init(&state, 1000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 1000, 400), 401000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 500000, 400), 900000);
    /* 101 before the step, 1,000 behind it */
    CHECK_EQ(rate_trace_exit(&state, &trace, 800000, 1101), 1001000 + 100000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 0, 8990), 2000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 0, 10), 2001000); /* the last packet before the stop */
    CHECK_EQ(rate_trace_exit(&state, &trace, 0, 100), 5001000 + 100000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 9000000, 100), 9100000);
    CHECK_EQ(rate_trace_planning_bps(&trace), 80000000);
    rate_trace_restart(&state, 20001000, 0); /* its times count from this moment; no packet overtakes another */
    CHECK_EQ(rate_trace_exit(&state, &trace, 21001000, 1000), 21001000 + 100000);
    rate_trace_free(&trace);
}

/* The line's capacity up to an exit must equal the amount sent up to then, to within a nanosecond of capacity. */
static void steps_lose_no_bit(void)
{
    struct rate_trace trace = trace_of("rate:0s=7Mbit,1ms=13Mbit,2ms=999999937bit,3ms=3bit,4ms=11Mbit");
    static const uint64_t from_ns[] = {0, 1000000, 2000000, 3000000, 4000000, UINT64_MAX};
    static const uint64_t bps[] = {7000000, 13000000, 999999937, 3, 11000000};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rate_trace_state state;
        unsigned __int128 sent = 0;
        rate_trace_init(&state, 0);
        for (uint64_t i = 0; i < 2000; i++) {
            uint32_t bytes = 1 + (uint32_t)(random_u64(seed, i) % 1500);
            uint64_t exit_ns = rate_trace_exit(&state, &trace, 0, bytes);
            unsigned __int128 capacity = 0, least = 0;
            sent += (unsigned __int128)bytes * 8 * NC_NS_PER_S;
            for (int s = 0; s < 5 && exit_ns > from_ns[s]; s++) {
                uint64_t until = exit_ns < from_ns[s + 1] ? exit_ns : from_ns[s + 1];
                capacity += (unsigned __int128)bps[s] * (until - from_ns[s]);
                least = bps[s];
            }
            CHECK(capacity <= sent && sent < capacity + least + 999999937);
            CHECK_EQ((uint64_t)(sent - capacity), state.owed);
        }
    }
    rate_trace_free(&trace);
}

static void mahimahi_opportunities_take_1500_bytes(void)
{
    struct rate_trace trace = mahimahi_of("0\n5\n5\n7\n10\n");
    struct rate_trace_state state;
    rate_trace_init(&state, 0);
    CHECK_EQ(rate_trace_exit(&state, &trace, 0, 1500), 0);
    CHECK_EQ(rate_trace_exit(&state, &trace, 0, 1000), 5000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 0, 1000), 5000000); /* half of it in the first of the two opportunities */
    CHECK_EQ(rate_trace_exit(&state, &trace, 4999999, 1000), 5000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 5000000, 1), 7000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 7000001, 1500), 10000000); /* what 7 had left is lost */
    CHECK_EQ(rate_trace_exit(&state, &trace, 7000001, 1500), 10000000); /* the next cycle's 0 */
    CHECK_EQ(rate_trace_exit(&state, &trace, 7000001, 4500), 17000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 31000000, 100), 35000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 40000000, 1400), 40000000); /* exactly at an end of the cycle */
    CHECK_EQ(rate_trace_planning_bps(&trace), 6000000);
    rate_trace_free(&trace);
}

static void mahimahi_reproduces_its_rate(void)
{
    char content[4000] = "";
    for (int ms = 1; ms <= 100; ms++) /* 8 in 10 ms: 9.6 Mbit/s */
        if (ms % 10 != 3 && ms % 10 != 4)
            model_append(content, sizeof content, "%d\n", ms);
    struct rate_trace trace = mahimahi_of(content);
    CHECK_EQ(rate_trace_planning_bps(&trace), 9600000);
    for (uint32_t bytes = 64; bytes <= 9000; bytes += 1117) { /* packets never fit exactly, but no capacity is lost */
        struct rate_trace_state state;
        uint64_t sent = 0, exit_ns = 0, start_ns = 77;
        rate_trace_init(&state, start_ns);
        for (; sent < 120000000; sent += bytes)
            exit_ns = rate_trace_exit(&state, &trace, start_ns, bytes);
        double bps = (double)sent * 8e9 / (double)(exit_ns - start_ns);
        CHECK(bps > 9600000 * 0.9999 && bps < 9600000 * 1.0001); /* the last cycle may be cut anywhere */
    }
    rate_trace_free(&trace);
}

/* Serves opportunity by opportunity, as Mahimahi's own loop does. */
static void mahimahi_agrees_with_walking_through_the_file(void)
{
    static const uint64_t ms[] = {0, 0, 3, 4, 4, 4, 9, 20};
    enum { N = 8, PACKETS = 5000 };
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rate_trace trace = mahimahi_of("0\n0\n3\n4\n4\n4\n9\n20\n");
        struct rate_trace_state state;
        uint64_t arrival_ns = 1000, at = 0, left = 1500;
        rate_trace_init(&state, 1000);
        for (uint64_t i = 0; i < PACKETS; i++) {
            uint64_t draw = random_u64(seed, i), need = 1 + draw % 4000;
            arrival_ns += draw % 16 < 12 ? 0 : (draw >> 20) % 30 * NC_NS_PER_MS + (draw & 16 ? 1 : 0);
            uint64_t exit_ns = rate_trace_exit(&state, &trace, arrival_ns, (uint32_t)need), want_ns;
            for (;;) {
                want_ns = 1000 + (at / N * 20 + ms[at % N]) * NC_NS_PER_MS;
                uint64_t taken = want_ns < arrival_ns ? 0 : need < left ? need : left;
                left -= taken;
                need -= taken;
                if (need == 0)
                    break;
                at++;
                left = 1500;
            }
            CHECK_EQ(exit_ns, want_ns);
        }
        rate_trace_free(&trace);
    }
}

static void mm_link_counts_a_tun_header(void)
{
    struct rate_trace trace = file_trace("mm-link:", "1\n2\n5\n"), other = mahimahi_of("1\n2\n5\n");
    struct rate_trace_state state;
    CHECK_EQ(rate_trace_bytes(&trace, 78, 40), 44);
    CHECK_EQ(rate_trace_bytes(&other, 78, 40), 78);
    CHECK_EQ(rate_trace_planning_bps(&trace), UINT64_C(3) * 1504 * 8 * 200);
    rate_trace_init(&state, 0);
    for (int i = 0; i < 34; i++)
        CHECK_EQ(rate_trace_exit(&state, &trace, 999999, 44), 1000000); /* 37 of 40 bytes by 1,500 */
    CHECK_EQ(rate_trace_exit(&state, &trace, 999999, 44), 2000000);     /* 8 bytes of this packet left at the first
                                                                         * opportunity */
    CHECK_EQ(rate_trace_exit(&state, &trace, 2000000, 44), 5000000);    /* too late for the rest */
    CHECK_EQ(rate_trace_exit(&state, &trace, 4999999, 1460), 5000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 4999999, 1), 6000000);
    CHECK_EQ(rate_trace_exit(&state, &trace, 10000000, 1504), 11000000); /* the end of a cycle is an opportunity */
    rate_trace_free(&trace);
    rate_trace_free(&other);
}

/* A queue and a packet that is partly sent, millisecond by millisecond. At each opportunity, bytes go to that packet
 * and then to packets that were there before this millisecond, until no bytes or no packets are left. */
static void mm_link_agrees_with_its_own_loop(void)
{
    static const uint64_t ms[] = {0, 0, 3, 4, 4, 4, 9, 20};
    enum { N = 8, PACKETS = 3000 };
    static uint64_t arrival_ns[PACKETS], exit_ns[PACKETS];
    static uint32_t need[PACKETS];
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rate_trace trace = file_trace("mm-link:", "0\n0\n3\n4\n4\n4\n9\n20\n");
        struct rate_trace_state state;
        uint64_t now_ns = 0;
        rate_trace_init(&state, 0);
        for (uint64_t i = 0; i < PACKETS; i++) {
            uint64_t draw = random_u64(seed, i);
            now_ns += draw % 16 < 12 ? 0 : (draw >> 20) % 30 * NC_NS_PER_MS + (draw & 16 ? draw >> 45 : 0);
            arrival_ns[i] = now_ns;
            need[i] = 44 + (uint32_t)(draw % 1461);
            exit_ns[i] = rate_trace_exit(&state, &trace, now_ns, need[i]);
        }
        size_t head = 0;
        for (uint64_t at = 0; head < PACKETS; at++) {
            uint64_t time_ms = at / N * 20 + ms[at % N];
            for (uint32_t left = 1504; left && head < PACKETS && arrival_ns[head] / NC_NS_PER_MS < time_ms;) {
                uint32_t taken = need[head] < left ? need[head] : left;
                left -= taken;
                need[head] -= taken;
                if (!need[head])
                    CHECK_EQ(exit_ns[head++], time_ms * NC_NS_PER_MS);
            }
        }
        rate_trace_free(&trace);
    }
}

static void texts_come_back(void)
{
    static const struct {
        const char *text, *formatted;
    } cases[] = {
        {"45Mbit", "45Mbit"},
        {"0", "0bit"},
        {"rate:0s=10Mbit,5s=1Mbit", "rate:0ns=10Mbit,5s=1Mbit"},
        {"rate:0s=0,1.5ms=400Gbit", "rate:0ns=0bit,1.5ms=400Gbit"},
    };
    char buf[MODEL_TEXT_MAX], again[MODEL_TEXT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rate_trace trace = trace_of(cases[i].text), second, shared = rate_trace_share(&trace);
        rate_trace_free(&trace);
        CHECK_STR(rate_trace_format(&shared, buf, sizeof buf), cases[i].formatted);
        second = trace_of(buf);
        CHECK_STR(rate_trace_format(&second, again, sizeof again), buf);
        rate_trace_free(&second);
        rate_trace_free(&shared);
    }
    struct rate_trace trace = mahimahi_of("5\n");
    CHECK(strncmp(rate_trace_format(&trace, buf, sizeof buf), "mahimahi:/tmp/lfp-test-", 23) == 0);
    rate_trace_free(&trace);
    trace = file_trace("mm-link:", "5\n");
    CHECK(strncmp(rate_trace_format(&trace, buf, sizeof buf), "mm-link:/tmp/lfp-test-", 22) == 0);
    rate_trace_free(&trace);
}

static void wrong_texts_are_refused_in_one_line(void)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "not a rate"},
        {"-1Mbit", "negative"},
        {"401Gbit", "more than 400Gbit"},
        {"speed:1", "no such rate"},
        {"rate:", "TIME=RATE"},
        {"rate:1s=5Mbit", "begins at 0s"},
        {"rate:0s=5Mbit,0s=6Mbit", "not later"},
        {"rate:0s=5Mbit,2s=6Mbit,1s=1Mbit", "not later"},
        {"rate:0s=5Mbit,", "TIME=RATE"},
        {"rate:0s=", "not a rate"},
        {"rate:0s=5Mbit,1s=0", "wait for ever"},
        {"rate:0s=500Gbit", "more than 400Gbit"},
        {"rate:x=1", "not a duration"},
        {"mahimahi:", "name of a file after mahimahi:"},
        {"mm-link:", "name of a file after mm-link:"},
        {"mahimahi:/no/such", "/no/such: No such file"},
        {"mahimahi:/dev/null", "not a regular"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nc_error error;
        struct rate_trace trace;
        if (rate_trace_parse(cases[i].text, &trace, &error) == 0 || !strstr(error.text, cases[i].reason) ||
            strchr(error.text, '\n')) {
            fprintf(stderr, "'%s': '%s'\n", cases[i].text, error.text);
            exit(1);
        }
    }
}

int main(void)
{
    RUN(constant_rate_is_a_serial_line);
    RUN(steps_hold_in_the_middle_of_a_packet);
    RUN(steps_lose_no_bit);
    RUN(mahimahi_opportunities_take_1500_bytes);
    RUN(mahimahi_reproduces_its_rate);
    RUN(mahimahi_agrees_with_walking_through_the_file);
    RUN(mm_link_counts_a_tun_header);
    RUN(mm_link_agrees_with_its_own_loop);
    RUN(texts_come_back);
    RUN(wrong_texts_are_refused_in_one_line);
    return 0;
}
