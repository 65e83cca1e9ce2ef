/* Look-ups without an answer must not delay others. They end at their deadline, or when their client has gone. The test
 * is the name server: it answers for names that begin with "known", and is silent for all others. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "loop.h"
#include "nc_bytes.h"
#include "nc_clock.h"
#include "resolve.h"

enum { SLOW = 200, HEADER = 12, ANSWER = 16 };

struct asked {
    unsigned answers, known;
    struct in_addr address;
};

static void answered(void *user, const struct sockaddr_storage *address)
{
    struct asked *asked = user;
    asked->answers++;
    if (!address)
        return;
    asked->known++;
    asked->address = ((const struct sockaddr_in *)address)->sin_addr;
}

static int open_server(char servers[32])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK_EQ(bind(fd, (const struct sockaddr *)&at, size), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    snprintf(servers, 32, "127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

/* Answers for known names: 192.0.2.7 to a question for an IPv4 address, and no record to other questions. */
static void serve(int fd)
{
    uint8_t question[512], answer[512 + ANSWER];
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    for (ssize_t n; (n = recvfrom(fd, question, sizeof question, 0, (struct sockaddr *)&from, &size)) > HEADER;) {
        size_t end = HEADER;
        while (question[end])
            end += 1u + question[end];
        end += 5; /* zero, type, class */
        bool a = question[end - 3] == 1;
        if (memcmp(question + HEADER + 1, "known", 5) != 0)
            continue;
        memcpy(answer, question, end);
        answer[2] = 0x81, answer[3] = 0x80;
        memset(answer + 6, 0, 6); /* only the question is copied, without other records */
        answer[7] = a;
        const uint8_t record[ANSWER] = {0xc0, HEADER, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7};
        memcpy(answer + end, record, sizeof record);
        sendto(fd, answer, end + (a ? sizeof record : 0), 0, (const struct sockaddr *)&from, size);
    }
}

static void slow_names_hold_up_nobody(void)
{
    char servers[32];
    int fd = open_server(servers);
    struct loop *loop = loop_create();
    struct resolver *resolver = resolver_create(loop, answered, servers);
    static struct asked slow[SLOW];
    struct asked known = {0};
    for (unsigned i = 0; i < SLOW; i++) {
        char name[40];
        snprintf(name, sizeof name, "slow%u.example.com", i);
        CHECK_EQ(resolver_ask(resolver, name, 80, &slow[i]), 0);
    }
    CHECK_EQ(resolver_ask(resolver, "known.example.com", 80, &known), 0);
    uint64_t began_ns = nc_now_ns();
    while (!known.answers && nc_now_ns() < began_ns + RESOLVER_MOST_NS) {
        loop_turn(loop, nc_now_ns(), nc_now_ns() + 10 * NC_NS_PER_MS);
        resolver_tick(resolver, nc_now_ns()); /* repeats, because the server's queue may have been too short for all
                                               * questions */
        serve(fd);
    }
    CHECK(known.answers == 1 && known.known == 1 && known.address.s_addr == htonl(0xc0000207));
    for (unsigned i = 0; i < SLOW / 2; i++)
        resolver_forget(resolver, &slow[i]); /* their client has gone */
    resolver_tick(resolver, nc_now_ns() + RESOLVER_MOST_NS);
    for (unsigned i = 0; i < SLOW; i++) {
        CHECK_EQ(slow[i].answers, i >= SLOW / 2);
        CHECK_EQ(slow[i].known, 0);
    }
    CHECK_EQ(resolver_ask(resolver, "slow.example.com", 80, &slow[0]), 0); /* under way at the end */
    resolver_destroy(resolver);
    CHECK_EQ(slow[0].answers, 0);
    loop_destroy(loop);
    close(fd);
}

static void a_text_that_is_no_name_is_unknown(void)
{
    static const char *const texts[] = {"", ".", "..", "a..b", "no such name", "-", "\xff\xfe"};
    char servers[32], long_name[256];
    int fd = open_server(servers);
    struct loop *loop = loop_create();
    struct resolver *resolver = resolver_create(loop, answered, servers);
    struct asked asked[sizeof texts / sizeof texts[0] + 1] = {{0}};
    memset(long_name, 'a', sizeof long_name);
    long_name[255] = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK_EQ(resolver_ask(resolver, texts[i], 80, &asked[i]), 0);
    CHECK_EQ(resolver_ask(resolver, long_name, 80, &asked[sizeof texts / sizeof texts[0]]), 0);
    resolver_tick(resolver, nc_now_ns() + RESOLVER_MOST_NS);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        CHECK(asked[i].answers == 1 && asked[i].known == 0);
    resolver_destroy(resolver);
    loop_destroy(loop);
    close(fd);
}

int main(void)
{
    RUN(slow_names_hold_up_nobody);
    RUN(a_text_that_is_no_name_is_unknown);
    return 0;
}
