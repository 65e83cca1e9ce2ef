/* Lines that arrive in pieces become whole comments, and octets that are not text are converted. */
#include "comments.h"

#include <string.h>
#include <unistd.h>

#include "check.h"

struct taken {
    size_t n;
    char last[PL_COMMENT_MAX + 1], all[256];
};

static void take(void *owner, const char *text)
{
    struct taken *taken = owner;
    taken->n++;
    CHECK(strlen(text) <= PL_COMMENT_MAX);
    strcpy(taken->last, text);
    strncat(taken->all, text, sizeof taken->all - strlen(taken->all) - 1);
    strncat(taken->all, "|", sizeof taken->all - strlen(taken->all) - 1);
}

static void feed(struct pl_comments *comments, struct taken *taken, const char *text)
{
    pl_comments_feed(comments, text, strlen(text), take, taken);
}

static void lines_come_in_pieces(void)
{
    static const char text[] = "slow start\n\nthe outage begins\r\ntab\there\nthe rest";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        struct pl_comments comments = {.fd = -1};
        struct taken taken = {.n = 0};
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            pl_comments_feed(&comments, text + at, left < piece ? left : piece, take, &taken);
        }
        CHECK_EQ(taken.n, 3);
        CHECK_STR(taken.all, "slow start|the outage begins |tab here|");
    }
}

static void a_long_line_is_cut_between_characters(void)
{
    struct pl_comments comments = {.fd = -1};
    struct taken taken = {.n = 0};
    for (size_t i = 0; i < PL_COMMENT_MAX - 1; i++)
        feed(&comments, &taken, "x");
    feed(&comments, &taken, "\u00e9 and more\n");
    CHECK_EQ(taken.n, 1);
    CHECK_EQ(strlen(taken.last), PL_COMMENT_MAX - 1);
    feed(&comments, &taken, "short\n");
    CHECK_STR(taken.last, "short");
}

static void what_is_no_text_becomes_one(void)
{
    struct pl_comments comments = {.fd = -1};
    struct taken taken = {.n = 0};
    feed(&comments, &taken,
         "a\xff"
         "b\n\u00e9\n");
    CHECK_STR(taken.all, "a?b|\u00e9|");
}

static void the_end_ends_the_last_line(void)
{
    int pipe_fds[2];
    struct taken taken = {.n = 0};
    CHECK_EQ(pipe(pipe_fds), 0);
    CHECK_EQ(write(pipe_fds[1], "one\ntwo", 7), 7);
    close(pipe_fds[1]);
    struct pl_comments comments = {.fd = pipe_fds[0]};
    while (comments.fd >= 0)
        pl_comments_read(&comments, take, &taken);
    CHECK_STR(taken.all, "one|two|");
    close(pipe_fds[0]);
}

int main(void)
{
    RUN(lines_come_in_pieces);
    RUN(a_long_line_is_cut_between_characters);
    RUN(what_is_no_text_becomes_one);
    RUN(the_end_ends_the_last_line);
    return 0;
}
