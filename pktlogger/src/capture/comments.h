/* Lines of text that become comments in a capture: with them an experimenter marks events. The lines arrive on a
 * descriptor in pieces of any size. Invariant: a comment is valid UTF-8 on one line, at most PL_COMMENT_MAX octets.
 * Rejected: a control socket. A capture has one parent, and a pipe to it is enough. */
#ifndef PL_COMMENTS_H
#define PL_COMMENTS_H

#include <stdbool.h>
#include <stddef.h>

enum { PL_COMMENT_MAX = 1000 };

struct pl_comments {
    int fd; /* where the lines come from; -1: no more will come */
    /* state */
    size_t n;                      /* octets in `line` */
    bool cut;                      /* the line is longer than PL_COMMENT_MAX, and its rest is left out */
    char line[PL_COMMENT_MAX + 1]; /* octets of the line so far */
};

typedef void pl_comment_taker(void *owner, const char *text);

/* Reads what `fd` has, if anything, and passes every complete non-empty line to `take`. At the end of the input the
 * last line needs no newline, and `fd` becomes -1; it is not closed. Never blocks. */
void pl_comments_read(struct pl_comments *comments, pl_comment_taker *take, void *owner);

/* The same for octets that the caller already has. */
void pl_comments_feed(struct pl_comments *comments, const char *at, size_t n, pl_comment_taker *take, void *owner);

#endif
