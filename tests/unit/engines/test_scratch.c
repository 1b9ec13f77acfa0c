/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch folders: private, removed whatever is in them, swept when their owner died. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "engines/process/scratch.h"

static char folder[32];

/* In memory where that can be: trees of thousands of directories take long on a disk that others use, too. */
static int setup(void **state)
{
        snprintf(folder, sizeof(folder), "%s/scratch-test-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        return mkdtemp(folder) != NULL && setenv("TMPDIR", folder, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
        unsetenv("TMPDIR");
        return rmdir(folder); /* must be empty */
}

static void make(struct cay_scratch *s)
{
        struct cay_error err = { 0 };

        if (cay_scratch_make(s, &err) < 0)
                fail_msg("%s", err.msg);
}

static void in_it(const struct cay_scratch *s, const char *line)
{
        char command[700];

        snprintf(command, sizeof(command), "cd %s && %s", s->path, line);
        assert_int_equal(system(command), 0);
}

static void is_private(void **state)
{
        struct cay_scratch s;
        struct stat st;

        make(&s);
        assert_int_equal(fstat(s.fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_memory_equal(s.path, folder, strlen(folder));
        assert_int_equal(cay_scratch_remove(&s, 10), 1);
        assert_int_equal(s.fd, -1);
        assert_int_equal(stat(s.path, &st), -1);
        assert_int_equal(cay_scratch_remove(&s, 10), 1); /* twice is fine */
}

static void removes_every_kind_of_thing(void **state)
{
        struct cay_scratch s;
        char keep[] = "/tmp/scratch-keep-XXXXXX", line[200];
        struct stat st;

        assert_non_null(mkdtemp(keep));
        make(&s);
        snprintf(line, sizeof(line),
                 "ln -s %s outside && mkdir d && ln -s %s d/outside && mkfifo p && touch -- '-rf' 'a b' "
                 "'.hidden'",
                 keep, keep);
        in_it(&s, line);
        in_it(&s, "mkdir closed && mkdir closed/in && touch closed/in/f && chmod 0 closed/in closed");
        assert_int_equal(cay_scratch_remove(&s, 1000), 1);
        assert_int_equal(stat(keep, &st), 0); /* links were not followed */
        rmdir(keep);
}

static void depth_costs_nothing(void **state)
{
        struct cay_scratch s;
        int at, next;

        make(&s);
        at = dup(s.fd);
        for (unsigned i = 0; i < 3000; i++) { /* far beyond what a path can name */
                assert_int_equal(mkdirat(at, "deep", 0700), 0);
                next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                close(at);
                at = next;
        }
        close(at);
        assert_int_equal(cay_scratch_remove(&s, 100000), 1);
}

static void names_in_the_way_do_no_harm(void **state)
{
        struct cay_scratch s;

        make(&s);
        in_it(&s, "mkdir -p up0/up0/up1 up1/up0 x/y/z && touch up2 x/y/up0");
        assert_int_equal(cay_scratch_remove(&s, 1000), 1);
}

static void works_in_portions(void **state)
{
        struct cay_scratch s;
        unsigned rounds = 1;

        make(&s);
        in_it(&s, "i=0; while [ $i -lt 300 ]; do mkdir d$i; : > d$i/f; i=$((i+1)); done");
        while (cay_scratch_remove(&s, 50) == 0)
                assert_true(++rounds < 100);
        assert_true(rounds > 5);
        assert_int_equal(s.fd, -1);
}

static void the_dead_are_swept_the_living_are_not(void **state)
{
        struct cay_scratch mine;
        struct stat st;
        char theirs[CAY_SCRATCH_PATH] = "";
        int fds[2], status;
        pid_t pid;

        assert_int_equal(pipe(fds), 0);
        pid = fork();
        if (pid == 0) {
                struct cay_scratch s;
                struct cay_error err;

                if (cay_scratch_make(&s, &err) < 0 || write(fds[1], s.path, sizeof(s.path)) < 0)
                        _exit(1);
                _exit(0); /* dies with the folder still there */
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(read(fds[0], theirs, sizeof(theirs)), sizeof(theirs));
        make(&mine);
        assert_int_equal(stat(theirs, &st), 0);
        assert_int_equal(cay_scratch_sweep(1000), CAY_SWEPT);
        assert_int_equal(stat(theirs, &st), -1);
        assert_int_equal(stat(mine.path, &st), 0);
        assert_int_equal(cay_scratch_remove(&mine, 10), 1);
        close(fds[0]);
        close(fds[1]);
}

static void a_sweep_is_no_longer_than_it_may_be(void **state)
{
        struct cay_scratch s;
        struct stat st;
        unsigned rounds = 1;

        make(&s);
        in_it(&s, "i=0; while [ $i -lt 300 ]; do : > f$i; i=$((i+1)); done");
        cay_scratch_close(&s); /* as if its maker had died */
        while (cay_scratch_sweep(50) == CAY_SWEPT_MORE)
                assert_true(++rounds < 100);
        assert_true(rounds > 5);
        assert_int_equal(stat(s.path, &st), -1);
}

static void a_folder_that_is_not_there(void **state)
{
        struct cay_scratch s;
        struct cay_error err = { 0 };

        setenv("TMPDIR", "/no/such/folder", 1);
        assert_int_equal(cay_scratch_make(&s, &err), -1);
        assert_non_null(strstr(err.msg, "/no/such/folder"));
        assert_int_equal(cay_scratch_sweep(1000), CAY_SWEPT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(is_private),
                TEST(removes_every_kind_of_thing),
                TEST(depth_costs_nothing),
                TEST(names_in_the_way_do_no_harm),
                TEST(works_in_portions),
                TEST(the_dead_are_swept_the_living_are_not),
                TEST(a_sweep_is_no_longer_than_it_may_be),
                TEST(a_folder_that_is_not_there),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
