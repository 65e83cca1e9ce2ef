/* Replaces link.c when rttcp is built without clang or libbpf. */
#include "link.h"

int cc_link_open(const struct cc_choice *choice, bool verbose, struct nc_error *error)
{
    (void)choice;
    (void)verbose;
    return nc_fail(
        error, NC_EXIT_MISSING,
        "this rttcp was built without its congestion controls: install clang, llvm and libbpf-dev, and build again");
}

bool cc_link_state(const struct cc_entry *entry, struct cc_choice *loaded)
{
    (void)entry;
    (void)loaded;
    return false;
}
