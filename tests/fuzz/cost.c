/* Looks for inputs of a fuzz target that cost more than its bound:
 *
 *     cost_NAME CORPUS WORK-BASE WORK-OCTET MEMORY-BASE MEMORY-OCTET [SECONDS]
 *
 * The cost is counted and not timed, so that a busy machine changes nothing. A unit of work is a basic block of our
 * code (the compiler calls __sanitizer_cov_trace_pc in each) or 64 octets that memcpy, memmove, memset, memchr, memmem
 * or strlen touch. Memory is the maximum that malloc and similar functions have allocated at a time. An input of n
 * octets may cost base + n × octet of each.
 *
 * Every input of the corpus is measured, then inputs made from the most costly ones so far: changed, combined, and
 * repeated, because long inputs show a cost that grows faster than the length. The seed is the same each time unless
 * SECONDS are given. An input beyond the bound, or one that crashes, is written to cost-finding. Work inside libraries
 * and memory from mmap are not counted. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_cov_trace_pc(void);

enum { INPUT_MAX = 1 << 14, SIZES = 4, POOL = 512, BEST = 24, TRIES = 1000 };
#define WORK_ALL 300000000 /* number of runs that end the search, unless SECONDS are given */

struct input {
    size_t n;
    uint8_t *at;
    double score;
};
struct bound {
    uint64_t work_base, work_octet, memory_base, memory_octet;
};
static struct {
    uint64_t work, memory, memory_most;
} cost;

/* --- counting --- */

__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void)
{
    cost.work++;
}

void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    cost.work += n / 64;
    return __real_memcpy(to, from, n);
}

void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n)
{
    cost.work += n / 64;
    return __real_memmove(to, from, n);
}

void *__real_memset(void *to, int octet, size_t n);
void *__wrap_memset(void *to, int octet, size_t n);
void *__wrap_memset(void *to, int octet, size_t n)
{
    cost.work += n / 64;
    return __real_memset(to, octet, n);
}

void *__real_memmem(const void *at, size_t n, const void *what, size_t what_n);
void *__wrap_memmem(const void *at, size_t n, const void *what, size_t what_n);
void *__wrap_memmem(const void *at, size_t n, const void *what, size_t what_n)
{
    const char *found = __real_memmem(at, n, what, what_n);
    cost.work += (found ? (size_t)(found - (const char *)at) : n) / 64;
    return (void *)found;
}

void *__real_memchr(const void *at, int octet, size_t n);
void *__wrap_memchr(const void *at, int octet, size_t n);
void *__wrap_memchr(const void *at, int octet, size_t n)
{
    const char *found = __real_memchr(at, octet, n);
    cost.work += (found ? (size_t)(found - (const char *)at) : n) / 64;
    return (void *)found;
}

size_t __real_strlen(const char *text);
size_t __wrap_strlen(const char *text);
size_t __wrap_strlen(const char *text)
{
    size_t n = __real_strlen(text);
    cost.work += n / 64;
    return n;
}

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t k, size_t n);
void *__libc_realloc(void *at, size_t n);
void *__libc_memalign(size_t to, size_t n);
void __libc_free(void *at);

static void *given(void *at)
{
    if (at)
        cost.memory += malloc_usable_size(at);
    if (cost.memory > cost.memory_most)
        cost.memory_most = cost.memory;
    return at;
}

static void taken(void *at)
{
    if (at)
        cost.memory -= malloc_usable_size(at);
}

void *malloc(size_t n)
{
    return given(__libc_malloc(n));
}

void *calloc(size_t k, size_t n)
{
    return given(__libc_calloc(k, n));
}

void *realloc(void *at, size_t n)
{
    size_t before = at ? malloc_usable_size(at) : 0;
    void *now = __libc_realloc(at, n);
    if (now || !n)
        cost.memory -= before;
    return given(now);
}

void *aligned_alloc(size_t to, size_t n)
{
    return given(__libc_memalign(to, n));
}

int posix_memalign(void **at, size_t to, size_t n)
{
    *at = given(__libc_memalign(to, n));
    return *at ? 0 : ENOMEM;
}

void free(void *at)
{
    taken(at);
    __libc_free(at);
}

/* --- searching --- */

static uint64_t state = 1;

static size_t below(size_t n)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return n ? (size_t)(state >> 33) % n : 0;
}

struct found {
    uint64_t work, memory;
    double score;
};

static struct {
    const uint8_t *at;
    size_t n;
} current; /* the input that is being measured */

static void save_current(void)
{
    int fd = open("cost-finding", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0 && write(fd, current.at, current.n) == (ssize_t)current.n)
        close(fd);
}

static void died(int number)
{
    save_current();
    signal(number, SIG_DFL);
    raise(number);
}

static struct found measure(const struct bound *bound, const uint8_t *at, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, at, n);
    uint64_t before = cost.memory;
    cost.work = 0;
    cost.memory_most = before;
    current.at = copy;
    current.n = n;
    LLVMFuzzerTestOneInput(copy, n);
    current.at = at;
    struct found found = {.work = cost.work, .memory = cost.memory_most - before};
    free(copy);
    double work = (double)found.work / (double)(bound->work_base + n * bound->work_octet),
           memory = (double)found.memory / (double)(bound->memory_base + n * bound->memory_octet);
    found.score = work > memory ? work : memory;
    return found;
}

static void put(uint8_t *into, size_t *n, size_t at, const uint8_t *piece, size_t piece_n)
{
    piece_n = piece_n < INPUT_MAX - *n ? piece_n : INPUT_MAX - *n;
    memmove(into + at + piece_n, into + at, *n - at);
    memcpy(into + at, piece, piece_n);
    *n += piece_n;
}

static void repeat(uint8_t *at, size_t *n)
{
    uint8_t piece[INPUT_MAX];
    size_t from = below(*n), piece_n = 1 + below(*n - from < 600 ? *n - from : 600);
    memcpy(piece, at + from, piece_n);
    for (size_t times = 1 + below(200); times && *n < INPUT_MAX; times--)
        put(at, n, from, piece, piece_n);
}

/* Makes one change. `other` is another input. */
static void change(uint8_t *at, size_t *n, const struct input *other)
{
    static const uint8_t edges[] = {0, 1, 2, 4, 8, 16, 0x7f, 0x80, 0xfe, 0xff};
    size_t where = below(*n), from = below(other->n), width = 1 + below(4);
    switch (*n ? below(7) : 4) {
    case 0:
        at[where] ^= (uint8_t)(1 << below(8));
        break;
    case 1:
        at[where] = (uint8_t)below(256);
        break;
    case 2:
        memset(at + where, edges[below(sizeof edges)], width < *n - where ? width : *n - where);
        break;
    case 3:
        *n -= below(*n - where);
        break;
    case 4:
        put(at, n, where, other->at + from, other->n - from);
        break;
    default:
        repeat(at, n);
        break;
    }
}

struct search {
    const struct bound *bound;
    struct input corpus[POOL], best[BEST];
    size_t corpus_n, best_n;
    uint64_t work_all;
    struct found most[SIZES]; /* classes of size: up to 256, 1,024, 4,096, 16,384 octets */
};

static void keep_best(struct search *search, const uint8_t *at, size_t n, double score)
{
    size_t least = search->best_n;
    if (search->best_n < BEST)
        search->best_n++;
    else {
        least = 0;
        for (size_t i = 1; i < BEST; i++)
            if (search->best[i].score < search->best[least].score)
                least = i;
        if (search->best[least].score >= score)
            return;
        free(search->best[least].at);
    }
    search->best[least] = (struct input){.n = n, .at = malloc(n ? n : 1), .score = score};
    memcpy(search->best[least].at, at, n);
}

static bool try(struct search *search, const uint8_t *at, size_t n)
{
    struct found found = measure(search->bound, at, n);
    size_t size = 0;
    while (size + 1 < SIZES && n > (size_t)256 << 2 * size)
        size++;
    struct found *most = &search->most[size];
    most->work = found.work > most->work ? found.work : most->work;
    most->memory = found.memory > most->memory ? found.memory : most->memory;
    search->work_all += found.work + found.memory / 64;
    keep_best(search, at, n, found.score);
    if (found.score <= 1)
        return true;
    save_current();
    fprintf(stderr, "an input of %zu octets costs %llu units of work and %llu octets of memory: ./cost-finding\n", n,
            (unsigned long long)found.work, (unsigned long long)found.memory);
    return false;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load(struct search *search, const char *folder)
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        FILE *file = names[i]->d_name[0] == '.' || search->corpus_n == POOL ? NULL : fopen(path, "rb");
        if (file) {
            struct input *input = &search->corpus[search->corpus_n++];
            input->at = malloc(INPUT_MAX);
            input->n = input->at ? fread(input->at, 1, INPUT_MAX, file) : 0;
            fclose(file);
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

static bool explore(struct search *search, time_t until)
{
    static uint8_t at[INPUT_MAX];
    for (unsigned tries = 0; until ? time(NULL) < until : tries < TRIES && search->work_all < WORK_ALL; tries++) {
        bool climb = search->best_n && below(4);
        const struct input *parent =
            climb ? &search->best[below(search->best_n)] : &search->corpus[below(search->corpus_n)];
        size_t n = parent->n;
        memcpy(at, parent->at, n);
        for (size_t changes = 1 + below(4); changes; changes--)
            change(at, &n, &search->corpus[below(search->corpus_n)]);
        if (!try(search, at, n))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct search search;
    struct bound bound = {0};
    if (argc >= 6)
        bound = (struct bound){strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
                               strtoull(argv[5], NULL, 10)};
    search.bound = &bound;
    signal(SIGABRT, died);
    signal(SIGSEGV, died);
    load(&search, argc >= 2 ? argv[1] : "");
    if (!search.corpus_n || argc < 6) {
        fprintf(stderr, "usage: %s CORPUS WORK-BASE WORK-OCTET MEMORY-BASE MEMORY-OCTET [SECONDS]\n", argv[0]);
        return 2;
    }
    time_t until = argc == 7 ? time(NULL) + atoi(argv[6]) : 0;
    state = until ? (uint64_t)until : 1;
    for (size_t i = 0; i < search.corpus_n; i++) /* so that objects that are made only once do not count for an input */
        measure(&bound, search.corpus[i].at, search.corpus[i].n);
    bool good = true;
    for (size_t i = 0; good && i < search.corpus_n; i++)
        good = try(&search, search.corpus[i].at, search.corpus[i].n);
    good = good && explore(&search, until);
    for (size_t size = 0; size < SIZES; size++)
        printf("up to %5u octets: %llu units of work, %llu octets of memory\n", 256U << 2 * size,
               (unsigned long long)search.most[size].work, (unsigned long long)search.most[size].memory);
    printf("%llu units in all\n", (unsigned long long)search.work_all);
    return !good;
}
