/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are removed beside the loop: all of them, more than fit the queue, before it is freed; nothing
 * else. Files that are kept for reuse are empty, few, and gone at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/remover.h"

static char folder[] = "/tmp/cay-remover-XXXXXX";
static int dir;

static int set_up(void **state)
{
        strcpy(folder + strlen(folder) - 6, "XXXXXX");
        if (!mkdtemp(folder))
                return -1;
        dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return dir < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
        close(dir);
        return rmdir(folder);
}

static void make(const char *name)
{
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        close(fd);
}

static unsigned count_files(void)
{
        DIR *d = opendir(folder);
        unsigned count = 0;

        assert_non_null(d);
        while (readdir(d))
                count++;
        closedir(d);
        return count - 2;
}

static void test_all_are_removed(void **state)
{
        struct cay_remover *r = cay_remover_new(dir);
        char name[32];

        assert_non_null(r);
        make("stays");
        for (int i = 0; i < 2000; i++) {
                snprintf(name, sizeof(name), "box.%d", i);
                make(name);
                cay_remover_take(r, name);
        }
        cay_remover_take(r, "was never there");
        cay_remover_free(r);
        assert_int_equal(count_files(), 1);
        assert_int_equal(unlinkat(dir, "stays", 0), 0);
}

static void test_long_names(void **state)
{
        struct cay_remover *r = cay_remover_new(dir);
        char name[256] = "";

        assert_non_null(r);
        memset(name, 'n', 255);
        make(name);
        cay_remover_take(r, name);
        cay_remover_free(r);
        assert_int_equal(count_files(), 0);
        cay_remover_free(NULL);
}

/* Waits for the remover's thread. */
static void reuse(struct cay_remover *r, const char *name)
{
        bool is_there = false;

        for (int i = 0; i < 10000 && !is_there; i++) {
                is_there = cay_remover_reuse(r, name);
                if (!is_there)
                        usleep(1000);
        }
        assert_true(is_there);
}

static void fill(const char *name, size_t size)
{
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        char byte = 'x';

        assert_true(fd >= 0);
        for (size_t i = 0; i < size; i++)
                assert_int_equal(write(fd, &byte, 1), 1);
        close(fd);
}

static void check_empty(const char *name)
{
        static const char zeros[CAY_REMOVER_PAGE];
        char got[CAY_REMOVER_PAGE + 1];
        int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(read(fd, got, sizeof(got)), sizeof(zeros));
        assert_memory_equal(got, zeros, sizeof(zeros));
        close(fd);
}

static void test_reuse(void **state)
{
        const size_t sizes[] = { 0, 1, CAY_REMOVER_PAGE - 1, CAY_REMOVER_PAGE, CAY_REMOVER_PAGE + 1, 20000 };
        struct cay_remover *r = cay_remover_new(dir);

        assert_non_null(r);
        assert_false(cay_remover_reuse(r, "new"));
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                fill("old", sizes[i]);
                cay_remover_recycle(r, "old");
                reuse(r, "new");
                assert_int_equal(count_files(), 1);
                check_empty("new");
                assert_int_equal(unlinkat(dir, "new", 0), 0);
        }
        assert_false(cay_remover_reuse(r, "new"));
        cay_remover_free(r);
        assert_int_equal(count_files(), 0);
}

/* Others' names and files that are no plain ones are left as they are, or removed. */
static void test_not_reused(void **state)
{
        struct cay_remover *r = cay_remover_new(dir);

        assert_non_null(r);
        fill("first", 10);
        fill("taken", 10);
        cay_remover_recycle(r, "first");
        cay_remover_recycle(r, "was never there");
        for (int i = 0; i < 10000 && faccessat(dir, "first", F_OK, 0) == 0; i++)
                usleep(1000);
        assert_false(cay_remover_reuse(r, "taken"));
        make("other");
        assert_int_equal(linkat(dir, "other", dir, "linked", 0), 0);
        cay_remover_recycle(r, "linked");
        assert_int_equal(symlinkat("other", dir, "symbolic"), 0);
        cay_remover_recycle(r, "symbolic");
        cay_remover_free(r);
        assert_int_equal(count_files(), 2);
        assert_int_equal(unlinkat(dir, "taken", 0), 0);
        assert_int_equal(unlinkat(dir, "other", 0), 0);
}

static void test_few_are_kept(void **state)
{
        struct cay_remover *r = cay_remover_new(dir);
        char name[32];

        assert_non_null(r);
        for (unsigned i = 0; i < 3 * CAY_REMOVER_SPARES; i++) {
                snprintf(name, sizeof(name), "box.%u", i);
                make(name);
                cay_remover_recycle(r, name);
        }
        for (int i = 0; i < 10000 && count_files() > CAY_REMOVER_SPARES; i++)
                usleep(1000);
        assert_int_equal(count_files(), CAY_REMOVER_SPARES);
        cay_remover_free(r);
        assert_int_equal(count_files(), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_all_are_removed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_reuse, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_not_reused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_few_are_kept, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
