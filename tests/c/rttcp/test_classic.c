/* The output format of 1995, compared with the figure that the paper prints. */
#include "check.h"
#include "output.h"

static void papers_number(void)
{
    char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    struct rttcp_params params = {.length_bytes = 8192, .align_bytes = 4096, .nodelay = true, .dscp = 10};
    struct rttcp_side side = {.bytes = 819200000,
                              .elapsed_ns = 68890000000,
                              .calls = 100000,
                              .cpu_user_ns = 500000000,
                              .cpu_system_ns = 20000000000,
                              .maxrss_bytes = 1 << 20,
                              .minor_faults = 3,
                              .voluntary_switches = 11,
                              .involuntary_switches = 22,
                              .sndbuf_bytes = 262144,
                              .rcvbuf_bytes = 131072,
                              .mss_bytes = 4312,
                              .congestion = "reno"};
    snprintf(side.local, sizeof side.local, "10.0.0.1:4000");
    snprintf(side.remote, sizeof side.remote, "10.0.0.2:5010");
    rttcp_classic_print(out, 't', &params, &side);
    fclose(out);
    CHECK(strstr(
        text, "rttcp-t: 819200000 bytes in 68.89 real seconds = 90.72 Mbit/sec (1 Mbit = 2^20 bits; 95.13e6 bit/s)"));
    CHECK(strstr(text, "buflen=8192, nbuf=100000, align=4096/0"));
    CHECK(strstr(text, "local=10.0.0.1:4000, remote=10.0.0.2:5010, sockbufsize=262144"));
    CHECK(strstr(text, "rttcp-t: SO_SNDBUF=262144, SO_RCVBUF=131072, TCP_MAXSEG=4312, TCP_NODELAY=1, "
                       "TCP_CONGESTION=reno, IP_TOS=0x28\n"));
    CHECK(strstr(text, "819200000 bytes in 20.500 CPU seconds = 304.88 Mbit/cpu sec"));
    CHECK(strstr(text, "100000 I/O calls, msec/call = 0.71 (1 s = 1024 msec), calls/sec = 1451.59"));
    CHECK(strstr(text, "0.50user 20.00sys 68.89real 30% 1024maxrss(KB) 3+0pf 11+22csw"));
}

static void nothing_transferred_is_printed_too(void)
{
    char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    rttcp_classic_print(out, 'r', &(struct rttcp_params){.length_bytes = 1}, &(struct rttcp_side){0});
    fclose(out);
    CHECK(strstr(text, "rttcp-r: 0 bytes in 0.00 real seconds = 0.00 Mbit/sec"));
}

int main(void)
{
    RUN(papers_number);
    RUN(nothing_transferred_is_printed_too);
    return 0;
}
