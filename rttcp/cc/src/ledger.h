/* The processes that hold an algorithm for others. Each holder has one small file in /run/lfp, in the form of the
 * orchestrator's ledgers (netcommon/ledger.py). The file names the process that asked for the holder as its owner, so
 * that `lfp clean` ends only holders whose shell or script is gone. A file counts only while its process lives. It
 * names the process by id and start time, which together are unique. */
#ifndef CC_LEDGER_H
#define CC_LEDGER_H

#include <stddef.h>
#include <sys/types.h>

/* Writes the ledger of this process as a holder of `name` on behalf of `owner`, and its path into `path`. Returns 0, or
 * -1 with errno. */
int cc_ledger_write(const char *name, pid_t owner, char *path, size_t path_size);

/* Writes at most `n` live holders of `name` to `pids`, and removes the files of dead ones. Returns the number of live
 * holders. */
size_t cc_ledger_holders(const char *name, pid_t *pids, size_t n);

#endif
