/* What becomes of a wire packet. The delay box decides it, its statistics count it and its record names it, so the
 * numbers are part of the record's format (RECORD.md) and keep their meaning. */
#ifndef COMET_FATE_H
#define COMET_FATE_H

enum fate {
    FATE_PASS,    /* it leaves (DECIDED), it was sent (SENT) */
    FATE_LOSS,    /* the loss model took it; exit_ns != 0: the model behind the bottleneck */
    FATE_QUEUE,   /* the bottleneck's queue was full */
    FATE_AQM,     /* active queue management dropped it */
    FATE_PACE,    /* the pacer's buffer was full */
    FATE_MEMORY,  /* the box had no memory for it */
    FATE_WRITE,   /* the far port did not take it */
    FATE_DRAIN,   /* the receiver's buffer in front of its bus was full */
    FATE_OUTAGE,  /* like FATE_LOSS, by a model that lets nothing pass for a time: the path is down */
    FATE_POLICER, /* over the rate of a policer */
    FATE_N
};

/* What is done to a packet's bytes on the way out; several may be done to one packet. */
enum packet_edit {
    EDIT_CE = 1,      /* ECN: congestion experienced */
    EDIT_CORRUPT = 2, /* one bit flipped, for the checksum to see */
    EDIT_FORGE = 4,   /* one bit flipped and the checksum made to fit */
};

/* "loss", "queue", …; "sent" for FATE_PASS. */
const char *fate_name(enum fate fate);

#endif
