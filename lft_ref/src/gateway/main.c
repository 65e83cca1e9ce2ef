/* lft-gateway: one function per subcommand, and a table of them. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "client.h"
#include "control_socket.h"
#include "crypto.h"
#include "gateway.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_program.h"
#include "psk.h"
#include "rules.h"
#include "settings.h"

/* Opens the gateway and its control socket, then enters the sandbox. Returns NULL and the reason on failure. */
static struct gateway *open_all(const struct settings *settings, struct control_socket **control,
                                struct nc_error *error)
{
    struct gateway *gateway = gateway_open(settings, error);
    if (gateway && (!settings->control || (*control = control_socket_open(settings->control, gateway, error))) &&
        gateway_confine(gateway, error) == 0)
        return gateway;
    control_socket_close(*control);
    gateway_close(gateway);
    return NULL;
}

static int run(int argc, char **argv)
{
    static const struct nc_usage usage = {
        .synopsis =
            "lft-gateway run --config FILE [options]\nlft-gateway run --psk-file FILE [--peer ADDRESS] [options]",
        .purpose = "One end of an LFT tunnel: takes TCP connections over and carries them to the other end.",
        .epilog = "Every option is also a key of the TOML file: --psk-file is psk_file under [security]."};
    struct settings settings;
    struct nc_error error;
    /* No core dumps, because they would contain keys. This also keeps the user's other processes from reading our
     * memory. */
    prctl(PR_SET_DUMPABLE, 0);
    settings_parse(argc, argv, &usage, &settings);
    if (settings_check(&settings, &error) < 0)
        nc_die(NC_EXIT_USAGE, "%s", error.text);
    if (settings.parent_death)
        nc_program_end_with_parent();
    prctl(PR_SET_TIMERSLACK, 1);
    nc_program_raise_descriptors(); /* a descriptor for each connection */
    signal(SIGPIPE, SIG_IGN);
    int signal_fd = nc_program_open_signals();
    const char *warning = lft_cipher_warning((enum lft_cipher)(settings.cipher + 1));
    if (warning)
        nc_log("%s", warning);
    struct control_socket *control = NULL;
    struct gateway *gateway = open_all(&settings, &control, &error);
    if (!gateway) {
        nc_log_error(stdout, error.status, "%s", error.text);
        return error.status;
    }
    nc_jsonl_event(stdout, "ready", gateway_ready(gateway));
    gateway_run(gateway, signal_fd);
    json_t *end = gateway_state(gateway);
    control_socket_close(control);
    gateway_close(gateway);
    nc_jsonl_event(stdout, "end", end);
    return NC_EXIT_OK;
}

static int check(int argc, char **argv)
{
    static const struct nc_usage usage = {.synopsis = "lft-gateway check FILE",
                                          .purpose =
                                              "Reads a configuration file and the key it names, and changes nothing."};
    struct settings settings;
    uint8_t key[LFT_PSK_BYTES];
    struct nc_error error;
    char *arguments[] = {argv[0], NULL, NULL}, option[4200];
    if (argc != 2 || argv[1][0] == '-') {
        if (argc == 2)
            nc_options_parse(NULL, 0, &usage, NULL, NULL, argc, argv);
        nc_die(NC_EXIT_USAGE, "check: want one configuration file");
    }
    snprintf(option, sizeof option, "--config=%s", argv[1]);
    arguments[1] = option;
    settings_parse(2, arguments, &usage, &settings);
    if (settings_check(&settings, &error) < 0 || psk_read(&settings, key, &error) < 0)
        nc_die(NC_EXIT_USAGE, "%s: %s", argv[1], error.text);
    lft_wipe(key, sizeof key);
    printf("%s: good\n", argv[1]);
    return NC_EXIT_OK;
}

static int genkey(int argc, char **argv)
{
    static const struct nc_usage usage = {
        .synopsis = "lft-gateway genkey",
        .purpose = "Prints a new pre-shared key: 32 random octets as 64 hexadecimal digits, for --psk-file.",
        .epilog = "umask 077; lft-gateway genkey > psk"};
    uint8_t key[LFT_PSK_BYTES];
    int used = nc_options_parse(NULL, 0, &usage, NULL, NULL, argc, argv);
    if (used < argc)
        nc_die(NC_EXIT_USAGE, "genkey: '%s': want no arguments", argv[used]);
    lft_random(key, sizeof key);
    for (size_t i = 0; i < sizeof key; i++)
        printf("%02x", key[i]);
    lft_wipe(key, sizeof key);
    printf("\n");
    return fflush(stdout) == 0 ? NC_EXIT_OK : NC_EXIT_FAILED;
}

static int clean(int argc, char **argv)
{
    static const struct nc_usage usage = {
        .synopsis = "lft-gateway clean [--name NAME] [--mark N] [--table N]",
        .purpose = "Removes the packet rules and routes that a killed gateway left in this network namespace."};
    struct settings settings;
    settings_parse(argc, argv, &usage, &settings);
    rules_remove(settings.name, (uint32_t)settings.mark, (uint32_t)settings.table);
    return NC_EXIT_OK;
}

int main(int argc, char **argv)
{
    static const struct nc_verb verbs[] = {
        {"run", "be a gateway", run},
        {"genkey", "print a new pre-shared key", genkey},
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
    static const struct nc_program program = {.name = "lft-gateway",
                                              .purpose = "A gateway of the reference Long Fat Tunnel.",
                                              .verbs = verbs,
                                              .verbs_n = sizeof verbs / sizeof verbs[0]};
    return nc_program_main(&program, argc, argv);
}
