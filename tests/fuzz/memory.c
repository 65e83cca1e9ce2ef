/* Settings of AddressSanitizer for a fuzz target. Most of the time of an execution is spent in its allocations, so they
 * are made cheaper:
 * - quarantine: an execution frees less than this, so a use after free within the execution is still found. The next
 *   execution gets memory that is still in the caches. With the default of 256 MB, every execution had fresh pages,
 *   which took half of its time.
 * - malloc_context_size: a report names only the last callers of malloc and free. To see all of them, run the input
 *   again with ASAN_OPTIONS=malloc_context_size=30.
 * - max_malloc_fill_size: the number of octets of new memory that are filled, which shows most uses of uninitialised
 *   memory. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16:malloc_context_size=4:max_malloc_fill_size=256";
}
