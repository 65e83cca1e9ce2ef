/* One pass over a capture. Every TCP packet becomes a row with unwrapped numbers, and other frames are counted. Rows
 * are delivered one by one, so the pass needs memory only for the flows. */
#ifndef PL_INDEX_H
#define PL_INDEX_H

#include "copies.h"
#include "flows.h"
#include "nc_error.h"
#include "reader.h"
#include "row.h"

struct pl_usual;

/* The number of frames of each kind:
 * - `frames`: the sum of the other counts, except `options_cut` and `tunnelled` (TCP inside tunnels).
 * - `other_interface`: TCP packets of interfaces that were not chosen.
 * - `options_cut`: those of `tcp` whose options are not complete in the capture.
 * - `copy`: TCP packets that are copies of others (copies.h).
 * - `no_time`: Simple Packet Blocks, and frames with invalid times. */
struct pl_counts {
    uint64_t frames, tcp, udp, esp, fragment, ip_other, not_ip, truncated, malformed, unknown_link, copy, no_time,
        tunnelled, options_cut, other_interface;
    int64_t first_ns, last_ns; /* of all frames with a usable time; last_ns < first_ns: none */
};

/* A capture that is read several times: a file or a set; or memory, if there is no path. */
struct pl_source {
    const char *path;
    const uint8_t *data;
    size_t len;
    bool tunnels;          /* as in struct pl_index */
    bool accepted;         /* the machine of the capture accepted the connections; `analyse` uses it for the sender's
                            * capture only */
    const char *interface; /* name or number of the only interface whose packets count; NULL: all */
};

enum { PL_INTERFACES_SAID = 8 };

/* An interface of a capture, by its number in a pcapng section or in SLL2, and its TCP packets. */
struct pl_interface_share {
    uint32_t number;
    uint64_t packets;
    char name[PL_INTERFACE_NAME];
    bool chosen;
};

struct pl_index {
    struct pl_reader reader;
    struct pl_flows flows;
    struct pl_counts counts;
    struct pl_source source; /* the file or memory that it reads */
    struct pl_copies copies;
    struct pl_interface_share
        shares[PL_INTERFACES_SAID]; /* where the user chose an interface: the first interfaces seen */
    unsigned share_n;
    struct nc_packet late[16]; /* SYNs in the beginning of the capture that come after other packets of their
                                * connection */
    unsigned late_n;
    struct pl_usual *usual;
    struct pl_frame held; /* the next frame; valid with `holds` */
    bool holds;
    bool judged;      /* `copies` has seen the beginning of the capture */
    bool tunnels;     /* look for TCP inside tunnels; the caller sets it after pl_index_open */
    bool keep_copies; /* give copies rows, too; set like `tunnels` */
};

enum pl_status { PL_OK, PL_NOT_A_CAPTURE, PL_DAMAGED, PL_NO_MEMORY, PL_SINK_FAILED };

/* Reads the capture row by row. Call pl_index_open, or pl_index_open_file for a file or a set of files, and then
 * pl_index_next until it returns something other than PL_ROW. `error` has the reason unless the result is PL_OK, PL_ROW
 * or PL_ROWS_END. Only the reason for PL_NOT_A_CAPTURE names the file. pl_index_free is allowed after every result. */
enum pl_row_status { PL_ROW, PL_ROWS_END, PL_ROWS_FAILED };
enum pl_status pl_index_open(struct pl_index *index, const uint8_t *data, size_t len, struct nc_error *error);
enum pl_status pl_index_open_file(struct pl_index *index, const char *path, struct nc_error *error);

enum pl_status pl_index_open_source(struct pl_index *index, const struct pl_source *source, struct nc_error *error);

/* For a second reading of a capture, directly after opening: copies the findings of `first`, an earlier reading, about
 * the beginning of the capture. */
void pl_index_judge_as(struct pl_index *index, const struct pl_index *first);
enum pl_row_status pl_index_next(struct pl_index *index, struct pl_row *row, struct nc_error *error);

/* The same for up to `most` rows. Returns their number; *status is PL_ROW while more may follow. All these rows agree
 * with what the index knows about their connections at the return: a packet that may add to it is left for the next
 * call. */
size_t pl_index_rows(struct pl_index *index, struct pl_row *rows, size_t most, enum pl_row_status *status,
                     struct nc_error *error);

/* True when no frame of a capture could be decoded, because its link types are not supported or its bytes contradict
 * each other. Any result for such a capture would be wrong. */
bool pl_index_undecoded(const struct pl_index *index);

/* Reports on stderr which parts of the capture at `path` were not read: cut files and IP fragments. */
void pl_index_report(const struct pl_index *index, const char *path);

void pl_index_free(struct pl_index *index);

#endif
