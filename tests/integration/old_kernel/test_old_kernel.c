/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay run` on kernels that lack young system calls: the same results as on a new one.
 *
 * For each row of old_kernels.def this program runs itself below tests/tools/no_call, which blocks the row's
 * calls for the whole tree of processes: this program, cay, the warden, cay-init, the command. There
 * (--checks) it makes the checks. By hand:
 *   integration_old_kernel ROW…       some rows only
 *   no_call CALLS -- integration_old_kernel --checks [CALLS]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "integration/run/harness.h"
#include "tools/old_kernel.h"

#define ROW_MS 180000

static const char *calls; /* of the checks: what is blocked; NULL: nothing */

static void assert_status(const struct run *r, int status)
{
        if (r->status != status)
                fail_msg("status %d, expected %d; stdout '%.300s', stderr '%.600s'", r->status, status,
                         r->out, r->err);
}

static void assert_part(const char *text, const char *part)
{
        if (!run_has(text, part))
                fail_msg("'%s' is not in '%.600s'", part, text);
}

/* A command that succeeds and prints exactly this. */
static void prints(struct run r, const char *out)
{
        assert_status(&r, 0);
        if (strcmp(r.out, out) != 0)
                fail_msg("stdout '%.300s', expected '%.300s'; stderr '%.600s'", r.out, out, r.err);
}

/*
 * The row is about something: whatever this process asks for is not there, so nor is it for what it starts.
 */
static void calls_are_blocked(void **state)
{
        if (calls == NULL)
                return;
        assert_true(old_kernel_lacks(calls));
}

static bool can_shift_ids(void)
{
        static const char *const needed[] = { "fsopen",    "fsconfig",   "fsmount",
                                              "open_tree", "move_mount", "mount_setattr" };

        for (unsigned i = 0; i < CAY_COUNT(needed); i++)
                if (old_kernel_lacks(needed[i]))
                        return false;
        return true;
}

static void streams_and_status(void **state)
{
        struct run_setup with_input = { .input = "from outside\n" };
        struct run r = SH("echo out; echo err >&2; exit 7");

        assert_status(&r, 7);
        assert_string_equal(r.out, "out\n");
        assert_string_equal(r.err, "err\n");
        r = SH("kill -9 $$");
        assert_status(&r, 137);
        r = CAY("no-such-command");
        assert_status(&r, 127);
        prints(run_cay(&with_input, WORDS("run", "cat")), "from outside\n");
        prints(CAY("--tty", "sh", "-c", "test -t 0 && test -t 1 && echo yes"), "yes\r\n");
}

/* The whole tree of processes, seen and ended. */
static void processes(void **state)
{
        struct run r = SH("set -- /proc/[0-9]*; echo $#");

        prints(r, "2\n"); /* init and the shell */
        prints(SH("sleep 100 & setsid sleep 100 & (setsid sleep 100 &) ; echo left"), "left\n");
        r = CAY("--timeout", "300ms", "sh", "-c", "setsid sleep 100 & sleep 100");
        assert_status(&r, 124);
        assert_part(r.err, "cay: wall_time: ");
}

static void isolation(void **state)
{
        static const struct {
                const char *line, *out;
        } rows[] = {
                { "touch /usr/x 2>/dev/null || echo refused; test -e /usr/bin/env && echo there",
                  "refused\nthere\n" },
                { "echo x > /proc/sys/kernel/hostname 2>/dev/null || echo refused", "refused\n" },
                { "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '", "lo\n" },
                { "id -u; id -g; id -G", "1001\n1001\n1001\n" },
                { "uname -n", "cay\n" },
                { "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'",
                  "CapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:"
                  "1\nSeccomp:2\n" },
                { "cd /proc/self/fd; echo *", "0 1 2 3\n" }, /* 3: of the listing shell itself */
                { "test -e /etc/shadow || test -e /var/lib/dpkg || test -e /sys/kernel || echo none",
                  "none\n" },
                { "mkdir /tmp/d && mv /tmp/d /tmp/e && echo x > /tmp/e/f && ln /tmp/e/f /tmp/g && cat /tmp/g",
                  "x\n" },
                { "chmod 600 /tmp && stat -c %a /tmp 2>/dev/null || echo refused", "refused\n" },
                { "mount -t tmpfs x /tmp 2>/dev/null || echo refused", "refused\n" },
                { "pwd; touch here && ls", "/workspace\nhere\n" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                prints(SH(rows[i].line), rows[i].out);
}

/* A descriptor that a careless caller leaves open reaches nobody inside. */
static void descriptors_stay_outside(void **state)
{
        cay_auto_close int fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC);
        struct run_setup setup = { .extra_fd = fcntl(fd, F_DUPFD_CLOEXEC, 70) };

        assert_true(setup.extra_fd >= 70);
        prints(run_cay(&setup, WORDS("run", "--", "/bin/sh", "-c",
                                     "ls -l /proc/1/fd /proc/*/fd 2>/dev/null | grep -c shadow; true")),
               "0\n");
        close(setup.extra_fd);
}

static void limits(void **state)
{
        struct run r = CAY("--json", "--memory", "32m", "sh", "-c", "exec tail /dev/zero");

        assert_status(&r, 137);
        assert_part(r.out, "\"cause\":\"memory\"");
        r = CAY("--json", "--pids", "8", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 50 & done; wait");
        assert_part(r.out, "\"pids\"");
        assert_true(r.status != 0);
        r = CAY("--json", "--disk", "1m", "sh", "-c", "head -c 2000000 /dev/zero > f");
        assert_part(r.out, "\"cause\":\"disk\"");
        /* More disk than half of the memory: an image on a loop device. */
        r = CAY("--json", "--memory", "64m", "--disk", "40m", "sh", "-c", "head -c 50000000 /dev/zero > f");
        assert_part(r.out, "\"cause\":\"disk\"");
        r = CAY("--json", "--memory", "64m", "--disk", "40m", "sh", "-c", "head -c 20000000 /dev/zero > f");
        assert_status(&r, 0);
}

struct folder {
        char path[32], option[64];
};

static void folder_make(struct folder *f, unsigned owner, const char *how)
{
        char file[64];
        int fd;

        snprintf(f->path, sizeof(f->path), "/tmp/cay-old-XXXXXX");
        assert_non_null(mkdtemp(f->path));
        snprintf(file, sizeof(file), "%s/file", f->path);
        fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "outside\n", 8), 8);
        assert_int_equal(fchown(fd, owner, owner), 0);
        close(fd);
        assert_int_equal(chown(f->path, owner, owner), 0);
        assert_int_equal(chmod(f->path, 0755), 0);
        snprintf(f->option, sizeof(f->option), "%s:%s", f->path, how);
}

static void folder_remove(struct folder *f)
{
        static const char *const files[] = { "file", "new" };
        char path[64];

        for (unsigned i = 0; i < CAY_COUNT(files); i++) {
                snprintf(path, sizeof(path), "%s/%s", f->path, files[i]);
                unlink(path);
        }
        assert_int_equal(rmdir(f->path), 0);
}

static void workspace_read_only(void **state)
{
        struct folder f;
        struct run r;

        folder_make(&f, 12345, "ro");
        r = CAY("--workspace", f.option, "sh", "-c", "cat file; echo x > file || touch new || echo refused");
        folder_remove(&f);
        assert_status(&r, 0);
        assert_string_equal(r.out, "outside\nrefused\n");
}

/*
 * Without idmapped mounts it works for the folder's owner all the same, or the run is refused with the
 * reason.
 */
static void workspace_read_write(void **state)
{
        static const unsigned owners[] = { 12345, 0 };

        for (unsigned i = 0; i < CAY_COUNT(owners); i++) {
                struct stat st = { .st_uid = ~0u };
                struct folder f;
                char path[64];
                struct run r;

                folder_make(&f, owners[i], "rw");
                r = CAY("--workspace", f.option, "sh", "-c",
                        "echo more >> file && cat file > new && cat new");
                snprintf(path, sizeof(path), "%s/new", f.path);
                stat(path, &st);
                folder_remove(&f);
                if (r.status == 0) {
                        assert_string_equal(r.out, "outside\nmore\n");
                        assert_int_equal(st.st_uid, owners[i]);
                } else {
                        assert_false(can_shift_ids());
                        assert_status(&r, 125);
                        assert_part(r.err, "workspace");
                        print_message("refused: %s", r.err);
                }
        }
}

static void users_and_layers(void **state)
{
        prints(CAY("--read-only", "sh", "-c", "touch /tmp/x && touch /x 2>/dev/null || echo refused"),
               "refused\n");
        prints(CAY("--user", "root", "sh", "-c", "id -u; echo x > /usr/cay-old && cat /usr/cay-old"),
               "0\nx\n");
        assert_true(access("/usr/cay-old", F_OK) < 0); /* to the writable layer, not to ours */
        prints(CAY("--user", "root", "--read-only", "sh", "-c",
                   "touch /usr/cay-old 2>/dev/null || echo refused"),
               "refused\n");
}

/* A root of its own: a shell, its libraries, and a folder to write to. */
static void image(void **state)
{
        char dir[] = "/var/tmp/cay-old-XXXXXX", command[400], option[64];
        struct run r = { .status = -1 };
        int made;

        if (!run_has_static_init()) {
                print_message("skipped: this build's init needs libraries that the image lacks\n");
                skip();
        }
        assert_non_null(mkdtemp(dir));
        snprintf(command, sizeof(command),
                 "cd %s && chmod 755 . && mkdir srv && cp -L --parents /bin/sh /bin/cat $(ldd /bin/sh "
                 "/bin/cat | "
                 "sed -n 's|.*[ \t]\\(/[^ ]*\\) (.*|\\1|p' | sort -u) .",
                 dir);
        made = system(command);
        snprintf(option, sizeof(option), "rootfs:%s", dir);
        if (made == 0)
                r = CAY("--template", option, "--user", "root", "--", "/bin/sh", "-c",
                        "echo x > /srv/x && cat /srv/x; test -e /usr/share || echo small");
        snprintf(command, sizeof(command), "test ! -e %s/srv/x && rm -r %s", dir, dir);
        assert_int_equal(system(command), 0);
        assert_int_equal(made, 0);
        if (can_shift_ids()) {
                prints(r, "x\nsmall\n");
        } else { /* its folders are nobody's inside, so they can be read and not be changed */
                assert_status(&r, 0);
                assert_part(r.out, "small\n");
                assert_true(strcmp(r.out, "x\nsmall\n") == 0 || run_has(r.err, "Permission denied"));
        }
}

static void process_engine(void **state)
{
        struct run r = CAY("--engine", "process", "--allow-missing", "all", "sh", "-c",
                           "setsid sleep 100 & echo out; exit 3");

        assert_status(&r, 3);
        assert_string_equal(r.out, "out\n");
        r = CAY("--engine", "process", "--allow-missing", "all", "--timeout", "300ms", "sleep", "100");
        assert_status(&r, 124);
}

static int run_checks(void)
{
#define CHECK(name) cmocka_unit_test_setup_teardown(name, run_setup_test, run_teardown_test)
        const struct CMUnitTest tests[] = {
                CHECK(calls_are_blocked),
                CHECK(streams_and_status),
                CHECK(processes),
                CHECK(isolation),
                CHECK(descriptors_stay_outside),
                CHECK(limits),
                CHECK(workspace_read_only),
                CHECK(workspace_read_write),
                CHECK(users_and_layers),
                CHECK(image),
                CHECK(process_engine),
        };

        return cmocka_run_group_tests_name("old_kernel", tests, NULL, NULL);
}

static const struct {
        const char *name, *files, *calls;
} rows[] = {
#define OLD_KERNEL(name, files, calls) { #name, files, calls },
#include "integration/old_kernel/old_kernels.def"
#undef OLD_KERNEL
};

/* The checks as a process of their own: what is blocked could not be given back. */
static int run_row(unsigned row)
{
        char program[4096], no_call[4096];
        ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
        int status = -1;
        pid_t pid;

        assert_true(n > 0);
        program[n] = 0;
        snprintf(no_call, sizeof(no_call), "%s/tests/tools/no_call", run_build_dir());
        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                if (rows[row].files != NULL)
                        setenv("CAY_TEST_NO", rows[row].files, 1); /* in builds with test hooks */
                alarm(ROW_MS / 1000); /* kept through exec: a row that hangs ends by itself */
                if (rows[row].calls == NULL)
                        execl(program, program, "--checks", (char *)NULL);
                else
                        execl(no_call, no_call, rows[row].calls, "--", program, "--checks", rows[row].calls,
                              (char *)NULL);
                _exit(99);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void row_holds(void **state)
{
        unsigned row = (unsigned)(uintptr_t)*state;
        int status;

        run_need_root();
        status = run_row(row);
        if (status != 0)
                fail_msg("row %s: status 0x%x", rows[row].name, (unsigned)status);
}

/* Every name that can be blocked is blocked in some row. */
static void every_name_has_a_row(void **state)
{
        const char *name;

        for (size_t i = 0; (name = old_kernel_name(i)) != NULL; i++) {
                bool is_there = false;

                for (unsigned row = 0; row < CAY_COUNT(rows) && !is_there; row++)
                        is_there = rows[row].calls != NULL && old_kernel_is_part(name, rows[row].calls);
                if (!is_there)
                        fail_msg("%s is in no row", name);
        }
}

int main(int argc, char **argv)
{
        struct CMUnitTest tests[CAY_COUNT(rows) + 1] = { cmocka_unit_test(every_name_has_a_row) };
        unsigned count = 1;

        if (argc > 1 && strcmp(argv[1], "--checks") == 0) {
                calls = argv[2];
                return run_checks();
        }
        for (unsigned row = 0; row < CAY_COUNT(rows); row++) {
                bool wanted = argc == 1;

                for (int i = 1; i < argc; i++)
                        wanted |= strcmp(argv[i], rows[row].name) == 0;
                if (wanted)
                        tests[count++] = (struct CMUnitTest){ .name = rows[row].name,
                                                              .test_func = row_holds,
                                                              .initial_state = (void *)(uintptr_t)row };
        }
        return _cmocka_run_group_tests("old_kernel", tests, count, NULL, NULL);
}
