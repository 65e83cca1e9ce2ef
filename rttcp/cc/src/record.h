/* Who holds an algorithm for others: one small file a holder in /run/lfp, in the form of the orchestrator's ledgers
 * (netcommon/ledger.py). Its owner is the process that asked for it, so `lfp clean` ends a holder whose shell or script is gone,
 * and no other. A file counts only while its process lives: id and start time, which together name a process for good. */
#ifndef CC_RECORD_H
#define CC_RECORD_H

#include <stddef.h>
#include <sys/types.h>

/* Writes the record of this process as a holder of `name` on behalf of `owner`; the path goes to `path`. 0 or -1 with errno. */
int cc_record_write(const char *name, pid_t owner, char *path, size_t path_size);

/* The live holders of `name`, at most `n` in `pids`; records of dead ones are removed. Returns how many there are. */
size_t cc_record_holders(const char *name, pid_t *pids, size_t n);

#endif
