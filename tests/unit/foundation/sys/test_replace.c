/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that take the place of others when they are whole: with O_TMPFILE, and under names of their own where
 * that does not help.
 */
#include "sys_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/sys/replace.h"

static unsigned entries_of(const char *path)
{
        unsigned n = 0;
        struct dirent *e;
        DIR *d = opendir(path);

        while (d && (e = readdir(d)))
                n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
        if (d)
                closedir(d);
        return n;
}

static bool has(int dir, const char *name, const char *text)
{
        char got[64] = "";
        int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

        if (fd >= 0)
                close(fd);
        return n >= 0 && strcmp(got, text) == 0;
}

static bool say(struct sys_replace *r, const char *text)
{
        return write(r->fd, text, strlen(text)) == (ssize_t)strlen(text);
}

#define CHECK(ok)                                                                                            \
        do {                                                                                                 \
                if (!(ok))                                                                                   \
                        return __LINE__;                                                                     \
        } while (0)

/* The number of the line that was wrong, or 0. */
static int goes_through(const char *path, bool named)
{
        int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct sys_replace r;

        CHECK(dir >= 0 && sys_replace_open(&r, dir) == 0);
        CHECK((r.temp[0] != '\0') == named && entries_of(path) == named);
        CHECK(say(&r, "half"));
        sys_replace_drop(&r);
        CHECK(entries_of(path) == 0 && r.fd == -1);

        CHECK(sys_replace_open(&r, dir) == 0 && say(&r, "one"));
        CHECK(sys_replace_commit(&r, "f", true) == 0 && has(dir, "f", "one"));
        sys_replace_drop(&r);
        CHECK(has(dir, "f", "one") && entries_of(path) == 1);

        CHECK(sys_replace_open(&r, dir) == 0 && say(&r, "two") && has(dir, "f", "one"));
        CHECK(sys_replace_commit(&r, "f", true) == -EEXIST && has(dir, "f", "one"));
        CHECK(sys_replace_commit(&r, "f", false) == 0 && has(dir, "f", "two"));
        sys_replace_drop(&r);
        CHECK(has(dir, "f", "two") && entries_of(path) == 1);

        CHECK(mkdirat(dir, "d", 0700) == 0 && sys_replace_open(&r, dir) == 0 && say(&r, "three"));
        CHECK(sys_replace_commit(&r, "d", false) == -EISDIR);
        sys_replace_drop(&r);
        CHECK(entries_of(path) == 2);
        close(dir);
        return 0;
}

static void replaces_without_a_name(void **state)
{
        char path[] = "/tmp/cay-replace.XXXXXX", command[64];

        (void)state;
        assert_non_null(mkdtemp(path));
        assert_int_equal(goes_through(path, false), 0);
        snprintf(command, sizeof(command), "rm -r %s", path);
        assert_int_equal(system(command), 0);
}

static int without_proc(const char *path)
{
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) < 0)
                return 77;
        return goes_through(path, true) > 0;
}

static void replaces_with_a_name(void **state)
{
        char path[] = "/tmp/cay-replace.XXXXXX", command[64];
        int status;
        pid_t pid;

        (void)state;
        assert_non_null(mkdtemp(path));
        pid = fork();
        if (pid == 0)
                _exit(without_proc(path));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        snprintf(command, sizeof(command), "rm -r %s", path);
        assert_int_equal(system(command), 0);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(replaces_without_a_name),
                cmocka_unit_test(replaces_with_a_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
