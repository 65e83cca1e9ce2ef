/* Encoding and decoding of LFT frames (FORMAT.md): header, report, chunks, and the bodies of OPEN, REFUSE and RESET.
 * These are pure functions over the caller's memory; the structs here have the host's layout, not the wire's. Decoders
 * take a cursor and an end. They are called on authenticated octets only, but still check every field. */
#ifndef LFT_WIRE_H
#define LFT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lft_command {
    LFT_DATA = 1,
    LFT_RETRANSMISSION,
    LFT_REDUNDANT,
    LFT_ACK,
    LFT_REPAIR,
    LFT_PROBE,
    LFT_PROBE_REPLY,
    LFT_CLOSE,
    LFT_COMMANDS
};

enum {
    LFT_HEADER_BYTES = 16, /* SPI, control word, counter */
    LFT_ICV_BYTES = 16,
    LFT_TRAILER_BYTES = 2,                                                     /* pad length, next header */
    LFT_FRAME_OVERHEAD = LFT_HEADER_BYTES + LFT_TRAILER_BYTES + LFT_ICV_BYTES, /* 34, without padding */
    /* The payload that every path must carry: every chunk except DATA fits into it. */
    LFT_PAYLOAD_MIN = 320,
    LFT_PAYLOAD_MAX = 9000, /* of any frame */
    LFT_NEXT_HEADER = 253,
    LFT_SPI_MIN = 256,
    LFT_CHUNK_HEADER = 12,
    LFT_REPORT_HEADER = 28,
    LFT_REPORT_WORDS_MAX = 128, /* 8,192 counters */
    LFT_RECOVERED_MAX = 64,
    LFT_REPAIR_HEADER = 4,
    LFT_FEC_WINDOW_MAX = 128,
};
#define LFT_NUMBER_MASK UINT32_C(0xffffff)
#define LFT_NUMBERS_OUTSTANDING_MAX (UINT64_C(1) << 22)

/* A frame's header: the octets before its payload. */
struct lft_header {
    uint32_t spi;
    uint8_t command; /* enum lft_command; a peer may send any other value */
    uint32_t number; /* 24 bits */
    uint64_t counter;
};

/* True for DATA and its copies: the frames whose payload the receiver may keep. */
static inline bool lft_command_carries_data(unsigned command)
{
    return command == LFT_DATA || command == LFT_RETRANSMISSION || command == LFT_REDUNDANT;
}

/* Returns the octets of padding that a payload needs; `block` is 4 or 8. A frame has LFT_FRAME_OVERHEAD + payload +
 * padding octets. */
static inline size_t lft_padding(size_t payload, size_t block)
{
    return (block - (payload + LFT_TRAILER_BYTES) % block) % block;
}
/* Returns the largest payload whose frame, without outer headers, fits into `room` octets; 0 when no frame fits. */
size_t lft_payload_for(size_t room, size_t block);

void lft_header_put(uint8_t at[LFT_HEADER_BYTES], const struct lft_header *header);
/* Decodes a header. The caller must have checked that there are LFT_HEADER_BYTES octets. */
struct lft_header lft_header_get(const uint8_t at[LFT_HEADER_BYTES]);

/* Returns the 64-bit number nearest to `expected` whose low 24 bits are `number`; never negative. */
uint64_t lft_number_unwrap(uint32_t number, uint64_t expected);

/* --- the report of an ACK --- */

enum { LFT_REPORT_ASK = 1 }; /* flag: the sender of the report requests a report in return */

struct lft_report {
    uint64_t largest_counter; /* 0: nothing received yet */
    uint32_t arrival_us;      /* when that counter arrived, by the receiver's clock */
    uint32_t delay_us;        /* time from that arrival to the report */
    uint64_t received_bytes;
    uint8_t flags;
    uint16_t words_n;
    uint8_t recovered_n;
    uint64_t words[LFT_REPORT_WORDS_MAX]; /* the most significant bit of words[0] is counter largest - 1 */
    uint32_t recovered[LFT_RECOVERED_MAX];
};
/* Returns the number of octets written: LFT_REPORT_HEADER + 8 words_n + 3 recovered_n. Asserts that they fit. */
size_t lft_report_put(uint8_t *at, size_t room, const struct lft_report *report);
/* Decodes a report. Returns 0, or -1 when its lengths contradict each other. */
int lft_report_get(const uint8_t *at, const uint8_t *end, struct lft_report *report);

/* --- chunks --- */

enum lft_chunk_type {
    LFT_CHUNK_END = 0,
    LFT_CHUNK_DATA,
    LFT_CHUNK_FIN,
    LFT_CHUNK_OPEN,
    LFT_CHUNK_ACCEPT,
    LFT_CHUNK_REFUSE,
    LFT_CHUNK_RESET,
    LFT_CHUNK_CREDIT,
    LFT_CHUNK_RETURN,
    LFT_CHUNK_TYPES
};
struct lft_chunk {
    uint8_t type;
    uint32_t stream;     /* 24 bits */
    uint64_t value;      /* 48 bits: an offset or credit */
    uint16_t length;     /* of the body */
    const uint8_t *body; /* inside the frame */
};
/* Writes the header only. */
void lft_chunk_put(uint8_t at[LFT_CHUNK_HEADER], const struct lft_chunk *chunk);
/* Decodes the chunk at *cursor and moves *cursor behind it. Returns 1, 0 at the end of the chunks, or -1 when
 * malformed. */
int lft_chunk_get(const uint8_t **cursor, const uint8_t *end, struct lft_chunk *chunk);

/* Why a stream could not be opened, or why it ended early (the codes of FORMAT.md). lft_result_text gives the words. */
enum lft_result_code {
    LFT_RESULT_NONE,
    LFT_RESULT_REFUSED,
    LFT_RESULT_TIMED_OUT,
    LFT_RESULT_NET_UNREACHABLE,
    LFT_RESULT_HOST_UNREACHABLE,
    LFT_RESULT_ICMP,
    LFT_RESULT_NAME_UNKNOWN,
    LFT_RESULT_NO_RESOURCES,
    LFT_RESULT_NOT_ALLOWED,
    LFT_RESULT_RESET,
    LFT_RESULT_PEER_RESTARTED,
    LFT_RESULT_OUTAGE,
    LFT_RESULT_IDLE,
    LFT_RESULT_STOPPED,
    LFT_RESULT_PROTOCOL,
    LFT_RESULTS
};
/* Flags of a RESET. A receiver that does not know them drops unread octets, as for a RESET without flags. */
enum {
    LFT_RESET_BEHIND = 1, /* octets before the RESET's offset are delivered first */
    LFT_RESET_ENDED = 2,  /* the end of the stream is delivered, too: a FIN preceded the RESET */
};
struct lft_result {
    uint8_t code;                 /* enum lft_result_code */
    uint8_t icmp_type, icmp_code; /* with LFT_RESULT_ICMP: type and code of ICMP or ICMPv6, by the stream's address
                                   * family */
    uint8_t flags;                /* LFT_RESET_ */
    uint8_t from[16];             /* the sender of the ICMP error, IPv4 in the first 4 octets; zeros: unknown */
};
const char *lft_result_text(unsigned code);

enum lft_family { LFT_FAMILY_NAME = 3, LFT_FAMILY_IPV4 = 4, LFT_FAMILY_IPV6 = 6 };
enum { LFT_OPEN_KEEP_SOURCE = 1, LFT_NAME_MAX = 255, LFT_OPEN_BODY_MAX = 8 + LFT_NAME_MAX };

/* The destination for the far gateway. Addresses are in network order, IPv4 in the first 4 octets; ports in host
 * order. */
struct lft_open {
    uint8_t family; /* enum lft_family, of both addresses */
    uint16_t flags; /* LFT_OPEN_KEEP_SOURCE: the far gateway connects from `source` (router model) */
    uint16_t destination_port, source_port;
    uint8_t source[16], destination[16];
    char name[LFT_NAME_MAX + 1]; /* with LFT_FAMILY_NAME */
};
size_t lft_open_put(uint8_t at[LFT_OPEN_BODY_MAX], const struct lft_open *open);
/* Decodes the body of OPEN. Returns 0, or -1 when it is malformed; lft_result_get does the same for a result. */
int lft_open_get(const uint8_t *at, const uint8_t *end, struct lft_open *open);
enum { LFT_RESULT_BYTES = 20 };
void lft_result_put(uint8_t at[LFT_RESULT_BYTES], const struct lft_result *result);
int lft_result_get(const uint8_t *at, const uint8_t *end, struct lft_result *result);

#endif
