/* The fate of a wire packet. The delay box decides it, its statistics count it and its record contains it, so the
 * numbers are part of the record's format (RECORD.md) and must not change. */
#ifndef COMET_FATE_H
#define COMET_FATE_H

enum fate {
    FATE_PASS,    /* in DECIDED: it leaves; in SENT: it was sent */
    FATE_LOSS,    /* dropped by the loss model; exit_ns != 0: by the model after the bottleneck */
    FATE_QUEUE,   /* the bottleneck's queue was full */
    FATE_AQM,     /* active queue management dropped it */
    FATE_PACE,    /* the pacer's buffer was full */
    FATE_MEMORY,  /* the box had no memory for it */
    FATE_WRITE,   /* the outgoing port did not accept it */
    FATE_DRAIN,   /* the receiver's buffer before its bus was full */
    FATE_OUTAGE,  /* like FATE_LOSS, by a model that lets nothing pass for a time: the path is down */
    FATE_POLICER, /* over the rate of a policer */
    FATE_N
};

/* Changes of a packet's bytes when it leaves; several may apply to one packet. */
enum packet_edit {
    EDIT_CE = 1,      /* ECN: congestion experienced */
    EDIT_CORRUPT = 2, /* one bit flipped, which the checksum detects */
    EDIT_FORGE = 4,   /* one bit flipped and the checksum adjusted to match */
};

/* "loss", "queue", …; "sent" for FATE_PASS. */
const char *fate_name(enum fate fate);

#endif
