/* TLS on the control connection: two ends with the same key can talk, and agree on the key of the tokens. Any other
 * pair ends with one line that says which end lacks what. */
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "control_connection.h"
#include "message.h"
#include "nc_clock.h"
#include "tls.h"

#define LONG_NS (30 * NC_NS_PER_S)

struct end {
    struct rttcp_control_connection control;
    struct rttcp_key key;
    bool serving, stranger;
    int status;
    struct nc_error error;
};

static struct end near_end, far_end;

static void *shake(void *argument)
{
    struct end *end = argument;
    end->status = rttcp_tls_begin(&end->control.channel, &end->key, end->serving, NULL, nc_now_ns() + LONG_NS,
                                  &end->stranger, &end->error);
    if (end->status < 0)
        shutdown(end->control.channel.fd, SHUT_WR); /* as the close that follows */
    return NULL;
}

static void open_pair(uint8_t near_key, uint8_t far_key)
{
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    memset(&near_end, 0, sizeof near_end);
    memset(&far_end, 0, sizeof far_end);
    near_end.control.channel = rttcp_channel_plain(pair[0]);
    far_end.control.channel = rttcp_channel_plain(pair[1]);
    far_end.serving = true;
    memset(near_end.key.octets, near_key, sizeof near_end.key.octets);
    memset(far_end.key.octets, far_key, sizeof far_end.key.octets);
}

static void shake_hands(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, shake, &far_end) == 0);
    shake(&near_end);
    pthread_join(thread, NULL);
}

static void close_pair(void)
{
    rttcp_channel_close(&near_end.control.channel);
    rttcp_channel_close(&far_end.control.channel);
}

static void messages_cross_both_ways(void)
{
    struct nc_error error = {0};
    open_pair(7, 7);
    shake_hands();
    CHECK_EQ(near_end.status, 0);
    CHECK_EQ(far_end.status, 0);
    struct end *from[] = {&near_end, &far_end}, *to[] = {&far_end, &near_end};
    for (int i = 0; i < 2; i++) {
        uint64_t deadline = nc_now_ns() + LONG_NS;
        CHECK_EQ(rttcp_control_connection_send(&from[i]->control, rttcp_hello_encode(false, ""), deadline, &error), 0);
        CHECK_EQ(
            rttcp_control_connection_send(&from[i]->control, rttcp_reason_encode("abort", 1, "no"), deadline, &error),
            0);
        json_t *hello = rttcp_control_connection_expect(&to[i]->control, "hello", deadline, &error);
        CHECK(hello != NULL);
        json_decref(hello);
        json_t *abort = NULL; /* both frames may have come in one TLS record; none may stay unread inside TLS */
        CHECK_EQ(rttcp_control_connection_poll(&to[i]->control, deadline, &abort, &error), GOT_MESSAGE);
        json_decref(abort);
    }
    close_pair();
}

static void join_keys_agree_and_are_the_sessions_own(void)
{
    struct rttcp_join_key keys[4];
    struct nc_error error;
    for (int i = 0; i < 4; i += 2) {
        open_pair(7, 7);
        shake_hands();
        CHECK_EQ(rttcp_tls_join_key(&near_end.control.channel, &keys[i], &error), 0);
        CHECK_EQ(rttcp_tls_join_key(&far_end.control.channel, &keys[i + 1], &error), 0);
        CHECK(keys[i].wanted && memcmp(keys[i].octets, keys[i + 1].octets, sizeof keys[i].octets) == 0);
        close_pair();
    }
    CHECK(memcmp(keys[0].octets, keys[2].octets, sizeof keys[0].octets) != 0);
}

static void another_key_is_named_at_both_ends(void)
{
    open_pair(7, 8);
    shake_hands();
    CHECK_STR(near_end.error.text, "--key: the receiver has another key");
    CHECK_EQ(near_end.error.status, NC_EXIT_FAILED);
    CHECK_STR(far_end.error.text, "--key: the sender has another key");
    CHECK_EQ(far_end.error.status, NC_EXIT_FAILED);
    CHECK(!far_end.stranger);
    close_pair();
}

static void *refuse(void *argument)
{
    struct end *end = argument;
    uint8_t first;
    CHECK_EQ(recv(end->control.channel.fd, &first, 1, MSG_PEEK), 1);
    rttcp_tls_refuse(end->control.channel.fd);
    return NULL;
}

static void a_receiver_without_a_key_says_so(void)
{
    pthread_t thread;
    open_pair(7, 7);
    CHECK(pthread_create(&thread, NULL, refuse, &far_end) == 0);
    shake(&near_end);
    pthread_join(thread, NULL);
    CHECK_STR(near_end.error.text, "--key: the receiver has no key; start it with --key FILE");
    CHECK_EQ(near_end.error.status, NC_EXIT_USAGE);
    close_pair();
}

static void silence_and_a_closed_connection_end_the_handshake(void)
{
    open_pair(7, 7);
    struct end *near = &near_end;
    CHECK_EQ(rttcp_tls_begin(&near->control.channel, &near->key, false, NULL, nc_now_ns() + 20 * NC_NS_PER_MS,
                             &near->stranger, &near->error),
             -1);
    CHECK(strstr(near->error.text, "in time"));
    close_pair();
    open_pair(7, 7);
    rttcp_channel_close(&far_end.control.channel);
    shake(&near_end);
    CHECK_EQ(near_end.status, -1);
    CHECK(strstr(near_end.error.text, "closed the control connection"));
    close_pair();
}

static void a_forged_record_is_no_message(void)
{
    static const uint8_t forged[] = {23, 3,  3,  0,  20, 1,  2,  3,  4,  5,  6,  7, 8,
                                     9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    struct nc_error error = {0};
    json_t *message = NULL;
    open_pair(7, 7);
    shake_hands();
    CHECK_EQ(write(far_end.control.channel.fd, forged, sizeof forged), sizeof forged);
    CHECK_EQ(rttcp_control_connection_poll(&near_end.control, nc_now_ns() + LONG_NS, &message, &error), GOT_BAD);
    CHECK(strstr(error.text, "control connection: TLS: "));
    close_pair();
}

/* A message that the socket does not accept before the deadline is completed before the next message is sent. */
static void a_late_message_is_not_torn(void)
{
    int small = 4096;
    uint64_t sent = 0, got = 0;
    struct nc_error error;
    open_pair(7, 7);
    shake_hands();
    setsockopt(near_end.control.channel.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    json_t *big = json_array();
    for (int i = 0; i < 500; i++)
        json_array_append_new(big, json_pack("[i,i,i]", i, i + 1, 1 << 30));
    for (int i = 0; i < 20; i++) /* nobody reads, so the socket becomes full */
        sent += rttcp_control_connection_send(&near_end.control,
                                              rttcp_message("intervals", json_pack("{s:O}", "rows", big)), nc_now_ns(),
                                              &error) == 0;
    CHECK(sent < 20);
    for (int tries = 0; tries < 1000 && got < sent + 1; tries++) {
        json_t *message = NULL;
        enum rttcp_got now = rttcp_control_connection_poll(&far_end.control, nc_now_ns(), &message, &error);
        CHECK(now == GOT_MESSAGE || now == GOT_NOTHING);
        got += now == GOT_MESSAGE;
        json_decref(message);
        if (now == GOT_NOTHING)
            rttcp_control_connection_send(&near_end.control, rttcp_hello_encode(false, ""), nc_now_ns(), &error);
    }
    CHECK(got > sent);
    json_decref(big);
    close_pair();
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as rttcp_stop_install */
    RUN(messages_cross_both_ways);
    RUN(join_keys_agree_and_are_the_sessions_own);
    RUN(another_key_is_named_at_both_ends);
    RUN(a_receiver_without_a_key_says_so);
    RUN(silence_and_a_closed_connection_end_the_handshake);
    RUN(a_forged_record_is_no_message);
    RUN(a_late_message_is_not_torn);
    return 0;
}
