/* Settings of AddressSanitizer for a fuzz target. Most of the time of a run is its allocations, so they are made
 * cheaper:
 * - quarantine: a run frees less than this, so a use after free within a run is found as with the default of 256 MB,
 *   and the next run gets memory that the caches have. With the default every run had fresh pages, which took half of
 *   its time.
 * - malloc_context_size: a finding names the last callers of malloc and free. Run again with its input and
 *   ASAN_OPTIONS=malloc_context_size=30 it names all.
 * - max_malloc_fill_size: so many octets of new memory are filled, which shows most uses of what was not written. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16:malloc_context_size=4:max_malloc_fill_size=256";
}
