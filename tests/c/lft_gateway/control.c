/* When no descriptor is left, one client of the control socket is still served. A second client waits in the kernel's
 * queue, and the gateway sleeps. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "control_socket.h"
#include "gateway.h"
#include "nc_clock.h"
#include "nc_options.h"

static void allow_descriptors(rlim_t n)
{
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = n ? n : limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static struct gateway *open_gateway(const char *key_file)
{
    static const struct nc_usage usage = {.synopsis = "lft-gateway run"};
    char name[] = "run", key[200], listen[] = "--listen=127.0.0.1:0", *argv[] = {name, key, listen, NULL};
    struct settings settings;
    struct nc_error error;
    FILE *file = fopen(key_file, "w");
    CHECK(file && fputs("a text that is a key\n", file) >= 0 && fclose(file) == 0);
    snprintf(key, sizeof key, "--psk-file=%s", key_file);
    settings_parse(3, argv, &usage, &settings);
    struct gateway *gateway = gateway_open(&settings, &error);
    if (!gateway)
        fprintf(stderr, "%s\n", error.text);
    CHECK(gateway);
    return gateway;
}

static unsigned turns(struct loop *loop, uint64_t ns)
{
    unsigned n = 0;
    uint64_t now_ns = nc_now_ns();
    for (uint64_t end_ns = now_ns + ns; now_ns < end_ns; n++) {
        loop_turn(loop, now_ns, end_ns);
        now_ns = loop_now_ns(loop);
    }
    return n;
}

static int ask(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_EQ(connect(client, (const struct sockaddr *)&to, sizeof to), 0);
    CHECK_EQ(send(client, "{\"op\":\"show\"}\n", 14, 0), 14);
    return client;
}

/* False: no answer has come. */
static bool is_answered(int client)
{
    char answer[16];
    ssize_t got = recv(client, answer, sizeof answer, MSG_DONTWAIT);
    return got > 0 && answer[0] == '{';
}

static void no_descriptor_is_waited_for(void)
{
    char folder[] = "/tmp/lft-control-XXXXXX", key[64], path[64];
    struct nc_error error;
    CHECK(mkdtemp(folder));
    snprintf(key, sizeof key, "%s/key", folder);
    snprintf(path, sizeof path, "%s/socket", folder);
    umask(077);
    struct gateway *gateway = open_gateway(key);
    struct control_socket *control = control_socket_open(path, gateway, &error);
    CHECK(control);
    int first = ask(path), second = ask(path);
    allow_descriptors((rlim_t)second + 1);
    unsigned n = turns(gateway_loop(gateway), NC_NS_PER_S / 2);
    if (n > 100)
        fprintf(stderr, "%u turns in half a second without a descriptor\n", n);
    CHECK(n <= 100);
    CHECK(is_answered(first));
    CHECK(!is_answered(second));
    close(first); /* the second client gets its descriptor */
    bool answered = false;
    for (uint64_t until_ns = nc_now_ns() + 30 * NC_NS_PER_S; !answered && nc_now_ns() < until_ns;) {
        turns(gateway_loop(gateway), 10 * NC_NS_PER_MS);
        answered = is_answered(second);
    }
    CHECK(answered);
    allow_descriptors(0);
    close(second);
    control_socket_close(control);
    gateway_close(gateway);
    unlink(key);
    rmdir(folder);
}

int main(void)
{
    RUN(no_descriptor_is_waited_for);
    return 0;
}
