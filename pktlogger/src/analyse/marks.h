/* Finds the acknowledgements that report CE marks to a sender, and when the sender reduces its congestion window for
 * them. With RFC 3168 an acknowledgement reports marks by ECE, and the sender says by CWR that it has reduced. With
 * AccECN (RFC 9768) the ACE counter and the option report marks, and nothing says that the sender has reduced. It is
 * assumed to reduce when it next sends data, at most once a round trip. */
#ifndef PL_MARKS_H
#define PL_MARKS_H

#include "transfer.h"

struct pl_marks {
    enum pl_ecn_mode mode;
    bool ace_known, eceb_known, calls; /* calls: acknowledgements ask for a reduction */
    bool peer_ended;                   /* its FIN has come */
    bool unheeded;                     /* the sender's congestion control does not reduce for marks */
    uint8_t ace;
    uint32_t eceb;
    uint32_t reports;    /* acknowledgements since the last reduction */
    int64_t first_ns;    /* when the first of them came */
    uint64_t reduced_at; /* end of the last byte sent at the last reduction */
};

struct pl_marks pl_marks_begin(const struct pl_transfer *t);

/* Takes an acknowledgement that reached the sender; `una`: the first outstanding byte after it. */
void pl_marks_ack(struct pl_marks *marks, struct pl_transfer *t, const struct pl_row *row, uint64_t una);

/* Takes a data packet, sent while the bytes from `una` to `high` are outstanding. Returns true, with the event in
 * *event, when marks have made the sender reduce its window since the previous data packet. `recovering`: a reduction
 * now is for a loss. */
bool pl_marks_send(struct pl_marks *marks, struct pl_transfer *t, const struct pl_row *row, uint64_t una, uint64_t high,
                   bool recovering, struct pl_event *event);

#endif
