/* SPDX-License-Identifier: Apache-2.0 */
/* What a front may ask for, and what Docker is asked for instead. */
#include "cay-docker/order.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "foundation/base/json_out.h"
#include "foundation/base/path.h"
#include "foundation/base/str.h"
#include "cay-docker/extras.h"
#include "cay-docker/seccomp.h"
#include "foundation/sys/fd.h"

#define MEMORY_MIN (6ull << 20) /* Docker takes no less */
#define LIMIT_MAX (1ull << 46)
#define TMPFS_USUAL (64ull << 20)
#define SHM_BYTES (64ull << 20)
#define FILES_MAX 4096u
#define LANG_USUAL "LANG=C.UTF-8"
#define MEMLOCK_MAX (64u * 1024) /* this and the next two: as cay-init has them (cay-init/child_rights.c) */
#define MSGQUEUE_MAX (800u * 1024)
#define SIGPENDING_MAX 1024u
#define PROFILE_MAX (256u * 1024)
#define KEEP_MODES (DOCKER_PLAN_KEEP | DOCKER_PLAN_GO_ON)

static bool ends(const char *text, size_t size)
{
        return strnlen(text, size) < size;
}

static bool is_word(const char *text)
{
        for (; *text; text++)
                if ((unsigned char)*text < 0x20 || *text == 0x7f)
                        return false;
        return true;
}

static int check_form(const struct docker_plan *p, struct cay_error *err)
{
        if (!ends(p->id, sizeof(p->id)) || !ends(p->image, sizeof(p->image)) ||
            !ends(p->owner, sizeof(p->owner)) || !ends(p->template_name, sizeof(p->template_name)) ||
            !ends(p->workspace_below, sizeof(p->workspace_below)) || !ends(p->ca, sizeof(p->ca)))
                return cay_fail(err, CAY_INVALID, "a text of the plan is not terminated");
        if (!cay_id_is_valid(p->id))
                return cay_fail(err, CAY_INVALID, "'%.80s' is no id", p->id);
        if (!is_word(p->owner) || !is_word(p->template_name))
                return cay_fail(err, CAY_INVALID, "owner and template must not contain control characters");
        if (p->flags & ~(unsigned)DOCKER_PLAN_ALL || p->may_skip & ~(unsigned)HELPER_LIMIT_ALL)
                return cay_fail(err, CAY_INVALID, "the plan has an unknown flag or value");
        if ((p->flags & KEEP_MODES) == DOCKER_PLAN_GO_ON)
                return cay_fail(err, CAY_INVALID, "only a kept sandbox can be started again");
        if (p->flags & DOCKER_PLAN_NO_INIT && p->flags & KEEP_MODES)
                return cay_fail(err, CAY_INVALID, "a box without init keeps nothing");
        if (p->flags & DOCKER_PLAN_NO_INIT && p->port_count > 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "ports: a sandbox without init (init: none) publishes none; leave init out");
        if (p->flags & DOCKER_PLAN_CA && p->flags & (DOCKER_PLAN_NO_INIT | DOCKER_PLAN_READ_ONLY))
                return cay_fail(err, CAY_UNSUPPORTED,
                                "secrets: on Docker the daemon's certificate goes into the container as a "
                                "file, which a read-only root (read_only) or init: none does not take; "
                                "leave that out");
#ifndef CAY_TEST_HOOKS
        if (p->test_off != 0)
                return cay_fail(err, CAY_INVALID, "layers can be switched off in test builds only");
#endif
        return 0;
}

/*
 * What an init would see to has to be Docker's to hold, or the sandbox would be less restricted than one with
 * an init.
 */
static int check_no_init(const struct docker_plan *p, const struct docker_facts *facts, struct cay_error *err)
{
        if (!(p->flags & DOCKER_PLAN_NO_INIT))
                return 0;
        if (!facts->has_seccomp)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "this Docker filters no system calls (no seccomp), and without an init "
                                "(init: none) nobody else does: leave init out");
        if (p->pids > 0 && p->pids < DOCKER_PIDS_START)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "pids: without an init (init: none) at least %u, which Docker needs to start "
                                "a command at all",
                                DOCKER_PIDS_START);
        return 0;
}

static unsigned wanted(const struct docker_plan *p)
{
        return (p->memory_bytes ? HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP : 0) |
               (p->swap_bytes ? HELPER_LIMIT_SWAP : 0) | (p->cpu_milli ? HELPER_LIMIT_CPUS : 0) |
               (p->pids ? HELPER_LIMIT_PIDS : 0) | (p->disk_bytes ? HELPER_LIMIT_DISK : 0) |
               (p->inodes ? HELPER_LIMIT_INODES : 0);
}

static const char *limit_words(unsigned mask, char *buf, size_t size)
{
        static const char *const words[] = { "memory", "swap", "cpus", "pids", "disk", "inodes" };
        size_t at = 0;

        buf[0] = '\0';
        for (unsigned i = 0; i < CAY_COUNT(words); i++) {
                int n = mask & 1u << i ? snprintf(buf + at, size - at, "%s%s", at ? ", " : "", words[i]) : 0;

                at += n > 0 && (size_t)n < size - at ? (size_t)n : 0;
        }
        return buf;
}

static int check_limits(struct docker_order *order, const struct docker_facts *facts, struct cay_error *err)
{
        const struct docker_plan *p = &order->plan;
        unsigned missing = wanted(p) & ~facts->can_hold;
        char text[80];

        if (p->memory_bytes > LIMIT_MAX || p->swap_bytes > LIMIT_MAX || p->pids > 1000000 ||
            p->cpu_milli > 1024000 || (p->cpu_milli && p->cpu_milli < 10) || p->disk_bytes > LIMIT_MAX)
                return cay_fail(err, CAY_INVALID, "a limit of the plan is out of range");
        if (p->memory_bytes && p->memory_bytes < MEMORY_MIN)
                return cay_fail(err, CAY_UNSUPPORTED, "memory: Docker enforces no limit below 6 MiB");
        if (missing & ~p->may_skip)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "this Docker cannot enforce these limits: %s; leave them out, or let it skip them "
                        "(may_skip; --allow-missing of cay run)",
                        limit_words(missing & ~p->may_skip, text, sizeof(text)));
        order->skipped = missing;
        return 0;
}

/* What was built of a template is found by its labels, by whoever carries the order out. */
static int check_built(const struct docker_plan *p, struct cay_error *err)
{
        if (p->image[0] || !cay_id_is_valid(p->template_name))
                return cay_fail(err, CAY_INVALID, "a built image is named by its template alone");
        return 0;
}

static int check_image(struct docker_order *order, const struct docker_options *o, struct cay_error *err)
{
        if (order->plan.flags & DOCKER_PLAN_BUILT)
                return check_built(&order->plan, err);
        if (o->image_count == 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the docker engine has no image: set docker_images (or CAY_DOCKER_IMAGE)");
        order->image = o->images[0];
        for (unsigned i = 0; order->plan.image[0] && i < o->image_count; i++)
                if (strcmp(o->images[i], order->plan.image) == 0)
                        order->image = o->images[i];
        if (order->plan.image[0] && strcmp(order->image, order->plan.image) != 0)
                return cay_fail(err, CAY_DENIED, "image '%.100s' is not one of docker_images",
                                order->plan.image);
        return 0;
}

/* Only root and we ourselves can put something else in place of what lies in it. */
static bool is_settled(int folder_fd)
{
        struct stat st;

        return fstat(folder_fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
               !(st.st_mode & 022);
}

/* Every folder on the way to it, from the root that was configured on. */
static int check_way(int root_fd, const char *below, struct cay_error *err)
{
        char way[DOCKER_BELOW];
        bool settled = is_settled(root_fd);

        cay_str_copy(way, sizeof(way), below);
        for (char *slash = strchr(way, '/'); slash && settled; slash = strchr(slash + 1, '/')) {
                cay_auto_close int fd = -1;

                *slash = '\0';
                fd = sys_open_beneath(root_fd, way, O_PATH | O_DIRECTORY, 0);
                settled = fd >= 0 && is_settled(fd);
                *slash = '/';
        }
        if (settled)
                return 0;
        return cay_fail(
                err, CAY_UNSUPPORTED,
                "workspace '%.100s': without an init (init: none) nobody in the container can see whether "
                "Docker mounted this very folder, so the folders above it have to belong to root or to the "
                "daemon's user and to be writable by nobody else",
                below);
}

/*
 * Docker looks the path up again when it mounts: cay-init, the first in the container, compares what came of
 * that.
 */
static int check_workspace(struct docker_order *order, const struct docker_options *o, struct cay_error *err)
{
        const struct docker_plan *p = &order->plan;
        cay_auto_close int root = -1, fd = -1;
        const char *top;
        struct stat st;

        if (!(p->flags & DOCKER_PLAN_WORKSPACE))
                return p->flags & DOCKER_PLAN_WORKSPACE_RW
                               ? cay_fail(err, CAY_INVALID, "a writable workspace needs a folder")
                               : 0;
        if (o->host.kind != DOCKER_HOST_UNIX)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "workspace: Docker runs on another machine and has none of this one's folders");
        if (p->workspace_root == DOCKER_ROOT_CALLER ? o->keep : p->workspace_root >= o->root_count)
                return cay_fail(err, CAY_DENIED, "workspace: there is no such root");
        if (!cay_path_is_inside(p->workspace_below))
                return cay_fail(err, CAY_DENIED, "workspace '%.100s' leaves its root", p->workspace_below);
        top = p->workspace_root == DOCKER_ROOT_CALLER ? "" : o->roots[p->workspace_root];
        root = sys_open_at(AT_FDCWD, top[0] ? top : "/", O_PATH | O_DIRECTORY, 0);
        fd = root < 0 ? root : sys_open_beneath(root, p->workspace_below, O_PATH | O_DIRECTORY, 0);
        if (fd < 0)
                return cay_fail_sys(err, fd == -ENOENT ? CAY_NOT_FOUND : CAY_DENIED, fd, "workspace '%.100s'",
                                    p->workspace_below);
        if (p->flags & DOCKER_PLAN_NO_INIT && check_way(root, p->workspace_below, err) < 0)
                return -1;
        if (fstat(fd, &st) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "look at the workspace");
        order->bind_dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev);
        order->bind_ino = st.st_ino;
        if (p->flags & DOCKER_PLAN_WORKSPACE_RW && st.st_uid != DOCKER_USER)
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "workspace '%.100s' belongs to user %u: Docker maps no ids, so a writable one "
                        "has to belong to %u",
                        p->workspace_below, (unsigned)st.st_uid, DOCKER_USER);
        if (snprintf(order->bind, sizeof(order->bind), "%s/%s", top, p->workspace_below) >=
            (int)sizeof(order->bind))
                return cay_fail(err, CAY_INVALID, "the workspace's path is too long");
        return 0;
}

int docker_order_check(const struct docker_plan *plan, const struct docker_options *o,
                       const struct docker_facts *facts, struct docker_order *ret, struct cay_error *err)
{
        *ret = (struct docker_order){ .plan = *plan };
        if (check_form(plan, err) < 0 || docker_extras_check(plan, err) < 0 ||
            check_limits(ret, facts, err) < 0 || check_no_init(plan, facts, err) < 0 ||
            check_image(ret, o, err) < 0)
                return -1;
        return check_workspace(ret, o, err);
}

static void put_text(struct cay_json *j, const char *key, const char *text)
{
        cay_json_key(j, key);
        cay_json_text(j, text);
}

static void put_u64(struct cay_json *j, const char *key, uint64_t value)
{
        cay_json_key(j, key);
        cay_json_u64(j, value);
}

static void put_bool(struct cay_json *j, const char *key, bool value)
{
        cay_json_key(j, key);
        cay_json_bool(j, value);
}

static void put_list(struct cay_json *j, const char *key, const char *const *texts)
{
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (; *texts; texts++)
                cay_json_text(j, *texts);
        cay_json_end_array(j);
}

static bool is_held(const struct docker_order *order, unsigned limit)
{
        return wanted(&order->plan) & limit & ~order->skipped;
}

/* Swap is counted on top of memory; without a limit of memory all that the machine has is one. */
static void put_memory(struct cay_json *j, const struct docker_order *order, const struct docker_facts *facts)
{
        const struct docker_plan *p = &order->plan;
        uint64_t memory = p->memory_bytes ? p->memory_bytes : facts->memory_bytes;

        if (!is_held(order, HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP))
                return;
        put_u64(j, "Memory", memory);
        if (is_held(order, HELPER_LIMIT_SWAP))
                put_u64(j, "MemorySwap", memory + p->swap_bytes);
}

/* Without an init nobody but the command counts. */
static uint64_t pids_of(const struct docker_order *order)
{
        return order->plan.pids + (order->exec ? 0 : DOCKER_PIDS_SPARE);
}

static void put_ulimit(struct cay_json *j, const char *name, uint64_t most)
{
        cay_json_begin_object(j);
        put_text(j, "Name", name);
        put_u64(j, "Soft", most);
        put_u64(j, "Hard", most);
        cay_json_end_object(j);
}

/* What cay-init sets for each command is set here where there is none. */
static void put_ulimits(struct cay_json *j, const struct cay_box_exec *exec)
{
        static const struct {
                const char *name;
                uint64_t most;
        } rows[] = { { "memlock", MEMLOCK_MAX },
                     { "msgqueue", MSGQUEUE_MAX },
                     { "sigpending", SIGPENDING_MAX },
                     { "rtprio", 0 },
                     { "nice", 0 } };
        bool fewer = exec && exec->files_max > 0 && exec->files_max < FILES_MAX;

        cay_json_key(j, "Ulimits");
        cay_json_begin_array(j);
        put_ulimit(j, "core", 0);
        put_ulimit(j, "nofile", fewer ? exec->files_max : FILES_MAX);
        if (exec && exec->file_max_bytes > 0)
                put_ulimit(j, "fsize", exec->file_max_bytes);
        for (unsigned i = 0; exec && i < CAY_COUNT(rows); i++)
                put_ulimit(j, rows[i].name, rows[i].most);
        cay_json_end_array(j);
}

static void put_limits(struct cay_json *j, const struct docker_order *order, const struct docker_facts *facts)
{
        const struct docker_plan *p = &order->plan;
        uint64_t milli = p->cpu_milli;

        put_memory(j, order, facts);
        if (facts->cpus > 0 && milli > facts->cpus * 1000ull)
                milli = facts->cpus * 1000ull; /* Docker refuses more than there are */
        if (is_held(order, HELPER_LIMIT_CPUS))
                put_u64(j, "NanoCpus", milli * 1000000ull);
        if (is_held(order, HELPER_LIMIT_PIDS))
                put_u64(j, "PidsLimit", pids_of(order));
        put_ulimits(j, order->exec);
}

/* By a folder or a volume of the caller's. */
static bool is_mounted(const struct docker_order *order, const char *path)
{
        for (unsigned i = 0; i < order->plan.volume_count; i++)
                if (strcmp(order->plan.volumes[i].target, path) == 0)
                        return true;
        return order->bind[0] && strcmp(path, "/workspace") == 0;
}

bool docker_order_has_workspace_volume(const struct docker_order *order)
{
        return order->plan.flags & DOCKER_PLAN_READ_ONLY && !order->exec && !is_mounted(order, "/workspace");
}

/* With a read-only root, or where nothing goes into the container, these are what can be written to. */
static void put_tmpfs(struct cay_json *j, const struct docker_order *order)
{
        static const struct {
                const char *path, *more;
        } rows[] = { { "/tmp", "mode=1777" },
                     { "/home/sandbox", "mode=0755,uid=1001,gid=1001" },
                     { "/workspace", "mode=0755,uid=1001,gid=1001" } };
        uint64_t size = order->plan.disk_bytes ? order->plan.disk_bytes : TMPFS_USUAL;
        char text[128];

        cay_json_key(j, "Tmpfs");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (!order->exec && strcmp(rows[i].path, "/workspace") == 0)
                        continue; /* a volume: what is in it outlives a stop */
                if (is_mounted(order, rows[i].path))
                        continue;
                snprintf(text, sizeof(text), "rw,exec,nosuid,nodev,size=%llu,%s", (unsigned long long)size,
                         rows[i].more);
                put_text(j, rows[i].path, text);
        }
        cay_json_end_object(j);
}

static void put_mounts(struct cay_json *j, const struct docker_order *order, const struct docker_options *o)
{
        cay_json_key(j, "Mounts");
        cay_json_begin_array(j);
        if (order->bind[0]) {
                cay_json_begin_object(j);
                put_text(j, "Type", "bind");
                put_text(j, "Source", order->bind);
                put_text(j, "Target", "/workspace");
                put_bool(j, "ReadOnly", !(order->plan.flags & DOCKER_PLAN_WORKSPACE_RW));
                cay_json_key(j, "BindOptions");
                cay_json_begin_object(j);
                put_text(j, "Propagation", "rprivate");
                cay_json_end_object(j);
                cay_json_end_object(j);
        }
        docker_volumes_put(j, &order->plan, o);
        cay_json_end_array(j);
}

static void put_security(struct cay_json *j, const struct docker_facts *facts, bool has_init)
{
        cay_auto_buf struct cay_buf profile = { 0 };

        cay_buf_init(&profile, PROFILE_MAX);
        cay_json_key(j, "SecurityOpt");
        cay_json_begin_array(j);
        cay_json_text(j, "no-new-privileges");
        if (facts->has_seccomp)
                cay_json_text(j, docker_seccomp_put(&profile, has_init) == 0 ? cay_buf_data(&profile) : NULL);
        cay_json_end_array(j);
}

static void put_host_config(struct cay_json *j, const struct docker_order *order,
                            const struct docker_options *o, const struct docker_facts *facts)
{
        bool read_only = order->plan.flags & DOCKER_PLAN_READ_ONLY;

        cay_json_key(j, "HostConfig");
        cay_json_begin_object(j);
        docker_network_put_host(j, order);
        put_text(j, "IpcMode", "private");
        put_text(j, "CgroupnsMode", "private"); /* else, with cgroup v1, it sees the host's paths */
        put_list(j, "CapDrop", (const char *const[]){ "ALL", NULL });
        put_security(j, facts, !order->exec);
        put_bool(j, "Privileged", false);
        put_bool(j, "ReadonlyRootfs", read_only);
        put_bool(j, "AutoRemove", false);
        put_bool(j, "Init", false); /* cay-init is one, or there is to be none */
        put_u64(j, "OomScoreAdj", 1000);
        put_u64(j, "ShmSize", SHM_BYTES);
        cay_json_key(j, "LogConfig"); /* there is nothing to log: everything goes over the link */
        cay_json_begin_object(j);
        put_text(j, "Type", "none");
        cay_json_end_object(j);
        cay_json_key(j, "RestartPolicy");
        cay_json_begin_object(j);
        put_text(j, "Name", "no");
        cay_json_end_object(j);
        put_limits(j, order, facts);
        if (read_only || order->exec)
                put_tmpfs(j, order);
        put_mounts(j, order, o);
        cay_json_end_object(j);
}

static void put_labels(struct cay_json *j, const struct docker_order *order, const struct docker_options *o)
{
        cay_json_key(j, "Labels");
        cay_json_begin_object(j);
        put_text(j, "cay.id", order->plan.id);
        put_text(j, "cay.instance", o->instance);
        put_text(j, "cay.owner", order->plan.owner);
        put_text(j, "cay.template", order->plan.template_name);
        put_text(j, "cay.keep", order->plan.flags & DOCKER_PLAN_KEEP ? "yes" : "no");
        if (order->exec)
                put_text(j, DOCKER_INIT_LABEL, "none");
        docker_labels_put(j, &order->plan);
        cay_json_end_object(j);
}

/*
 * The image's own entry point and command are replaced by these words, whatever they are; Docker adds its
 * environment.
 */
static void put_init(struct cay_json *j, const struct docker_order *order)
{
        put_list(j, "Entrypoint", (const char *const[]){ "/.cay/init", "docker", NULL });
        put_list(j, "Env", (const char *const[]){ order->lacks_lang ? LANG_USUAL : NULL, NULL });
        put_text(j, "WorkingDir", "/");
}

static void put_strings(struct cay_json *j, const char *key, struct cay_view *strings, uint32_t count)
{
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (uint32_t i = 0; i < count; i++) {
                struct cay_view s = cay_box_next_string(strings);

                cay_json_string(j, s.ptr, s.len);
        }
        cay_json_end_array(j);
}

static bool is_lang(struct cay_view v)
{
        return v.len >= 5 &&
               (memcmp(v.ptr, "LANG=", 5) == 0 || (v.len >= 7 && memcmp(v.ptr, "LC_ALL=", 7) == 0));
}

/* The image's environment is below it: Docker adds what is not given here. */
static void put_env(struct cay_json *j, struct cay_view *strings, uint32_t count, bool lacks_lang)
{
        cay_json_key(j, "Env");
        cay_json_begin_array(j);
        for (uint32_t i = 0; i < count; i++) {
                struct cay_view s = cay_box_next_string(strings);

                cay_json_string(j, s.ptr, s.len);
                lacks_lang &= !is_lang(s);
        }
        if (lacks_lang)
                cay_json_text(j, LANG_USUAL);
        cay_json_end_array(j);
}

static void put_command(struct cay_json *j, const struct docker_order *order)
{
        const struct cay_box_exec *exec = order->exec;
        struct cay_view strings = exec->args;
        bool has_in = exec->flags & CAY_BOX_STDIN;

        put_strings(j, "Entrypoint", &strings, exec->argc);
        put_env(j, &strings, exec->envc, order->lacks_lang);
        cay_json_key(j, "WorkingDir");
        if (exec->cwd.len > 0)
                cay_json_string(j, exec->cwd.ptr, exec->cwd.len);
        else
                cay_json_text(j, "/workspace");
        put_bool(j, "AttachStdin", has_in);
        put_bool(j, "OpenStdin", has_in);
        put_bool(j, "StdinOnce", has_in);
        put_bool(j, "AttachStdout", true);
        put_bool(j, "AttachStderr", true);
        put_bool(j, "Tty", false);
}

/* Without a name: they go with their container. */
static void put_own_volumes(struct cay_json *j, const struct docker_order *order)
{
        cay_json_key(j, "Volumes");
        cay_json_begin_object(j);
        cay_json_key(j, "/.cay"); /* the one place where an archive can go in, then */
        cay_json_begin_object(j);
        cay_json_end_object(j);
        if (docker_order_has_workspace_volume(order)) {
                cay_json_key(j, "/workspace");
                cay_json_begin_object(j);
                cay_json_end_object(j);
        }
        cay_json_end_object(j);
}

int docker_order_put_json(const struct docker_order *order, const struct docker_options *o,
                          const struct docker_facts *facts, struct cay_buf *out)
{
        struct cay_json json, *j = &json;
        char user[32];

        snprintf(user, sizeof(user), "%u:%u", DOCKER_USER, DOCKER_USER);
        cay_json_init(j, out);
        cay_json_begin_object(j);
        put_text(j, "Image", order->image ? order->image : order->built);
        if (order->exec)
                put_command(j, order);
        else
                put_init(j, order);
        put_list(j, "Cmd", (const char *const[]){ NULL });
        put_text(j, "User", user);
        put_text(j, "Hostname", "sandbox");
        put_text(j, "StopSignal", "SIGKILL");
        put_bool(j, "NetworkDisabled", false); /* with true Docker writes no /etc/hosts: no localhost */
        docker_ports_put_exposed(j, &order->plan);
        cay_json_key(j, "Healthcheck"); /* an image may bring one: it would run beside us */
        cay_json_begin_object(j);
        put_list(j, "Test", (const char *const[]){ "NONE", NULL });
        cay_json_end_object(j);
        if (order->plan.flags & DOCKER_PLAN_READ_ONLY && !order->exec)
                put_own_volumes(j, order);
        put_labels(j, order, o);
        put_host_config(j, order, o, facts);
        cay_json_end_object(j);
        return cay_json_end(j);
}
