/* Numbers of the pcapng format that both the reader and the writer use (draft-ietf-opsawg-pcapng). */
#ifndef PL_PCAPNG_H
#define PL_PCAPNG_H

enum pl_block_type {
    PL_BLOCK_SECTION = 0x0a0d0d0a,
    PL_BLOCK_INTERFACE = 1,
    PL_BLOCK_PACKET = 2, /* obsolete */
    PL_BLOCK_SIMPLE = 3,
    PL_BLOCK_STATISTICS = 5,
    PL_BLOCK_ENHANCED = 6,
};

enum pl_block_option {
    PL_OPT_END = 0,
    PL_OPT_COMMENT = 1,
    PL_OPT_SHB_OS = 3,
    PL_OPT_SHB_APPLICATION = 4,
    PL_OPT_PACKET_FLAGS = 2,
    PL_OPT_IF_NAME = 2,
    PL_OPT_IF_DESCRIPTION = 3,
    PL_OPT_IF_TSRESOL = 9,
    PL_OPT_IF_FILTER = 11,
    PL_OPT_IF_TSOFFSET = 14,
    PL_OPT_ISB_START = 2,
    PL_OPT_ISB_END = 3,
    PL_OPT_ISB_RECEIVED = 4,
    PL_OPT_ISB_DROPPED_INTERFACE = 5,
    PL_OPT_ISB_ACCEPTED = 6,
    PL_OPT_ISB_DROPPED_KERNEL = 7,
    PL_OPT_ISB_DELIVERED = 8,
};

/* epb_flags: the direction */
#define PL_FLAGS_INBOUND 1u
#define PL_FLAGS_OUTBOUND 2u

#define PL_BYTE_ORDER_MAGIC 0x1a2b3c4du

/* Numbers of link types (tcpdump.org's list) that the reader knows. */
enum pl_linktype {
    PL_LINKTYPE_NULL = 0,
    PL_LINKTYPE_ETHERNET = 1,
    PL_LINKTYPE_PPP = 9,
    PL_LINKTYPE_RAW_BSD = 12,     /* raw IP under a number that only the capturing system uses */
    PL_LINKTYPE_RAW_OPENBSD = 14, /* likewise */
    PL_LINKTYPE_PPP_HDLC = 50,
    PL_LINKTYPE_PPP_ETHER = 51,
    PL_LINKTYPE_RAW = 101,
    PL_LINKTYPE_C_HDLC = 104,
    PL_LINKTYPE_LOOP = 108,
    PL_LINKTYPE_LINUX_SLL = 113,
    PL_LINKTYPE_ERF = 197,
    PL_LINKTYPE_IPV4 = 228,
    PL_LINKTYPE_IPV6 = 229,
    PL_LINKTYPE_LINUX_SLL2 = 276,
};

#endif
