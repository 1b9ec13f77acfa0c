/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are removed beside the loop: all of them, more than fit the queue, before it is freed; nothing
 * else.
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_all_are_removed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_long_names, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
