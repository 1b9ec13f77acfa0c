/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of the host's folder: nothing leads out of it. */
#include "changes_test.h"

#include <sched.h>
#include <sys/mount.h>

static struct cay_folder f;

static int setup(void **state)
{
        if (scratch_setup(state) < 0)
                return -1;
        shell("mkdir -p f/d/e out && echo in >f/d/e/x && echo SECRET >out/x && ln -s ../out f/away && ln -s "
              "d f/near && "
              "ln -s ../out/x f/d/link && mkfifo f/d/fifo");
        folder_open(&f);
        return 0;
}

static int teardown(void **state)
{
        cay_folder_done(&f);
        return scratch_teardown(state);
}

static void entries_are_found(void **state)
{
        const char *name;
        struct stat st, direct;
        int fd, dir;

        (void)state;
        assert_int_equal(cay_folder_stat(&f, "d/e/x", &st), 0);
        assert_int_equal(stat("f/d/e/x", &direct), 0);
        assert_int_equal(st.st_ino, direct.st_ino);
        assert_int_equal(cay_folder_stat(&f, "d", &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        assert_int_equal(cay_folder_stat(&f, "near", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(cay_folder_stat(&f, "nothing", &st), -ENOENT);
        assert_int_equal(cay_folder_stat(&f, "nothing/at/all", &st), -ENOENT);
        assert_int_equal(cay_folder_stat(&f, "d/e/x/y", &st), -ENOTDIR);
        dir = cay_folder_parent(&f, "d/e/x", &name);
        assert_true(dir >= 0);
        assert_string_equal(name, "x");
        assert_int_equal(cay_folder_parent(&f, "d/e/other", &name), dir); /* the same one, not opened again */
        dir = cay_folder_parent(&f, "d", &name);
        assert_true(dir >= 0);
        assert_string_equal(name, "d");
        assert_int_equal(fstat(dir, &st), 0);
        assert_int_equal(stat("f", &direct), 0);
        assert_int_equal(st.st_ino, direct.st_ino);
        fd = cay_folder_open_file(&f, "d/e/x", &st);
        assert_true(fd >= 0);
        close(fd);
        fd = cay_folder_open_dir(&f, "d/e");
        assert_true(fd >= 0);
        close(fd);
}

static void links_are_not_followed(void **state)
{
        char target[CAY_CHANGE_PATH_MAX + 1];
        struct stat st;

        (void)state;
        assert_int_equal(cay_folder_stat(&f, "away/x", &st), -ELOOP);
        assert_int_equal(cay_folder_stat(&f, "near/e", &st), -ELOOP);
        assert_int_equal(cay_folder_open_file(&f, "away/x", &st), -ELOOP);
        assert_int_equal(cay_folder_open_file(&f, "d/link", &st), -EINVAL);
        assert_true(cay_folder_open_dir(&f, "away") < 0);
        assert_int_equal(cay_folder_readlink(&f, "away", target), 6);
        assert_string_equal(target, "../out");
        assert_int_equal(cay_folder_readlink(&f, "d", target), -EINVAL);
        /* Also after the directory was known as one. */
        assert_int_equal(cay_folder_stat(&f, "d/e/x", &st), 0);
        cay_folder_forget(&f);
        shell("mv f/d/e f/d/was && ln -s ../../out f/d/e");
        assert_int_equal(cay_folder_stat(&f, "d/e/x", &st), -ELOOP);
}

static void other_ways_out_are_closed(void **state)
{
        struct stat st;

        (void)state;
        assert_true(cay_folder_stat(&f, "../out/x", &st) < 0);
        assert_true(cay_folder_stat(&f, "/etc/passwd", &st) < 0);
        assert_true(cay_folder_stat(&f, "d/../../out/x", &st) < 0);
        assert_true(cay_folder_open_file(&f, "../out/x", &st) < 0);
        assert_true(cay_folder_open_dir(&f, "..") < 0);
}

static void special_files_are_not_opened(void **state)
{
        struct stat st;

        (void)state;
        alarm(250); /* opening a FIFO would wait for its other end */
        assert_int_equal(cay_folder_open_file(&f, "d/fifo", &st), -EINVAL);
        alarm(0);
}

/* In a mount namespace of a child, so that nothing is left. */
static void other_mounts_are_not_entered(void **state)
{
        struct stat st;
        pid_t pid;
        int status;

        (void)state;
        pid = fork();
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                    mount("out", "f/d/e", NULL, MS_BIND, NULL) < 0)
                        _exit(77);
                folder_open(&f); /* as this namespace has it */
                if (cay_folder_stat(&f, "d/e/x", &st) != -EXDEV || cay_folder_open_dir(&f, "d/e") != -EXDEV ||
                    cay_folder_open_file(&f, "d/e/x", &st) != -EXDEV)
                        _exit(1);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WEXITSTATUS(status) == 77)
                skip(); /* not allowed to mount */
        assert_int_equal(status, 0);
}

static void only_directories_are_folders(void **state)
{
        struct cay_folder other;

        (void)state;
        assert_int_equal(cay_folder_init_take(&other, open("f/d/e/x", O_PATH | O_CLOEXEC)), -ENOTDIR);
        cay_folder_done(&other);
}

#define FOLDER_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                FOLDER_TEST(entries_are_found),
                FOLDER_TEST(links_are_not_followed),
                FOLDER_TEST(other_ways_out_are_closed),
                FOLDER_TEST(special_files_are_not_opened),
                FOLDER_TEST(other_mounts_are_not_entered),
                FOLDER_TEST(only_directories_are_folders),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
