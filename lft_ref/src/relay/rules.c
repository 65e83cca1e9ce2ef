/* Packet rules and routes, made by running nft and ip. */
#include "rules.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCRIPT_MAX = 8192, OUTPUT_MAX = 8192, MOST_COPIES = 8 };
#define SYN_ONLY "tcp flags & (fin|syn|rst|ack) == syn"

extern char **environ;

static void read_text(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t n;
    while (used + 1 < size && (n = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
}

/* Returns a program's standard error as one line. */
static void read_complaints(int fd, struct nc_error *error)
{
    error->status = NC_EXIT_MISSING;
    read_text(fd, error->text, sizeof error->text);
    for (char *c = error->text; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
}

/* Runs a program with `input` on its standard input. Returns 0 when it exits with 0, otherwise -1 with its error
 * output. `output` becomes the beginning of its standard output, OUTPUT_MAX octets at most; NULL: discarded. */
static int run(char *const argv[], const char *input, char *output, struct nc_error *error)
{
    int in[2], out[2], err[2], status = -1;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "%s: %s", argv[0], strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    if (output)
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    if (failed)
        nc_fail(error, NC_EXIT_MISSING, "%s: %s; install nftables and iproute2", argv[0], strerror(failed));
    else {
        (void)!write(in[1], input, strlen(input)); /* less than a pipe holds */
        close(in[1]);
        in[1] = -1;
        if (output)
            read_text(out[0], output, OUTPUT_MAX);
        close(out[0]); /* a program that writes more is killed by SIGPIPE */
        out[0] = -1;
        read_complaints(err[0], error);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (in[1] >= 0)
        close(in[1]);
    if (out[0] >= 0)
        close(out[0]);
    close(err[0]);
    return !failed && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int nft(const char *script, struct nc_error *error)
{
    char *const argv[] = {"nft", "-f", "-", NULL};
    return run(argv, script, NULL, error);
}

/* A script under construction. A script that does not fit is our bug; nft then reports a syntax error. */
struct script {
    size_t used;
    char text[SCRIPT_MAX];
};
static void add(struct script *script, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct script *script, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(script->text + script->used, sizeof script->text - script->used, format, arguments);
    va_end(arguments);
    script->used = script->used + (size_t)n < sizeof script->text ? script->used + (size_t)n : sizeof script->text - 1;
}

/* Runs commands of `ip`, one per line, in one process, because starting ip takes longer than a command. Without
 * `regardless` it stops at the first command that fails. */
static int ip(int family, bool regardless, const struct script *commands, struct nc_error *error)
{
    char *const all[] = {"ip", family == 4 ? "-4" : "-6", "-batch", "-", NULL};
    char *const forced[] = {"ip", family == 4 ? "-4" : "-6", "-force", "-batch", "-", NULL};
    return run(regardless ? forced : all, commands->text, NULL, error);
}

static void add_exclusions(struct script *script, const struct rules *rules)
{
    for (size_t i = 0; i < rules->exclude.n; i++)
        add(script, SYN_ONLY " %s daddr %s accept\n", strchr(rules->exclude.at[i], ':') ? "ip6" : "ip",
            rules->exclude.at[i]);
}

/* The rules for SYNs come first. The kernel answers a SYN for an existing connection (RFC 9293, 3.10.7.4). The SYN rule
 * requires the socket's mark, which a socket in TIME-WAIT lacks: the server, not that socket, decides about a new
 * connection. */
static void add_prerouting(struct script *script, const struct rules *rules)
{
    uint32_t local = rules->mark + RULES_MARK_LOCAL;
    add(script, "chain prerouting { type filter hook prerouting priority mangle; policy accept;\n");
    add(script, "iifname \"%s\" " SYN_ONLY " meta mark set %u ", rules->name, local);
    if (rules->host)
        add(script, "ct mark set %u ", local);
    add(script, "tproxy to :%u accept\n", rules->port);
    add(script, "iifname \"%s\" accept\n", rules->name);
    add(script, SYN_ONLY " socket transparent 1 socket wildcard 0 socket mark %u meta mark set %u accept\n",
        rules->mark + RULES_MARK_OWN, local);
    add_exclusions(script, rules);
    if (rules->router)
        for (size_t i = 0; i < rules->lan.n; i++)
            add(script, "iifname \"%s\" fib daddr type unicast " SYN_ONLY " jump take\n", rules->lan.at[i]);
    add(script, SYN_ONLY " accept\n");
    add(script, "socket transparent 1 meta mark set %u accept\n}\n", local);
}

/* When a far socket sends to a neighbour that does not exist, the kernel's own ICMP error bears the socket's mark
 * (fwmark_reflect) and the client's address; it is delivered locally, to the socket. A RST that reflects the mark of
 * the packet it answers is routed as if it had no mark. */
static void add_own_errors(struct script *script, const struct rules *rules)
{
    uint32_t local = rules->mark + RULES_MARK_LOCAL, own = rules->mark + RULES_MARK_OWN;
    add(script, "chain errors { type route hook output priority mangle - 1; policy accept;\n");
    add(script, "meta mark %u meta l4proto { icmp, ipv6-icmp } meta mark set %u return\n", own, local);
    add(script, "meta mark %u meta mark set %u\n}\n", local, own);
}

/* This host's own connections. conntrack's mark distinguishes their later packets, and those of servers on this host,
 * from all others. */
static void add_output(struct script *script, const struct rules *rules)
{
    uint32_t local = rules->mark + RULES_MARK_LOCAL, own = rules->mark + RULES_MARK_OWN,
             reply = rules->mark + RULES_MARK_REPLY;
    add(script, "chain output { type route hook output priority mangle; policy accept;\n");
    add(script, "meta mark %u " SYN_ONLY " ct mark set %u\n", own, reply);
    /* This rule comes first, because a RST reflects our mark. */
    add(script, "ct mark %u ct direction reply meta mark set %u accept\n", reply, local);
    add(script, "meta mark %u accept\n", own);
    add(script, "ct mark %u ct direction original meta l4proto tcp meta mark set %u accept\n", local, local);
    add_exclusions(script, rules);
    add(script, "oifname != \"lo\" fib daddr type unicast " SYN_ONLY " jump take\n}\n");
}

/* Sets a sysctl, if it exists. Its name below /proc/sys/net is given in three parts. */
static void set_sysctl(const char *before, const char *middle, const char *after, const char *value)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/sys/net/%s%s%s", before, middle, after);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, value, strlen(value));
    close(fd);
}

/* Sysctls of the whole namespace, and their values while a gateway runs. Early demultiplexing gives a SYN to a socket
 * in TIME-WAIT with the same addresses and ports before the SYN is routed, and a packet that has a socket is never
 * forwarded into the TUN. IPv4's sysctl also controls IPv6. */
enum { SHARED_SYSCTLS = 3 };
static const struct {
    const char *name, *value;
    bool router_only;
} shared[SHARED_SYSCTLS] = {
    {"ipv4/fwmark_reflect", "1", false}, {"ipv6/fwmark_reflect", "1", false}, {"ipv4/tcp_early_demux", "0", true}};
#define KEEPER "was_" /* A chain's name is this prefix and then the previous values; x: that value was not changed. */

static char read_sysctl(const char *name)
{
    char path[128], value[8] = "x";
    snprintf(path, sizeof path, "/proc/sys/net/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, value, sizeof value);
    if (fd >= 0)
        close(fd);
    return n > 0 && value[0] >= '0' && value[0] <= '9' ? value[0] : 'x';
}

static void read_shared(const struct rules *rules, char values[SHARED_SYSCTLS + 1])
{
    for (int i = 0; i < SHARED_SYSCTLS; i++)
        values[i] = shared[i].router_only && !rules->router ? 'x' : read_sysctl(shared[i].name);
    values[SHARED_SYSCTLS] = '\0';
}

/* Reads the previous values from the nftables table that a gateway keeps; all are x when there is no table. */
static void read_kept(const char *name, char values[SHARED_SYSCTLS + 1])
{
    struct nc_error ignored;
    char table[64], text[OUTPUT_MAX] = "", family[] = "inet";
    snprintf(table, sizeof table, "%s", name);
    char *const argv[] = {"nft", "list", "table", family, table, NULL};
    const char *at = run(argv, "", text, &ignored) == 0 || text[0] ? strstr(text, "chain " KEEPER) : NULL;
    memset(values, 'x', SHARED_SYSCTLS);
    values[SHARED_SYSCTLS] = '\0';
    if (at && strlen(at) >= strlen("chain " KEEPER) + SHARED_SYSCTLS)
        memcpy(values, at + strlen("chain " KEEPER), SHARED_SYSCTLS);
}

static void restore_shared(const char *values)
{
    for (int i = 0; i < SHARED_SYSCTLS; i++)
        if (values[i] >= '0' && values[i] <= '9')
            set_sysctl(shared[i].name, "", "", (const char[]){values[i], '\0'});
}

static int install_table(const struct rules *rules, const char *values, struct nc_error *error)
{
    struct script script = {0};
    add(&script, "table inet %s {\nchain " KEEPER "%s { }\nchain take { }\n", rules->name, values);
    add_prerouting(&script, rules);
    add_own_errors(&script, rules);
    if (rules->host)
        add_output(&script, rules);
    add(&script, "}\n");
    return nft(script.text, error);
}

static int install_routes(const struct rules *rules, struct nc_error *error)
{
    uint32_t local = rules->mark + RULES_MARK_LOCAL, tun = rules->mark + RULES_MARK_TUN;
    for (int family = 4; family <= 6; family += 2) {
        const char *all = family == 4 ? "0.0.0.0/0" : "::/0";
        struct script commands = {0};
        add(&commands, "rule add pref 500 fwmark %u lookup %u\n", local, rules->table);
        add(&commands, "route add local %s dev lo table %u\n", all, rules->table);
        add(&commands, "rule add pref 501 fwmark %u lookup %u\n", tun, rules->table + 1);
        add(&commands, "route add %s dev %s table %u\n", all, rules->name, rules->table + 1);
        if (ip(family, false, &commands, error) < 0 && family == 4)
            return -1; /* a machine without IPv6 is not an error */
    }
    return 0;
}

/* Killed gateways may have left several copies of the rules. */
static void remove_routes(uint32_t mark, uint32_t table)
{
    struct nc_error ignored;
    struct script commands = {0};
    for (uint32_t i = 0; i < 2; i++) {
        for (int times = 0; times < MOST_COPIES; times++)
            add(&commands, "rule del fwmark %u lookup %u\n", mark + i, table + i);
        add(&commands, "route flush table %u\n", table + i);
    }
    for (int family = 4; family <= 6; family += 2)
        ip(family, true, &commands, &ignored);
}

/* Makes everything except the rule that takes new connections. Returns 0, or -1 with the reason and nothing left
 * behind. */
static int install(const struct rules *rules, struct nc_error *error)
{
    struct nc_error reason;
    struct script address = {0};
    char values[SHARED_SYSCTLS + 1];
    /* A SYN is written back into an interface that does not lead to its source, so the reverse-path filter must be
     * loose. In the host model its source address is our own, so accept_local is needed. */
    set_sysctl("ipv4/conf/", rules->name, "/rp_filter", "2");
    set_sysctl("ipv4/conf/", rules->name, "/accept_local", "1");
    /* The loose filter passes nothing on an interface without an address. This is the dummy address of RFC 7600, with
     * host scope so that nothing is sent from it. */
    add(&address, "addr add 192.0.0.8/32 dev %s scope host\n", rules->name);
    ip(4, false, &address, &reason);
    rules_remove(rules->name, rules->mark, rules->table); /* left by a gateway that was killed */
    read_shared(rules, values);
    if (install_table(rules, values, &reason) < 0 || install_routes(rules, &reason) < 0) {
        rules_remove(rules->name, rules->mark, rules->table);
        return nc_fail(error, NC_EXIT_MISSING, "cannot set up packet rules: %s", reason.text);
    }
    for (int i = 0; i < SHARED_SYSCTLS; i++)
        if (values[i] != 'x')
            set_sysctl(shared[i].name, "", "", shared[i].value);
    return 0;
}

/* Makes or removes the rule that sends new connections into the TUN. Returns 0 or -1. */
static int accelerate(const struct rules *rules, bool on, struct nc_error *error)
{
    struct script script = {0};
    add(&script, "flush chain inet %s take\n", rules->name);
    if (on)
        add(&script, "add rule inet %s take meta mark set %u accept\n", rules->name, rules->mark + RULES_MARK_TUN);
    return nft(script.text, error);
}

void rules_remove(const char *name, uint32_t mark, uint32_t table)
{
    struct nc_error ignored;
    char script[128], values[SHARED_SYSCTLS + 1];
    read_kept(name, values);
    snprintf(script, sizeof script, "table inet %s\ndelete table inet %s\n", name, name);
    nft(script, &ignored);
    restore_shared(values);
    remove_routes(mark, table);
}

int rules_act(struct rules *rules, uint32_t what, uint64_t value, struct nc_error *error)
{
    switch (what) {
    case RULES_INSTALL:
        rules->port = (uint16_t)value;
        return install(rules, error);
    case RULES_ACCELERATE:
        return accelerate(rules, value != 0, error);
    default:
        rules_remove(rules->name, rules->mark, rules->table);
        return 0;
    }
}
