/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: a new file gets all, one that has had them none, one of the future is left alone. */

#include "unit/daemon/store/store_test.h"

#include "daemon/store/schema.h"

static void steps_are_taken_once(void **state)
{
        struct cay_db db;
        struct cay_error err;
        int64_t version = 0;
        bool is_new;

        assert_int_equal(cay_db_open(&db, ":memory:", CAY_DB_WRITE, &err), 0);
        assert_int_equal(cay_schema_migrate(&db, &is_new, &err), 0);
        assert_true(is_new);
        assert_int_equal(cay_db_number(&db, "PRAGMA user_version", &version, &err), 0);
        assert_int_equal(version, cay_schema_version());
        assert_int_equal(cay_schema_migrate(&db, &is_new, &err), 0);
        assert_false(is_new);
        cay_db_close(&db);
}

static void the_future_is_refused(void **state)
{
        struct cay_db db;
        struct cay_error err;
        bool is_new;

        assert_int_equal(cay_db_open(&db, ":memory:", CAY_DB_WRITE, &err), 0);
        assert_int_equal(cay_db_run(&db, "PRAGMA user_version=9999", &err), 0);
        assert_int_equal(cay_schema_migrate(&db, &is_new, &err), -1);
        assert_int_equal(err.code, CAY_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "newer Cay"));
        cay_db_close(&db);
}

static void a_step_that_fails_leaves_nothing(void **state)
{
        struct cay_db db;
        struct cay_error err;
        int64_t n = -1;
        bool is_new;

        assert_int_equal(cay_db_open(&db, ":memory:", CAY_DB_WRITE, &err), 0);
        assert_int_equal(cay_db_run(&db, "CREATE TABLE vals(x)", &err), 0); /* in the way of the last one */
        assert_int_equal(cay_schema_migrate(&db, &is_new, &err), -1);
        assert_int_equal(cay_db_number(&db, "SELECT count(*) FROM sqlite_master", &n, &err), 0);
        assert_int_equal(n, 1);
        assert_int_equal(cay_db_number(&db, "PRAGMA user_version", &n, &err), 0);
        assert_int_equal(n, 0);
        cay_db_close(&db);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(steps_are_taken_once),
                cmocka_unit_test(the_future_is_refused),
                cmocka_unit_test(a_step_that_fails_leaves_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
