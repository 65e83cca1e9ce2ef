/* The text of the ttcp family, as the rttcp of the lfp-1995 experiment printed it. Its "Mbit" is 2^20 bits; the line
 * says so and also gives bit/s. In lfp-1995, 819,200,000 bytes in 68.89 s are 90.72 Mbit/sec, which is 95.13e6 bit/s.
 * ttcp also counts 1,024 msec per second: it prints 0.71 msec/call for that transfer, which is 0.689 ms. The line says
 * this, too. The paper prints the socket's options as a list from SO_DEBUG to SO_TYPE; the line of options here has
 * those that matter to TCP, by their names in C. */
#include <inttypes.h>

#include "nc_clock.h"
#include "output.h"

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NC_NS_PER_S;
}

/* An interval too short to measure counts as one microsecond, as in ttcp. */
static double per(double amount, double over)
{
    return amount / (over > 1e-6 ? over : 1e-6);
}

/* The socket's options by their names in C. TCP_NODELAY is set at an end that sends: with request and response at
 * both. */
static void print_options(FILE *out, char letter, const struct rttcp_params *params, const struct rttcp_side *side)
{
    bool sends = letter == 't' || params->request_bytes;
    fprintf(out,
            "rttcp-%c: SO_SNDBUF=%" PRIu64 ", SO_RCVBUF=%" PRIu64 ", TCP_MAXSEG=%" PRIu64
            ", TCP_NODELAY=%d, TCP_CONGESTION=%s, IP_TOS=0x%02x\n",
            letter, side->sndbuf_bytes, side->rcvbuf_bytes, side->mss_bytes, sends && params->nodelay,
            side->congestion[0] ? side->congestion : "?", (unsigned)params->dscp << 2);
}

void rttcp_classic_print(FILE *out, char letter, const struct rttcp_params *params, const struct rttcp_side *side)
{
    double real = seconds(side->elapsed_ns), user = seconds(side->cpu_user_ns), system = seconds(side->cpu_system_ns);
    double bits = (double)side->bytes * 8, calls = (double)(side->calls ? side->calls : 1);
    uint64_t buffers = (side->bytes + params->length_bytes - 1) / params->length_bytes;
    uint64_t sockbuf = letter == 't' ? side->sndbuf_bytes : side->rcvbuf_bytes;
    fprintf(out,
            "rttcp-%c: buflen=%" PRIu64 ", nbuf=%" PRIu64 ", align=%" PRIu64 "/%" PRIu64
            ", local=%s, remote=%s, sockbufsize=%" PRIu64 ", window=%" PRIu64 "  tcp\n",
            letter, params->length_bytes, buffers, params->align_bytes, params->offset_bytes, side->local, side->remote,
            sockbuf, side->window_granted_bytes);
    print_options(out, letter, params, side);
    fprintf(out,
            "rttcp-%c: %" PRIu64 " bytes in %.2f real seconds = %.2f Mbit/sec (1 Mbit = 2^20 bits; %.2fe6 bit/s)\n",
            letter, side->bytes, real, per(bits, real) / (1 << 20), per(bits, real) / 1e6);
    fprintf(out, "rttcp-%c: %" PRIu64 " bytes in %.3f CPU seconds = %.2f Mbit/cpu sec\n", letter, side->bytes,
            user + system, per(bits, user + system) / (1 << 20));
    fprintf(out, "rttcp-%c: %" PRIu64 " I/O calls, msec/call = %.2f (1 s = 1024 msec), calls/sec = %.2f\n", letter,
            side->calls, 1024 * real / calls, per((double)side->calls, real));
    fprintf(out,
            "rttcp-%c: %.2fuser %.2fsys %.2freal %.0f%% %" PRIu64 "maxrss(KB) %" PRIu64 "+%" PRIu64 "pf %" PRIu64
            "+%" PRIu64 "csw\n",
            letter, user, system, real, per(100 * (user + system), real), side->maxrss_bytes / 1024, side->minor_faults,
            side->major_faults, side->voluntary_switches, side->involuntary_switches);
}
