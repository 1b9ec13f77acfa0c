/* SPDX-License-Identifier: Apache-2.0 */
/* Records of boxes in the run folder. */
#include "cay-warden/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/sys/dir.h"
#include "foundation/sys/fd.h"

#define RUN_FOLDER "/run/cay"
#define MAGIC 0x63617972u      /* what it names may exist, and may be another's */
#define MAGIC_MADE 0x6361796du /* what it names is its own */
#define FOLDER_TRIES 16u

struct content {
        uint32_t magic, size;
        char id[64];
        char cgroups[SYS_CGROUP_PARTS][SYS_CGROUP_PATH];
        char unmounted
                [80]; /* cgroup2 node on a host that mounts it nowhere: below the warden's private mount */
};

static int folder = -1;
static char folder_path[64] = RUN_FOLDER;
static unsigned slot_count;
static bool is_stuck; /* of the last sweep */
static ino_t sweeper; /* during a sweep: the record of whoever sweeps, which has made nothing; 0: none */
static uint64_t taken[CAY_RECORD_SLOTS / 64]; /* bits: slots with ids that belong to others */

static void note_taken(uint64_t first, uint64_t count)
{
        const uint64_t low = CAY_RECORD_FIRST_ID, high = low + (uint64_t)CAY_RECORD_SLOTS * CAY_RECORD_IDS;
        uint64_t end = count > UINT64_MAX - first ? UINT64_MAX : first + count;

        if (first < low)
                first = low;
        if (end > high)
                end = high;
        for (; first < end; first += CAY_RECORD_IDS - first % CAY_RECORD_IDS) {
                unsigned slot = (unsigned)((first - low) / CAY_RECORD_IDS);

                taken[slot / 64] |= 1ull << slot % 64;
        }
}

/* "name:first:count" or "name:x:id:…": `field` is where the id is; a count follows it in the sub-id files. */
static void note_line(const char *line, int field, bool has_count)
{
        uint64_t first;
        char *end;

        for (int i = 0; i < field; i++) {
                line = strchr(line, ':');
                if (!line)
                        return;
                line++;
        }
        first = strtoull(line, &end, 10);
        note_taken(first, has_count && *end == ':' ? strtoull(end + 1, NULL, 10) : 1);
}

static void read_taken(const char *path, int field, bool has_count)
{
        static char text[16384];
        cay_auto_close int fd = sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
        size_t len = 0;
        ssize_t n;

        while (fd >= 0 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
                char *line = text, *end;

                len += (size_t)n;
                while ((end = memchr(line, '\n', len - (size_t)(line - text)))) {
                        *end = 0;
                        note_line(line, field, has_count);
                        line = end + 1;
                }
                len -= (size_t)(line - text);
                memmove(text, line, len);
                if (len == sizeof(text) - 1)
                        len = 0; /* no line of these files is that long */
        }
        text[len] = 0;
        note_line(text, field, has_count);
}

/*
 * Root's folder is the machine's. Other users have one in their session's runtime folder or, without a
 * session, in /tmp.
 */
static void choose_folder(void)
{
        uid_t uid = geteuid();
        struct stat st;

        if (uid == 0 && (access("/run", W_OK) == 0 || mkdir("/run", 0755) == 0))
                return;
        snprintf(folder_path, sizeof(folder_path), "/run/user/%u", uid);
        if (lstat(folder_path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
            access(folder_path, W_OK) == 0)
                snprintf(folder_path, sizeof(folder_path), "/run/user/%u/cay", uid);
        else
                snprintf(folder_path, sizeof(folder_path), "/tmp/.cay-%u", uid);
}

static void let_folder_go(void)
{
        if (folder >= 0)
                close(folder);
        folder = -ENOENT;
}

/*
 * Another warden of ours removes a folder in /tmp when it exits and the folder is empty: then it is made
 * again. Another user may make it first: nothing is ever looked up in that one.
 */
static int open_folder(struct cay_error *err)
{
        struct stat st;

        let_folder_go();
        for (unsigned i = 0; i < FOLDER_TRIES && folder == -ENOENT; i++) {
                if (mkdir(folder_path, 0700) < 0 && errno != EEXIST)
                        return cay_fail_sys(
                                err, CAY_INTERNAL, -errno,
                                "make run folder %s (a read-only container needs a writable /tmp: "
                                "--tmpfs /tmp)",
                                folder_path);
                folder = sys_open_at(AT_FDCWD, folder_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        }
        if (folder < 0)
                return cay_fail_sys(err, CAY_INTERNAL, folder, "open run folder %s", folder_path);
        if (fstat(folder, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022)) {
                let_folder_go();
                return cay_fail(err, CAY_DENIED,
                                "run folder %s must belong to uid %u and be writable by nobody else",
                                folder_path, geteuid());
        }
        return 0;
}

int cay_records_open(unsigned slots, bool hosts_ids, struct cay_error *err)
{
        slot_count = slots;
        choose_folder();
        if (open_folder(err) < 0)
                return -1;
        if (!hosts_ids)
                return 0;
        read_taken("/etc/subuid", 1, true);
        read_taken("/etc/subgid", 1, true);
        read_taken("/etc/passwd", 2, false);
        read_taken("/etc/group", 2, false);
        return 0;
}

void cay_records_close(void)
{
        if (folder >= 0 && strncmp(folder_path, "/tmp/", 5) == 0)
                rmdir(folder_path);
}

static bool slot_is_ours(unsigned slot)
{
        return slot < slot_count && !(taken[slot / 64] & 1ull << slot % 64);
}

static void slot_name(unsigned slot, char ret[16])
{
        snprintf(ret, 16, "box-%u", slot);
}

/* Locks the file of this name, made if missing. -EWOULDBLOCK: a live process has it. */
static int lock_named(const char *name, int flags)
{
        for (int tries = 0; tries < 16; tries++) {
                cay_auto_close int fd = sys_open_at(folder, name, O_RDWR | O_NOFOLLOW | flags, 0600);
                struct stat here, there;

                if (fd < 0)
                        return fd;
                if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                        return -errno;
                /* Its owner may have removed the name between open and lock. */
                if (fstat(fd, &here) == 0 && fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                    here.st_ino == there.st_ino)
                        return cay_take_fd(fd);
        }
        return -EAGAIN;
}

static bool read_content(int fd, struct content *ret)
{
        return pread(fd, ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret) &&
               (ret->magic == MAGIC || ret->magic == MAGIC_MADE) && ret->size == sizeof(*ret);
}

struct search {
        const char *id;
        ino_t own; /* the record that asks */
        bool made, asked;
};

static void look_for_living(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct search *s = ctx;
        struct content other;
        cay_auto_close int fd = -1;
        struct stat st;

        (void)type;
        if (s->made || strncmp(name, "box-", 4) != 0)
                return;
        fd = sys_open_at(dirfd, name, O_RDONLY | O_NOFOLLOW, 0);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino == s->own || st.st_ino == sweeper ||
            !read_content(fd, &other) || strncmp(other.id, s->id, sizeof(other.id)) != 0 ||
            flock(fd, LOCK_SH | LOCK_NB) == 0)
                return;
        s->made = other.magic == MAGIC_MADE;
        s->asked = !s->made;
}

enum whose { ITS_OWN, ANOTHERS, UNKNOWN };

/*
 * The record of a warden that died before it noted that it had made something. If a living box has the same
 * id, making the cgroup2 node, which comes first, had failed: nothing of that name is this record's. If a
 * living warden is about to make one, either can be true, and a later sweep will know.
 */
static enum whose find_owner(int fd, const struct content *c)
{
        struct search s = { .id = c->id };
        struct stat st;

        if (c->magic == MAGIC_MADE)
                return ITS_OWN;
        if (fstat(fd, &st) < 0)
                return UNKNOWN;
        s.own = st.st_ino;
        sys_dir_each(folder, look_for_living, &s);
        return s.made ? ANOTHERS : s.asked ? UNKNOWN : ITS_OWN;
}

/*
 * Removes everything that a locked record names; false when something stays: then the record must stay too.
 */
static bool unmake(int fd, const struct sys_cgroup_host *host, uint64_t until_ms)
{
        static struct content c;
        bool all = true;
        enum whose whose;
        int r = 0;

        if (!read_content(fd, &c))
                return true; /* empty or cut: nothing had been made yet */
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                c.cgroups[i][SYS_CGROUP_PATH - 1] = 0;
        c.unmounted[sizeof(c.unmounted) - 1] = 0;
        whose = find_owner(fd, &c);
        if (whose != ITS_OWN)
                return whose == ANOTHERS;
        /*
         * cgroup2 first: it kills. What does not die is in the other nodes too, and is waited for only once.
         */
        for (int i = SYS_CGROUP_PARTS - 1; i >= 0 && r != -EBUSY; i--) {
                r = c.cgroups[i][0] ? sys_cgroup_remove_at(AT_FDCWD, c.cgroups[i], until_ms) : 0;
                all = all && r == 0;
        }
        if (c.unmounted[0] && host->parent[SYS_CGROUP_2] >= 0 &&
            sys_cgroup_remove_at(host->parent[SYS_CGROUP_2], c.unmounted, until_ms) < 0)
                all = false;
        return all;
}

struct sweep {
        const struct sys_cgroup_host *host;
        uint64_t until_ms;
        unsigned count, stuck;
};

static void sweep_one(void *ctx, int dirfd, const char *name, unsigned type)
{
        struct sweep *s = ctx;
        cay_auto_close int rec = -1;

        (void)dirfd;
        (void)type;
        if (strncmp(name, "box-", 4) != 0)
                return;
        rec = lock_named(name, 0);
        if (rec < 0)
                return; /* a live process has it */
        if (!unmake(rec, s->host, s->until_ms)) {
                s->stuck++;
                return;
        }
        unlinkat(folder, name, 0);
        s->count++;
}

/*
 * Kill everything before waiting for anything: they end at the same time, and a starting front waits for all
 * of it.
 */
unsigned cay_records_sweep(const struct sys_cgroup_host *host, const struct cay_record *own, unsigned wait_ms)
{
        uint64_t until_ms = cay_clock_ms() + wait_ms;
        struct sweep s = { .host = host };
        struct stat st;

        sweeper = own && fstat(own->fd, &st) == 0 ? st.st_ino : 0;
        sys_dir_each(folder, sweep_one, &s);
        if (s.stuck > 0 && wait_ms > 0) {
                s.until_ms = until_ms;
                s.stuck = 0;
                sys_dir_each(folder, sweep_one, &s);
        }
        is_stuck = s.stuck > 0;
        sweeper = 0;
        return s.count;
}

bool cay_records_are_stuck(void)
{
        return is_stuck;
}

int cay_record_make(struct cay_record *rec, const char *id, const struct sys_cgroup_host *host,
                    const char *cgroup_name, struct cay_error *err)
{
        static struct content c;
        struct timespec now;
        unsigned start;

        clock_gettime(CLOCK_MONOTONIC, &now);
        start = (unsigned)(now.tv_nsec / 1000) ^ (unsigned)getpid();
        for (unsigned i = 0; i < CAY_RECORD_SLOTS; i++) {
                unsigned slot = (start + i) % CAY_RECORD_SLOTS;
                cay_auto_close int fd = -1;
                char name[16];

                if (!slot_is_ours(slot))
                        continue;
                slot_name(slot, name);
                fd = folder < 0 ? -ENOENT : lock_named(name, O_CREAT);
                for (unsigned n = 0; n < FOLDER_TRIES && fd == -ENOENT; n++) { /* see open_folder */
                        if (open_folder(err) < 0)
                                return -1;
                        fd = lock_named(name, O_CREAT);
                }
                if (fd == -EWOULDBLOCK || fd == -EAGAIN)
                        continue;
                if (fd < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, fd, "make record %s in %s", name, folder_path);
                if (!unmake(fd, host, 0)) /* the boxes that live do not wait for it: there are other slots */
                        continue;
                memset(&c, 0, sizeof(c));
                c.magic = MAGIC;
                c.size = sizeof(c);
                snprintf(c.id, sizeof(c.id), "%s", id);
                for (unsigned part = 0; part < SYS_CGROUP_PARTS; part++)
                        sys_cgroup_path(host, part, cgroup_name, c.cgroups[part]);
                if (host->parent[SYS_CGROUP_2] >= 0 && !host->path[SYS_CGROUP_2][0])
                        snprintf(c.unmounted, sizeof(c.unmounted), "%s", cgroup_name);
                if (pwrite(fd, &c, sizeof(c), 0) != (ssize_t)sizeof(c)) {
                        int r = -errno;

                        unlinkat(folder, name, 0);
                        return cay_fail_sys(err, CAY_NO_SPACE, r, "write record in %s", folder_path);
                }
                rec->slot = slot;
                rec->fd = cay_take_fd(fd);
                return 0;
        }
        return cay_fail(err, CAY_LIMIT, "all %u host id ranges are in use", CAY_RECORD_SLOTS);
}

int cay_record_note_made(const struct cay_record *rec)
{
        static const uint32_t made = MAGIC_MADE;

        return pwrite(rec->fd, &made, sizeof(made), offsetof(struct content, magic)) == sizeof(made) ? 0
                                                                                                     : -errno;
}

void cay_record_drop(struct cay_record *rec)
{
        char name[16];

        if (rec->fd < 0)
                return;
        slot_name(rec->slot, name);
        unlinkat(folder, name, 0);
        close(rec->fd);
        rec->fd = -1;
}
