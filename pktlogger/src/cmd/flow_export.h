/* The interface between the options of `export` and the part that divides a capture into flows. */
#ifndef PL_FLOW_EXPORT_H
#define PL_FLOW_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

struct pl_flow_export {
    const char *capture, *folder;
    uint64_t flows_max;
    bool tunnels;
};

/* Writes the files and prints the end or an error. Returns the exit status. */
int pl_export_flow_files(const struct pl_flow_export *export, bool human);

#endif
