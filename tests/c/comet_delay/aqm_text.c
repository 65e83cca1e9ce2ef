/* The text form of queue management: its defaults are those of the RFCs, and errors name the mistake. */
#include "aqm_text.h"

#include "check.h"
#include "nc_clock.h"
#include "nc_quantity.h"

static void round_trip(const char *text, const char *want)
{
    struct aqm_params params, again;
    struct nc_error error;
    char once[AQM_TEXT_MAX], twice[AQM_TEXT_MAX];
    if (aqm_parse(text, &params, &error) < 0) {
        fprintf(stderr, "'%s': %s\n", text, error.text);
        exit(1);
    }
    CHECK_STR(aqm_format(&params, once, sizeof once), want);
    CHECK_EQ(aqm_parse(once, &again, &error), 0);
    CHECK_STR(aqm_format(&again, twice, sizeof twice), once);
}

static void texts_round_trip(void)
{
    round_trip("none", "none");
    round_trip("red", "red:min=30KB,max=90KB,p=10%,weight=0.2%,packet=1500,gentle=on,ecn=off");
    round_trip("red:min=30KB,max=90KB,p=10%", "red:min=30KB,max=90KB,p=10%,weight=0.2%,packet=1500,gentle=on,ecn=off");
    round_trip("red:ecn=on,gentle=off,max=1MB,packet=9000",
               "red:min=30KB,max=1MB,p=10%,weight=0.2%,packet=9000,gentle=off,ecn=on");
    round_trip("codel", "codel:target=5ms,interval=100ms,ecn=off");
    round_trip("codel:target=5ms,interval=100ms", "codel:target=5ms,interval=100ms,ecn=off");
    round_trip("codel:ecn=on,target=1.5ms", "codel:target=1.5ms,interval=100ms,ecn=on");
    round_trip("fq_codel",
               "fq_codel:limit=10240,memory=32MB,quantum=1514,ways=1,ack_filter=off,target=5ms,interval=100ms,ecn=on");
    round_trip("dualpi2",
               "dualpi2:target=15ms,update=16ms,alpha=0.16,beta=3.2,k=2,step=1ms,classic=10%,limit=10000,ect0=off");
    round_trip("step", "step:packets=20,bytes=0,drop=on");
    round_trip("step:packets=0,bytes=30KB,drop=off", "step:packets=0,bytes=30KB,drop=off");
    round_trip("policer:rate=20Mbit", "policer:rate=20Mbit,burst=100KB,ecn=off");
    round_trip("policer:ecn=on,burst=1,rate=1bit", "policer:rate=1bit,burst=1,ecn=on");
    round_trip(
        "pie",
        "pie:target=15ms,update=15ms,alpha=0.125,beta=1.25,burst=150ms,ecn_threshold=10%,derandomize=off,ecn=off");
    round_trip(
        "pie:alpha=0.000000001,beta=1000,burst=0,derandomize=on",
        "pie:target=15ms,update=15ms,alpha=0.000000001,beta=1000,burst=0ns,ecn_threshold=10%,derandomize=on,ecn=off");
}

static void defaults_are_the_rfcs(void)
{
    struct aqm_params p;
    struct nc_error error;
    CHECK_EQ(aqm_parse("codel", &p, &error), 0);
    CHECK_EQ(p.algorithm, AQM_CODEL);
    CHECK_EQ(p.codel.target_ns, 5 * NC_NS_PER_MS); /* RFC 8289, 4.2 and 4.3 */
    CHECK_EQ(p.codel.interval_ns, 100 * NC_NS_PER_MS);
    CHECK(!p.ecn);
    CHECK_EQ(aqm_parse("fq_codel", &p, &error), 0);
    CHECK_EQ(p.algorithm, AQM_FQ_CODEL);
    CHECK_EQ(p.codel.target_ns, 5 * NC_NS_PER_MS); /* RFC 8290, 5.2.1 to 5.2.6 */
    CHECK_EQ(p.codel.interval_ns, 100 * NC_NS_PER_MS);
    CHECK_EQ(p.fq_codel.limit_packets, 10240);
    CHECK_EQ(p.fq_codel.quantum_bytes, 1514);
    CHECK(p.ecn);
    CHECK_EQ(aqm_parse("pie", &p, &error), 0);
    CHECK_EQ(p.algorithm, AQM_PIE);
    CHECK_EQ(p.pie.target_ns, 15 * NC_NS_PER_MS); /* RFC 8033, 4.2, 4.4, 5.1 */
    CHECK_EQ(p.pie.update_ns, 15 * NC_NS_PER_MS);
    CHECK_EQ(p.pie.alpha_per_1e9_s, NC_RATIO_ONE / 8);
    CHECK_EQ(p.pie.beta_per_1e9_s, NC_RATIO_ONE / 4 * 5);
    CHECK_EQ(p.pie.burst_ns, 150 * NC_NS_PER_MS);
    CHECK_EQ(p.pie.ecn_threshold_ppb, NC_RATIO_ONE / 10);
    CHECK(!p.pie.derandomize && !p.ecn);
}

static void mistakes_are_named_in_one_line(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "'': no such queue management; allowed is one of none, red, codel, pie, fq_codel, policer, dualpi2, step"},
        {"codl",
         "'codl': no such queue management; allowed is one of none, red, codel, pie, fq_codel, policer, dualpi2, step"},
        {"RED",
         "'RED': no such queue management; allowed is one of none, red, codel, pie, fq_codel, policer, dualpi2, step"},
        {"none:ecn=on", "none takes no keys; leave out 'ecn=on'"},
        {"codel:", "'': want KEY=VALUE, for example ecn=on"},
        {"codel:target=5ms,", "'': want KEY=VALUE, for example ecn=on"},
        {"codel:ecn", "'ecn': want KEY=VALUE, for example ecn=on"},
        {"codel:min=3", "'min': no such key of codel; allowed is one of target, interval, ecn"},
        {"codel:target=fast", "target='fast': not a duration; want for example 100ms, 4.2ms, 50us or 1.5s"},
        {"codel:target=0ms", "target='0ms': out of range; allowed is 1ns to 3600s"},
        {"codel:target=1ms,target=2ms", "target: given twice; give it once"},
        {"codel:ecn=yes", "ecn='yes': allowed is on or off"},
        {"codel:target=200ms", "target=200ms, interval=100ms: target may not exceed interval; 5 % of it is usual"},
        {"fq_codel:quantum=100", "quantum='100': out of range; allowed is 256 to 1MB"},
        {"red:min=90KB", "min=90KB, max=90KB: min must be below max; 3 times min is a usual max"},
        {"dualpi2:step=1", "step='1': has no unit; write 1ms or 1s"},
        {"dualpi2:ecn=on", "'ecn': no such key of dualpi2; allowed is one of target, update, alpha, beta, k, step, "
                           "classic, limit, ect0"},
        {"step:packets=0", "packets=0, bytes=0: want one of them, for example step:packets=20"},
        {"policer", "policer: want its rate, for example policer:rate=10Mbit,burst=100KB"},
        {"policer:rate=0bit", "rate='0bit': out of range; allowed is 1bit to 400Gbit"},
        {"policer:rate=5Mbit,depth=3KB", "'depth': no such key of policer; allowed is one of rate, burst, ecn"},
        {"red:p=200%", "p='200%': out of range; allowed is 0.0000001% to 100%"},
        {"pie:alpha=fast", "alpha='fast': not a gain; want a decimal per second, for example 0.125"},
        {"pie:beta=1001", "beta='1001': out of range; allowed is 0 to 1000"},
        {"pie:ecn=o\nn", "ecn='o?n': allowed is on or off"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct aqm_params params = {.algorithm = AQM_PIE, .link_rate_bps = 7};
        struct nc_error error;
        CHECK_EQ(aqm_parse(cases[i].text, &params, &error), -1);
        CHECK_STR(error.text, cases[i].says);
        CHECK_EQ(params.link_rate_bps, 7); /* left alone */
    }
    struct nc_error error;
    char text[600];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_EQ(aqm_parse(text, &(struct aqm_params){0}, &error), -1);
    CHECK_STR(error.text, "599 characters; allowed are up to 255");
}

int main(void)
{
    RUN(texts_round_trip);
    RUN(defaults_are_the_rfcs);
    RUN(mistakes_are_named_in_one_line);
    return 0;
}
