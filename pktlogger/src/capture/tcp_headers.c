/* Implements tcp_headers.h. BPF rejects a packet that ends before a byte that the program reads, so the program checks
 * the length before each read. */
#include "tcp_headers.h"

#include <string.h>

#define TCP 6
#define V4_BYTES (14 + 20) /* octets of Ethernet and IP in front of TCP */
#define V6_BYTES (14 + 40)
#define TCP_BYTES_MIN 20
#define DATA_OFFSET_AT 12 /* offset in TCP's header; the upper four bits there are its length in units of 4 bytes */

/* Places in the program */
enum { V4_OTHER = 13, V6 = 16, OTHER = PL_TCP_HEADERS_N - 1 };

#define LOAD(size, at) BPF_STMT(BPF_LD | BPF_ABS | (size), at)
#define LOAD_LENGTH BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0)
#define WITH(operation, value) BPF_STMT(BPF_ALU | BPF_K | (operation), value)
#define UNLESS(test, value, here, to) BPF_JUMP(BPF_JMP | BPF_K | (test), value, 0, (to) - (here) - 1)
#define KEEP(bytes) BPF_STMT(BPF_RET | BPF_K, bytes)
#define KEEP_RESULT BPF_STMT(BPF_RET | BPF_A, 0)

/* clang-format off */
static const struct bpf_insn PROGRAM[PL_TCP_HEADERS_N] = {
    LOAD_LENGTH,
    UNLESS(BPF_JGE, V4_BYTES + TCP_BYTES_MIN, 1, OTHER),
    LOAD(BPF_W, 12), /* loads the EtherType, and IP's version, header length and service */
    WITH(BPF_AND, 0xffffff00),
    UNLESS(BPF_JEQ, 0x08004500, 4, V6),
    LOAD(BPF_W, 20), /* flags, fragment offset, TTL, protocol */
    WITH(BPF_AND, 0x1fff00ff),
    UNLESS(BPF_JEQ, TCP, 7, V4_OTHER),
    LOAD(BPF_B, V4_BYTES + DATA_OFFSET_AT),
    WITH(BPF_RSH, 2),
    WITH(BPF_AND, 60),
    WITH(BPF_ADD, V4_BYTES),
    KEEP_RESULT,
    [V4_OTHER] = WITH(BPF_AND, 0xff),
    UNLESS(BPF_JEQ, TCP, 14, OTHER),
    KEEP(V4_BYTES),
    [V6] = WITH(BPF_RSH, 16),
    UNLESS(BPF_JEQ, 0x86dd, 17, OTHER),
    LOAD(BPF_B, 20),
    UNLESS(BPF_JEQ, TCP, 19, OTHER),
    LOAD_LENGTH,
    UNLESS(BPF_JGE, V6_BYTES + TCP_BYTES_MIN, 21, OTHER),
    LOAD(BPF_B, V6_BYTES + DATA_OFFSET_AT),
    WITH(BPF_RSH, 2),
    WITH(BPF_AND, 60),
    WITH(BPF_ADD, V6_BYTES),
    KEEP_RESULT,
    [OTHER] = KEEP(0),
};
/* clang-format on */

void pl_tcp_headers(uint32_t other_bytes, struct bpf_insn *to)
{
    memcpy(to, PROGRAM, sizeof PROGRAM);
    to[OTHER].k = other_bytes;
}
