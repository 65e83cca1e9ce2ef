/* Implements snap_filter.h. */
#include "snap_filter.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_quantity.h"

int pl_snap_rule_parse(const char *text, struct pl_snap_rule *rule, struct nc_error *error)
{
    const char *equals = strrchr(text, '='); /* the last one: expressions have their own, as in tcp[13] = 2 */
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

/* Appends `part`: it keeps `bytes` of what it accepts, and what it rejects goes on behind it, or, at the `last`
 * part, is not kept. */
static int append(struct bpf_program *program, const struct bpf_program *part, uint32_t bytes, bool last)
{
    struct bpf_insn *all = realloc(program->bf_insns, (program->bf_len + part->bf_len) * sizeof *all);
    if (!all)
        return -1;
    program->bf_insns = all;
    for (u_int i = 0; i < part->bf_len; i++) {
        struct bpf_insn instruction = part->bf_insns[i];
        if (instruction.code == (BPF_RET | BPF_K) && instruction.k)
            instruction.k = bytes;
        else if (instruction.code == (BPF_RET | BPF_K) && !last)
            instruction = (struct bpf_insn)BPF_STMT(BPF_JMP | BPF_JA, part->bf_len - i - 1);
        all[program->bf_len++] = instruction;
    }
    return 0;
}

/* The program of `filter` and `expression` (each may be NULL). */
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

int pl_snap_filter(pcap_t *pcap, const char *filter, uint32_t snap_bytes, const struct pl_snap_rule *rules, size_t n,
                   struct bpf_program *program, struct nc_error *error)
{
    struct bpf_program part;
    if (filter && !*filter)
        filter = NULL;
    *program = (struct bpf_program){.bf_len = 0};
    int status = compile(pcap, filter, NULL, &part, error); /* the filter's own mistakes come first */
    if (status < 0)
        return -1;
    pcap_freecode(&part);
    for (size_t i = 0; i <= n && status == 0; i++) {
        bool last = i == n;
        status = compile(pcap, filter, last ? NULL : rules[i].expression, &part, error);
        if (status < 0)
            break;
        if (append(program, &part, last ? snap_bytes : rules[i].bytes, last) < 0)
            status = nc_fail(error, NC_EXIT_MISSING, "out of memory");
        pcap_freecode(&part);
    }
    if (status < 0)
        free(program->bf_insns);
    return status;
}
