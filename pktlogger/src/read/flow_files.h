/* Divides a capture into one pcapng file for each TCP connection. A block of a pcapng capture is copied as it is, after
 * its section header and interfaces, so comments, options and the resolution of time stamps are kept. A record of a
 * classic capture becomes an Enhanced Packet Block with the same resolution.
 * Invariants: at most one file is open; packets are written as soon as more than PL_FLOW_FILES_HELD bytes wait.
 * Rejected: the writer of writer.h. It writes only nanoseconds and would lose the options of a packet. */
#ifndef PL_FLOW_FILES_H
#define PL_FLOW_FILES_H

#include "index.h"

#define PL_FLOW_FILES_HELD ((size_t)32 << 20)
enum { PL_FLOW_FILE_NAME = 160 };

/* The name of the file of flow `number`: "N_ADDRESS_PORT_ADDRESS_PORT.pcapng", direction 0's sender first, with "-" for
 * each ":" of an IPv6 address. */
void pl_flow_file_name(char name[PL_FLOW_FILE_NAME], uint32_t number, const struct pl_flow *flow);

/* Reads the capture to its end and writes its flows into the folder of dir_fd. Call it directly after the index was
 * opened. Returns 0, or -1 with a reason. More flows than `flows_max` are also an error. After an error the folder
 * holds incomplete files. */
int pl_flow_files_write(struct pl_index *index, int dir_fd, uint32_t flows_max, struct nc_error *error);

#endif
