/* The rules, compiled for streams by Vectorscan or by Hyperscan, of which it is a fork (both are `libhs`). The state of
 * a stream has a fixed size, however long the stream is. A match may begin in one call and end in a later one.
 *
 * If neither was installed when pktlogger was built, pl_patterns_compile fails with NC_EXIT_MISSING.
 * Rejected: an Aho-Corasick automaton of our own (strings only, and 1,000 of them exceed the first-level cache),
 * RE2::Set (no streams), PCRE2 (one expression at a time). */
#ifndef PL_PATTERNS_H
#define PL_PATTERNS_H

#include "match_rules.h"

struct pl_patterns;

/* A match of rule number `rule`. `start` and `end` are offsets in what was scanned since the last reset; `end` is after
 * the last byte. `start` UINT64_MAX: not known. */
typedef void pl_on_match(void *context, unsigned rule, uint64_t start, uint64_t end);

/* Compiles the rules; errors name them by `file`. NULL with the error: status 2 if the engine refuses an expression. */
struct pl_patterns *pl_patterns_compile(const struct pl_rules *rules, const char *file, struct nc_error *error);
void pl_patterns_free(struct pl_patterns *patterns);

/* "Vectorscan 5.4.9 …", or "none". */
const char *pl_patterns_engine(void);

/* Bytes of one stream's state. */
size_t pl_patterns_stream_bytes(const struct pl_patterns *patterns);

/* A stream; NULL without memory. */
void *pl_patterns_open(struct pl_patterns *patterns);

/* Scans the next bytes of a stream. Returns -1 if the engine failed, because of a bug or without memory. */
int pl_patterns_scan(struct pl_patterns *patterns, void *stream, const uint8_t *data, size_t len, pl_on_match *on_match,
                     void *context);

/* Forgets the bytes scanned so far. Offsets begin at 0 again. */
void pl_patterns_reset(struct pl_patterns *patterns, void *stream);

/* Ends a stream. With `on_match`, expressions that match at the end of the data (`$`) match now. */
void pl_patterns_close(struct pl_patterns *patterns, void *stream, pl_on_match *on_match, void *context);

#endif
