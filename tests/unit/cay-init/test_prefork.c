/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spare that was told to go is nobody's, however long it takes to die. (What becomes of commands:
 * integration/init_exec.)
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-init/child.h"
#include "cay-init/prefork.h"

static struct cay_init init;

/*
 * Its side of the socket stays open here, as it does in a process that is dying or stands still. Returns that
 * side.
 */
static int make_spare(void)
{
        int theirs;

        init = (struct cay_init){ .config = { .uid = 1001, .gid = 1001 } };
        cay_prefork_init(&init);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, init.spare.ends.status), 0);
        theirs = init.spare.ends.status[1];
        init.spare.ends.status[1] = -1;
        init.spare.pid = fork();
        if (init.spare.pid == 0) {
                alarm(60);
                pause();
                _exit(0);
        }
        assert_true(init.spare.pid > 0);
        return theirs;
}

static pid_t take(void)
{
        const struct cay_box_open open = { .kind = CAY_BOX_EXEC, .raw = { "command", 7 } };
        const struct cay_child c = { .init = &init, .open = &open, .uid = 1001, .gid = 1001 };
        struct cay_ends ends = CAY_ENDS_NONE;
        struct cay_group group;
        pid_t pid = cay_prefork_take(&init, &c, &ends, &group);

        cay_ends_close(&ends);
        return pid;
}

static void one_that_waits_is_taken(void **state)
{
        char got[16];
        int theirs = make_spare();
        pid_t pid = init.spare.pid;

        assert_int_equal(take(), pid);
        assert_int_equal(recv(theirs, got, sizeof(got), MSG_DONTWAIT), 7);
        assert_int_equal(init.spare.pid, 0);
        assert_int_equal(take(), 0);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        close(theirs);
        (void)state;
}

static void one_that_goes_is_not(void **state)
{
        char got[16];
        int status, theirs = make_spare();
        pid_t pid = init.spare.pid;

        cay_prefork_dismiss(&init.spare);
        assert_int_equal(take(), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WTERMSIG(status), SIGKILL);
        assert_int_equal(recv(theirs, got, sizeof(got), MSG_DONTWAIT), 0); /* the end, and no command */
        assert_true(cay_prefork_reaped(&init, pid));
        assert_int_equal(init.spare.pid, 0);
        close(theirs);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_that_waits_is_taken),
                cmocka_unit_test(one_that_goes_is_not),
        };

        return cmocka_run_group_tests_name("spares that go", tests, NULL, NULL);
}
