/* Implements snap_filter.h. */
#include "snap_filter.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_quantity.h"
#include "tcp_headers.h"

int pl_snap_rule_parse(const char *text, struct pl_snap_rule *rule, struct nc_error *error)
{
    const char *equals = strrchr(text, '='); /* the last '=', because the expression may contain others */
    uint64_t bytes;
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof rule->expression)
        return nc_fail(error, NC_EXIT_USAGE, "--snap-of '%.200s': want EXPR=SIZE, as in udp=1500", text);
    if (nc_quantity_parse(NC_UNIT_BYTES, equals + 1, &bytes, error) < 0) {
        struct nc_error why = *error;
        return nc_fail(error, NC_EXIT_USAGE, "--snap-of '%.200s': %.200s", text, why.text);
    }
    if (bytes < PL_SNAP_BYTES_MIN || bytes > PL_SNAP_BYTES_MAX)
        return nc_fail(error, NC_EXIT_USAGE, "--snap-of '%.200s': the size must be 64B to 256KB", text);
    snprintf(rule->expression, sizeof rule->expression, "%.*s", (int)(equals - text), text);
    rule->bytes = (uint32_t)bytes;
    return 0;
}

/* Continuation after a part's answer */
enum { REJECT = 0, GO_ON = -1 }; /* values of `yes` and `no`; any other value is a number of bytes to keep */

static struct bpf_insn *grow(struct bpf_program *program, u_int n)
{
    struct bpf_insn *all = realloc(program->bf_insns, (program->bf_len + n) * sizeof *all);
    if (!all)
        return NULL;
    program->bf_insns = all;
    program->bf_len += n;
    return all + program->bf_len - n;
}

/* Appends the program `part`. `yes` and `no` say what happens if it accepts and if it rejects a packet. */
static int append(struct bpf_program *program, const struct bpf_program *part, int64_t yes, int64_t no)
{
    struct bpf_insn *to = grow(program, part->bf_len);
    if (!to)
        return -1;
    for (u_int i = 0; i < part->bf_len; i++) {
        to[i] = part->bf_insns[i];
        if (to[i].code != (BPF_RET | BPF_K))
            continue;
        int64_t then = to[i].k ? yes : no;
        if (then == GO_ON)
            to[i] = (struct bpf_insn)BPF_STMT(BPF_JMP | BPF_JA, part->bf_len - i - 1);
        else
            to[i].k = (bpf_u_int32)then;
    }
    return 0;
}

/* Appends the end of the program, for packets that the user's filter accepts. `part` is that filter. */
static int append_last(struct bpf_program *program, const struct bpf_program *part, const struct pl_snap *snap,
                       bool no_data)
{
    if (append(program, part, no_data ? GO_ON : (int64_t)snap->bytes, REJECT) < 0)
        return -1;
    struct bpf_insn *end = no_data ? grow(program, PL_TCP_HEADERS_N) : NULL;
    if (end)
        pl_tcp_headers(snap->bytes, end);
    return no_data && !end ? -1 : 0;
}

/* Compiles `filter` and `expression` (each may be NULL) to one program that accepts what both accept. */
static int compile(pcap_t *pcap, const char *filter, const char *expression, struct bpf_program *part,
                   struct nc_error *error)
{
    char text[sizeof((struct pl_snap_rule *)0)->expression + 8192];
    int n = filter && expression ? snprintf(text, sizeof text, "(%s) and (%s)", filter, expression)
                                 : snprintf(text, sizeof text, "%s",
                                            filter       ? filter
                                            : expression ? expression
                                                         : "");
    const char *option = expression ? "snap-of" : "filter";
    if (n >= (int)sizeof text)
        return nc_fail(error, NC_EXIT_USAGE, "--filter '%.200s…': want at most 8 KB", filter);
    if (pcap_compile(pcap, part, text, 1, PCAP_NETMASK_UNKNOWN) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--%s '%.200s': %.200s; see pcap-filter(7)", option,
                       expression ? expression : text, pcap_geterr(pcap));
    return 0;
}

uint32_t pl_snap_largest(const struct pl_snap *snap)
{
    uint32_t largest = snap->bytes;
    if (snap->no_data && largest < PL_TCP_HEADERS_BYTES_MAX)
        largest = PL_TCP_HEADERS_BYTES_MAX;
    for (size_t i = 0; i < snap->rule_n; i++)
        if (snap->rules[i].bytes > largest)
            largest = snap->rules[i].bytes;
    return largest;
}

int pl_snap_filter(pcap_t *pcap, const char *filter, const struct pl_snap *snap, struct bpf_program *program,
                   struct nc_error *error)
{
    bool no_data = snap->no_data && pcap_datalink(pcap) == DLT_EN10MB;
    struct bpf_program part;
    if (filter && !*filter)
        filter = NULL;
    *program = (struct bpf_program){.bf_len = 0};
    int status = compile(pcap, filter, NULL, &part, error); /* reports mistakes in the user's filter first */
    if (status < 0)
        return -1;
    pcap_freecode(&part);
    for (size_t i = 0; i <= snap->rule_n && status == 0; i++) {
        bool last = i == snap->rule_n;
        status = compile(pcap, filter, last ? NULL : snap->rules[i].expression, &part, error);
        if (status < 0)
            break;
        int appended =
            last ? append_last(program, &part, snap, no_data) : append(program, &part, snap->rules[i].bytes, GO_ON);
        if (appended < 0)
            status = nc_fail(error, NC_EXIT_MISSING, "out of memory");
        pcap_freecode(&part);
    }
    if (status < 0)
        free(program->bf_insns);
    return status;
}
