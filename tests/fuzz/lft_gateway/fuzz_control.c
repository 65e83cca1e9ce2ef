/* Any client of the control socket of a real gateway without other traffic. The rest of the input is sent in pieces, so
 * that lines are split and joined. The first octet is the size of a piece; after 64 pieces they are long. Every line
 * must be answered by one line of JSON with "ok" in it, or the client is dropped. Only the first answers are parsed,
 * because parsing all of them took a third of the time. At most 64 lines are sent, because more lines take time and
 * test nothing more. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_socket.h"
#include "gateway_internal.h"
#include "nc_clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECES = 64, LONG = 1 + UINT8_MAX * 8, LINES = 64, PARSED = 4 };
static char folder[64], socket_path[96];

static struct control_socket *control;

static struct gateway *make_gateway(void)
{
    static char psk_path[96];
    static struct settings settings;
    size_t n;
    struct nc_error error;
    const struct nc_option *rows = settings_rows(&n);
    snprintf(folder, sizeof folder, "/tmp/lft-fuzz-XXXXXX");
    assert(mkdtemp(folder));
    snprintf(psk_path, sizeof psk_path, "%s/psk", folder);
    snprintf(socket_path, sizeof socket_path, "%s/control", folder);
    static const char hexadecimal[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    FILE *psk = fopen(psk_path, "w");
    assert(psk && fputs(hexadecimal, psk) >= 0 && fclose(psk) == 0 && chmod(psk_path, 0600) == 0);
    for (size_t i = 0; i < n; i++)
        if (rows[i].default_text)
            assert(nc_option_set(&rows[i], rows[i].default_text, &settings, &error) == 0);
    settings.listen = "127.0.0.1:0";
    settings.psk_file = psk_path;
    struct gateway *gateway = gateway_open(&settings, &error);
    assert(gateway);
    control = control_socket_open(socket_path, gateway, &error);
    assert(control);
    return gateway;
}

static void turn(struct gateway *gateway)
{
    while (loop_turn(gateway->loop, 0, 0) > 0)
        ;
}

static int connect_client(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static void check_answer(const char *at, size_t n)
{
    json_t *answer = json_loadb(at, n, 0, NULL);
    assert(answer && json_is_boolean(json_object_get(answer, "ok")));
    assert(json_is_true(json_object_get(answer, "ok")) || json_is_string(json_object_get(answer, "error")));
    json_decref(answer);
}

/* Reads answers, each a line of JSON. `lines`: number read before. Returns the number read in total. */
static size_t take_answers(int fd, size_t lines)
{
    static char text[1 << 20];
    ssize_t n = recv(fd, text, sizeof text, MSG_DONTWAIT);
    for (char *at = text, *end; n > 0 && (end = memchr(at, '\n', (size_t)(text + n - at))); at = end + 1, lines++) {
        assert(end - at > 2 && at[0] == '{' && end[-1] == '}');
        if (lines < PARSED)
            check_answer(at, (size_t)(end - at));
    }
    assert(n <= 0 || text[n - 1] == '\n');
    return lines;
}

static void clean_up(void)
{
    char command[128];
    control_socket_close(control);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    if (system(command) != 0)
        perror(command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gateway *gateway;
    size_t asked = 0, answered = 0;
    if (!gateway) {
        gateway = make_gateway();
        atexit(clean_up);
    }
    int fd = connect_client();
    turn(gateway);
    bool dropped = false;
    size_t piece = size ? 1u + data[0] * 8u : 1;
    for (size_t at = 1, n, pieces = 0; at < size && asked < LINES && !dropped; at += n, pieces++) {
        n = pieces < PIECES ? piece : LONG;
        n = size - at < n ? size - at : n;
        dropped = send(fd, data + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n;
        for (size_t i = 0; i < n && !dropped; i++)
            asked += data[at + i] == '\n';
        turn(gateway);
        answered = take_answers(fd, answered);
    }
    assert(answered == asked || size > CONTROL_LINE_MAX);
    close(fd);
    turn(gateway);
    return 0;
}
