/* Loads the object by libbpf and makes the link by the system call itself, because the libbpf of Debian 12 (1.1)
 * supports struct_ops only without links. link.h explains why links are used. */
#include "link.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Parts of the kernel's interface since Linux 6.4; the build machine's headers may be older. */
#define MAP_FLAG_LINK (1u << 13)
#define ATTACH_STRUCT_OPS 44
#define LINK_TYPE_STRUCT_OPS 9

struct link_info { /* the beginning of struct bpf_link_info, with its struct_ops member */
    uint32_t type, id, prog_id, pad, map_id, pad2[11];
};

#define OBJECT(name) extern const unsigned char lfp_##name##_object[], lfp_##name##_object_end[]
OBJECT(cpeak);
OBJECT(fast);
OBJECT(hstcp);
OBJECT(htcp);
OBJECT(scalable);
OBJECT(xys);
OBJECT(xys_tx_start);

/* An algorithm may have two objects. The first one is loaded whose `member` the kernel's tcp_congestion_ops has; NULL
 * fits every kernel. */
static const struct object {
    const char *name, *member;
    const unsigned char *start, *end;
} objects[] = {
#define ROW(name) {"lfp_" #name, NULL, lfp_##name##_object, lfp_##name##_object_end}
    ROW(cpeak), ROW(fast),     ROW(hstcp),
    ROW(htcp),  ROW(scalable), {"lfp_xys", "cwnd_event_tx_start", lfp_xys_tx_start_object, lfp_xys_tx_start_object_end},
    ROW(xys),
};

static int silent(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

/* True for root of the machine or of a container. Root of a user namespace that maps one user may not load BPF
 * programs. */
static bool is_root(void)
{
    unsigned inside = 0, outside = 0, count = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (geteuid() != 0 || !map)
        return geteuid() == 0; /* a kernel without user namespaces does not have this file */
    bool one_user = fscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && count == 1;
    fclose(map);
    return !one_user;
}

/* Returns 0, or -1 with what this machine lacks: a newer kernel, BTF, or privilege. */
static int possible(struct nc_error *error)
{
    struct utsname system;
    unsigned major = 0, minor = 0;
    if (uname(&system) == 0 && sscanf(system.release, "%u.%u", &major, &minor) == 2 &&
        (major < 6 || (major == 6 && minor < 4)))
        return nc_fail(error, NC_EXIT_MISSING,
                       "BPF congestion controls need Linux 6.4 or newer, this is %.60s: "
                       "use one of its own (sysctl net.ipv4.tcp_available_congestion_control)",
                       system.release);
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return nc_fail(error, NC_EXIT_MISSING,
                       "BPF congestion controls need a kernel with BTF (CONFIG_DEBUG_INFO_BTF): "
                       "there is no /sys/kernel/btf/vmlinux");
    if (!is_root())
        return nc_fail(error, NC_EXIT_MISSING,
                       "BPF congestion controls need root of the machine (CAP_BPF and CAP_NET_ADMIN), "
                       "not of a user namespace: run it as root");
    return 0;
}

/* Reads the information of a map by its id. Returns an open descriptor of the map, or -1. */
static int map_by_id(uint32_t id, struct bpf_map_info *info)
{
    int fd = bpf_map_get_fd_by_id(id);
    uint32_t size = sizeof *info;
    memset(info, 0, sizeof *info);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, info, &size) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Returns a descriptor of the link of an algorithm that is loaded already; -1 when there is none. */
static int link_find(const char *name)
{
    for (uint32_t id = 0; bpf_link_get_next_id(id, &id) == 0;) {
        int fd = bpf_link_get_fd_by_id(id);
        struct link_info info = {0};
        uint32_t size = sizeof info;
        if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.type == LINK_TYPE_STRUCT_OPS) {
            struct bpf_map_info map;
            int map_fd = map_by_id(info.map_id, &map);
            if (map_fd >= 0)
                close(map_fd);
            if (map_fd >= 0 && strncmp(map.name, name, sizeof map.name - 1) == 0)
                return fd;
        }
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* Reads the parameters of a loaded algorithm from the map that holds its programs' constants. There may be several such
 * maps, because an older one remains while a closing socket still uses the algorithm with its previous parameters. The
 * newest map counts. */
static bool params_read(const struct cc_entry *entry, struct cc_choice *loaded)
{
    bool found = false;
    for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
        struct bpf_map_info map;
        int fd = map_by_id(id, &map);
        uint32_t key = 0;
        if (fd >= 0 && strncmp(map.name, entry->section, sizeof map.name - 1) == 0 &&
            map.value_size == entry->n_params * sizeof(uint32_t) &&
            bpf_map_lookup_elem(fd, &key, loaded->values_q16) == 0)
            found = true;
        if (fd >= 0)
            close(fd);
    }
    return found;
}

bool cc_link_state(const struct cc_entry *entry, struct cc_choice *loaded)
{
    *loaded = cc_choice_of(entry);
    int fd = link_find(entry->name);
    if (fd < 0)
        return false;
    params_read(entry, loaded);
    close(fd);
    return true;
}

/* Fills in the parameters, loads and registers the algorithm. Returns the link's descriptor, or -1 with errno. */
static int object_attach(struct bpf_object *object, const struct cc_choice *choice)
{
    struct bpf_map *ops = bpf_object__find_map_by_name(object, choice->entry->name), *map;
    bool filled = false;
    bpf_object__for_each_map(map, object)
    {
        if (strcmp(bpf_map__name(map), choice->entry->section) == 0)
            filled =
                bpf_map__set_initial_value(map, choice->values_q16, choice->entry->n_params * sizeof(uint32_t)) == 0;
    }
    if (!ops || !filled) {
        errno = ENOENT;
        return -1;
    }
    bpf_map__set_map_flags(ops, MAP_FLAG_LINK);
    if (bpf_object__load(object) < 0)
        return -1;
    /* this only fills the map; the link below registers the algorithm */
    struct bpf_link *ready = bpf_map__attach_struct_ops(ops);
    if (!ready)
        return -1;
    union bpf_attr attributes = {0};
    attributes.link_create.prog_fd = (uint32_t)bpf_map__fd(ops);
    attributes.link_create.attach_type = ATTACH_STRUCT_OPS;
    int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes);
    int error = errno;
    bpf_link__disconnect(ready);
    bpf_link__destroy(ready);
    errno = error;
    return fd;
}

static bool kernel_has(const char *member)
{
    struct btf *kernel = btf__load_vmlinux_btf();
    int id = kernel ? btf__find_by_name_kind(kernel, "tcp_congestion_ops", BTF_KIND_STRUCT) : -1;
    const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(kernel, (uint32_t)id);
    bool found = false;
    for (uint32_t i = 0; type && i < btf_vlen(type) && !found; i++)
        found = strcmp(btf__name_by_offset(kernel, btf_members(type)[i].name_off), member) == 0;
    btf__free(kernel);
    return found;
}

static const struct object *object_of(const char *name)
{
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        if (strcmp(objects[i].name, name) == 0 && (!objects[i].member || kernel_has(objects[i].member)))
            return &objects[i];
    return NULL;
}

static int link_make(const struct cc_choice *choice, struct nc_error *error)
{
    const struct object *found = object_of(choice->entry->name);
    if (!found)
        return nc_fail(error, NC_EXIT_MISSING, "%s: not in this build", choice->entry->name);
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = choice->entry->name);
    struct bpf_object *object = bpf_object__open_mem(found->start, (size_t)(found->end - found->start), &options);
    int fd = object ? object_attach(object, choice) : -1, why = errno;
    bpf_object__close(object);
    if (fd < 0)
        return nc_fail(error, NC_EXIT_MISSING, "%s: the kernel refuses it (%s): see `rttcp cc load %s --verbose`",
                       choice->entry->name, strerror(why), choice->entry->name);
    return fd;
}

static int link_open_locked(const struct cc_choice *choice, struct nc_error *error)
{
    int fd = link_find(choice->entry->name);
    if (fd < 0)
        return link_make(choice, error);
    struct cc_choice loaded = cc_choice_of(choice->entry);
    if (choice->given && params_read(choice->entry, &loaded) &&
        memcmp(loaded.values_q16, choice->values_q16, choice->entry->n_params * sizeof(uint32_t)) != 0) {
        close(fd);
        return nc_fail(error, NC_EXIT_FAILED,
                       "%s is in use with other parameters (see `rttcp cc list`): "
                       "end its users or ask for the same",
                       choice->entry->name);
    }
    return fd;
}

int cc_link_open(const struct cc_choice *choice, bool verbose, struct nc_error *error)
{
    if (possible(error) < 0)
        return -1;
    if (!choice->entry->section)
        return nc_fail(
            error, NC_EXIT_MISSING,
            "%s is in the kernel of virtual time only: it needs a kernel that sends ECT(1), which no unpatched Linux "
            "does; use lfp run --time virtual",
            choice->entry->name);
    libbpf_print_fn_t before = verbose ? NULL : libbpf_set_print(silent);
    mkdir("/run/lfp", 0700);
    /* when two processes load at once, one creates the link and the other finds it */
    int lock = open("/run/lfp/cc.lock", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) {
        if (lock >= 0)
            close(lock);
        return nc_fail(error, NC_EXIT_MISSING, "/run/lfp/cc.lock: %s", strerror(errno));
    }
    int fd = link_open_locked(choice, error);
    close(lock);
    if (!verbose)
        libbpf_set_print(before);
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}
