#include "nc_program.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "nc_log.h"
#include "nc_near.h"

enum { NAMES_MAX = 256 };

static void print_verbs_json(const struct nc_program *program)
{
    json_t *verbs = json_array();
    if (program->run)
        json_array_append_new(verbs, json_pack("{s:n, s:s}", "name", "help", program->purpose));
    for (size_t i = 0; i < program->verbs_n; i++)
        json_array_append_new(verbs,
                              json_pack("{s:s, s:s}", "name", program->verbs[i].name, "help", program->verbs[i].help));
    json_t *object = json_pack("{s:s, s:o}", "tool", program->name, "verbs", verbs);
    json_dumpf(object, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(object);
}

static void print_overview(const struct nc_program *program)
{
    printf("usage: %s VERB [options]\n\n%s\n\nverbs:\n", program->name, program->purpose);
    for (size_t i = 0; i < program->verbs_n; i++)
        printf("  %-10s %s\n", program->verbs[i].name, program->verbs[i].help);
    printf("\n'%s VERB --help' lists the options of a verb.\n", program->name);
}

/* "run, show, set" */
static void join_verbs(const struct nc_program *program, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0, used = 0; i < program->verbs_n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", program->verbs[i].name);
}

/* Ends the program because of an unknown verb. */
static void die_unknown(const struct nc_program *program, const char *word)
{
    char names[NAMES_MAX];
    struct nc_near near = {.word = word};
    for (size_t i = 0; i < program->verbs_n; i++)
        nc_near_show(&near, program->verbs[i].name);
    join_verbs(program, names, sizeof names);
    if (near.name)
        nc_die(NC_EXIT_USAGE, "'%.80s': did you mean %s? want one of %s; see %s --help", word, near.name, names,
               program->name);
    nc_die(NC_EXIT_USAGE, "'%.80s': want one of %s; see %s --help", word, names, program->name);
}

int nc_program_main(const struct nc_program *program, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < program->verbs_n; i++)
        if (strcmp(word, program->verbs[i].name) == 0)
            return program->verbs[i].run(argc - 1, argv + 1);
    if (strcmp(word, "--version") == 0)
        printf("%s %s\n", program->name, NC_VERSION);
    else if (strcmp(word, "--verbs-json") == 0)
        print_verbs_json(program);
    else if (program->run)
        return program->run(argc, argv);
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        print_overview(program);
    else
        die_unknown(program, word);
    return NC_EXIT_OK;
}

bool nc_program_is_human(bool human, bool json)
{
    return human || (!json && isatty(STDOUT_FILENO));
}

static sigset_t end_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

int nc_program_open_signals(void)
{
    sigset_t set = end_signals();
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool nc_program_end_waits(void)
{
    sigset_t waiting;
    return sigpending(&waiting) == 0 && (sigismember(&waiting, SIGINT) > 0 || sigismember(&waiting, SIGTERM) > 0);
}

void nc_program_close_signals(int fd)
{
    struct signalfd_siginfo info;
    sigset_t set = end_signals();
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        continue;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    close(fd);
}

void nc_program_end_with_parent(void)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it ended before we asked */
        raise(SIGTERM);
}

void nc_program_raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
