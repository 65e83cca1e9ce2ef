/* The framing of the control connection: messages of a peer that come whole, in pieces, or malformed. */
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "control_connection.h"
#include "message.h"
#include "nc_clock.h"

static uint8_t buf[RTTCP_FRAME_HEADER + RTTCP_FRAME_MAX];
static struct nc_error wrong;

static enum rttcp_frame decode(size_t n, json_t **message, size_t *used)
{
    return rttcp_frame_decode(buf, buf + n, message, used, &wrong);
}

static void frame_comes_back(void)
{
    json_t *message = NULL, *hello = rttcp_hello_encode(false, "");
    size_t used = 0, n = rttcp_frame_encode(hello, buf);
    for (size_t part = 0; part < n; part++)
        CHECK_EQ(decode(part, &message, &used), FRAME_INCOMPLETE);
    CHECK_EQ(decode(n, &message, &used), FRAME_MESSAGE);
    CHECK_EQ(used, n);
    CHECK(json_equal(message, hello));
    CHECK_EQ(rttcp_hello_decode(message, true, NULL, &wrong), 0);
    json_decref(message);
    json_decref(hello);
}

static void bad_frames_are_refused(void)
{
    static const struct {
        const char *octets;
        size_t n;
    } bad[] = {
        {"GET / HTTP/1.1\r\n", 16}, {"\0\0\0\1x", 5},
        {"\0\0\0\2[]", 6},          {"\0\0\0\2{}", 6},
        {"\0\0\0\4null", 8},        {"\0\1\0\1", 4},
        {"\xff\xff\xff\xff", 4},    {"\0\0\0\xb{\"type\":1}x", 15},
        {"\0\0\0\4{\"a\"", 8},      {"\0\0\0\x1b{\"type\":\"a\",\"b\":1,\"b\":2}  ", 31},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *message = NULL;
        size_t used;
        memcpy(buf, bad[i].octets, bad[i].n);
        if (decode(bad[i].n, &message, &used) != FRAME_BAD) {
            fprintf(stderr, "row %zu was not refused\n", i);
            exit(1);
        }
        CHECK(message == NULL);
    }
}

static void another_program_is_found_out_by_its_first_octet(void)
{
    json_t *message = NULL;
    size_t used;
    buf[0] = 9;
    CHECK_EQ(decode(1, &message, &used), FRAME_BAD);
    CHECK(strstr(wrong.text, "iperf3 server"));
    buf[0] = 'H';
    CHECK_EQ(decode(1, &message, &used), FRAME_BAD);
    CHECK(strstr(wrong.text, "octet 72"));
    buf[0] = 0;
    CHECK_EQ(decode(1, &message, &used), FRAME_INCOMPLETE);
}

static void messages_cross_a_socket_in_order(void)
{
    int pair[2];
    struct nc_error error = {0};
    static struct rttcp_control_connection a, b;
    json_t *got = NULL;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    a.channel = rttcp_channel_plain(pair[0]);
    b.channel = rttcp_channel_plain(pair[1]);
    uint64_t deadline = nc_now_ns() + NC_NS_PER_S;
    CHECK_EQ(rttcp_control_connection_send(&a, rttcp_hello_encode(false, ""), deadline, &error), 0);
    CHECK_EQ(rttcp_control_connection_send(&a, rttcp_reason_encode("refuse", 2, "no \x1b[31mroom"), deadline, &error),
             0);
    CHECK((got = rttcp_control_connection_expect(&b, "hello", deadline, &error)) != NULL);
    json_decref(got);
    CHECK(rttcp_control_connection_expect(&b, "accept", deadline, &error) == NULL);
    CHECK_EQ(error.status, 2);
    CHECK_STR(error.text, "the peer refused: no ?[31mroom");
    CHECK_EQ(rttcp_control_connection_poll(&b, nc_now_ns(), &got, &error), GOT_NOTHING);
    close(pair[0]);
    CHECK_EQ(rttcp_control_connection_poll(&b, deadline, &got, &error), GOT_CLOSED);
    close(pair[1]);
}

static void silence_ends_at_the_deadline(void)
{
    int pair[2];
    struct nc_error error = {0};
    static struct rttcp_control_connection b;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    b.channel = rttcp_channel_plain(pair[1]);
    CHECK(rttcp_control_connection_expect(&b, "hello", nc_now_ns() + 20 * NC_NS_PER_MS, &error) == NULL);
    CHECK_STR(error.text, "the peer did not send 'hello' in time");
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    RUN(frame_comes_back);
    RUN(bad_frames_are_refused);
    RUN(another_program_is_found_out_by_its_first_octet);
    RUN(messages_cross_a_socket_in_order);
    RUN(silence_ends_at_the_deadline);
    return 0;
}
