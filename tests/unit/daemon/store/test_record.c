/* SPDX-License-Identifier: Apache-2.0 */
/* Records: copied whole, and every kind comes back from a table as it went in. */

#include "unit/daemon/store/store_test.h"

#include "daemon/store/record.h"
#include "daemon/store/schema.h"

static void copies_own_their_texts(void **state)
{
        cay_auto_arena struct cay_arena mem;
        char id[] = "abc";
        struct cay_store_sandbox s = sample(id), *copy;
        bool too_long;

        cay_arena_init(&mem, 1 << 20);
        s.cause_text = NULL;
        copy = cay_record_copy(cay_record_table(CAY_STORE_SANDBOX), &s, &mem, &too_long);
        assert_non_null(copy);
        id[0] = 'x';
        assert_string_equal(copy->id, "abc");
        assert_string_equal(copy->cause_text, "");
        assert_memory_equal(copy->secret, s.secret, sizeof(s.secret));
}

static void long_texts_and_small_memory_are_refused(void **state)
{
        cay_auto_arena struct cay_arena mem;
        char *text = calloc(1, CAY_STORE_TEXT_MAX + 2);
        struct cay_store_value v = { .name = "n", .value = text };
        bool too_long;

        cay_arena_init(&mem, 1 << 20);
        memset(text, 'x', CAY_STORE_TEXT_MAX);
        assert_non_null(cay_record_copy(cay_record_table(CAY_STORE_VALUE), &v, &mem, &too_long));
        text[CAY_STORE_TEXT_MAX] = 'x';
        assert_null(cay_record_copy(cay_record_table(CAY_STORE_VALUE), &v, &mem, &too_long));
        assert_true(too_long);
        free(text);
        cay_arena_done(&mem);
        cay_arena_init(&mem, 40);
        v.value = "a text that does not fit into forty bytes";
        assert_null(cay_record_copy(cay_record_table(CAY_STORE_VALUE), &v, &mem, &too_long));
        assert_false(too_long);
}

/* The tables of schema.c have the columns that record.c names, and no others. */
static void tables_fit_the_schema(void **state)
{
        struct cay_db db;
        struct cay_error err;
        bool is_new;

        assert_int_equal(cay_db_open(&db, ":memory:", CAY_DB_WRITE, &err), 0);
        assert_int_equal(cay_schema_migrate(&db, &is_new, &err), 0);
        for (unsigned kind = 0; kind < CAY_STORE_KIND_COUNT; kind++) {
                const struct cay_record_table *t = cay_record_table(kind);
                char names[CAY_RECORD_NAMES_MAX], sql[CAY_RECORD_SQL_MAX];
                int64_t n;

                cay_record_names(t, names);
                assert_true(strlen(names) < CAY_RECORD_NAMES_MAX - 1);
                snprintf(sql, sizeof(sql), "SELECT count(*) FROM pragma_table_info('%s')", t->name);
                assert_int_equal(cay_db_number(&db, sql, &n, &err), 0);
                assert_int_equal(n, t->count);
                snprintf(sql, sizeof(sql), "SELECT count(*) FROM (SELECT %s FROM %s ORDER BY %s, %s)", names,
                         t->name, t->backwards, t->order);
                if (cay_db_number(&db, sql, &n, &err) < 0)
                        fail_msg("%s", err.msg);
                cay_record_insert_sql(t, sql);
                assert_true(strlen(sql) < CAY_RECORD_SQL_MAX - 1);
        }
        cay_db_close(&db);
}

/* Replacing would delete the row and make another: every index written twice for nothing. */
static void put_again_updates_in_place(void **state)
{
        const struct cay_record_table *t = cay_record_table(CAY_STORE_SANDBOX);
        struct cay_store_sandbox other = sample("b"), s = sample("a");
        const struct cay_store_sandbox *puts[] = { &s, &other, &s };
        char sql[CAY_RECORD_SQL_MAX];
        struct cay_db db;
        struct cay_error err;
        bool is_new;
        int64_t n;

        assert_int_equal(cay_db_open(&db, ":memory:", CAY_DB_WRITE, &err), 0);
        assert_int_equal(cay_schema_migrate(&db, &is_new, &err), 0);
        cay_record_insert_sql(t, sql);
        for (unsigned i = 0; i < CAY_COUNT(puts); i++) {
                sqlite3_stmt *stmt = cay_db_statement(&db, 0, sql, &err);

                s.state = i == 0 ? "READY" : "BUSY";
                assert_int_equal(cay_record_bind(t, puts[i], stmt), SQLITE_OK);
                assert_int_equal(cay_db_step(&db, stmt, &err), 0);
        }
        assert_int_equal(cay_db_number(&db, "SELECT count(*) FROM sandboxes", &n, &err), 0);
        assert_int_equal(n, 2);
        assert_int_equal(cay_db_number(&db, "SELECT rowid FROM sandboxes WHERE id = 'a' AND state = 'BUSY'",
                                       &n, &err),
                         0);
        assert_int_equal(n, 1);
        cay_db_close(&db);
}

static void limits_are_kept_by_word(void **state)
{
        const struct cay_record_table *t = cay_record_table(CAY_STORE_SANDBOX);
        cay_auto_arena struct cay_arena mem;
        struct cay_store_sandbox s = sample("a"), *back;
        char sql[CAY_RECORD_SQL_MAX];
        sqlite3_stmt *stmt;
        struct cay_db db;
        struct cay_error err;
        bool is_new;

#define CAY_LIMIT(field, word, kind, min, max, doc) s.limits.field = (max)-1;
#include "domain/model/limits.def"
#undef CAY_LIMIT
        cay_arena_init(&mem, 1 << 20);
        assert_int_equal(cay_db_open(&db, ":memory:", CAY_DB_WRITE, &err), 0);
        assert_int_equal(cay_schema_migrate(&db, &is_new, &err), 0);
        cay_record_insert_sql(t, sql);
        stmt = cay_db_statement(&db, 0, sql, &err);
        assert_int_equal(cay_record_bind(t, &s, stmt), SQLITE_OK);
        assert_int_equal(cay_db_step(&db, stmt, &err), 0);
        assert_int_equal(cay_db_run(&db,
                                    "UPDATE sandboxes SET limits = limits || 'of_tomorrow=7 broken x= =3 '",
                                    &err),
                         0);
        stmt = cay_db_statement(&db, 1, "SELECT * FROM sandboxes", &err);
        assert_int_equal(cay_db_step(&db, stmt, &err), 1);
        back = cay_record_read(t, stmt, &mem);
        assert_non_null(back);
        assert_memory_equal(&back->limits, &s.limits, offsetof(struct cay_limits, output_cut));
        assert_true(back->limits.output_cut);
        assert_memory_equal(back->secret, s.secret, sizeof(s.secret));
        assert_string_equal(back->env, s.env);
        assert_int_equal(back->idle_ms, s.idle_ms);
        cay_db_close(&db);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(copies_own_their_texts),
                cmocka_unit_test(long_texts_and_small_memory_are_refused),
                cmocka_unit_test(tables_fit_the_schema),
                cmocka_unit_test(put_again_updates_in_place),
                cmocka_unit_test(limits_are_kept_by_word),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
