#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"

#define OFFSET(field) offsetof(struct settings, field)

static const char *const napi_choices[] = {"auto", "off", NULL};    /* enum port_napi */
static const char *const home_choices[] = {"user", "kernel", NULL}; /* enum box_home */

static const struct nc_option own_rows[] = {
    NC_SECTION("ports"),
    NC_STRING("a", port_a, "PORT",
              "one side: tap:NAME[@NETNS], made for a host, or if:NAME[@NETNS], an existing interface"),
    NC_STRING("b", port_b, "PORT", "the other side"),
    NC_QUANTITY("mtu", box.mtu, NC_UNIT_COUNT, "1500", 68, 65521, "MTU of TAPs"),
    NC_SECTION("box"),
    NC_STRING("control", control, "SOCKET", "Unix socket to listen on for show and set"),
    NC_CHOICE("home", box.home, home_choices, "user",
              "where packets are moved: in this process, or by sch_comet, which only the kernel of virtual time has"),
    NC_QUANTITY("seed", box.seed, NC_UNIT_COUNT, "1", 0, 0, "seed of all random numbers"),
    NC_QUANTITY("duration", box.duration_ns, NC_UNIT_DURATION, "0s", 0, 0, "stop after this time; 0 for never"),
    NC_QUANTITY("poll", box.worker.poll_ns, NC_UNIT_DURATION, "50us", 0, 10 * NC_NS_PER_MS,
                "under load, look at the ports this often instead of waking for every packet; 0 to wake for each"),
    NC_QUANTITY("spin", box.worker.spin_ns, NC_UNIT_DURATION, "20us", 0, 10 * NC_NS_PER_MS,
                "wake up this long before a departure and watch the clock until it is due; 0 to sleep only"),
    NC_QUANTITY("granularity", box.granularity_ns, NC_UNIT_DURATION, "60us", 0, 100 * NC_NS_PER_MS,
                "wire packets of one super-packet that are due within this time leave together"),
    NC_QUANTITY("lateness-limit", box.lateness_limit_ns, NC_UNIT_DURATION, "1ms", NC_NS_PER_US, 60 * NC_NS_PER_S,
                "the verdict allows 1 % of packets to leave later than this, or than granularity and poll together"),
    NC_QUANTITY(
        "priority", box.worker.priority, NC_UNIT_COUNT, "10", 0, 99,
        "real-time priority (SCHED_RR), so that busy hosts on the same machine do not make it late; 0 for none"),
    NC_QUANTITY("threads", box.threads, NC_UNIT_COUNT, "1", 1, 2, "1 thread for both directions, or 2: one for each"),
    NC_CHOICE("napi", box.napi, napi_choices, "auto",
              "whether another processor runs the receiving stack of a TAP's host when the box is busy"),
    NC_QUANTITY("memory", box.memory_bytes, NC_UNIT_BYTES, "2GB", 4 << 20, UINT64_C(1) << 42,
                "bound on memory for packets, for each direction"),
    NC_FLAG("check", check, "say what the models mean, or what is wrong with them, and exit"),
    NC_STRING("record", box.record.path, "FILE",
              "record times and fate of every wire packet in FILE, for 'pktlogger record'; best below /dev/shm"),
    NC_QUANTITY("record-memory", box.record.memory_bytes, NC_UNIT_BYTES, "64MB", 1 << 20, UINT64_C(1) << 40,
                "size of that file; packets that find no room are skipped and counted"),
    NC_QUANTITY("record-headers", box.record.header_bytes, NC_UNIT_BYTES, "128B", 64, 1024,
                "bytes kept of a packet; 128 holds link, IP and TCP headers"),
    NC_SANDBOX_ROWS(sandbox),
    NC_FLAG("parent-death", parent_death, "stop when the parent process ends"),
    NC_FLAG("human", human, "text on stdout (the default on a terminal)"),
    NC_FLAG("json", json, "JSON lines on stdout (the default elsewhere)"),
};
enum { OWN_ROWS = sizeof own_rows / sizeof own_rows[0], NAME_MAX_LEN = 24 };

static const struct group {
    const char *prefix, *heading;
    size_t offset;
} groups[] = {
    {"", "path, both directions", OFFSET(both)},
    {"ab-", "path, from a to b only", OFFSET(ab)},
    {"ba-", "path, from b to a only", OFFSET(ba)},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

static const struct nc_usage usage = {
    .synopsis = "comet-delay run --a tap:NAME[@NETNS]|if:NAME[@NETNS] --b … [options]",
    .purpose = "A transparent two-port box that delays, rates, queues and drops wire packets.",
    .epilog = "example, between two namespaces of 'ip netns':\n"
              "  comet-delay run --a tap:wan0@left --b tap:wan0@right --delay 4.2ms --rate 45Mbit --queue 110KB\n"
              "  comet-delay set --control /run/comet.sock loss=0.1% ba-rate=1Gbit\n"
              "example, between two NICs:\n"
              "  comet-delay run --a if:eth1 --b if:eth2 --delay 50ms",
};

/* A parameter's option row for one group: adds the group's prefix to the name, and the offset of the group's struct
 * params to the offset. */
static struct nc_option group_row(const struct group *group, const struct nc_option *option, char *name)
{
    struct nc_option row = *option;
    snprintf(name, NAME_MAX_LEN, "%s%s", group->prefix, option->name);
    row.name = name;
    row.offset += group->offset;
    return row;
}

/* Copies one parameter between two struct params. */
static void copy_field(const struct nc_option *option, struct params *to, const struct params *from)
{
    size_t size = option->kind == NC_OPT_TEXT     ? option->max
                  : option->kind == NC_OPT_CHOICE ? sizeof(int)
                                                  : sizeof(uint64_t);
    memcpy((char *)to + option->offset, (const char *)from + option->offset, size);
}

void settings_parse(int argc, char **argv, struct settings *settings, struct params params[2])
{
    size_t rows_n = OWN_ROWS + GROUPS * (param_rows_n + 1), at = OWN_ROWS;
    struct nc_option *rows = calloc(rows_n, sizeof *rows);
    char (*names)[NAME_MAX_LEN] = calloc(rows_n, sizeof *names);
    bool *given = calloc(rows_n, sizeof *given);
    if (!rows || !names || !given)
        nc_die(NC_EXIT_MISSING, "out of memory");
    memcpy(rows, own_rows, sizeof own_rows);
    for (size_t g = 0; g < GROUPS; g++) {
        rows[at++] = (struct nc_option){.name = groups[g].heading, .kind = NC_OPT_SECTION};
        for (size_t i = 0; i < param_rows_n; i++, at++)
            rows[at] = group_row(&groups[g], &param_rows[i].option, names[at]);
    }
    int positional = nc_options_parse(rows, rows_n, &usage, settings, given, argc, argv);
    if (positional < argc)
        nc_die(NC_EXIT_USAGE, "'%s': not an option; see comet-delay run --help", argv[positional]);
    const bool *given_ab = given + OWN_ROWS + (param_rows_n + 1) + 1, *given_ba = given_ab + param_rows_n + 1;
    params[0] = params[1] = settings->both;
    for (size_t i = 0; i < param_rows_n; i++) {
        if (given_ab[i])
            copy_field(&param_rows[i].option, &params[0], &settings->ab);
        if (given_ba[i])
            copy_field(&param_rows[i].option, &params[1], &settings->ba);
    }
    free(rows);
    free(names);
    free(given);
}

int settings_set(const char *name, const char *text, struct params params[2], struct nc_error *error)
{
    for (size_t i = 0; i < param_rows_n; i++)
        for (size_t g = 0; g < GROUPS; g++) {
            char full[NAME_MAX_LEN];
            struct nc_option row = group_row(&groups[g], &param_rows[i].option, full);
            if (strcmp(name, row.name) != 0)
                continue;
            row.offset = param_rows[i].option.offset;
            struct params parsed;
            if (nc_option_set(&row, text, &parsed, error) < 0)
                return -1;
            if (groups[g].offset != OFFSET(ba))
                copy_field(&row, &params[0], &parsed);
            if (groups[g].offset != OFFSET(ab))
                copy_field(&row, &params[1], &parsed);
            return 0;
        }
    return nc_fail(error, NC_EXIT_USAGE, "'%.40s': no such parameter; see the path options of comet-delay run --help",
                   name);
}
