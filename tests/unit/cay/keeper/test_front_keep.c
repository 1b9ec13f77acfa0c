/* SPDX-License-Identifier: Apache-2.0 */
/* A front's start: one whose messages cannot be read is killed. The front is a script that sleeps. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "cay/keeper/serve_priv.h"
#include "foundation/sys/fd.h"

static char folder[40], program[64];
static struct cay_config config; /* every setting is 0 */
static struct cay_serve_options options = { .program_dir = folder, .config = &config };
static struct keeper k;
static unsigned fds_before;

static unsigned count_fds(void)
{
        unsigned count = 0;
        DIR *d = opendir("/proc/self/fd");

        assert_non_null(d);
        while (readdir(d))
                count++;
        closedir(d);
        return count;
}

static int setup(void **state)
{
        static const char script[] = "#!/bin/sh\nexec sleep 1000\n";
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        (void)state;
        snprintf(folder, sizeof(folder), "/tmp/cay-front-keep-XXXXXX");
        if (null < 0 || !mkdtemp(folder))
                return -1;
        snprintf(program, sizeof(program), "%s/cay-front", folder);
        memset(&k, 0, sizeof(k));
        k.options = &options;
        k.config_fd = k.place.data_fd = k.place.unix_fd = null;
        k.registry = CAY_REGISTRY_KEEP_NONE;
        k.loop = cay_loop_new();
        if (cay_crashers_before_front(&k.crashers, 0) < 0) /* there before: fronts share it */
                return -1;
        fds_before = count_fds();
        return k.loop ? sys_make_file(AT_FDCWD, program, 0755, script, sizeof(script) - 1) : -1;
}

static int teardown(void **state)
{
        cay_crashers_done(&k.crashers);
        (void)state;
        if (k.front > 0) {
                kill(k.front, SIGKILL);
                waitpid(k.front, NULL, 0);
        }
        cay_loop_free(k.loop);
        close(k.config_fd);
        unlink(program);
        return rmdir(folder);
}

/* The signal that it ended by. */
static int end_of_front(void)
{
        int status;

        assert_int_equal(waitpid(k.front, &status, 0), k.front);
        k.front = 0;
        return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void heard(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        assert_int_equal(cay_front_keep_start(&k, &err), 0);
        assert_true(k.front > 0);
        assert_int_equal(count_fds(), fds_before + 1);
        kill(k.front, SIGTERM);
        assert_int_equal(end_of_front(), SIGTERM); /* from us: nobody else had ended it */
        cay_front_keep_let_go(&k);
        assert_int_equal(count_fds(), fds_before);
}

/* Its socket cannot be watched (there is a watch in its place): it is ended, and nothing of it stays open. */
static void not_heard(void **state)
{
        struct cay_error err = { 0 };
        int ends[2];

        (void)state;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(cay_watch_add(k.loop, &k.front_watch, ends[0], EPOLLIN, NULL), 0);
        assert_int_equal(cay_front_keep_start(&k, &err), 0);
        assert_true(k.front > 0);                  /* its end leads on, as any front's */
        assert_int_equal(end_of_front(), SIGKILL); /* waits for ever if nobody ended it */
        assert_int_equal(count_fds(), fds_before + 2);
        cay_watch_remove(&k.front_watch);
        close(ends[0]);
        close(ends[1]);
}

/* There is no such program: said, and nothing of it stays either. */
static void not_there(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        assert_int_equal(unlink(program), 0);
        assert_int_equal(cay_front_keep_start(&k, &err), -1);
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        assert_int_equal(k.front, 0);
        assert_int_equal(count_fds(), fds_before);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(heard, setup, teardown),
                cmocka_unit_test_setup_teardown(not_heard, setup, teardown),
                cmocka_unit_test_setup_teardown(not_there, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
