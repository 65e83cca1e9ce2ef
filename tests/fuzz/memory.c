/* Settings of AddressSanitizer for a fuzz target. A run frees less than this, so a use after free within a run is found
 * as with the default of 256 MB, and the next run gets memory that the caches have. With the default every run had
 * fresh pages, which took half of its time. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "quarantine_size_mb=16";
}
