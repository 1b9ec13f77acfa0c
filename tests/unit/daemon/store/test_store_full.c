/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full or failing disk: the request fails, nothing of it stays, what was there stays, things can still be
 * removed.
 */

#include "unit/daemon/store/store_test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "daemon/store/fault.h"
#include "daemon/store/reserve.h"

static struct fixture f;

static int setup(void **state)
{
        set_up(&f);
        must_open(&f);
        return 0;
}

static int teardown(void **state)
{
        cay_store_fault_set(CAY_FAULT_NONE, 0);
        tear_down(&f);
        return 0;
}

static enum cay_code put(const char *id, size_t size)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        struct cay_store_sandbox s = sample(id);
        char *big = calloc(1, size + 1);
        enum cay_code code;

        memset(big, 'x', size);
        s.env = big;
        cay_store_put_sandbox(f.store, b, &s);
        code = commit(&f, b);
        free(big);
        return code;
}

static enum cay_code drop(const char *id)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);

        f.store->ops->drop(b, CAY_STORE_SANDBOX, id);
        return commit(&f, b);
}

/* The disk is full at the Nth write, for each N that a commit makes. */
static void full_at_every_write(void **state)
{
        unsigned long n = 1;
        struct cay_store_health h;

        assert_int_equal(put("first", 100), CAY_OK);
        for (;; n++) {
                char id[16];

                assert_true(n < 200);
                snprintf(id, sizeof(id), "n%lu", n);
                cay_store_fault_set(CAY_FAULT_FULL, n);
                if (put(id, 20000) == CAY_OK)
                        break;
                f.store->ops->health(f.store, &h);
                assert_true(h.is_full);
                cay_store_fault_set(CAY_FAULT_NONE, 0);
                assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, id, NULL), 0);
                assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, "first", NULL), 1);
        }
        assert_true(n > 5);
        cay_store_fault_set(CAY_FAULT_NONE, 0);
        assert_int_equal(put("last", 100), CAY_OK);
        f.store->ops->health(f.store, &h);
        assert_false(h.is_full);
        close_store(&f);
        must_open(&f);
        assert_false(f.report.was_damaged);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 3);
}

/* The log has its blocks before they are needed. */
static void the_log_has_room_ahead(void **state)
{
        char path[256];
        struct stat st;
        struct statvfs fs;

        snprintf(path, sizeof(path), "%s/state.db-wal", f.folder);
        assert_int_equal(statvfs(f.folder, &fs), 0);
        if ((uint64_t)fs.f_bavail * fs.f_frsize < 4ull * CAY_RESERVE_LOG_BYTES)
                skip();
        assert_int_equal(put("first", 100), CAY_OK);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(stat(path, &st), 0);
                assert_true(st.st_size < CAY_RESERVE_LOG_BYTES);
                assert_true((uint64_t)st.st_blocks * 512 >= CAY_RESERVE_LOG_BYTES);
                close_store(&f);
                must_open(&f);
        }
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, "first", NULL), 1);
}

/* A write that fails once: that commit fails or not, but never by half, and the next one works. */
static void failing_at_every_write(void **state)
{
        for (unsigned long n = 1; n < 40; n++) {
                char id[16];
                enum cay_code code;

                snprintf(id, sizeof(id), "n%lu", n);
                cay_store_fault_set(CAY_FAULT_IO, n);
                code = put(id, 8000);
                cay_store_fault_set(CAY_FAULT_NONE, 0);
                assert_true(code == CAY_OK || code == CAY_INTERNAL);
                assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, id, NULL), code == CAY_OK);
        }
        assert_int_equal(put("last", 100), CAY_OK);
}

/* Among others in one group, the one that does not fit fails alone. */
static void small_ones_do_not_fall_with_a_big_one(void **state)
{
        struct cay_store_commit c[3] = { 0 };
        char *big = calloc(1, 200001);

        memset(big, 'x', 200000);
        assert_int_equal(put("warm", 100), CAY_OK);
        cay_store_fault_set(CAY_FAULT_FULL, 60); /* a small one makes fewer writes, the big one more */
        for (unsigned i = 0; i < 3; i++) {
                struct cay_store_batch *b = f.store->ops->begin(f.store);
                char id[8];
                struct cay_store_sandbox s = sample(id);

                snprintf(id, sizeof(id), "g%u", i);
                if (i == 1)
                        s.env = big;
                cay_store_put_sandbox(f.store, b, &s);
                cay_job_init(&c[i].job, on_waited);
                f.store->ops->commit(f.store, b, CAY_STORE_FAST, &c[i]);
        }
        for (unsigned i = 0; i < 3; i++)
                wait_for(&f, &c[i].job);
        assert_int_equal(c[1].job.err.code, CAY_NO_SPACE);
        cay_store_fault_set(CAY_FAULT_NONE, 0);
        for (unsigned i = 0; i < 3; i++) {
                char id[8];

                snprintf(id, sizeof(id), "g%u", i);
                assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, id, NULL), c[i].job.err.code == CAY_OK);
        }
        free(big);
}

/* The same with a real file system, in a mount namespace of a child's own. */

static void fill(const char *folder)
{
        static const size_t sizes[] = { 65536, 4096, 1 };
        char path[256], bytes[65536] = { 1 };
        int fd;

        snprintf(path, sizeof(path), "%s/ballast", folder);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        for (size_t i = 0; i < CAY_COUNT(sizes); i++) {
                while (write(fd, bytes, sizes[i]) == (ssize_t)sizes[i])
                        ;
        }
        close(fd);
}

static void on_a_small_disk(void)
{
        struct stat st;
        char path[256], id[16];
        unsigned stored = 0;
        enum cay_code code;

        assert_int_equal(unshare(CLONE_NEWNS), 0);
        assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
        assert_int_equal(mount("small", f.folder, "tmpfs", 0, "size=8m,mode=0700"), 0);
        must_open(&f);
        file_path(&f, "state.reserve", path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, CAY_RESERVE_BYTES);
        do {
                snprintf(id, sizeof(id), "s%u", stored);
                if (stored == 20)
                        fill(f.folder);
                code = put(id, 10000);
                stored += code == CAY_OK;
                assert_true(stored < 2000);
        } while (code == CAY_OK);
        assert_true(stored >= 20);
        assert_int_equal(code, CAY_NO_SPACE);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, id, NULL), 0);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), stored);
        /* Removing works all the same, on the reserve. */
        fill(f.folder);
        for (unsigned i = 0; i < stored; i++) {
                snprintf(id, sizeof(id), "s%u", i);
                assert_int_equal(drop(id), CAY_OK);
        }
        file_path(&f, "state.reserve", path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 0); /* it was needed */
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 0);
        /* With room again, everything does; also after a restart. */
        file_path(&f, "ballast", path);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(put("after", 10000), CAY_OK);
        close_store(&f);
        must_open(&f);
        assert_false(f.report.was_damaged);
        assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, NULL, NULL), 1);
        close_store(&f);
        /* A disk that is full from the start refuses to open, with that reason. */
        empty_folder(f.folder);
        fill(f.folder);
}

static void a_small_disk(void **state)
{
        int status;
        pid_t pid;

        if (geteuid() != 0)
                skip();
        close_store(&f);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct cay_error err = { 0 };

                on_a_small_disk();
                if (open_store(&f, &err) == 0 || err.code != CAY_NO_SPACE)
                        fail_msg("opened, or: %s", err.msg);
                _exit(42);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 42);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(full_at_every_write, setup, teardown),
                cmocka_unit_test_setup_teardown(the_log_has_room_ahead, setup, teardown),
                cmocka_unit_test_setup_teardown(failing_at_every_write, setup, teardown),
                cmocka_unit_test_setup_teardown(small_ones_do_not_fall_with_a_big_one, setup, teardown),
                cmocka_unit_test_setup_teardown(a_small_disk, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
