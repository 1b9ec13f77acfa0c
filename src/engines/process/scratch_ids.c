/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that are named after ids: making one reserves the id, removing it frees the id. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "foundation/base/str.h"
#include "engines/process/scratch.h"

#define TRIES 8
#define INNER "w"
#define KILL_COST 200u /* of a budget: a process that looks at all others, against the removal of a file */

void cay_scratch_ids_open(struct cay_scratch_ids *ids, const char *at)
{
        *ids = (struct cay_scratch_ids){ 0 };
        cay_str_copy(ids->at, sizeof(ids->at), at);
        if (getrandom(&ids->next, sizeof(ids->next), 0) != (ssize_t)sizeof(ids->next))
                ids->next = 0; /* in turn from the first, then */
        ids->next %= CAY_OWN_IDS;
        cay_own_id_read_given(&ids->given, "/etc/subuid", 1, true);
        cay_own_id_read_given(&ids->given, "/etc/subgid", 1, true);
        cay_own_id_read_given(&ids->given, "/etc/passwd", 2, false);
        cay_own_id_read_given(&ids->given, "/etc/group", 2, false);
}

void cay_scratch_ids_close(struct cay_scratch_ids *ids)
{
        rmdir(ids->at);
}

/* -EPERM: others can write to it. */
static int open_base(const struct cay_scratch_ids *ids, int *ret)
{
        cay_auto_close int fd = open(ids->at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
                return -EPERM;
        *ret = cay_take_fd(fd);
        return 0;
}

static int make_base(const struct cay_scratch_ids *ids, int *ret)
{
        int r;

        if (mkdir(ids->at, 0711) < 0 && errno != EEXIST)
                return -errno;
        r = open_base(ids, ret);
        return r == 0 && fchmod(*ret, 0711) < 0 ? -errno : r; /* whatever our mask is */
}

/* Of the folder around it, whose path s->path is. */
static int make_inner(struct cay_scratch *s)
{
        size_t len = strlen(s->path);

        if (fchmod(s->around, 0711) < 0 || mkdirat(s->around, INNER, 0700) < 0 ||
            fchownat(s->around, INNER, s->id, s->id, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        s->fd = openat(s->around, INNER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (s->fd < 0)
                return -errno;
        snprintf(s->path + len, sizeof(s->path) - len, "/" INNER);
        return 0;
}

static void name_it(const struct cay_scratch_ids *ids, uint32_t id, struct cay_scratch *s, char name[16])
{
        *s = (struct cay_scratch){ .fd = -1, .around = -1, .id = id };
        snprintf(name, 16, "%u", id);
        snprintf(s->path, sizeof(s->path), "%s/%s", ids->at, name);
}

/* -EAGAIN: the id is taken, or was for a moment. */
static int make_with(const struct cay_scratch_ids *ids, int base, uint32_t id, struct cay_scratch *s)
{
        char name[16];
        int r;

        name_it(ids, id, s, name);
        if (mkdirat(base, name, 0711) < 0)
                return errno == EEXIST ? -EAGAIN : -errno;
        r = cay_scratch_lock(base, name, &s->around);
        if (r == -EAGAIN)
                return r;
        if (r == 0)
                r = make_inner(s);
        if (r == 0)
                return 0;
        if (s->around >= 0)
                unlinkat(s->around, INNER, AT_REMOVEDIR);
        unlinkat(base, name, AT_REMOVEDIR);
        cay_scratch_close(s);
        return r;
}

static int make_any(struct cay_scratch_ids *ids, int base, struct cay_scratch *s)
{
        for (uint32_t i = 0; i < CAY_OWN_IDS; i++) {
                uint32_t id = CAY_OWN_ID_FIRST + ids->next;
                int r;

                ids->next = (ids->next + 1) % CAY_OWN_IDS;
                r = cay_id_set_has(&ids->given, id) ? -EAGAIN : make_with(ids, base, id, s);
                if (r != -EAGAIN)
                        return r;
        }
        return -EAGAIN;
}

int cay_scratch_make_with_id(struct cay_scratch_ids *ids, struct cay_scratch *s, struct cay_error *err)
{
        int r = -ENOENT;

        *s = (struct cay_scratch)CAY_SCRATCH_NONE;
        for (unsigned i = 0; i < TRIES && r == -ENOENT;
             i++) { /* another may be removing the base, empty as it was */
                cay_auto_close int base = -1;

                r = make_base(ids, &base);
                if (r == -EPERM || r == -ENOTDIR || r == -ELOOP)
                        return cay_fail(err, CAY_DENIED,
                                        "%s must be a folder of root's that nobody else can write to",
                                        ids->at);
                if (r == 0)
                        r = make_any(ids, base, s);
        }
        if (r == -EAGAIN)
                return cay_fail(err, CAY_LIMIT,
                                "all %u ids for boxes are in use: the folders in %s have them", CAY_OWN_IDS,
                                ids->at);
        return r < 0 ? cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r, "make a folder in %s",
                                    ids->at)
                     : 0;
}

/* Sweeping */

static int find_there(int base, struct cay_id_set *ret)
{
        int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
        struct dirent *entry;

        if (dir == NULL) {
                if (copy >= 0)
                        close(copy);
                return -1;
        }
        *ret = (struct cay_id_set){ 0 };
        while ((entry = readdir(dir)) != NULL) {
                char *end;
                unsigned long long id = strtoull(entry->d_name, &end, 10);

                if (*end == '\0' && cay_own_id_is(id))
                        cay_id_set_add(ret, (uint32_t)id);
        }
        closedir(dir);
        return 0;
}

/* Of a dead run: we have its lock now. */
static enum cay_swept sweep_locked(struct cay_scratch *s, unsigned *budget)
{
        int r;

        r = cay_own_id_kill(s->id);
        *budget -= r == -ETIME || *budget < KILL_COST ? *budget : KILL_COST; /* that was long enough */
        if (r != 1)
                return CAY_SWEPT_STUCK; /* nobody else gets its id as long as the folder is there */
        s->fd = openat(s->around, INNER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (s->fd < 0 && errno == ENOENT) /* it was cut off before that was made, or after it went */
                return rmdir(s->path) < 0 ? CAY_SWEPT_STUCK : CAY_SWEPT;
        if (s->fd < 0)
                return CAY_SWEPT_STUCK;
        cay_str_copy(s->path + strlen(s->path), sizeof(s->path) - strlen(s->path), "/" INNER);
        r = cay_scratch_remove_some(s, budget);
        return r < 0 ? CAY_SWEPT_STUCK : r == 0 ? CAY_SWEPT_MORE : CAY_SWEPT;
}

static enum cay_swept sweep_id(const struct cay_scratch_ids *ids, int base, uint32_t id, unsigned *budget)
{
        enum cay_swept swept = CAY_SWEPT;
        struct cay_scratch s;
        char name[16];

        name_it(ids, id, &s, name);
        if (cay_scratch_lock(base, name, &s.around) == 0)
                swept = sweep_locked(&s, budget);
        cay_scratch_close(&s);
        return swept;
}

/* Each call continues after the previous one, so that a stuck or large folder does not delay others. */
enum cay_swept cay_scratch_sweep_ids(struct cay_scratch_ids *ids, unsigned budget)
{
        cay_auto_close int base = -1;
        enum cay_swept all = CAY_SWEPT;
        struct cay_id_set there;
        uint32_t from = ids->sweep_next;

        if (open_base(ids, &base) < 0 || find_there(base, &there) < 0)
                return CAY_SWEPT;
        for (uint32_t i = 0; i < CAY_OWN_IDS; i++) {
                uint32_t id = CAY_OWN_ID_FIRST + (from + i) % CAY_OWN_IDS;
                enum cay_swept one;

                if (!cay_id_set_has(&there, id) || cay_id_set_has(&ids->given, id))
                        continue;
                if (budget == 0)
                        return CAY_SWEPT_MORE;
                one = sweep_id(ids, base, id, &budget);
                all = one > all ? one : all;
                ids->sweep_next = (id - CAY_OWN_ID_FIRST + 1) % CAY_OWN_IDS;
        }
        return all;
}
