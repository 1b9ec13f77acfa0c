/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every limit, twice: a command that hits it and ends badly gets the cause, one that hits it, recovers and
 * exits 0 gets `exited` and a hint. Then what the command is told about its machine. The native engine, as
 * root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "integration/run/harness.h"

static void assert_part(const char *text, const char *part)
{
        if (!run_has(text, part))
                fail_msg("'%s' is not in '%.900s'", part, text);
}

/* Runs with --json and checks cause and status; hint NULL: none may be there. */
static void cause(const char *const *options, const char *line, const char *name, const char *text,
                  int status, const char *hint)
{
        const char *words[RUN_WORDS_MAX] = { "run", "--json" };
        char part[200];
        unsigned n = 2;
        struct run r;

        while (*options != NULL)
                words[n++] = *options++;
        words[n++] = "/bin/sh";
        words[n++] = "-c";
        words[n++] = line;
        words[n] = NULL;
        r = run_cay(NULL, words);
        if (r.status != status)
                fail_msg("status %d, expected %d: %.900s", r.status, status, r.out);
        snprintf(part, sizeof(part), "\"cause\":\"%s\"", name);
        assert_part(r.out, part);
        if (text != NULL)
                assert_part(r.out, text);
        if (hint != NULL) {
                snprintf(part, sizeof(part), "\"hints\":[\"%s\"", hint);
                assert_part(r.out, part);
        } else {
                assert_part(r.out, "\"hints\":[]");
        }
        if (strcmp(name, "exited") != 0) {
                snprintf(part, sizeof(part), "cay: %s: ", name);
                assert_part(r.err, part);
                assert_part(r.err, "; "); /* advice */
        }
        assert_true(run_json_is_valid(&r));
}

static void memory(void **state)
{
        run_need_root();
        cause(WORDS("--memory", "32m"), "exec tail /dev/zero", "memory",
              "memory limit of 32 MiB reached (peak 32 MiB)", 137, NULL);
        cause(WORDS("--memory", "32m"), "tail /dev/zero; exit 7", "memory", NULL, 137,
              NULL); /* a child was the victim */
        cause(WORDS("--memory", "32m"), "tail /dev/zero; exit 0", "exited", NULL, 0, "memory");
}

static void pids(void **state)
{
        static const char many[] = "i=0; while [ $i -lt 40 ]; do sleep 50 & i=$((i+1)); done";
        char line[200];

        run_need_root();
        cause(WORDS("--pids", "12"), many, "pids", "limit of 12 processes and threads reached", 2, NULL);
        snprintf(line, sizeof(line), "(%s) 2>/dev/null; exit 0", many);
        cause(WORDS("--pids", "12"), line, "exited", NULL, 0, "pids");
}

static void disk(void **state)
{
        run_need_root();
        cause(WORDS("--disk", "1m"), "head -c 5000000 /dev/zero > f", "disk", "disk limit of 1 MiB reached",
              1, NULL);
        cause(WORDS("--disk", "1m"), "head -c 5000000 /dev/zero > f; exit 0", "exited", NULL, 0, "disk");
        cause(WORDS("--disk", "1m"), "head -c 5000000 /dev/zero > f; rm f; exit 3", "exited", NULL, 3,
              NULL); /* not full at the end */
        cause(WORDS("--inodes", "64"), "i=0; while [ $i -lt 200 ]; do : > f$i || exit 9; i=$((i+1)); done",
              "disk", "limit of 64 files on disk reached", 2, NULL);
        cause(WORDS("--inodes", "64"),
              "i=0; while [ $i -lt 200 ]; do touch f$i 2>/dev/null; i=$((i+1)); done; exit 0", "exited", NULL,
              0, "disk");
}

/* More disk than half of the memory: an image on a loop device, whose file system keeps some blocks back. */
static void disk_of_an_image(void **state)
{
        run_need_root();
        cause(WORDS("--memory", "64m", "--disk", "40m"), "head -c 50000000 /dev/zero > f", "disk",
              "disk limit of 40 MiB reached", 1, NULL);
        cause(WORDS("--memory", "64m", "--disk", "40m"), "head -c 50000000 /dev/zero > f; exit 0", "exited",
              NULL, 0, "disk");
        cause(WORDS("--memory", "64m", "--disk", "40m"), "head -c 20000000 /dev/zero > f; exit 3", "exited",
              NULL, 3, NULL);
        cause(WORDS("--memory", "64m", "--disk", "40m", "--inodes", "64"),
              "i=0; while [ $i -lt 200 ]; do : > f$i || exit 9; i=$((i+1)); done", "disk",
              "limit of 64 files on disk reached", 2, NULL);
}

/* Takes room on the disk of one-shot layers until users have so many MiB left. */
static int leave_room(uint64_t mib)
{
        int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        struct statvfs fs;
        uint64_t left;

        assert_true(fd >= 0);
        assert_int_equal(fstatvfs(fd, &fs), 0);
        left = (uint64_t)fs.f_bavail * fs.f_frsize;
        assert_true(left > mib << 20);
        assert_int_equal(posix_fallocate(fd, 0, (off_t)(left - (mib << 20))), 0);
        return fd;
}

/*
 * The disk has less than a layer may take: a write inside fails while the disk still has its margin of 16
 * MiB.
 */
static void a_layer_leaves_the_disk_its_margin(void **state)
{
        struct run r;
        int fd;

        (void)state;
        run_need_root();
        fd = leave_room(56);
        r = CAY("--memory", "64m", "--disk", "400m", "--", "/bin/sh", "-c",
                "head -c 300000000 /dev/zero > f; wc -c < f");
        assert_true(run_has(r.err, "No space left"));
        assert_in_range(strtoul(r.out, NULL, 10), 1u << 20, 40u << 20);
        close(fd);
        fd = leave_room(12);
        r = CAY("--memory", "64m", "--disk", "400m", "--", "/bin/true");
        close(fd);
        assert_int_not_equal(r.status, 0);
        assert_true(run_has(r.err, "has to keep 16 MiB free"));
        r = CAY("--memory", "64m", "--disk", "400m", "--", "/bin/true");
        assert_int_equal(r.status, 0);
}

static void disk_counts_for_tmp_too(void **state)
{
        run_need_root();
        cause(WORDS("--disk", "1m", "--memory", "128m"), "head -c 50000000 /dev/zero > /tmp/f", "disk", NULL,
              1, NULL);
}

static void cpu_time(void **state)
{
        run_need_root();
        cause(WORDS("--cpu-time", "0.3", "--cpus", "1"), "while :; do :; done", "cpu_time",
              "processor time limit of 300 ms reached", 124, NULL);
        /* Of all descendants together, also those that have ended. */
        cause(WORDS("--cpu-time", "0.3", "--cpus", "1"),
              "while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done", "cpu_time", NULL,
              124, NULL);
        cause(WORDS("--cpu-time", "5", "--cpus", "1"),
              "i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; exit 0", "exited", NULL, 0, NULL);
}

static void wall_time(void **state)
{
        static const char *const limits[] = { "0.5", "3", "20" };
        struct run r;

        run_need_root();
        cause(WORDS("--timeout", "0.3"), "sleep 10", "wall_time", "time limit of 300 ms reached", 124, NULL);
        cause(WORDS("--timeout", "0.3"), "trap '' TERM; while :; do :; done", "wall_time", NULL, 124, NULL);
        cause(WORDS("--timeout", "60"), "sleep 0.2; exit 0", "exited", NULL, 0, NULL);
        for (unsigned i = 0; i < CAY_COUNT(limits); i++) { /* one that is behind its first word */
                r = CAY("--timeout", limits[i], "/bin/sh", "-c", "echo before; sleep 100");
                assert_int_equal(r.status, 124);
                if (r.out_len > 0)
                        break;
        }
        assert_string_equal(r.out, "before\n"); /* what was said is kept */
}

static void output(void **state)
{
        struct run r;

        run_need_root();
        cause(WORDS("--output-limit", "10k"), "yes", "output", "output limit of 10 KiB reached", 137, NULL);
        r = CAY("--output-limit", "10k", "--quiet", "yes");
        assert_int_equal(r.out_len, 10240);
        r = CAY("--output-limit", "10k", "--quiet", "/bin/sh", "-c", "yes >&2");
        assert_int_equal(r.err_len, 10240);
        cause(WORDS("--output-limit", "10k:cut"), "head -c 30000 /dev/zero; exit 0", "exited",
              "\"cut_bytes\":19760,\"truncated\":true", 0, "output");
        r = CAY("--output-limit", "10k:cut", "/bin/sh", "-c", "head -c 30000 /dev/zero; exit 4");
        assert_int_equal(r.status, 4);
        assert_int_equal(r.out_len, 10240);
        assert_part(r.err, "19760 bytes dropped");
        cause(WORDS("--output-limit", "10k"), "head -c 10240 /dev/zero; exit 0", "exited",
              "\"cut_bytes\":0,\"truncated\":false", 0, NULL);
}

static void syscalls(void **state)
{
        run_need_root();
        cause(WORDS("--pids", "50"), "mount -t tmpfs none /tmp", "syscall", "blocked system call ", 32, NULL);
        cause(WORDS("--pids", "50"), "mount -t tmpfs none /tmp; exit 0", "exited",
              "\"denied_syscalls\":[{\"name\":", 0, "syscall");
        cause(WORDS("--pids", "50"), "unshare -U true", "syscall",
              "blocked system call unshare (1 call denied)", 1, NULL);
}

static void signalled(void **state)
{
        run_need_root();
        cause(WORDS("--pids", "50"), "kill -ABRT $$", "signalled", "ended by signal SIGABRT", 134, NULL);
        cause(WORDS("--pids", "50"), "sh -c 'kill -ABRT $$'; exit 0", "exited", NULL, 0, NULL);
}

static unsigned long long number_after(const char *text, const char *label)
{
        const char *at = strstr(text, label);

        if (at == NULL)
                fail_msg("no '%s' in '%.600s'", label, text);
        return strtoull(at + strlen(label), NULL, 10);
}

static void figures_of_processors(void **state)
{
        struct run r;
        char expect[32];
        cpu_set_t mine;
        int two;

        run_need_root();
        assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
        two = CPU_COUNT(&mine) < 2 ? 1 : 2;
        r = CAY("--cpus", "0.5", "/bin/sh", "-c",
                "nproc; grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat");
        assert_string_equal(r.out, "1\n1\n1\n");
        r = CAY("--cpus", "2", "/bin/sh", "-c",
                "nproc; grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat");
        snprintf(expect, sizeof(expect), "%d\n%d\n%d\n", two, two, two);
        assert_string_equal(r.out, expect);
}

/*
 * It begins on a processor of its commands' cpuset, so that they do, and is let go when the first has begun.
 */
static void init_has_all_processors(void **state)
{
        char expect[16], count[16];
        cpu_set_t mine;
        struct run r;

        run_need_root();
        assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
        snprintf(count, sizeof(count), "%d", CPU_COUNT(&mine));
        r = CAY("--cpus", "0.5", "--timeout", "5m", "/bin/sh", "-c",
                "cpus() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$1/status; }; i=0; "
                "count() { cpus 1 | awk -F, '{ for (i = 1; i <= NF; i++) { n = split($i, a, \"-\"); s += "
                "a[n] - a[1] + 1 } "
                "print s }'; }; until test $(count) -eq $0 || test $i -gt 400; do sleep 0.05; i=$((i + 1)); "
                "done; count",
                count);
        snprintf(expect, sizeof(expect), "%d\n", CPU_COUNT(&mine));
        assert_string_equal(r.out, expect);
}

static void figures_of_memory(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("--memory", "100m", "/bin/sh", "-c", "free -b; cat /proc/meminfo");
        assert_int_equal(number_after(r.out, "Mem:"), 100u << 20);
        assert_int_equal(number_after(r.out, "Swap:"), 0);
        assert_int_equal(number_after(r.out, "MemTotal:"), 100 << 10);
        assert_true(number_after(r.out, "MemFree:") <= 100 << 10);
        assert_true(number_after(r.out, "MemAvailable:") <= 100 << 10);
        /* Moving figures move: 40 MiB are held, and seen within a second or so. */
        r = CAY("--memory", "200m", "--cpus", "1", "--timeout", "5m", "/bin/sh", "-c",
                "(head -c 40m /dev/zero; exec sleep 1000) | tail -c 60m >/dev/null & i=0; free=200000; "
                "until test $free -lt 179200 || test $i -gt 400; do sleep 0.2; i=$((i + 1)); "
                "free=$(sed -n 's/^MemFree: *\\([0-9]*\\).*/\\1/p' /proc/meminfo); done; echo MemFree: "
                "$free");
        assert_true(number_after(r.out, "MemFree:") < 175 << 10);
}

static void figures_of_time(void **state)
{
        struct run r;
        char *end;

        run_need_root();
        r = CAY("/bin/sh", "-c", "cat /proc/uptime /proc/loadavg; grep btime /proc/stat; date +now=%s");
        assert_true(strtod(r.out, &end) < r.ms / 1000.0 + 1); /* not older than the run */
        assert_int_equal(*end, ' ');
        assert_true(number_after(r.out, "now=") - number_after(r.out, "btime ") < r.ms / 1000 + 3);
        r = CAY("/bin/sh", "-c", "cat /proc/loadavg");
        assert_true(strtod(r.out, NULL) < 60);
        assert_part(r.out, "/");
}

static void make_dir(char *path)
{
        assert_non_null(mkdtemp(path));
        assert_int_equal(chmod(path, 0755), 0);
}

static void shell(const char *line)
{
        if (system(line) != 0)
                fail_msg("%s", line);
}

static void host_template(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("/bin/sh", "-c",
                "cat /etc/passwd | cut -d: -f1 | sort | tr '\\n' ' '; ls /root 2>&1; ls -A /home /tmp "
                "/workspace");
        assert_part(r.out, "root ");
        assert_part(r.out, "sandbox ");
        r = CAY("/bin/sh", "-c",
                "python3 -c 'import ssl; print(len(ssl.create_default_context().get_ca_certs()) >= 0)'; test "
                "-e /etc/shadow");
        assert_int_equal(r.status, 1);
        r = CAY("/bin/sh", "-c", "readlink /etc/localtime; date +%Z");
        assert_string_equal(r.out, "/usr/share/zoneinfo/Etc/UTC\nUTC\n");
}

static void need_static_init(void)
{
        if (!run_has_static_init()) {
                print_message("this build's cay-init is dynamic: it starts only where its libraries are\n");
                skip();
        }
}

static void rootfs_template(void **state)
{
        char dir[] = "/tmp/cay-root-XXXXXX", line[400], option[64];
        struct stat st;
        struct run r;

        run_need_root();
        need_static_init();
        make_dir(dir);
        snprintf(line, sizeof(line),
                 "mkdir %s/bin %s/etc && cp /bin/busybox %s/bin/ && ln -s busybox %s/bin/sh && "
                 "echo 'builder:x:77:78:::' > %s/etc/passwd",
                 dir, dir, dir, dir, dir);
        shell(line);
        r = CAY("--template", dir, "/bin/sh", "-c", "echo from $0; pwd; busybox ls / ; echo x > /made-here");
        assert_part(r.out, "from /bin/sh\n/workspace\n");
        assert_false(run_has(r.out, "usr"));
        snprintf(option, sizeof(option), "rootfs:%s", dir);
        r = CAY("--template", option, "--user", "builder", "/bin/busybox", "id");
        assert_part(r.out, "uid=77");
        assert_part(r.out, "gid=78");
        r = CAY("--template", option, "--user", "root", "/bin/sh", "-c",
                "echo changed > /etc/passwd && busybox cat /etc/passwd");
        assert_string_equal(r.out, "changed\n"); /* in its own layer */
        snprintf(line, sizeof(line), "%s/made-here", dir);
        assert_int_equal(stat(line, &st), -1);
        snprintf(line, sizeof(line), "grep -q builder %s/etc/passwd && rm -r %s", dir, dir);
        shell(line);
}

static void an_empty_rootfs(void **state)
{
        char dir[] = "/tmp/cay-empty-XXXXXX", work[] = "/tmp/cay-work-XXXXXX", line[200];
        struct run r;

        run_need_root();
        need_static_init();
        make_dir(dir);
        make_dir(work);
        snprintf(line, sizeof(line), "cp /bin/busybox %s/", work);
        shell(line);
        r = CAY("--template", dir, "--workspace", work, "/workspace/busybox", "echo", "hello");
        assert_string_equal(r.out, "hello\n");
        assert_int_equal(r.status, 0);
        snprintf(line, sizeof(line), "test -z \"$(ls -A %s)\" && rm -r %s %s", dir, dir, work);
        shell(line);
}

static void workspaces(void **state)
{
        char dir[] = "/tmp/cay-ws-XXXXXX", path[100], option[64], line[400];
        struct stat st;
        struct run r;

        run_need_root();
        make_dir(dir);
        snprintf(line, sizeof(line),
                 "echo given > %s/given && echo theirs > %s/theirs && chown -R 4242:4343 %s && chown 99:99 "
                 "%s/theirs",
                 dir, dir, dir, dir);
        shell(line);
        r = CAY("--workspace", dir, "/bin/sh", "-c", "cat given; echo x > new");
        assert_true(r.status != 0);
        assert_part(r.out, "given\n");
        assert_part(r.err, "Read-only file system");
        snprintf(option, sizeof(option), "%s:rw", dir);
        r = CAY("--workspace", option, "/bin/sh", "-c",
                "stat -c '%u %g' . given theirs; echo inside > new && mkdir sub && echo more >> given");
        assert_int_equal(r.status, 0);
        assert_string_equal(r.out,
                            /* the owner is the sandbox's user, others are nobody */
                            "1001 1001\n1001 1001\n65534 65534\n");
        snprintf(path, sizeof(path), "%s/new", dir);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, 4242);
        assert_int_equal(st.st_gid, 4343);
        snprintf(path, sizeof(path), "%s/sub", dir);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, 4242);
        r = CAY("--workspace", option, "/bin/sh", "-c", "cat theirs; echo x > theirs");
        assert_true(r.status != 0);
        snprintf(line, sizeof(line), "rm -r %s", dir);
        shell(line);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup_test, run_teardown_test)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(memory),
                TEST(pids),
                TEST(disk),
                TEST(disk_of_an_image),
                TEST(a_layer_leaves_the_disk_its_margin),
                TEST(disk_counts_for_tmp_too),
                TEST(cpu_time),
                TEST(wall_time),
                TEST(output),
                TEST(syscalls),
                TEST(signalled),
                TEST(figures_of_processors),
                TEST(init_has_all_processors),
                TEST(figures_of_memory),
                TEST(figures_of_time),
                TEST(host_template),
                TEST(rootfs_template),
                TEST(an_empty_rootfs),
                TEST(workspaces),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
