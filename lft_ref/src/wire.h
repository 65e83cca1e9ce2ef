/* Octets of LFT frames (FORMAT.md): header, report, repair, chunks. Pure functions over memory of the caller; wire layout is
 * not the host structs. Decoders take cursor and end and are called only on authenticated octets, and trust none of them. */
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
    LFT_HEADER_BYTES = 16,                                              /* SPI, control word, counter */
    LFT_ICV_BYTES = 16,
    LFT_TRAILER_BYTES = 2,                                              /* pad length, next header */
    LFT_FRAME_OVERHEAD = LFT_HEADER_BYTES + LFT_TRAILER_BYTES + LFT_ICV_BYTES, /* 34, without padding */
    LFT_PAYLOAD_MIN = 320,                                              /* a path must carry so much: any chunk but data fits */
    LFT_PAYLOAD_MAX = 9000,                                             /* of any frame */
    LFT_NEXT_HEADER = 253,
    LFT_SPI_MIN = 256,
    LFT_CHUNK_HEADER = 12,
    LFT_REPORT_HEADER = 28,
    LFT_REPORT_WORDS_MAX = 128,                                         /* 8,192 counters */
    LFT_RECOVERED_MAX = 64,
    LFT_REPAIR_HEADER = 4,
    LFT_FEC_WINDOW_MAX = 128,
};
#define LFT_NUMBER_MASK UINT32_C(0xffffff)
#define LFT_NUMBERS_OUTSTANDING_MAX (UINT64_C(1) << 22)

/* What is in front of the payload. */
struct lft_header {
    uint32_t spi;
    uint8_t command;  /* enum lft_command, or anything a peer made up */
    uint32_t number;  /* 24 bits */
    uint64_t counter;
};

/* Octets of padding for a payload; `block` is 4 or 8. Frame length: LFT_FRAME_OVERHEAD + payload + padding. */
static inline size_t lft_padding(size_t payload, size_t block)
{
    return (block - (payload + LFT_TRAILER_BYTES) % block) % block;
}
/* Largest payload whose frame (without outer headers) fits into `room` octets; 0 when none does. */
size_t lft_payload_for(size_t room, size_t block);

void lft_header_put(uint8_t at[LFT_HEADER_BYTES], const struct lft_header *header);
/* The caller checked that LFT_HEADER_BYTES are there. */
struct lft_header lft_header_get(const uint8_t at[LFT_HEADER_BYTES]);

/* The 64-bit number nearest to `expected` whose low 24 bits are `number`; never negative. */
uint64_t lft_number_unwrap(uint32_t number, uint64_t expected);

/* --- ACK --------------------------------------------------------------------------------------------------------------- */
enum { LFT_REPORT_ASK = 1 }; /* flags: please answer with a report */

struct lft_report {
    uint64_t largest_counter; /* 0: nothing received yet */
    uint32_t arrival_us;      /* of largest_counter, receiver's clock */
    uint32_t delay_us;        /* from that arrival to the report */
    uint64_t received_bytes;
    uint8_t flags;
    uint16_t words_n;
    uint8_t recovered_n;
    uint64_t words[LFT_REPORT_WORDS_MAX]; /* most significant bit of words[0]: counter largest - 1 */
    uint32_t recovered[LFT_RECOVERED_MAX];
};
/* Returns octets written, at most LFT_REPORT_HEADER + 8 words_n + 3 recovered_n; asserts on room. */
size_t lft_report_put(uint8_t *at, size_t room, const struct lft_report *report);
/* 0, or -1 when the lengths contradict each other. */
int lft_report_get(const uint8_t *at, const uint8_t *end, struct lft_report *report);

/* --- chunks ------------------------------------------------------------------------------------------------------------ */
enum lft_chunk_type {
    LFT_CHUNK_END = 0,
    LFT_CHUNK_DATA,
    LFT_CHUNK_FIN,
    LFT_CHUNK_OPEN,
    LFT_CHUNK_ACCEPT,
    LFT_CHUNK_REFUSE,
    LFT_CHUNK_RESET,
    LFT_CHUNK_CREDIT,
    LFT_CHUNK_TYPES
};
struct lft_chunk {
    uint8_t type;
    uint32_t stream;     /* 24 bits */
    uint64_t value;      /* 48 bits: offset or credit */
    uint16_t length;     /* of the body */
    const uint8_t *body; /* into the frame */
};
void lft_chunk_put(uint8_t at[LFT_CHUNK_HEADER], const struct lft_chunk *chunk); /* header only */
/* Decodes the chunk at *cursor and moves it behind. 1, 0 at the end of the row, -1 malformed. */
int lft_chunk_get(const uint8_t **cursor, const uint8_t *end, struct lft_chunk *chunk);

/* Why a stream could not be opened or ended early; codes of FORMAT.md. lft_result_text gives words for people and JSON. */
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
struct lft_result {
    uint8_t code;                 /* enum lft_result_code */
    uint8_t icmp_type, icmp_code; /* LFT_RESULT_ICMP; of ICMP or ICMPv6 by the stream's address family */
    uint8_t from[16];             /* who sent the ICMP error, IPv4 in the first 4 octets; zeros: nobody known */
};
const char *lft_result_text(unsigned code);

enum lft_family { LFT_FAMILY_NAME = 3, LFT_FAMILY_IPV4 = 4, LFT_FAMILY_IPV6 = 6 };
enum { LFT_OPEN_KEEP_SOURCE = 1, LFT_NAME_MAX = 255, LFT_OPEN_BODY_MAX = 8 + LFT_NAME_MAX };

/* Where the far gateway is to connect. Addresses as on the wire, IPv4 in the first 4 octets; ports in host order. */
struct lft_open {
    uint8_t family; /* enum lft_family, of both addresses */
    uint16_t flags; /* LFT_OPEN_KEEP_SOURCE: connect from `source` (router model) */
    uint16_t destination_port, source_port;
    uint8_t source[16], destination[16];
    char name[LFT_NAME_MAX + 1]; /* LFT_FAMILY_NAME */
};
size_t lft_open_put(uint8_t at[LFT_OPEN_BODY_MAX], const struct lft_open *open);
int lft_open_get(const uint8_t *at, const uint8_t *end, struct lft_open *open); /* 0 or -1 */
enum { LFT_RESULT_BYTES = 20 };
void lft_result_put(uint8_t at[LFT_RESULT_BYTES], const struct lft_result *result);
int lft_result_get(const uint8_t *at, const uint8_t *end, struct lft_result *result);

#endif
