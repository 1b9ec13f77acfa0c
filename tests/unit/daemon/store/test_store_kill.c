/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL at every write that SQLite makes, from the first byte of a new store to the last of its work: what
 * was acknowledged is there after that, and nothing is there by half.
 */

#include "unit/daemon/store/store_test.h"

#include <signal.h>
#include <sys/wait.h>

#include "daemon/store/fault.h"

enum {
        BATCHES = 4,      /* of a whole run */
        BATCHES_FEW = 2,  /* of a short one */
        POINTS_MAX = 600, /* a run that makes more writes than that has changed: look at it */
};

static struct fixture f;

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

static void put_all(unsigned i)
{
        struct cay_store_batch *b = f.store->ops->begin(f.store);
        char id[16], exec[16];
        const struct cay_store_exec e = { .id = exec, .sandbox = id, .argv = "[]" };
        const struct cay_store_event v = { .sandbox = id, .kind = "created", .detail = "{}" };
        const struct cay_store_claim c = { .owner = "a", .key = id, .result = id };
        struct cay_store_commit done;

        snprintf(id, sizeof(id), "s%u", i);
        snprintf(exec, sizeof(exec), "e%u", i);
        put_sandbox(&f, b, id);
        cay_store_put_exec(f.store, b, &e);
        cay_store_put_event(f.store, b, &v);
        cay_store_put_claim(f.store, b, &c);
        if (i > 0) { /* and take something away */
                snprintf(id, sizeof(id), "e%u", i - 1);
                f.store->ops->drop(b, CAY_STORE_EXEC, id);
        }
        if (commit_how(&f, b, i == 2 ? CAY_STORE_SURE : CAY_STORE_FAST, &done) != CAY_OK)
                _exit(4);
}

/* The child: works until it dies, telling each answer as it gets it. */
static void work(int fd, unsigned batches)
{
        struct cay_error err;

        if (open_store(&f, &err) < 0)
                _exit(3);
        for (unsigned i = 0; i < batches; i++) {
                put_all(i);
                if (write(fd, "x", 1) != 1)
                        _exit(5);
        }
        close_store(&f);
        _exit(0);
}

static unsigned acknowledged(int fd)
{
        unsigned n = 0;
        char c;

        while (read(fd, &c, 1) == 1)
                n++;
        return n;
}

static void check(unsigned acked, unsigned long point)
{
        unsigned there;

        must_open(&f);
        if (f.report.was_damaged)
                fail_msg("write %lu: %s", point, f.report.damage);
        there = count_of(&f, CAY_STORE_SANDBOX, NULL, NULL);
        if (there < acked || there > acked + 1)
                fail_msg("write %lu: %u acknowledged, %u there", point, acked, there);
        for (unsigned i = 0; i < there; i++) {
                char id[16];

                snprintf(id, sizeof(id), "s%u", i);
                assert_int_equal(count_of(&f, CAY_STORE_SANDBOX, id, NULL), 1);
                assert_int_equal(count_of(&f, CAY_STORE_EVENT, NULL, id), 1);
                assert_int_equal(count_of(&f, CAY_STORE_CLAIM, id, NULL), 1);
                assert_int_equal(count_of(&f, CAY_STORE_EXEC, NULL, id), i + 1 == there);
        }
        /* and it works on */
        put_all(BATCHES + 1);
        close_store(&f);
        empty_folder(f.folder);
}

/* One run that dies at `point`; true: it lived to its end. */
static bool run_once(enum cay_fault how, unsigned long point, unsigned batches)
{
        int pipefd[2], status;
        unsigned acked;
        pid_t pid;

        assert_int_equal(pipe2(pipefd, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                cay_store_fault_set(how, point);
                work(pipefd[1], batches);
        }
        close(pipefd[1]);
        acked = acknowledged(pipefd[0]);
        close(pipefd[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status))
                assert_int_equal(WEXITSTATUS(status), 0);
        else
                assert_int_equal(WTERMSIG(status), SIGKILL);
        check(acked, point);
        return WIFEXITED(status);
}

static void die_everywhere(enum cay_fault how, unsigned batches)
{
        unsigned long point = 1;

        while (!run_once(how, point, batches)) {
                point++;
                assert_true(point < POINTS_MAX);
        }
        assert_true(point > 30); /* the hook saw the writes */
        print_message("%lu points\n", point - 1);
}

static void killed_before_each_write(void **state)
{
        die_everywhere(CAY_FAULT_KILL, BATCHES_FEW);
}

static void killed_in_the_middle_of_each_write(void **state)
{
        die_everywhere(CAY_FAULT_KILL_TORN, BATCHES);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(killed_before_each_write, setup, teardown),
                cmocka_unit_test_setup_teardown(killed_in_the_middle_of_each_write, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
