/* The first message on a new connection: a frame or a TLS record, whole or in pieces; anything else is refused. */
#include "check.h"
#include "first_message.h"

static enum rttcp_first first(const char *octets, size_t n)
{
    return rttcp_first_message((const uint8_t *)octets, (const uint8_t *)octets + n);
}

static void whole_messages_are_told_from_parts(void)
{
    static const struct {
        const char *octets;
        size_t n;
    } whole[] = {{"\0\0\0\2{}", 6}, {"\0\0\0\2{}more", 10}, {"\x16\3\1\0\2ab", 7}, {"\x16\3\3\0\2abc", 8}};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        CHECK_EQ(first(whole[i].octets, whole[i].n), FIRST_WHOLE);
        for (size_t part = 0; part < (i < 2 ? 6u : 7u); part++)
            CHECK_EQ(first(whole[i].octets, part), FIRST_PART);
    }
    CHECK(rttcp_first_is_tls((const uint8_t *)"\x16", (const uint8_t *)"\x16" + 1));
}

static void what_is_neither_is_refused(void)
{
    static const struct {
        const char *octets;
        size_t n;
    } bad[] = {{"GET / HTTP/1.1", 14}, {"\0\0\0\1{", 5},     {"\0\0\x10\1{", 5},     {"\0\1\0\0{", 5},
               {"\x16\2", 2},          {"\x16\3\1\0\1a", 6}, {"\x16\3\1\x10\1a", 6}, {"\x15\3\3\0\2", 5}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (first(bad[i].octets, bad[i].n) != FIRST_INVALID) {
            fprintf(stderr, "row %zu was not refused\n", i);
            exit(1);
        }
}

int main(void)
{
    RUN(whole_messages_are_told_from_parts);
    RUN(what_is_neither_is_refused);
    return 0;
}
