/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage: a cut log is ordinary; a broken file is moved aside, what can be read goes on, and an event tells.
 */

#include "unit/daemon/store/store_test.h"

#include <sys/wait.h>

static struct fixture f;

enum { BOXES = 400 };

static int setup(void **state)
{
        set_up(&f);
        return 0;
}

static int teardown(void **state)
{
        tear_down(&f);
        return 0;
}

static void put_boxes(unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);
                char id[16];

                snprintf(id, sizeof(id), "s%04u", i);
                put_sandbox(&f, b, id);
                assert_int_equal(commit(&f, b), CAY_OK);
        }
}

static off_t size_of(const char *name)
{
        struct stat st;
        char path[256];

        file_path(&f, name, path);
        return stat(path, &st) == 0 ? st.st_size : -1;
}

static void overwrite(const char *name, off_t at, size_t len, int byte)
{
        char path[256], *bytes = malloc(len);
        int fd;

        memset(bytes, byte, len);
        file_path(&f, name, path);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pwrite(fd, bytes, len, at), len);
        close(fd);
        free(bytes);
}

/* A daemon that dies without closing leaves its log behind; this one does so on purpose. */
static void die_with_boxes(unsigned count)
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                must_open(&f);
                put_boxes(count);
                _exit(42);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
        assert_true(size_of("state.db-wal") > 0);
}

/* Cut and scribbled at many places: always the first so many, never a hole, never a refusal. */
static void the_log_s_tail_may_be_broken(void **state)
{
        for (unsigned k = 1; k <= 12; k++) {
                off_t size;
                char path[256];
                unsigned n;

                die_with_boxes(10);
                size = size_of("state.db-wal");
                if (k % 2) {
                        file_path(&f, "state.db-wal", path);
                        assert_int_equal(truncate(path, size - size * k / 24 - 1), 0);
                } else {
                        overwrite("state.db-wal", size - size * k / 24, 64, 0xa5);
                }
                must_open(&f);
                assert_false(f.report.was_damaged);
                n = count_of(&f, CAY_STORE_SANDBOX, NULL, NULL);
                assert_true(n < 10);
                for (unsigned i = 0; i < n; i++) {
                        char id[16];

                        snprintf(id, sizeof(id), "s%04u", i);
                        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, id, NULL), 1);
                }
                close_store(&f);
                empty_folder(f.folder);
        }
}

static void event_tells(void)
{
        struct cay_store_query q = { .kind = CAY_STORE_EVENT, .id = "store_damaged" };
        const struct cay_store_event *e;

        ask(&f, &q);
        assert_int_equal(q.count, 1);
        e = q.rows[0];
        assert_non_null(strstr(e->detail, f.report.moved_to));
        assert_non_null(strstr(e->detail, "\"sandboxes\":{\"kept\":"));
        assert_true(e->seq > 1600000000000); /* above all that were ever given */
        cay_store_query_done(&q);
}

static void a_broken_page_loses_what_is_on_it(void **state)
{
        struct cay_store_query q = { .kind = CAY_STORE_SANDBOX };
        off_t size;
        unsigned kept;

        must_open(&f);
        put_boxes(BOXES);
        close_store(&f); /* all is in the file now */
        size = size_of("state.db");
        overwrite("state.db", size / 2 / 4096 * 4096, 4096, 0xff);
        must_open(&f);
        assert_true(f.report.was_damaged);
        assert_true(f.report.lost[CAY_STORE_SANDBOX]);
        kept = f.report.kept[CAY_STORE_SANDBOX];
        assert_true(kept > BOXES / 2 && kept < BOXES);
        assert_true(size_of(f.report.moved_to) == size);
        ask(&f, &q);
        assert_int_equal(q.count, kept);
        assert_string_equal(((const struct cay_store_sandbox *)q.rows[0])->engine, "native");
        cay_store_query_done(&q);
        event_tells();
        /* From then on it is whole. */
        close_store(&f);
        must_open(&f);
        assert_false(f.report.was_damaged);
        assert_true(f.report.has_damaged_file); /* until somebody takes it away */
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), kept);
}

static void what_is_no_database_is_moved_aside(void **state)
{
        must_open(&f);
        put_boxes(3);
        close_store(&f);
        overwrite("state.db", 0, 4096, 'x');
        must_open(&f);
        assert_true(f.report.was_damaged);
        assert_int_equal(f.report.kept[CAY_STORE_SANDBOX], 0);
        assert_true(f.report.damage[0] != '\0');
        event_tells();
        put_boxes(1);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 1);
}

static void an_empty_file_is_a_new_store(void **state)
{
        char path[256];

        file_path(&f, "state.db", path);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        must_open(&f);
        assert_true(f.report.is_new);
        assert_false(f.report.was_damaged);
}

/* Died between the names: the new file is whole and waits. */
static void an_interrupted_mending_is_finished(void **state)
{
        char from[256], to[256];

        must_open(&f);
        put_boxes(5);
        close_store(&f);
        file_path(&f, "state.db", from);
        file_path(&f, "state.db.mended", to);
        assert_int_equal(rename(from, to), 0);
        must_open(&f);
        assert_false(f.report.is_new);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 5);
        close_store(&f);
        /* and with the damaged one still in its place */
        assert_int_equal(rename(from, to), 0);
        close(open(from, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        overwrite("state.db", 0, 5000, 'x');
        must_open(&f);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 5);
        assert_int_equal(size_of("state.db.damaged-interrupted"), 5000);
}

static void a_half_made_new_file_is_in_nobody_s_way(void **state)
{
        char path[256];

        must_open(&f);
        put_boxes(3);
        close_store(&f);
        file_path(&f, "state.db.new", path);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        overwrite("state.db.new", 0, 100, 'x');
        overwrite("state.db", 0, 4096, 'x');
        must_open(&f);
        assert_true(f.report.was_damaged);
        assert_int_equal(size_of("state.db.new"), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_log_s_tail_may_be_broken, setup, teardown),
                cmocka_unit_test_setup_teardown(a_broken_page_loses_what_is_on_it, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_no_database_is_moved_aside, setup, teardown),
                cmocka_unit_test_setup_teardown(an_empty_file_is_a_new_store, setup, teardown),
                cmocka_unit_test_setup_teardown(an_interrupted_mending_is_finished, setup, teardown),
                cmocka_unit_test_setup_teardown(a_half_made_new_file_is_in_nobody_s_way, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
