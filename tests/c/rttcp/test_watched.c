/* Answers of sock_diag: those of this kernel, compared with the values that the sockets themselves report; and
 * malformed ones. */
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "watched.h"

#define NOW_NS 77

/* A message about the connection from port 40000 to 5010, with attributes; see put. */
struct answer {
    uint8_t at[4096];
    size_t n;
};

static void begin(struct answer *answer, uint32_t cookie)
{
    struct nlmsghdr header = {.nlmsg_type = SOCK_DIAG_BY_FAMILY};
    struct inet_diag_msg message = {.idiag_family = AF_INET, .id = {.idiag_cookie = {cookie, 1}}};
    message.id.idiag_sport = htons(40000);
    message.id.idiag_dport = htons(5010);
    memset(answer, 0, sizeof *answer);
    memcpy(answer->at, &header, sizeof header);
    memcpy(answer->at + sizeof header, &message, sizeof message);
    answer->n = sizeof header + sizeof message;
}

static void put(struct answer *answer, uint16_t type, const void *value, size_t len)
{
    struct rtattr attribute = {.rta_len = (uint16_t)RTA_LENGTH(len), .rta_type = type};
    memcpy(answer->at + answer->n, &attribute, sizeof attribute);
    memcpy(answer->at + answer->n + sizeof attribute, value, len);
    answer->n += RTA_ALIGN(attribute.rta_len);
}

static void end(struct answer *answer)
{
    uint32_t len = (uint32_t)answer->n;
    memcpy(answer->at, &len, sizeof len);
}

/* TCP_INFO with a state of 1 and nothing else, and the send queue's memory. */
static void whole(struct answer *answer, uint32_t cookie)
{
    uint8_t info[104] = {1};
    uint32_t memory[SK_MEMINFO_VARS] = {[SK_MEMINFO_WMEM_QUEUED] = 700, [SK_MEMINFO_SNDBUF] = 900}, words[] = {5, 6};
    begin(answer, cookie);
    put(answer, INET_DIAG_INFO, info, sizeof info);
    put(answer, INET_DIAG_SKMEMINFO, memory, sizeof memory);
    put(answer, INET_DIAG_BBRINFO, words, sizeof words);
    end(answer);
}

static json_t *first_line(const struct rttcp_watched *watched)
{
    char text[4096] = "";
    struct nc_error error;
    FILE *file = fmemopen(text, sizeof text, "w");
    const struct rttcp_samples *all[] = {&watched->samples};
    CHECK(file && rttcp_samples_write(all, 1, file, "memory", &error) == 0);
    *strchr(text, '\n') = '\0';
    json_t *line = json_loads(text, 0, NULL);
    CHECK(line != NULL);
    return line;
}

static long long of(const json_t *line, const char *name)
{
    return json_is_integer(json_object_get(line, name)) ? json_integer_value(json_object_get(line, name)) : -1;
}

static void an_answer_becomes_a_sample(void)
{
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    struct answer answer;
    int refused;
    whole(&answer, 1);
    CHECK_EQ(rttcp_watched_read(watched, NOW_NS, answer.at, answer.at + answer.n, &refused), RTTCP_ANSWER_MORE);
    CHECK_EQ(watched->samples.n, 1);
    json_t *line = first_line(watched);
    CHECK_EQ(of(line, "t_ns"), NOW_NS);
    CHECK_EQ(of(line, "stream"), 0);
    CHECK_EQ(of(line, "local_port"), 40000);
    CHECK_EQ(of(line, "remote_port"), 5010);
    CHECK_EQ(of(line, "state"), 1);
    CHECK_EQ(of(line, "queued_bytes"), 700);
    CHECK_EQ(of(line, "sndbuf_bytes"), 900);
    CHECK_EQ(of(line, "cc_0"), 5);
    CHECK_EQ(of(line, "cc_1"), 6);
    CHECK_EQ(of(line, "bytes_acked"), -1);   /* a kernel that fills only 104 octets does not provide it */
    CHECK_EQ(of(line, "waiting_bytes"), -1); /* not known from outside the program */
    CHECK_EQ(of(line, "opening_bytes"), -1);
    json_decref(line);
    rttcp_samples_release(&watched->samples);
    free(watched);
}

static void connections_have_numbers_of_their_own_up_to_a_bound(void)
{
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    struct answer answer;
    int refused;
    for (uint32_t cookie = 1; cookie <= RTTCP_WATCHED_MAX + 2; cookie++) {
        whole(&answer, cookie);
        rttcp_watched_read(watched, NOW_NS, answer.at, answer.at + answer.n, &refused);
    }
    CHECK_EQ(watched->n, RTTCP_WATCHED_MAX);
    CHECK_EQ(watched->samples.n, RTTCP_WATCHED_MAX);
    CHECK_EQ(watched->samples.dropped, 2);
    whole(&answer, 3); /* one that is known */
    rttcp_watched_read(watched, NOW_NS, answer.at, answer.at + answer.n, &refused);
    CHECK_EQ(watched->samples.n, RTTCP_WATCHED_MAX + 1);
    rttcp_samples_release(&watched->samples);
    free(watched);
}

/* An answer that is cut anywhere gives no sample, and nothing after its end is read. Each part is allocated separately,
 * so that a sanitizer would see this. */
static void a_part_of_an_answer_gives_nothing(void)
{
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    struct answer answer;
    int refused;
    whole(&answer, 1);
    for (size_t n = 0; n < answer.n; n++) {
        uint8_t *part = malloc(n ? n : 1);
        memcpy(part, answer.at, n);
        CHECK_EQ(rttcp_watched_read(watched, NOW_NS, part, part + n, &refused), RTTCP_ANSWER_MORE);
        free(part);
    }
    CHECK_EQ(watched->samples.n, 0);
    CHECK_EQ(watched->malformed, answer.n - sizeof(struct nlmsghdr));
    free(watched);
}

static void wrong_lengths_are_dropped(void)
{
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    const size_t first = sizeof(struct nlmsghdr) + sizeof(struct inet_diag_msg);
    struct answer answer;
    int refused;
    for (uint16_t len = 0; len < sizeof(struct rtattr); len++) { /* an attribute shorter than its header */
        whole(&answer, 1);
        memcpy(answer.at + first, &len, sizeof len);
        rttcp_watched_read(watched, NOW_NS, answer.at, answer.at + answer.n, &refused);
    }
    CHECK_EQ(watched->malformed, sizeof(struct rtattr));
    whole(&answer, 1);
    memcpy(answer.at + first, &(uint16_t){UINT16_MAX}, 2); /* and one longer than its message */
    rttcp_watched_read(watched, NOW_NS, answer.at, answer.at + answer.n, &refused);
    memset(answer.at, 0, 4); /* a message of no length */
    rttcp_watched_read(watched, NOW_NS, answer.at, answer.at + answer.n, &refused);
    CHECK_EQ(watched->malformed, sizeof(struct rtattr) + 2);
    begin(&answer, 1); /* well formed, but of a socket without TCP_INFO: neither an error nor a sample */
    end(&answer);
    rttcp_watched_read(watched, NOW_NS, answer.at, answer.at + answer.n, &refused);
    CHECK_EQ(watched->malformed, sizeof(struct rtattr) + 2);
    CHECK_EQ(watched->samples.n, 0);
    free(watched);
}

static void a_refusal_has_its_reason(void)
{
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    struct {
        struct nlmsghdr header;
        int32_t error;
    } answer = {{.nlmsg_len = sizeof answer, .nlmsg_type = NLMSG_ERROR}, -2};
    const uint8_t *at = (const uint8_t *)&answer;
    int refused = 0;
    CHECK_EQ(rttcp_watched_read(watched, NOW_NS, at, at + sizeof answer, &refused), RTTCP_ANSWER_REFUSED);
    CHECK_EQ(refused, 2);
    answer.header.nlmsg_type = NLMSG_DONE;
    CHECK_EQ(rttcp_watched_read(watched, NOW_NS, at, at + sizeof answer, &refused), RTTCP_ANSWER_DONE);
    free(watched);
}

/* The kernel's answer must have both ends of a connection over loopback, and nothing of other ports. */
static void this_kernel_answers(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    uint8_t question[RTTCP_QUESTION_BYTES], *answer = malloc(1 << 16);
    struct rttcp_watched *watched = calloc(1, sizeof *watched);
    int refused, listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 1) == 0);
    getsockname(listener, (struct sockaddr *)&at, &size);
    CHECK(connect(client, (struct sockaddr *)&at, size) == 0);
    int server = accept(listener, NULL, NULL), diag = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
    size_t n = rttcp_watched_ask(question, AF_INET, ntohs(at.sin_port));
    CHECK_EQ(send(diag, question, n, 0), (ssize_t)n);
    enum rttcp_answer said = RTTCP_ANSWER_MORE;
    while (said == RTTCP_ANSWER_MORE) {
        ssize_t got = recv(diag, answer, 1 << 16, 0);
        CHECK(got > 0);
        said = rttcp_watched_read(watched, NOW_NS, answer, answer + got, &refused);
    }
    if (said == RTTCP_ANSWER_DONE) { /* a kernel without INET_DIAG refuses */
        CHECK_EQ(watched->n, 2);
        CHECK_EQ(watched->samples.n, 2);
        CHECK_EQ(watched->malformed, 0);
        json_t *line = first_line(watched);
        CHECK(of(line, "sndbuf_bytes") > 0 && of(line, "snd_mss") > 0);
        json_decref(line);
    }
    close(diag);
    close(server);
    close(client);
    close(listener);
    rttcp_samples_release(&watched->samples);
    free(watched);
    free(answer);
}

int main(void)
{
    RUN(an_answer_becomes_a_sample);
    RUN(connections_have_numbers_of_their_own_up_to_a_bound);
    RUN(a_part_of_an_answer_gives_nothing);
    RUN(wrong_lengths_are_dropped);
    RUN(a_refusal_has_its_reason);
    RUN(this_kernel_answers);
    return 0;
}
