#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"

#define OWN(field) offsetof(struct settings, field)

static const char *const napi_choices[] = {"auto", "off", NULL};    /* enum port_napi */
static const char *const home_choices[] = {"user", "kernel", NULL}; /* enum box_home */

/* clang-format off */
#define OFFSET(member) OWN(member)
static const struct nc_option own_rows[] = {
    {.name = "ports", .kind = NC_OPT_SECTION},
    {.name = "a", .kind = NC_OPT_STRING, .metavar = "PORT",
     .help = "one side: tap:NAME[@NETNS], made for a host, or if:NAME[@NETNS], an existing interface",
     .offset = OWN(port_a)},
    {.name = "b", .kind = NC_OPT_STRING, .metavar = "PORT", .help = "the other side", .offset = OWN(port_b)},
    {.name = "mtu", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "1500", .min = 68, .max = 65521,
     .help = "MTU of TAPs", .offset = OWN(box.mtu)},
    {.name = "box", .kind = NC_OPT_SECTION},
    {.name = "control", .kind = NC_OPT_STRING, .metavar = "SOCKET", .help = "Unix socket to listen on for show and set",
     .offset = OWN(control)},
    {.name = "home", .kind = NC_OPT_CHOICE, .choices = home_choices, .default_text = "user",
     .help = "where packets are moved: in this process, or by sch_comet, which only the kernel of virtual time has",
     .offset = OWN(box.home)},
    {.name = "seed", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "1",
     .help = "seed of all random numbers", .offset = OWN(box.seed)},
    {.name = "duration", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "0s",
     .help = "stop after this time; 0 for never", .offset = OWN(box.duration_ns)},
    {.name = "poll", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "50us",
     .max = 10 * NC_NS_PER_MS,
     .help = "under load, look at the ports this often instead of waking for every packet; 0 to wake for each",
     .offset = OWN(box.worker.poll_ns)},
    {.name = "spin", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "20us",
     .max = 10 * NC_NS_PER_MS,
     .help = "wake up this long before a departure and watch the clock until it is due; 0 to sleep only",
     .offset = OWN(box.worker.spin_ns)},
    {.name = "granularity", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "60us",
     .max = 100 * NC_NS_PER_MS,
     .help = "wire packets of one super-packet that are due within this time leave together",
     .offset = OWN(box.granularity_ns)},
    {.name = "lateness-limit", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_DURATION, .default_text = "1ms",
     .min = NC_NS_PER_US, .max = 60 * NC_NS_PER_S,
     .help = "the verdict allows 1 % of packets to leave later than this, or than granularity and poll together",
     .offset = OWN(box.lateness_limit_ns)},
    {.name = "priority", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "10", .max = 99,
     .help = "real-time priority (SCHED_RR), so that busy hosts beside the box do not make it late; 0 for none",
     .offset = OWN(box.worker.priority)},
    {.name = "threads", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_COUNT, .default_text = "1", .min = 1, .max = 2,
     .help = "1 thread for both directions, or 2: one for each", .offset = OWN(box.threads)},
    {.name = "napi", .kind = NC_OPT_CHOICE, .choices = napi_choices, .default_text = "auto",
     .help = "whether another processor runs the receiving stack of a TAP's host when the box is busy",
     .offset = OWN(box.napi)},
    {.name = "memory", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_BYTES, .default_text = "2GB", .min = 4 << 20,
     .max = UINT64_C(1) << 42, .help = "bound on memory for packets, for each direction",
     .offset = OWN(box.memory_bytes)},
    {.name = "check", .kind = NC_OPT_FLAG,
     .help = "say what the models mean, or what is wrong with them, and exit",
     .offset = OWN(check)},
    {.name = "record", .kind = NC_OPT_STRING, .metavar = "FILE", .offset = OWN(box.record.path),
     .help = "record times and fate of every wire packet in FILE, for 'pktlogger record'; best below /dev/shm"},
    {.name = "record-memory", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_BYTES, .default_text = "64MB", .min = 1 << 20,
     .max = UINT64_C(1) << 40, .help = "size of that file; packets that find no room are skipped and counted",
     .offset = OWN(box.record.memory_bytes)},
    {.name = "record-headers", .kind = NC_OPT_QUANTITY, .unit = NC_UNIT_BYTES, .default_text = "128B", .min = 64,
     .max = 1024, .help = "bytes kept of a packet; 128 holds link, IP and TCP headers",
     .offset = OWN(box.record.header_bytes)},
    NC_SANDBOX_ROWS(sandbox),
    {.name = "parent-death", .kind = NC_OPT_FLAG, .help = "stop when the parent process ends",
     .offset = OWN(parent_death)},
    {.name = "human", .kind = NC_OPT_FLAG, .help = "text on stdout (the default on a terminal)", .offset = OWN(human)},
    {.name = "json", .kind = NC_OPT_FLAG, .help = "JSON lines on stdout (the default elsewhere)", .offset = OWN(json)},
};
/* clang-format on */
enum { OWN_ROWS = sizeof own_rows / sizeof own_rows[0], NAME_MAX_LEN = 24 };

static const struct group {
    const char *prefix, *heading;
    size_t offset;
} groups[] = {
    {"", "path, both directions", OWN(both)},
    {"ab-", "path, from a to b only", OWN(ab)},
    {"ba-", "path, from b to a only", OWN(ba)},
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

/* A parameter's row for one group: the name gets the group's prefix, the offset that of the group's struct params. */
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
            if (groups[g].offset != OWN(ba))
                copy_field(&row, &params[0], &parsed);
            if (groups[g].offset != OWN(ab))
                copy_field(&row, &params[1], &parsed);
            return 0;
        }
    return nc_fail(error, NC_EXIT_USAGE, "'%.40s': no such parameter; see the path options of comet-delay run --help",
                   name);
}
