/* lft-gateway: a subcommand a function, a table of them. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client.h"
#include "crypto.h"
#include "gateway.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "psk.h"
#include "rules.h"
#include "settings.h"

static int block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A descriptor a connection: as many as the administrator allows at all. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int run(int argc, char **argv)
{
    static const struct nc_usage usage = {.synopsis = "lft-gateway run --config FILE [options]\nlft-gateway run --psk-file FILE [--peer ADDRESS] [options]",
        .purpose = "One end of an LFT tunnel: takes TCP connections over and carries them to the other end.",
        .epilog = "Every option is also a key of the TOML file: --psk-file is psk_file under [security]."};
    struct settings settings;
    char why[600];
    int status;
    settings_parse(argc, argv, &usage, &settings);
    if (settings_check(&settings, why, sizeof why) < 0)
        nc_die(NC_EXIT_USAGE, "%s", why);
    if (settings.parent_death)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_TIMERSLACK, 1);
    raise_descriptors();
    int signal_fd = block_signals();
    const char *warning = lft_cipher_warning((enum lft_cipher)(settings.cipher + 1));
    if (warning)
        nc_log("%s", warning);
    struct gateway *gateway = gateway_open(&settings, &status, why, sizeof why);
    if (!gateway) {
        nc_jsonl_error(stdout, status, "%s", why);
        return status;
    }
    nc_jsonl_event(stdout, "ready", gateway_ready(gateway));
    gateway_run(gateway, signal_fd);
    json_t *end = gateway_state(gateway);
    gateway_close(gateway);
    nc_jsonl_event(stdout, "end", end);
    return NC_EXIT_OK;
}

static int check(int argc, char **argv)
{
    static const struct nc_usage usage = {.synopsis = "lft-gateway check FILE", .purpose = "Reads a configuration file and the key it names, and changes nothing."};
    struct settings settings;
    uint8_t key[LFT_PSK_MAX];
    char why[600], *arguments[] = {argv[0], NULL, NULL}, option[4200];
    if (argc != 2 || argv[1][0] == '-') {
        if (argc == 2)
            nc_options_parse(NULL, 0, &usage, NULL, NULL, argc, argv);
        nc_die(NC_EXIT_USAGE, "check: want one configuration file");
    }
    snprintf(option, sizeof option, "--config=%s", argv[1]);
    arguments[1] = option;
    settings_parse(2, arguments, &usage, &settings);
    if (settings_check(&settings, why, sizeof why) < 0 || psk_read(settings.psk_file, key, why, sizeof why) < 0)
        nc_die(NC_EXIT_USAGE, "%s: %s", argv[1], why);
    lft_wipe(key, sizeof key);
    printf("%s: good\n", argv[1]);
    return NC_EXIT_OK;
}

static int clean(int argc, char **argv)
{
    static const struct nc_usage usage = {.synopsis = "lft-gateway clean [--name NAME] [--mark N] [--table N]",
        .purpose = "Removes the packet rules and routes that a killed gateway left in this network namespace."};
    struct settings settings;
    settings_parse(argc, argv, &usage, &settings);
    rules_remove(settings.name, (uint32_t)settings.mark, (uint32_t)settings.table);
    return NC_EXIT_OK;
}

static const struct {
    const char *name, *purpose;
    int (*main)(int argc, char **argv);
} verbs[] = {
    {"run", "be a gateway", run},
    {"check", "check a configuration file", check},
    {"show", "state of a running gateway", client_show},
    {"set", "change a running gateway", client_set},
    {"bypass", "new connections unaccelerated: auto, on, off", client_bypass},
    {"drain", "end when the connections have ended", client_drain},
    {"stop", "end at once", client_stop},
    {"watch", "a running gateway, interval by interval", client_watch},
    {"metrics", "state as Prometheus text", client_metrics},
    {"clean", "remove what a killed gateway left", clean},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    for (int i = 0; i < VERBS; i++)
        if (strcmp(verb, verbs[i].name) == 0)
            return verbs[i].main(argc - 1, argv + 1);
    bool help = strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0;
    if (verb[0] && !help)
        nc_die(NC_EXIT_USAGE, "'%s': want one of run, check, show, set, bypass, drain, stop, watch, metrics, clean; see lft-gateway --help", verb);
    FILE *out = help ? stdout : stderr;
    fprintf(out, "lft-gateway VERB [options]: a gateway of the reference Long Fat Tunnel\n\n");
    for (int i = 0; i < VERBS; i++)
        fprintf(out, "  %-8s  %s\n", verbs[i].name, verbs[i].purpose);
    fprintf(out, "\nlft-gateway VERB --help says more.\n");
    return help ? NC_EXIT_OK : NC_EXIT_USAGE;
}
