/* SPDX-License-Identifier: Apache-2.0 */
/* The most that a sandbox may have: settings first, then the largest of what is allowed and what is there. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "cay/keeper/ceiling.h"

#define GIB (1ull << 30)

static struct cay_config config;

static int set_up(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        return cay_config_init(&config, &err);
}

static int tear_down(void **state)
{
        (void)state;
        cay_config_done(&config);
        return 0;
}

static void nothing_that_is_allowed_is_refused(void **state)
{
        const struct cay_machine small = { .memory_bytes = GIB, .cpu_milli = 1000, .disk_bytes = GIB };
        struct wire_ceiling c;

        (void)state;
        cay_ceiling_make(&config, &small, &c);
        assert_int_equal(c.memory_bytes, 8 * GIB); /* most_memory */
        assert_int_equal(c.cpu_milli, 8000);
        assert_int_equal(c.pids, 32768);
        assert_int_equal(c.disk_bytes, 32 * GIB);
        assert_int_equal(c.inodes, 4000000);
        assert_int_equal(c.boxes, 10 + 16 + config.pool_memory / (512 * 1024));
        config.max_memory = 9 * GIB;
        config.default_cpus = 9000;
        config.most_pids = 40000;
        cay_ceiling_make(&config, &small, &c);
        assert_int_equal(c.memory_bytes, 9 * GIB);
        assert_int_equal(c.cpu_milli, 9000);
        assert_int_equal(c.pids, 40000);
}

static void a_large_machine_may_be_used(void **state)
{
        const struct cay_machine large = { .memory_bytes = 512 * GIB,
                                           .cpu_milli = 96000,
                                           .disk_bytes = 20480 * GIB };
        struct wire_ceiling c;

        (void)state;
        cay_ceiling_make(&config, &large, &c);
        assert_int_equal(c.memory_bytes, 512 * GIB);
        assert_int_equal(c.cpu_milli, 96000);
        assert_int_equal(c.disk_bytes,
                         1024 * GIB); /* no more without a word: it is formatted while others wait */
        assert_int_equal(c.inodes, 1024 * GIB / 16384);
}

static void the_operators_word_counts(void **state)
{
        const struct cay_machine large = { .memory_bytes = 512 * GIB,
                                           .cpu_milli = 96000,
                                           .disk_bytes = 20480 * GIB };
        struct wire_ceiling c;

        (void)state;
        config.hard_memory = GIB;
        config.hard_cpus = 500;
        config.hard_pids = 10;
        config.hard_disk = 2 * GIB;
        config.hard_inodes = 1000;
        cay_ceiling_make(&config, &large, &c);
        assert_int_equal(c.memory_bytes, GIB);
        assert_int_equal(c.cpu_milli, 500);
        assert_int_equal(c.pids, 10);
        assert_int_equal(c.disk_bytes, 2 * GIB);
        assert_int_equal(c.inodes, 1000);
}

static void the_machine_is_looked_at(void **state)
{
        int fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct cay_machine m;

        (void)state;
        cay_machine_look(&m, fd);
        close(fd);
        assert_true(m.memory_bytes > 1 << 20 && m.cpu_milli >= 1000);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(nothing_that_is_allowed_is_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_large_machine_may_be_used, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_operators_word_counts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_machine_is_looked_at, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
