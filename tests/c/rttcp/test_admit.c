/* Which connection becomes a stream: without a key the first one; with a key the one with the token, even if others
 * connect to the port. The connections are made before they are accepted, so no test waits. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include "check.h"
#include "nc_clock.h"
#include "sock.h"

#define LONG_NS (30 * NC_NS_PER_S)
#define STREAM 3

static const struct rttcp_join_key key = {.wanted = true, .octets = "0123456789abcdef0123456789abcde"};
static const struct rttcp_join_key no_key;
static int control, data_listener;

static int listen_on_loopback(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 200) == 0);
    return fd;
}

static int connect_to(int listener, in_addr_t from)
{
    struct sockaddr_in at, local = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(from)};
    CHECK(getsockname(listener, (struct sockaddr *)&at, &(socklen_t){sizeof at}) == 0);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *)&local, sizeof local) == 0);
    CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

static int accept_stream(const struct rttcp_join_key *with, uint64_t patience_ns)
{
    struct nc_error error;
    int fd = rttcp_data_accept(data_listener, control, with, STREAM, nc_now_ns() + patience_ns, &error);
    if (fd < 0)
        CHECK(strstr(error.text, "in time"));
    return fd;
}

static void say_token(int fd, const struct rttcp_join_key *with, uint64_t stream)
{
    struct nc_error error;
    CHECK_EQ(rttcp_data_join(fd, with, stream, false, &error), 0);
}

static void check_data(int fd, const char *wanted)
{
    char got[16] = "";
    CHECK_EQ(recv(fd, got, strlen(wanted), MSG_WAITALL), strlen(wanted));
    CHECK_STR(got, wanted);
}

static void without_a_key_the_first_from_the_peer_is_taken(void)
{
    int elsewhere = connect_to(data_listener, INADDR_LOOPBACK + 1), first = connect_to(data_listener, INADDR_LOOPBACK);
    say_token(first, &no_key, STREAM); /* says nothing */
    CHECK_EQ(write(first, "data", 4), 4);
    int fd = accept_stream(&no_key, LONG_NS);
    check_data(fd, "data");
    close(fd);
    close(first);
    close(elsewhere);
}

static void the_token_lets_in_and_the_data_behind_it_stay(void)
{
    static const struct rttcp_join_key other = {.wanted = true, .octets = "another"};
    int silent[70], half, liar, neighbour, genuine;
    for (int i = 0; i < 70; i++) /* more than are kept */
        silent[i] = connect_to(data_listener, INADDR_LOOPBACK);
    half = connect_to(data_listener, INADDR_LOOPBACK);
    CHECK_EQ(write(half, "rttcp\n\0", 7), 7);
    liar = connect_to(data_listener, INADDR_LOOPBACK);
    say_token(liar, &other, STREAM);
    neighbour = connect_to(data_listener, INADDR_LOOPBACK);
    say_token(neighbour, &key, STREAM + 1);
    genuine = connect_to(data_listener, INADDR_LOOPBACK);
    say_token(genuine, &key, STREAM);
    CHECK_EQ(write(genuine, "data", 4), 4);
    int fd = accept_stream(&key, LONG_NS);
    check_data(fd, "data");
    int closed[] = {silent[0], half, liar, neighbour};
    char octet;
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        CHECK(recv(closed[i], &octet, 1, 0) <= 0);
    close(fd);
    close(genuine);
    for (size_t i = 1; i < sizeof closed / sizeof closed[0]; i++)
        close(closed[i]);
    for (int i = 0; i < 70; i++)
        close(silent[i]);
}

static void nobody_with_a_token_is_nobody(void)
{
    int liar = connect_to(data_listener, INADDR_LOOPBACK);
    CHECK_EQ(write(liar, "data", 4), 4);
    CHECK_EQ(accept_stream(&key, 50 * NC_NS_PER_MS), -1);
    close(liar);
}

int main(void)
{
    int listener = listen_on_loopback();
    int peer = connect_to(listener, INADDR_LOOPBACK);
    control = accept(listener, NULL, NULL);
    data_listener = listen_on_loopback();
    RUN(without_a_key_the_first_from_the_peer_is_taken);
    RUN(the_token_lets_in_and_the_data_behind_it_stay);
    RUN(nobody_with_a_token_is_nobody);
    close(peer);
    close(control);
    close(listener);
    close(data_listener);
    return 0;
}
