/* SPDX-License-Identifier: Apache-2.0 */
/* Host ids of boxes. The theory is in ids.h. */
#include "cay-warden/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/userns_why.h"
#include "cay-warden/record.h"

#define NEWUIDMAP "/usr/bin/newuidmap"
#define NEWGIDMAP "/usr/bin/newgidmap"
#define SLICE_LOW (CAY_IDS_SLICE - 2) /* inside 0…; the last two are init's and nobody's */

static bool is_field(const char *text, size_t len, const char *word)
{
        return word && strlen(word) == len && memcmp(text, word, len) == 0;
}

bool cay_ids_find_range(const char *text, const char *name, uint32_t uid, uint32_t least, uint32_t *ret_first,
                        uint32_t *ret_count)
{
        char number[16];

        snprintf(number, sizeof(number), "%u", uid);
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                size_t len = strcspn(line, ":\n");
                unsigned long long first, count;
                char *end;

                if (line[len] != ':' || !(is_field(line, len, name) || is_field(line, len, number)))
                        continue;
                first = strtoull(line + len + 1, &end, 10);
                if (end == line + len + 1 || *end != ':')
                        continue;
                count = strtoull(end + 1, NULL, 10);
                if (first == 0 || first > UINT32_MAX || count < least || count > UINT32_MAX - first)
                        continue;
                *ret_first = (uint32_t)first;
                *ret_count = (uint32_t)count;
                return true;
        }
        return false;
}

/* The name of an id in /etc/passwd; no name service is used (libc would load half of one). */
static bool find_name(const char *passwd, uint32_t uid, char *ret, size_t size)
{
        for (const char *line = passwd; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                size_t len = strcspn(line, ":\n");
                const char *field = line + len;

                if (*field == ':')
                        field = strchr(field + 1, ':');
                if (!field || len >= size || strtoul(field + 1, NULL, 10) != uid || field[1] == ':')
                        continue;
                memcpy(ret, line, len);
                ret[len] = 0;
                return true;
        }
        return false;
}

static bool own_range(const char *path, const char *name, uint32_t *ret_first, uint32_t *ret_count)
{
        static char text[65536];

        return sys_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 &&
               cay_ids_find_range(text, name, getuid(), CAY_IDS_SLICE, ret_first, ret_count);
}

bool cay_ids_map_covers(const char *map, uint32_t first, uint64_t count)
{
        while (*map) {
                char *end;
                unsigned long long inside = strtoull(map, &end, 10), length;

                strtoull(end, &end, 10);
                length = strtoull(end, &end, 10);
                if (first >= inside && first - inside < length && count <= length - (first - inside))
                        return true;
                map = end + strcspn(end, "\n");
                map += *map == '\n';
        }
        return false;
}

/*
 * Root, or root of a container that kept these two capabilities, without a user namespace that hides the ids.
 */
static bool may_map_any(void)
{
        static char map[8192];
        const uint64_t need = SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID);
        const uint64_t count = (uint64_t)CAY_RECORD_SLOTS * CAY_RECORD_IDS;
        uint64_t effective = 0, permitted, inheritable;

        return sys_caps_get(&effective, &permitted, &inheritable) == 0 && (effective & need) == need &&
               sys_read_file(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) > 0 &&
               cay_ids_map_covers(map, CAY_RECORD_FIRST_ID, count) &&
               sys_read_file(AT_FDCWD, "/proc/self/gid_map", map, sizeof(map)) > 0 &&
               cay_ids_map_covers(map, CAY_RECORD_FIRST_ID, count);
}

static bool is_first_namespace(void)
{
        char map[256];

        return sys_read_file(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) > 0 &&
               cay_ids_map_covers(map, 0, UINT32_MAX);
}

static bool find_range(struct cay_ids_pool *pool)
{
        static char passwd[65536];
        char name[64] = "";
        uint32_t uids, gids;

        if (access(NEWUIDMAP, X_OK) < 0 || access(NEWGIDMAP, X_OK) < 0)
                return false;
        if (sys_read_file(AT_FDCWD, "/etc/passwd", passwd, sizeof(passwd)) > 0)
                find_name(passwd, getuid(), name, sizeof(name));
        if (!own_range("/etc/subuid", name, &pool->first_uid, &uids) ||
            !own_range("/etc/subgid", name, &pool->first_gid, &gids))
                return false;
        pool->source = CAY_IDS_RANGE;
        pool->slots = (uids < gids ? uids : gids) / CAY_IDS_SLICE;
        if (pool->slots > CAY_RECORD_SLOTS)
                pool->slots = CAY_RECORD_SLOTS;
        return true;
}

/* In a user namespace without a map we are nobody, and cannot make another. */
static bool is_unmapped(void)
{
        char map[256];

        return sys_read_file(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) == 0;
}

int cay_ids_pool_open(struct cay_ids_pool *pool, struct cay_error *err)
{
        char why[SYS_WHY_SIZE];

        if (is_unmapped()) {
                sys_userns_why(-EPERM, why, sizeof(why));
                return cay_fail(err, CAY_UNSUPPORTED, "no user namespace can be made here: %s", why);
        }
        if (may_map_any()) {
                *pool = (struct cay_ids_pool){ CAY_IDS_HOST, CAY_RECORD_FIRST_ID, CAY_RECORD_FIRST_ID,
                                               CAY_RECORD_SLOTS };
                return 0;
        }
        if (find_range(pool))
                return 0;
        *pool = (struct cay_ids_pool){ CAY_IDS_ONE, getuid(), getgid(), CAY_RECORD_SLOTS };
        if (getuid() == 0 && is_first_namespace())
                return cay_fail(
                        err, CAY_DENIED,
                        "this is root without the capabilities setuid and setgid (a hardened container): "
                        "a sandbox would have root's own id; run cay as an ordinary user");
        return 0;
}

/* Maps inside [from, from+count) to outside, except that `pin` (if within) maps elsewhere. */
static unsigned put_run(struct sys_idmap *map, uint32_t from, uint32_t count, uint32_t outside, bool pinned,
                        uint32_t pin, uint32_t pin_outside)
{
        unsigned n = 0;

        if (!pinned || pin < from || pin >= from + count) {
                map[n++] = (struct sys_idmap){ from, outside, count };
                return n;
        }
        if (pin > from)
                map[n++] = (struct sys_idmap){ from, outside, pin - from };
        map[n++] = (struct sys_idmap){ pin, pin_outside, 1 };
        if (pin + 1 < from + count)
                map[n++] = (struct sys_idmap){ pin + 1, outside + (pin + 1 - from), from + count - pin - 1 };
        return n;
}

void cay_ids_choose(struct cay_ids *ids, const struct cay_ids_pool *pool, unsigned slot,
                    const struct cay_id_pin *pin)
{
        bool pinned = pin != NULL;
        uint32_t inside = pinned ? pin->inside : 0;
        uint32_t uid = pinned ? pin->uid : 0, gid = pinned ? pin->gid : 0;

        *ids = (struct cay_ids){ .source = pool->source, .init_user = CAY_BOX_INIT_USER, .has_root = true };
        if (pool->source == CAY_IDS_ONE) {
                ids->uids[0] = (struct sys_idmap){ CAY_BOX_USER, pool->first_uid, 1 };
                ids->gids[0] = (struct sys_idmap){ CAY_BOX_USER, pool->first_gid, 1 };
                ids->extents = 1;
                ids->init_user = CAY_BOX_USER;
                ids->has_root = false;
        } else if (pool->source == CAY_IDS_HOST) {
                uint32_t first = pool->first_uid + slot * CAY_RECORD_IDS;

                ids->first_uid = first;
                ids->extents = put_run(ids->uids, 0, CAY_RECORD_IDS, first, pinned, inside, uid);
                put_run(ids->gids, 0, CAY_RECORD_IDS, first, pinned, inside, gid);
        } else {
                uint32_t u = pool->first_uid + slot * CAY_IDS_SLICE,
                         g = pool->first_gid + slot * CAY_IDS_SLICE;
                unsigned n = put_run(ids->uids, 0, SLICE_LOW, u, pinned, inside, uid);

                put_run(ids->gids, 0, SLICE_LOW, g, pinned, inside, gid);
                ids->uids[n] = (struct sys_idmap){ CAY_BOX_INIT_USER, u + SLICE_LOW, 2 };
                ids->gids[n] = (struct sys_idmap){ CAY_BOX_INIT_USER, g + SLICE_LOW, 2 };
                ids->extents = n + 1;
        }
}

bool cay_ids_outside(const struct cay_ids *ids, uint32_t inside, uint32_t *ret_uid)
{
        for (unsigned i = 0; i < ids->extents; i++) {
                const struct sys_idmap *m = &ids->uids[i];

                if (inside >= m->inside && inside - m->inside < m->count) {
                        *ret_uid = m->outside + (inside - m->inside);
                        return true;
                }
        }
        return false;
}

static int write_map(pid_t pid, const char *file, const struct sys_idmap *map, unsigned count)
{
        char path[64], text[CAY_IDS_EXTENTS_MAX * 40];
        size_t len = 0;

        for (unsigned i = 0; i < count; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %u %u\n", map[i].inside,
                                        map[i].outside, map[i].count);
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
        return sys_write_file(AT_FDCWD, path, text);
}

/*
 * Runs one of the set-id programs: PID, then inside, outside and count of every extent. It reports a refusal
 * on its stderr.
 */
static int run_mapper(const char *program, pid_t pid, const struct sys_idmap *map, unsigned count,
                      struct cay_error *err)
{
        char numbers[1 + 3 * CAY_IDS_EXTENTS_MAX][12], why[120] = "";
        char *argv[CAY_COUNT(numbers) + 2], *const env[] = { NULL };
        unsigned n = 0;
        int ends[2], status = -1;
        ssize_t len;
        pid_t child;

        snprintf(numbers[n++], sizeof(numbers[0]), "%d", (int)pid);
        for (unsigned i = 0; i < count; i++) {
                snprintf(numbers[n++], sizeof(numbers[0]), "%u", map[i].inside);
                snprintf(numbers[n++], sizeof(numbers[0]), "%u", map[i].outside);
                snprintf(numbers[n++], sizeof(numbers[0]), "%u", map[i].count);
        }
        argv[0] = (char *)(uintptr_t)program;
        for (unsigned i = 0; i < n; i++)
                argv[i + 1] = numbers[i];
        argv[n + 1] = NULL;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a pipe");
        child = vfork();
        if (child == 0) {
                dup2(ends[1], 2);
                execve(program, argv, env);
                _exit(127);
        }
        close(ends[1]);
        len = child < 0 ? 0 : read(ends[0], why, sizeof(why) - 1);
        close(ends[0]);
        if (child > 0)
                while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                        ;
        if (status == 0)
                return 0;
        why[len > 0 ? strcspn(why, "\n") : 0] = 0;
        return cay_fail(err, CAY_DENIED,
                        "%s did not map the box's ids (%s): check /etc/subuid and /etc/subgid", program,
                        why[0] ? why : "it failed");
}

int cay_ids_give(const struct cay_ids *ids, pid_t pid, struct cay_error *err)
{
        int r = 0;

        if (ids->source == CAY_IDS_RANGE)
                return run_mapper(NEWUIDMAP, pid, ids->uids, ids->extents, err) < 0 ||
                                       run_mapper(NEWGIDMAP, pid, ids->gids, ids->extents, err) < 0
                               ? -1
                               : 0;
        if (ids->source ==
            CAY_IDS_ONE) { /* required for a group map without privileges; old kernels have no such file */
                char path[64];

                snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
                r = sys_write_file(AT_FDCWD, path, "deny");
                if (r == -ENOENT)
                        r = 0;
        }
        if (r == 0)
                r = write_map(pid, "uid_map", ids->uids, ids->extents);
        if (r == 0)
                r = write_map(pid, "gid_map", ids->gids, ids->extents);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "map the box's ids") : 0;
}
