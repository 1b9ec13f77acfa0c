/* SPDX-License-Identifier: Apache-2.0 */
/* How far the database was: kept over a death, whatever part of the file is bad, and compared with one. */
#include "daemon/store/newest.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/store/schema.h"

struct test {
        char dir[40], path[64];
        int fd;
        struct cay_newest n;
        struct cay_db db;
        struct cay_error err;
};

static int setup(void **state)
{
        struct test *t = calloc(1, sizeof(*t));
        bool is_new;

        snprintf(t->dir, sizeof(t->dir), "/tmp/cay-newest-XXXXXX");
        assert_non_null(mkdtemp(t->dir));
        snprintf(t->path, sizeof(t->path), "%s/newest", t->dir);
        t->fd = open(t->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_true(t->fd >= 0);
        assert_int_equal(cay_db_open(&t->db, ":memory:", CAY_DB_WRITE, &t->err), 0);
        assert_int_equal(cay_schema_migrate(&t->db, &is_new, &t->err), 0);
        *state = t;
        return 0;
}

static int teardown(void **state)
{
        struct test *t = *state;

        cay_newest_close(&t->n);
        cay_db_close(&t->db);
        close(t->fd);
        unlink(t->path);
        assert_int_equal(rmdir(t->dir), 0);
        free(t);
        return 0;
}

static uint64_t reopened(struct test *t)
{
        cay_newest_close(&t->n);
        cay_newest_open(&t->n, t->fd);
        return t->n.seq;
}

static uint64_t missing(struct test *t)
{
        uint64_t ret;

        assert_int_equal(cay_newest_compare(&t->n, &t->db, &ret, &t->err), 0);
        return ret;
}

static void is_kept(void **state)
{
        struct test *t = *state;

        assert_int_equal(reopened(t), 0);
        assert_false(t->n.is_damaged);
        for (uint64_t i = 1; i < 20; i++) {
                cay_newest_set(&t->n, i * 7);
                cay_newest_set(&t->n, i); /* less: nothing */
                assert_int_equal(reopened(t), i * 7);
        }
        cay_newest_open(&t->n, -1);
        cay_newest_set(&t->n, 5000);
        assert_int_equal(t->n.seq, 0);
}

static void half_a_file_will_do(void **state)
{
        struct test *t = *state;
        static const char junk[16] = "??????????????";

        reopened(t);
        cay_newest_set(&t->n, 100);
        cay_newest_set(&t->n, 101);
        assert_int_equal(pwrite(t->fd, junk, sizeof(junk), 0), sizeof(junk));
        assert_in_range(reopened(t), 100, 101);
        assert_false(t->n.is_damaged);
        cay_newest_set(&t->n, 102);
        cay_newest_set(&t->n, 103);
        assert_int_equal(reopened(t), 103);
        assert_int_equal(pwrite(t->fd, junk, sizeof(junk), 0), sizeof(junk));
        assert_int_equal(pwrite(t->fd, junk, sizeof(junk), 16), sizeof(junk));
        assert_int_equal(reopened(t), 0);
        assert_true(t->n.is_damaged);
        assert_true(missing(t) == UINT64_MAX);
        assert_int_equal(cay_newest_settle(&t->n, &t->db, UINT64_MAX, 1000, &t->err), 0);
        assert_int_equal(reopened(t), 1);
        assert_int_equal(missing(t), 0);
}

static void an_older_database_is_noticed_once(void **state)
{
        struct test *t = *state;
        int64_t count;

        reopened(t);
        assert_int_equal(cay_db_run(&t->db,
                                    "INSERT INTO vals VALUES('files_known.native', '1'), ('time', 'x')",
                                    &t->err),
                         0);
        assert_int_equal(missing(t), 0);
        cay_newest_set(&t->n, 40);
        assert_int_equal(missing(t), 40);
        assert_int_equal(cay_newest_settle(&t->n, &t->db, 40, 1000, &t->err), 0);
        assert_int_equal(missing(t), 0);
        assert_int_equal(reopened(t), 41);
        assert_int_equal(cay_db_number(&t->db, "SELECT count(*) FROM vals", &count, &t->err), 0);
        assert_int_equal(count, 1);
        assert_int_equal(cay_db_number(&t->db,
                                       "SELECT seq FROM events WHERE kind = 'store_older' AND detail = "
                                       "'{\"missing_events\":40}'",
                                       &count, &t->err),
                         0);
        assert_int_equal(count, 41); /* no number is given twice */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(is_kept),
                TEST(half_a_file_will_do),
                TEST(an_older_database_is_noticed_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
