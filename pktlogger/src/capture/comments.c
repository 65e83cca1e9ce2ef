/* Implements comments.h. */
#include "comments.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <unistd.h>

#include "nc_jsonl.h"

static bool is_inside_character(char octet)
{
    return ((unsigned char)octet & 0xc0) == 0x80;
}

/* Passes the line on and begins the next one. */
static void end_line(struct pl_comments *comments, pl_comment_taker *take, void *owner)
{
    if (comments->cut) /* the limit may cut a character in two; its first octets are removed, too */
        while (comments->n && is_inside_character(comments->line[comments->n]))
            comments->n--;
    comments->line[comments->n] = '\0';
    json_t *text = nc_jsonl_text(comments->line); /* replaces what is not UTF-8 */
    if (comments->n && text)
        take(owner, json_string_value(text));
    json_decref(text);
    comments->n = 0;
    comments->cut = false;
}

static void add(struct pl_comments *comments, char octet)
{
    unsigned char value = (unsigned char)octet;
    if (comments->n < PL_COMMENT_MAX)
        comments->line[comments->n++] = value < 0x20 || value == 0x7f ? ' ' : octet;
    else if (!comments->cut) {
        comments->line[PL_COMMENT_MAX] = octet; /* a continuation octet shows that a character is cut here */
        comments->cut = true;
    }
}

void pl_comments_feed(struct pl_comments *comments, const char *at, size_t n, pl_comment_taker *take, void *owner)
{
    for (const char *end = at + n; at < end; at++)
        if (*at == '\n')
            end_line(comments, take, owner);
        else
            add(comments, *at);
}

void pl_comments_read(struct pl_comments *comments, pl_comment_taker *take, void *owner)
{
    char piece[4096];
    struct pollfd readable = {.fd = comments->fd, .events = POLLIN};
    if (comments->fd < 0 || poll(&readable, 1, 0) <= 0)
        return;
    ssize_t got = read(comments->fd, piece, sizeof piece);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0) {
        pl_comments_feed(comments, piece, (size_t)got, take, owner);
        return;
    }
    if (comments->n)
        end_line(comments, take, owner);
    comments->fd = -1;
}
