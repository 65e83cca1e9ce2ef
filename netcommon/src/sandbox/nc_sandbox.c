/* User, capabilities, landlock; the filter is in nc_calls.c. Capabilities and landlock are set by system calls: a
 * library would be one more dependency for three calls. */
#include "nc_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nc_calls.h"
#include "nc_log.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* constants of landlock's ABI 3, 4 and 6; the headers of the build machine may be older */
#define TRUNCATE (UINT64_C(1) << 14)
#define CONNECT_TCP (UINT64_C(1) << 1)
#define ABSTRACT_AND_SIGNALS (UINT64_C(3))
struct ruleset {
    uint64_t files, net, scoped;
};

static void miss(json_t *missing, const char *what)
{
    json_array_append_new(missing, json_string(what));
}

static void say_missing(const json_t *missing)
{
    char text[256] = "";
    const json_t *what;
    size_t i, used = 0;
    json_array_foreach(missing, i, what)
    {
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "; " : "", json_string_value(what));
    }
    if (used && !SANITIZED)
        nc_log("sandbox: without %s", text);
}

static int set_capabilities(uint64_t keep, uint64_t inheritable)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {(uint32_t)keep, (uint32_t)keep, (uint32_t)inheritable},
        {(uint32_t)(keep >> 32), (uint32_t)(keep >> 32), (uint32_t)(inheritable >> 32)}};
    return (int)syscall(SYS_capset, &header, data);
}

static uint64_t permitted_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) < 0)
        return 0;
    return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

/* Shrinks the bounding set, before other capabilities are dropped, because this needs CAP_SETPCAP. With the full
 * bounding set a later exec could regain dropped capabilities; no_new_privs and the filter also prevent that. */
static void drop_bounding(uint64_t keep)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (!(keep >> cap & 1))
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

void nc_sandbox_limit(uint64_t capabilities)
{
    uint64_t keep = capabilities & permitted_capabilities();
    drop_bounding(keep);
    set_capabilities(keep, keep);
    for (int cap = 0; cap < 64; cap++)
        if (keep >> cap & 1)
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
}

/* Becomes the user. In a namespace with one user there is no other user, so the process keeps its own. */
static int become(const struct passwd *user, json_t *missing, struct nc_error *error)
{
    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    bool grouped = setgroups(0, NULL) == 0 && setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0;
    if (grouped && setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0)
        return 0;
    if (errno != EINVAL && errno != EPERM)
        return nc_fail(error, NC_EXIT_MISSING, "--user '%.40s': %s", user->pw_name, strerror(errno));
    miss(missing, "another user: this user namespace has one, or setuid is forbidden");
    return 0;
}

/* Chooses the user to become, NULL for no change. */
static int choose(const struct nc_sandbox_choice *choice, const struct passwd **user, struct nc_error *error)
{
    const char *name = choice->user ? choice->user : NC_SANDBOX_USER;
    *user = NULL;
    if (!choice->user && geteuid() != 0)
        return 0;
    const struct passwd *found = getpwnam(name);
    if (!found)
        return nc_fail(error, choice->user ? NC_EXIT_USAGE : NC_EXIT_MISSING,
                       "--user '%.40s': no such user; name one that owns nothing, or root to stay root", name);
    if (geteuid() != 0 && found->pw_uid != geteuid())
        return nc_fail(error, NC_EXIT_USAGE, "--user '%.40s': only root can become another user", name);
    if (found->pw_uid != geteuid())
        *user = found;
    return 0;
}

/* Changes the user and drops capabilities. The change clears the signal for the parent's death (prctl(2)), so this sets
 * it again. */
static int drop_user(const struct nc_sandbox *sandbox, const struct passwd *user, json_t *missing,
                     struct nc_error *error)
{
    int signal = 0;
    uint64_t keep = sandbox->capabilities & permitted_capabilities();
    prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0);
    pid_t parent = getppid();
    drop_bounding(keep);
    if (user && become(user, missing, error) < 0)
        return -1;
    if (set_capabilities(keep, 0) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "cannot drop capabilities: %s", strerror(errno));
    prctl(PR_SET_DUMPABLE, SANITIZED, 0, 0, 0);
    if (signal)
        prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
    if (signal && getppid() != parent)
        kill(getpid(), signal);
    return 0;
}

/* Allows `rights` in and below a folder; for a file, reading only. */
static void allow(int ruleset, const char *path, uint64_t rights)
{
    struct stat status;
    struct landlock_path_beneath_attr rule = {.parent_fd = open(path, O_PATH | O_CLOEXEC), .allowed_access = rights};
    if (rule.parent_fd < 0)
        return; /* a path that does not exist needs no rule */
    if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* The ruleset handles every file right that this kernel knows. It allows reading in `reads`, and creating, changing and
 * removing files in the folders of `writes`. */
static bool enter_landlock(const struct nc_sandbox *sandbox)
{
    static const unsigned known[] = {0, 13, 14, 15, 15, 16}; /* rights on files, by ABI */
    static const uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
                          writing = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                                    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                    LANDLOCK_ACCESS_FS_REMOVE_DIR | TRUNCATE;
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1)
        return false;
    struct ruleset wanted = {.files = (UINT64_C(1) << known[abi < 5 ? abi : 5]) - 1,
                             .net = abi >= 4 && !sandbox->connects ? CONNECT_TCP : 0,
                             .scoped = abi >= 6 && sandbox->interpreted ? ABSTRACT_AND_SIGNALS : 0};
    size_t size = abi >= 6   ? sizeof wanted
                  : abi >= 4 ? offsetof(struct ruleset, scoped)
                             : offsetof(struct ruleset, net);
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &wanted, size, 0);
    if (ruleset < 0)
        return false;
    for (size_t i = 0; sandbox->reads && sandbox->reads[i]; i++)
        allow(ruleset, sandbox->reads[i], reading);
    for (size_t i = 0; sandbox->writes && sandbox->writes[i]; i++)
        allow(ruleset, sandbox->writes[i], (reading | writing) & wanted.files);
    bool entered = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return entered;
}

static json_t *capability_names(void)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {{CAP_DAC_READ_SEARCH, "dac_read_search"},
                 {CAP_NET_BIND_SERVICE, "net_bind_service"},
                 {CAP_NET_ADMIN, "net_admin"},
                 {CAP_NET_RAW, "net_raw"},
                 {CAP_SYS_NICE, "sys_nice"}};
    json_t *names = json_array();
    uint64_t has = permitted_capabilities(), others = has;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        others &= ~(UINT64_C(1) << known[i].number);
        if (has >> known[i].number & 1)
            json_array_append_new(names, json_string(known[i].name));
    }
    if (others)
        json_array_append_new(names, json_string("others"));
    return names;
}

static json_t *describe(bool no_new_privs, bool seccomp, bool landlock, json_t *missing)
{
    const struct passwd *user = getpwuid(geteuid());
    char number[24];
    snprintf(number, sizeof number, "%u", (unsigned)geteuid());
    return json_pack("{s:s, s:o, s:b, s:b, s:b, s:o}", "user", user ? user->pw_name : number, "capabilities",
                     capability_names(), "no_new_privs", no_new_privs, "seccomp", seccomp, "landlock", landlock,
                     "missing", missing);
}

/* Enters landlock and the filter. Adds features that the kernel lacks to `missing`. */
static json_t *confine(const struct nc_sandbox *sandbox, json_t *missing)
{
    json_t *state;
    bool no_new_privs = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, landlock = false, seccomp = false;
    /* describe() comes before landlock, because it reads the user's name from files */
    state = describe(no_new_privs, false, false, missing);
    if (SANITIZED)
        miss(missing, "filter and landlock: this build has a sanitizer");
    else {
        landlock = no_new_privs && enter_landlock(sandbox);
        if (!landlock)
            miss(missing, "landlock: this kernel has none");
        seccomp = no_new_privs && nc_calls_confine(sandbox->calls, sandbox->diagnoses, sandbox->interpreted) == 0;
        if (!seccomp)
            miss(missing, "seccomp: this kernel has none");
    }
    say_missing(missing);
    json_object_set_new(state, "landlock", json_boolean(landlock));
    json_object_set_new(state, "seccomp", json_boolean(seccomp));
    return state;
}

int nc_sandbox_enter(const struct nc_sandbox *sandbox, const struct nc_sandbox_choice *choice, json_t **state,
                     struct nc_error *error)
{
    const struct passwd *user;
    json_t *missing = json_array();
    bool stays = choice->user && strcmp(choice->user, "root") == 0 && geteuid() == 0;
    *state = NULL;
    if (choice->off || stays)
        nc_log("sandbox: %s", choice->off ? "none (--no-sandbox)" : "stays root with its capabilities (--user root)");
    if (choice->off) {
        *state = describe(false, false, false, missing);
        return 0;
    }
    if (choose(choice, &user, error) < 0 || (!stays && drop_user(sandbox, user, missing, error) < 0)) {
        json_decref(missing);
        return -1;
    }
    *state = confine(sandbox, missing);
    return 0;
}
