/* SPDX-License-Identifier: Apache-2.0 */
/* Kept runs: made, found, locked, swept. */
#include "changes_test.h"

#include <sys/file.h>

#include "cay/changes/store.h"

#define NOW 1000000ull

static struct cay_run_store s = { .fd = -1 };
static struct cay_error err;
static char path[300];

static int setup(void **state)
{
        if (scratch_setup(state) < 0)
                return -1;
        snprintf(path, sizeof(path), "%s/var/cay/runs", scratch);
        err = (struct cay_error){ .code = CAY_OK };
        return cay_run_store_open(&s, path, true, NOW, &err);
}

static int teardown(void **state)
{
        cay_run_store_close(&s);
        return scratch_teardown(state);
}

static struct cay_meta meta(const char *id, uint64_t started, uint64_t expires)
{
        struct cay_meta m = { .folder = "/x", .started_ms = started, .expires_ms = expires };

        snprintf(m.id, sizeof(m.id), "%s", id);
        return m;
}

static void make(const char *id, uint64_t started, uint64_t expires, struct cay_stored *ret)
{
        struct cay_meta m = meta(id, started, expires);

        if (cay_run_store_make(&s, &m, ret, &err) < 0)
                fail_msg("%s", err.msg);
}

static void keep(const char *id, uint64_t started, uint64_t expires)
{
        struct cay_stored run;

        make(id, started, expires, &run);
        assert_int_equal(sys_write_all(run.changes_fd, "0123456789", 10), 0);
        run.meta.state = CAY_META_KEPT;
        run.meta.counts.added = 3;
        assert_int_equal(cay_run_store_save(&run, &err), 0);
        cay_run_store_let_go(&run);
}

static void open_again(uint64_t now_ms)
{
        cay_run_store_close(&s);
        assert_int_equal(cay_run_store_open(&s, path, false, now_ms, &err), 0);
}

static bool has(const char *id)
{
        char full[400];

        snprintf(full, sizeof(full), "%s/%s", path, id);
        return is_there(full);
}

static void finds(const char *name, const char *id)
{
        struct cay_stored run;

        if (cay_run_store_find(&s, name, CAY_STORE_READ, &run, &err) < 0)
                fail_msg("%s", err.msg);
        assert_string_equal(run.meta.id, id);
        cay_run_store_let_go(&run);
}

static void finds_not(const char *name, enum cay_code code, const char *why)
{
        struct cay_stored run;

        assert_int_equal(cay_run_store_find(&s, name, CAY_STORE_READ, &run, &err), -1);
        assert_int_equal(err.code, code);
        if (!strstr(err.msg, why))
                fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void runs_are_kept_and_found(void **state)
{
        struct cay_run_store_row *rows;
        struct cay_stored run;
        char bytes[16];
        size_t count;

        (void)state;
        keep("abc-1", 30, NOW + 1);
        keep("abd-2", 10, NOW + 1);
        keep("x", 20, NOW + 1);
        finds("abc-1", "abc-1");
        finds("abc", "abc-1");
        finds("abd", "abd-2");
        finds("x", "x");
        finds("last", "abc-1");
        finds_not("ab", CAY_INVALID, "more than one");
        finds_not("none", CAY_NOT_FOUND, "no kept run 'none'");
        finds_not("", CAY_NOT_FOUND, "no kept run");
        finds_not("../x", CAY_NOT_FOUND, "no kept run");
        assert_int_equal(cay_run_store_find(&s, "x", CAY_STORE_CHANGE, &run, &err), 0);
        assert_int_equal(run.meta.counts.added, 3);
        assert_int_equal(pread(run.changes_fd, bytes, sizeof(bytes), 0), 10);
        assert_int_equal(cay_run_store_remove(&s, &run, &err), 0);
        assert_false(has("x"));
        assert_int_equal(cay_run_store_list(&s, &rows, &count, &err), 0);
        assert_int_equal(count, 2);
        assert_string_equal(rows[0].meta.id, "abd-2"); /* the oldest first */
        assert_string_equal(rows[1].meta.id, "abc-1");
        assert_int_equal(rows[1].size_bytes, 10);
        free(rows);
}

static void nobody_else_may_look(void **state)
{
        struct cay_stored run;

        (void)state;
        make("a", 1, NOW + 1, &run);
        assert_int_equal(mode_of(path), 0700);
        assert_int_equal(chdir(path), 0);
        assert_int_equal(mode_of("a"), 0700);
        assert_int_equal(mode_of("a/meta"), 0600);
        assert_int_equal(mode_of("a/changes.tar"), 0600);
        assert_int_equal(chdir(scratch), 0);
        cay_run_store_let_go(&run);
        cay_run_store_close(&s);
        assert_int_equal(chmod(path, 0770), 0);
        assert_int_equal(cay_run_store_open(&s, path, false, NOW, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_non_null(strstr(err.msg, "nobody else may write"));
}

static void ids_are_used_once(void **state)
{
        struct cay_meta m = meta("a", 1, NOW + 1);
        struct cay_stored run;

        (void)state;
        keep("a", 1, NOW + 1);
        assert_int_equal(cay_run_store_make(&s, &m, &run, &err), -1);
        assert_int_equal(err.code, CAY_EXISTS);
        assert_non_null(strstr(err.msg, "cay discard a"));
        finds("a", "a");
}

static void expired_runs_go(void **state)
{
        (void)state;
        keep("soon", 1, NOW + 10);
        keep("late", 2, NOW + 20);
        open_again(NOW + 9);
        assert_true(has("soon") && has("late"));
        open_again(NOW + 10);
        assert_true(!has("soon") && has("late"));
        open_again(NOW + 20);
        assert_false(has("late"));
        finds_not("last", CAY_NOT_FOUND, "no kept runs");
}

static void the_dead_go_and_the_living_stay(void **state)
{
        struct cay_stored live, dead;

        (void)state;
        make("live", 1, 1, &live); /* expired, too: a run may take longer than it is kept */
        make("dead", 2, NOW + 99, &dead);
        finds_not("live", CAY_CONFLICT, "has not ended yet");
        finds_not("last", CAY_NOT_FOUND, "no kept runs");
        cay_run_store_let_go(&dead); /* as a process that is killed does */
        finds_not("dead", CAY_NOT_FOUND, "no kept run");
        open_again(NOW + 9);
        assert_true(has("live"));
        assert_false(has("dead"));
        cay_run_store_let_go(&live);
        open_again(NOW + 9);
        assert_false(has("live"));
}

static void half_made_folders_go(void **state)
{
        char line[1200];

        (void)state;
        snprintf(line, sizeof(line), "mkdir '%s/half' '%s/Not an id' && echo x >'%s/half/changes.tar'", path,
                 path, path);
        shell(line);
        open_again(NOW);
        assert_false(has("half"));
        assert_true(has("Not an id")); /* not ours */
}

static void broken_ones_are_for_people(void **state)
{
        struct cay_run_store_row *rows;
        struct cay_stored run;
        char line[1200];
        size_t count;

        (void)state;
        keep("odd", 1, NOW + 1);
        snprintf(line, sizeof(line), "echo 'cay-run 2' >'%s/odd/meta'", path);
        shell(line);
        open_again(NOW + 99);
        assert_true(has("odd"));
        assert_int_equal(cay_run_store_list(&s, &rows, &count, &err), 0);
        assert_int_equal(count, 1);
        assert_true(rows[0].is_broken);
        free(rows);
        finds_not("odd", CAY_INVALID, "cay discard odd");
        assert_int_equal(cay_run_store_find_any(&s, "odd", &run, &err), 0);
        assert_int_equal(cay_run_store_remove(&s, &run, &err), 0);
        assert_false(has("odd"));
}

/* A run's meta that belongs to another id is no run's. */
static void a_meta_of_another_id_is_broken(void **state)
{
        char line[1200];

        (void)state;
        keep("a", 1, NOW + 1);
        snprintf(line, sizeof(line), "mv '%s/a' '%s/b'", path, path);
        shell(line);
        finds_not("b", CAY_INVALID, "broken");
}

static void readers_share_and_writers_do_not(void **state)
{
        struct cay_stored one, two;

        (void)state;
        keep("a", 1, NOW + 1);
        assert_int_equal(cay_run_store_find(&s, "a", CAY_STORE_READ, &one, &err), 0);
        assert_int_equal(cay_run_store_find(&s, "a", CAY_STORE_READ, &two, &err), 0);
        cay_run_store_let_go(&two);
        assert_int_equal(cay_run_store_find(&s, "a", CAY_STORE_CHANGE, &two, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        open_again(NOW + 99); /* expired, but somebody reads it */
        assert_true(has("a"));
        cay_run_store_let_go(&one);
        open_again(NOW + 99);
        assert_false(has("a"));
}

static void without_a_store_there_are_no_runs(void **state)
{
        struct cay_run_store none;
        char other[400];

        (void)state;
        snprintf(other, sizeof(other), "%s/none", scratch);
        assert_int_equal(cay_run_store_open(&none, other, false, NOW, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_false(is_there(other));
}

static void the_place_depends_on_who_asks(void **state)
{
        char place[PATH_MAX];

        (void)state;
        setenv("CAY_RUNS", "/some/where", 1);
        assert_int_equal(cay_run_store_path(place, sizeof(place), &err), 0);
        assert_string_equal(place, "/some/where");
        setenv("CAY_RUNS", "relative", 1);
        assert_int_equal(cay_run_store_path(place, sizeof(place), &err), -1);
        assert_non_null(strstr(err.msg, "absolute"));
        unsetenv("CAY_RUNS");
        assert_int_equal(cay_run_store_path(place, sizeof(place), &err), 0);
        if (geteuid() == 0)
                assert_string_equal(place, "/var/lib/cay/runs");
        else
                assert_non_null(strstr(place, "/cay/runs"));
}

#define STORE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORE_TEST(runs_are_kept_and_found),
                STORE_TEST(nobody_else_may_look),
                STORE_TEST(ids_are_used_once),
                STORE_TEST(expired_runs_go),
                STORE_TEST(the_dead_go_and_the_living_stay),
                STORE_TEST(half_made_folders_go),
                STORE_TEST(broken_ones_are_for_people),
                STORE_TEST(a_meta_of_another_id_is_broken),
                STORE_TEST(readers_share_and_writers_do_not),
                STORE_TEST(without_a_store_there_are_no_runs),
                STORE_TEST(the_place_depends_on_who_asks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
