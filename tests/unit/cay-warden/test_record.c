/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: slots and their locks, ids that belong to others, and the sweep of what dead runs left. The files
 * have fixed places, so each test runs in a child with a run folder and an /etc of its own (a private mount
 * namespace).
 */
#include "unit/foundation/sys/sys_test.h"

#include "foundation/base/cleanup.h"
#include "foundation/sys/cgroup.h"
#include "foundation/sys/fd.h"
#include "cay-warden/record.h"

#define RUN "/run/cay"
#define WAIT_MS 60000 /* at most, for what has to come */

static struct cay_error err;
static struct sys_cgroup_host none; /* a host without cgroups: records that name nothing */

static void private_run(void)
{
        enter_mount_namespace();
        check(mount("tmpfs", "/run", "tmpfs", 0, "mode=0755") == 0);
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                none.parent[i] = -1;
}

/* Another content at a place of /etc. */
static void put_etc(const char *path, const char *content)
{
        char file[64];

        snprintf(file, sizeof(file), "/run/etc-%s", strrchr(path, '/') + 1);
        check(sys_make_file(AT_FDCWD, file, 0644, content, strlen(content)) == 0);
        if (access(path, F_OK) < 0)
                skip_child("this machine has no /etc/subuid or /etc/subgid to stand in for");
        check(mount(file, path, NULL, MS_BIND, NULL) == 0);
}

static unsigned count_records(void)
{
        unsigned count = 0;
        struct dirent *e;
        DIR *d = opendir(RUN);

        check(d);
        while ((e = readdir(d)))
                count += strncmp(e->d_name, "box-", 4) == 0;
        closedir(d);
        return count;
}

static void make_and_drop(void)
{
        struct cay_record a = { .fd = -1 }, b = { .fd = -1 };
        struct stat st;

        private_run();
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        check(stat(RUN, &st) == 0 && (st.st_mode & 07777) == 0700 && st.st_uid == 0);
        check(cay_record_make(&a, "one", &none, "cay-one", &err) == 0);
        check(cay_record_make(&b, "two", &none, "cay-two", &err) == 0);
        check(a.fd >= 0 && b.fd >= 0 && a.slot != b.slot);
        check(a.slot < CAY_RECORD_SLOTS && b.slot < CAY_RECORD_SLOTS);
        check(fcntl(a.fd, F_GETFD) == FD_CLOEXEC);
        check(count_records() == 2);
        check(cay_records_sweep(&none, NULL, WAIT_MS) == 0); /* both are alive */
        check(count_records() == 2);
        cay_record_drop(&a);
        check(a.fd == -1 && count_records() == 1);
        cay_record_drop(&a);
        cay_record_drop(&b);
        check(count_records() == 0);
}

static void test_make_and_drop(void **state)
{
        need_root();
        in_child(make_and_drop);
}

/* Host ids of all slots lie between what distributions give out and the end of 31 bits. */
static void test_ranges(void **state)
{
        assert_true(CAY_RECORD_FIRST_ID > 0x6fffffffu);
        assert_true((uint64_t)CAY_RECORD_FIRST_ID + (uint64_t)CAY_RECORD_SLOTS * CAY_RECORD_IDS <=
                    0x7fffffffu);
        assert_int_equal(CAY_RECORD_FIRST_ID % CAY_RECORD_IDS, 0);
}

/* Refused, and not only the first time. */
static void foreign_folder(void)
{
        struct cay_record a = { .fd = -1 };

        private_run();
        check(mkdir(RUN, 0777) == 0 && chmod(RUN, 0777) == 0);
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == -1 && err.code == CAY_DENIED);
        check(cay_record_make(&a, "one", &none, "cay-one", &err) == -1 && err.code == CAY_DENIED);
        check(count_records() == 0);
        check(chmod(RUN, 0755) == 0 && chown(RUN, 1000, 0) == 0);
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == -1 && err.code == CAY_DENIED);
        check(rmdir(RUN) == 0 && symlink("/tmp", RUN) == 0);
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == -1);
        check(unlink(RUN) == 0 && sys_make_file(AT_FDCWD, RUN, 0600, "", 0) == 0);
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == -1);
        check(unlink(RUN) == 0 && cay_record_make(&a, "one", &none, "cay-one", &err) == 0); /* made anew */
        cay_record_drop(&a);
}

static void test_foreign_folder(void **state)
{
        need_root();
        in_child(foreign_folder);
}

/*
 * All slots but one belong to others, by all four files: that one is what everybody gets, then there are
 * none.
 */
static void others_ids(void)
{
        struct cay_record a = { .fd = -1 }, b = { .fd = -1 };
        uint64_t first = CAY_RECORD_FIRST_ID, ids = CAY_RECORD_IDS;
        char text[256];

        private_run();
        /* slots 0 to 99, but for half an id range of the last */
        snprintf(text, sizeof(text), "a:100000:65536\nb:%llu:%llu\n", (unsigned long long)first,
                 (unsigned long long)(99 * ids + 1));
        put_etc("/etc/subuid", text);
        /* slots 102 to the end */
        snprintf(text, sizeof(text), "c:%llu:%llu\n", (unsigned long long)(first + 102 * ids - 1),
                 (unsigned long long)(CAY_RECORD_SLOTS * ids));
        put_etc("/etc/subgid", text);
        /* Slot 100 stays, since a user and a group live nowhere in it. */
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        check(cay_record_make(&a, "one", &none, "cay-one", &err) == 0);
        check(a.slot == 100);
        check(cay_record_make(&b, "two", &none, "cay-two", &err) == -1);
        check(err.code == CAY_LIMIT);
        check(count_records() == 1);
        cay_record_drop(&a);
        check(cay_record_make(&b, "two", &none, "cay-two", &err) == 0 && b.slot == 100);
        cay_record_drop(&b);
}

static void test_others_ids(void **state)
{
        need_root();
        in_child(others_ids);
}

static void users_ids(void)
{
        struct cay_record a = { .fd = -1 };
        char text[512];

        private_run();
        snprintf(text, sizeof(text), "a:%u:%u\n", CAY_RECORD_FIRST_ID,
                 (CAY_RECORD_SLOTS - 2) * CAY_RECORD_IDS);
        put_etc("/etc/subuid", text);
        snprintf(text, sizeof(text), "root:x:0:0:root:/root:/bin/sh\nfar:x:%u:0::/:/bin/sh",
                 CAY_RECORD_FIRST_ID + (CAY_RECORD_SLOTS - 2) * CAY_RECORD_IDS +
                         77); /* no newline at the end */
        put_etc("/etc/passwd", text);
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        check(cay_record_make(&a, "one", &none, "cay-one", &err) == 0);
        check(a.slot == CAY_RECORD_SLOTS - 1);
        cay_record_drop(&a);
}

static void test_users_ids(void **state)
{
        need_root();
        in_child(users_ids);
}

/* Lines that make no sense are not ids of anybody, and nothing breaks on them. */
static void odd_lines(void)
{
        struct cay_record a = { .fd = -1 };

        private_run();
        put_etc("/etc/subuid",
                "\n\n:\nx\nx:\nx:y\nx:1\nx:99999999999999999999999:5\nx:1:\n::::\n#comment\nx:-1:-1\n");
        put_etc("/etc/passwd", "root\nroot:\nroot:x\nroot:x:\n:::::\n");
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        check(cay_record_make(&a, "one", &none, "cay-one", &err) == 0);
        cay_record_drop(&a);
}

static void test_odd_lines(void **state)
{
        need_root();
        in_child(odd_lines);
}

/* More foreign ranges than fit a small table: each of them still counts. */
static void many_ranges(void)
{
        static char text[32768];
        struct cay_record a = { .fd = -1 };
        size_t at = 0;

        private_run();
        for (unsigned i = 0; i < 200; i++)
                at += (size_t)snprintf(text + at, sizeof(text) - at, "u%u:%u:%u\n", i,
                                       CAY_RECORD_FIRST_ID + i * CAY_RECORD_IDS, CAY_RECORD_IDS);
        snprintf(text + at, sizeof(text) - at, "rest:%u:%u\n", CAY_RECORD_FIRST_ID + 201 * CAY_RECORD_IDS,
                 (CAY_RECORD_SLOTS - 201) * CAY_RECORD_IDS);
        put_etc("/etc/subuid", text);
        if (cay_records_open(CAY_RECORD_SLOTS, true, &err) < 0)
                _exit(0); /* saying that it is too much is right too */
        check(cay_record_make(&a, "one", &none, "cay-one", &err) == 0);
        check(a.slot == 200);
        cay_record_drop(&a);
}

static void test_many_ranges(void **state)
{
        need_root();
        in_child(many_ranges);
}

/* A long /etc/passwd: what stands at its end counts too. */
static void long_file(void)
{
        static char text[200000];
        struct cay_record a = { .fd = -1 };
        size_t at = 0;

        private_run();
        for (unsigned i = 0; at < sizeof(text) - 200; i++)
                at += (size_t)snprintf(text + at, sizeof(text) - at, "user%u:%u:1\n", i, 2000 + i);
        snprintf(text + at, sizeof(text) - at, "last:%u:%u\n", CAY_RECORD_FIRST_ID,
                 (CAY_RECORD_SLOTS - 1) * CAY_RECORD_IDS);
        put_etc("/etc/subuid", text);
        if (cay_records_open(CAY_RECORD_SLOTS, true, &err) < 0)
                _exit(0);
        check(cay_record_make(&a, "one", &none, "cay-one", &err) == 0);
        check(a.slot == CAY_RECORD_SLOTS - 1);
        cay_record_drop(&a);
}

static void test_long_file(void **state)
{
        need_root();
        in_child(long_file);
}

static char cgroup_name[48];

static bool node_is_there(const struct sys_cgroup_host *host, enum sys_cgroup_part part)
{
        char path[SYS_CGROUP_PATH];

        return sys_cgroup_path(host, part, cgroup_name, path) && access(path, F_OK) == 0;
}

/* A run that died: its record is there and free, its cgroups are there, a process sits in one. */
static void sweep_dead(void)
{
        struct sys_cgroup_host host;
        struct sys_cgroup cg;
        int ready[2], status;
        pid_t run, sleeper;
        char byte;

        private_run();
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        check(sys_cgroup_host_open(&host) == 0);
        if (host.parent[SYS_CGROUP_2] < 0 || !host.path[SYS_CGROUP_2][0] || host.parent[SYS_CGROUP_PIDS] < 0)
                skip_child("no cgroup2 or no pids cgroup here");
        snprintf(cgroup_name, sizeof(cgroup_name), "cay-unit-record-%d", (int)getpid());
        check(pipe(ready) == 0);
        run = fork();
        if (run == 0) {
                struct cay_record rec = { .fd = -1 };

                check(cay_record_make(&rec, "dead", &host, cgroup_name, &err) == 0);
                check(sys_cgroup_begin(&host, cgroup_name, &cg) == 0 && sys_cgroup_make(&host, &cg) == 0);
                check(write(ready[1], "x", 1) == 1);
                for (;;)
                        pause();
        }
        check(read(ready[0], &byte, 1) == 1);
        check(cay_records_sweep(&host, NULL, WAIT_MS) == 0 && count_records() == 1 &&
              node_is_there(&host, SYS_CGROUP_2)); /* it lives */
        sleeper = fork();
        if (sleeper == 0) {
                char path[SYS_CGROUP_PATH];
                int dir;

                check(sys_cgroup_path(&host, SYS_CGROUP_2, cgroup_name, path));
                dir = open(path, O_PATH | O_DIRECTORY);
                check(sys_write_file(dir, "cgroup.procs", "0") == 0);
                check(write(ready[1], "x", 1) == 1);
                for (;;)
                        pause();
        }
        check(read(ready[0], &byte, 1) == 1);
        kill(run, SIGKILL);
        waitpid(run, NULL, 0);
        check(cay_records_sweep(&host, NULL, WAIT_MS) == 1);
        check(waitpid(sleeper, &status, 0) == sleeper && WIFSIGNALED(status));
        check(count_records() == 0);
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                check(!node_is_there(&host, i));
        check(cay_records_sweep(&host, NULL, WAIT_MS) == 0);
}

static void test_sweep_dead(void **state)
{
        need_root();
        in_child(sweep_dead);
}

/* A run of id "same" that dies with its record there; made: after it had noted that its node is its own. */
static void leave_dead(const struct sys_cgroup_host *host, bool made)
{
        pid_t run = fork();

        if (run == 0) {
                struct cay_record rec = { .fd = -1 };
                struct sys_cgroup cg;

                if (cay_record_make(&rec, "same", host, cgroup_name, &err) < 0 ||
                    sys_cgroup_begin(host, cgroup_name, &cg) < 0 || (made && cay_record_note_made(&rec) < 0))
                        _exit(1);
                _exit(0);
        }
        check(run > 0 && waitpid(run, NULL, 0) == run);
}

/* Records of one id: what a dead run made goes, and what a living one has stays. */
static void same_id(void)
{
        struct sys_cgroup_host host;
        struct sys_cgroup cg;
        struct cay_record mine = { .fd = -1 };

        private_run();
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0 && sys_cgroup_host_open(&host) == 0);
        if (host.parent[SYS_CGROUP_2] < 0 || !host.path[SYS_CGROUP_2][0])
                skip_child("no cgroup2 here");
        snprintf(cgroup_name, sizeof(cgroup_name), "cay-unit-record-%d", (int)getpid());

        /*
         * The dead run had made it: neither a sweep by others nor by whoever wants the id takes it for
         * another's.
         */
        leave_dead(&host, true);
        check(cay_record_make(&mine, "same", &host, cgroup_name, &err) == 0);
        check(sys_cgroup_begin(&host, cgroup_name, &cg) == -EEXIST);
        check(cay_records_sweep(&host, &mine, WAIT_MS) == 1 && !node_is_there(&host, SYS_CGROUP_2));

        /* It died before it could note it: who wants the id knows that it has made nothing itself. */
        leave_dead(&host, false);
        check(count_records() == 2);
        check(cay_records_sweep(&host, NULL, WAIT_MS) == 0 &&
              node_is_there(&host, SYS_CGROUP_2)); /* nobody else knows */
        check(count_records() == 2);
        check(cay_records_sweep(&host, &mine, WAIT_MS) == 1 && !node_is_there(&host, SYS_CGROUP_2));

        /* The living one has made it: the dead one had not. */
        check(sys_cgroup_begin(&host, cgroup_name, &cg) == 0 && cay_record_note_made(&mine) == 0);
        leave_dead(&host, false);
        check(cay_records_sweep(&host, NULL, WAIT_MS) == 1 && node_is_there(&host, SYS_CGROUP_2));
        check(count_records() == 1);
        sys_cgroup_remove(&host, &cg);
        cay_record_drop(&mine);
        check(count_records() == 0 && !node_is_there(&host, SYS_CGROUP_2));
}

static void test_same_id(void **state)
{
        need_root();
        in_child(same_id);
}

/* What cannot be removed keeps its record, so that the next warden tries again. */
static void sweep_keeps(void)
{
        struct sys_cgroup_host host;
        struct cay_record rec = { .fd = -1 };
        char path[SYS_CGROUP_PATH], below[SYS_CGROUP_PATH + 8], deeper[SYS_CGROUP_PATH + 16];

        private_run();
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0 && sys_cgroup_host_open(&host) == 0);
        if (host.parent[SYS_CGROUP_PIDS] < 0)
                skip_child("no pids cgroup here");
        snprintf(cgroup_name, sizeof(cgroup_name), "cay-unit-record-%d", (int)getpid());
        check(sys_cgroup_path(&host, SYS_CGROUP_PIDS, cgroup_name, path));
        snprintf(below, sizeof(below), "%s/below", path);
        check(cay_record_make(&rec, "stuck", &host, cgroup_name, &err) == 0);
        snprintf(deeper, sizeof(deeper), "%s/deeper", below);
        /* A box's node has children, but no grandchildren: with one it does not go. */
        check(mkdir(path, 0755) == 0 && mkdir(below, 0755) == 0 && mkdir(deeper, 0755) == 0);
        close(rec.fd);
        if (cay_records_sweep(&host, NULL, 0) != 0 || count_records() != 1) {
                rmdir(deeper);
                rmdir(below);
                rmdir(path);
                check(!"the record is gone and the node is not");
        }
        check(rmdir(deeper) == 0);
        check(cay_records_sweep(&host, NULL, WAIT_MS) == 1 && count_records() == 0 && access(path, F_OK) < 0);
}

static void test_sweep_keeps(void **state)
{
        need_root();
        in_child(sweep_keeps);
}

struct stuck_box {
        char path[SYS_CGROUP_PATH];
        int dir;
        pid_t sleeper;
};

/* A dead run's box with a process in its cgroup2 node, which also has a grandchild and does not go. */
static void leave_stuck(const struct sys_cgroup_host *host, char letter, struct stuck_box *b)
{
        struct cay_record rec = { .fd = -1 };
        char id[2] = { letter };
        int ready[2];
        char byte;

        snprintf(cgroup_name, sizeof(cgroup_name), "cay-unit-record-%d-%c", (int)getpid(), letter);
        check(sys_cgroup_path(host, SYS_CGROUP_2, cgroup_name, b->path));
        check(cay_record_make(&rec, id, host, cgroup_name, &err) == 0);
        check(mkdir(b->path, 0755) == 0);
        b->dir = open(b->path, O_RDONLY | O_DIRECTORY);
        check(mkdirat(b->dir, "below", 0755) == 0 && mkdirat(b->dir, "below/deeper", 0755) == 0);
        close(rec.fd);
        check(pipe(ready) == 0);
        b->sleeper = fork();
        if (b->sleeper == 0) {
                check(sys_write_file(b->dir, "cgroup.procs", "0") == 0 && write(ready[1], "x", 1) == 1);
                for (;;)
                        pause();
        }
        close(ready[1]);
        check(read(ready[0], &byte, 1) == 1);
        close(ready[0]);
}

/*
 * The processes of all are killed before any box is waited for: they get stuck together, and are waited for
 * together.
 */
static void sweep_together(void)
{
        struct sys_cgroup_host host;
        struct stuck_box boxes[2];
        pid_t sweeper;
        int status;

        private_run();
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0 && sys_cgroup_host_open(&host) == 0);
        if (host.parent[SYS_CGROUP_2] < 0 || !host.path[SYS_CGROUP_2][0])
                skip_child("no cgroup2 here");
        for (unsigned i = 0; i < 2; i++)
                leave_stuck(&host, (char)('a' + i), &boxes[i]);
        sweeper = fork();
        if (sweeper == 0)
                _exit((int)cay_records_sweep(&host, NULL, WAIT_MS));
        for (unsigned i = 0; i < 2; i++)
                check(waitpid(boxes[i].sleeper, &status, 0) == boxes[i].sleeper && WIFSIGNALED(status));
        for (unsigned i = 0; i < 2; i++)
                check(unlinkat(boxes[i].dir, "below/deeper", AT_REMOVEDIR) == 0);
        check(waitpid(sweeper, &status, 0) == sweeper && WIFEXITED(status));
        if (WEXITSTATUS(status) != 2)
                for (unsigned i = 0; i < 2; i++) {
                        unlinkat(boxes[i].dir, "below", AT_REMOVEDIR);
                        rmdir(boxes[i].path);
                }
        check(WEXITSTATUS(status) == 2 && count_records() == 0);
        check(access(boxes[0].path, F_OK) < 0 && access(boxes[1].path, F_OK) < 0);
}

static void test_sweep_together(void **state)
{
        need_root();
        in_child(sweep_together);
}

/* Records that were never finished, or are no records, are swept without harm; other files are left alone. */
static void sweep_odd(void)
{
        char junk[4096];

        private_run();
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        memset(junk, 'j', sizeof(junk));
        check(sys_make_file(AT_FDCWD, RUN "/box-1", 0600, "", 0) == 0);
        check(sys_make_file(AT_FDCWD, RUN "/box-2", 0600, "short", 5) == 0);
        check(sys_make_file(AT_FDCWD, RUN "/box-3", 0600, junk, sizeof(junk)) == 0);
        check(sys_make_file(AT_FDCWD, RUN "/note", 0600, "x", 1) == 0);
        check(symlink("/etc/passwd", RUN "/box-4") == 0);
        check(cay_records_sweep(&none, NULL, WAIT_MS) == 3);
        check(access(RUN "/note", F_OK) == 0);
        check(access("/etc/passwd", F_OK) == 0);
        check(access(RUN "/box-1", F_OK) < 0 && access(RUN "/box-3", F_OK) < 0);
}

static void test_sweep_odd(void **state)
{
        need_root();
        in_child(sweep_odd);
}

/*
 * The lock is the run's, not that of whoever it started: a child that lingers does not keep a dead run's
 * record alive.
 */
static void lock_is_exclusive(void)
{
        struct cay_record a = { .fd = -1 }, b = { .fd = -1 };
        unsigned both = 0;

        private_run();
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        for (int i = 0; i < 300; i++) {
                check(cay_record_make(&a, "a", &none, "cay-a", &err) == 0);
                check(cay_record_make(&b, "b", &none, "cay-b", &err) == 0);
                both += a.slot == b.slot;
                cay_record_drop(&a);
                cay_record_drop(&b);
        }
        check(both == 0 && count_records() == 0);
}

static void test_lock_is_exclusive(void **state)
{
        need_root();
        in_child(lock_is_exclusive);
}

/* Many at once, some of them killed: no slot is ever held by two, and in the end none is held. */
static void race(void)
{
        enum { WORKERS = 8 };
        pid_t pids[WORKERS];
        unsigned *held = mmap(NULL, CAY_RECORD_SLOTS * sizeof(unsigned), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        private_run();
        check(held != MAP_FAILED);
        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
        for (int i = 0; i < WORKERS; i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        check(cay_records_open(CAY_RECORD_SLOTS, true, &err) == 0);
                        for (int k = 0; k < 200; k++) {
                                struct cay_record r = { .fd = -1 };

                                check(cay_record_make(&r, "x", &none, "cay-x", &err) == 0);
                                check(__sync_fetch_and_add(&held[r.slot], 1) == 0);
                                if (k % 16 == 0)
                                        cay_records_sweep(&none, NULL, WAIT_MS);
                                check(__sync_fetch_and_sub(&held[r.slot], 1) == 1);
                                if (i < 4 && k == 100 + i) /* a crash: the record stays for others to sweep */
                                        _exit(0);
                                cay_record_drop(&r);
                        }
                        _exit(0);
                }
        }
        for (int i = 0; i < WORKERS; i++) {
                int status;

                check(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
        }
        cay_records_sweep(&none, NULL, WAIT_MS);
        check(count_records() == 0);
}

static void test_race(void **state)
{
        need_root();
        in_child(race);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_make_and_drop),  cmocka_unit_test(test_ranges),
                cmocka_unit_test(test_foreign_folder), cmocka_unit_test(test_others_ids),
                cmocka_unit_test(test_users_ids),      cmocka_unit_test(test_odd_lines),
                cmocka_unit_test(test_many_ranges),    cmocka_unit_test(test_long_file),
                cmocka_unit_test(test_sweep_dead),     cmocka_unit_test(test_same_id),
                cmocka_unit_test(test_sweep_keeps),    cmocka_unit_test(test_sweep_together),
                cmocka_unit_test(test_sweep_odd),      cmocka_unit_test(test_lock_is_exclusive),
                cmocka_unit_test(test_race),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
