#include "evidence.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGEST_DIGITS 32 /* XXH3-128 in hexadecimal */

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static uint64_t number_of(const json_t *row, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(row, key));
}

static bool is_digest(const char *text)
{
    size_t digits = 0;
    while (isxdigit((unsigned char)text[digits]))
        digits++;
    return digits == DIGEST_DIGITS && !text[digits];
}

/* Notes the first wrong octet that the receiver found. */
static bool has_wrong_octet(const struct rttcp_side *receiver, struct rttcp_evidence *evidence)
{
    size_t i;
    json_t *row;
    json_array_foreach(receiver->streams, i, row)
    {
        if (!json_is_true(json_object_get(row, "mismatch")) && number_of(row, "bad_reads") == 0)
            continue;
        snprintf(evidence->wrong, sizeof evidence->wrong,
                 "stream %" PRIu64 ", offset %" PRIu64 ": expected %s, got %s (hexadecimal): the path altered the data",
                 number_of(row, "stream"), number_of(row, "mismatch_offset"), text_of(row, "expected"),
                 text_of(row, "got"));
        return true;
    }
    return false;
}

/* Compares the digests of every stream. Two missing digests do not count as equal. */
static const char *compare_digests(const struct rttcp_accounts *accounts, struct rttcp_evidence *evidence)
{
    for (size_t i = 0; i < accounts->n; i++) {
        const char *sent = text_of(json_array_get(accounts->sender->streams, i), "digest");
        const char *received = text_of(json_array_get(accounts->receiver->streams, i), "digest");
        if (!is_digest(sent) || !is_digest(received)) {
            snprintf(evidence->wrong, sizeof evidence->wrong,
                     "the %s's account has no digest of its stream %zu, so nothing shows that the data arrived as sent",
                     is_digest(sent) ? "receiver" : "sender", i);
            return "unknown";
        }
        if (strcmp(sent, received) != 0) {
            snprintf(evidence->wrong, sizeof evidence->wrong, "stream %zu: the two ends' digests differ", i);
            return "mismatch";
        }
    }
    return "ok";
}

/* Checks that one end's account names every stream once, and that their bytes are its total. */
static bool check_rows(const struct rttcp_accounts *accounts, const struct rttcp_side *side, const char *whose,
                       struct rttcp_evidence *evidence)
{
    uint64_t n = accounts->n, sum = 0;
    size_t rows = json_array_size(side->streams);
    for (uint64_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(side->streams, i);
        rows = number_of(row, "stream") == accounts->first + i ? rows : 0;
        sum += number_of(row, "bytes");
    }
    if (rows == n && sum == side->bytes && !side->partial)
        return true;
    if (rows != n)
        snprintf(evidence->wrong, sizeof evidence->wrong,
                 "the %s's account does not name each of the %" PRIu64 " streams once", whose, n);
    else if (side->partial)
        snprintf(evidence->wrong, sizeof evidence->wrong, "the %s's account calls itself partial", whose);
    else
        snprintf(evidence->wrong, sizeof evidence->wrong,
                 "the %s's account has %" PRIu64 " bytes in its streams and %" PRIu64 " in its total", whose, sum,
                 side->bytes);
    return false;
}

static void compare_bytes(const struct rttcp_accounts *accounts, struct rttcp_evidence *evidence)
{
    uint64_t sent = accounts->sender->bytes, received = accounts->receiver->bytes;
    for (size_t i = 0; sent == received && i < accounts->n; i++) {
        sent = number_of(json_array_get(accounts->sender->streams, i), "bytes");
        received = number_of(json_array_get(accounts->receiver->streams, i), "bytes");
    }
    if (sent != received)
        snprintf(evidence->wrong, sizeof evidence->wrong,
                 "sent %" PRIu64 " bytes, received %" PRIu64
                 ": the path, or somebody else at the data port, altered the stream",
                 sent, received);
}

/* Checks that the number of exchanges in an account of request and response matches its bytes. */
static void check_exchanges(const struct rttcp_accounts *accounts, const struct rttcp_side *side, const char *whose,
                            struct rttcp_evidence *evidence)
{
    const struct rttcp_exchange_account *exchange = &side->exchange;
    uint64_t requests = side->bytes / accounts->request_bytes;
    if (side->has_exchange && exchange->exchanges == requests &&
        exchange->response_bytes == requests * accounts->response_bytes)
        return;
    snprintf(evidence->wrong, sizeof evidence->wrong,
             "the %s's account has %" PRIu64 " requests, %" PRIu64 " exchanges and %" PRIu64 " bytes of responses",
             whose, requests, exchange->exchanges, exchange->response_bytes);
}

/* Reports the most certain fault: a wrong octet, then differing numbers of bytes, then an incomplete account. */
struct rttcp_evidence rttcp_evidence_judge(const struct rttcp_accounts *accounts)
{
    struct rttcp_evidence evidence = {.verified = "off"};
    if (accounts->verify)
        evidence.verified =
            has_wrong_octet(accounts->receiver, &evidence) ? "mismatch" : compare_digests(accounts, &evidence);
    if (!evidence.wrong[0] && accounts->sender->bytes != accounts->receiver->bytes)
        compare_bytes(accounts, &evidence);
    if (!evidence.wrong[0] && check_rows(accounts, accounts->sender, "sender", &evidence) &&
        check_rows(accounts, accounts->receiver, "receiver", &evidence))
        compare_bytes(accounts, &evidence);
    if (!evidence.wrong[0] && accounts->request_bytes)
        check_exchanges(accounts, accounts->sender, "sender", &evidence);
    if (!evidence.wrong[0] && accounts->request_bytes)
        check_exchanges(accounts, accounts->receiver, "receiver", &evidence);
    return evidence;
}
