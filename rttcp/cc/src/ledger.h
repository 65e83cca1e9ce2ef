/* The processes that hold an algorithm for others. Each holder has one small file in /run/lfp, in the form of the
 * orchestrator's ledgers (netcommon/ledger.py). The file names as owner the process that asked for the holder, so that
 * `lfp clean` ends a holder whose shell or script is gone, and no other. A file counts only while its process lives. It
 * names the process by id and start time, which together are unique. */
#ifndef CC_LEDGER_H
#define CC_LEDGER_H

#include <stddef.h>
#include <sys/types.h>

/* Writes the ledger of this process as a holder of `name` on behalf of `owner`, and its path into `path`. Returns 0, or
 * -1 with errno. */
int cc_ledger_write(const char *name, pid_t owner, char *path, size_t path_size);

/* Puts the live holders of `name` into `pids`, at most `n`, and removes the files of dead ones. Returns the number of
 * live holders. */
size_t cc_ledger_holders(const char *name, pid_t *pids, size_t n);

#endif
