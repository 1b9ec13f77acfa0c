/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which commands a waiting interpreter takes, what it is told, and what is believed of it. (What becomes of
 * them: integration/serve/test_warm.py.)
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-init/child.h"
#include "cay-init/warm.h"
#include "cay-init/processes.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

static struct cay_init init;
static uint8_t payload[CAY_FRAME_MAX];
static struct cay_box_open opened; /* of payload */

static const struct cay_child *child(const char *const *argv, const char *const *env, uint32_t flags)
{
        static struct cay_child c;
        struct cay_box_open open = { .kind = CAY_BOX_EXEC,
                                     .window = CAY_BOX_WINDOW,
                                     .exec = { .flags = flags,
                                               .uid = CAY_BOX_ID_DEFAULT,
                                               .gid = CAY_BOX_ID_DEFAULT,
                                               .files_max = 4096,
                                               .cwd = { "/workspace", 10 } } };
        int len = cay_box_open_encode(&open, argv, env, payload, sizeof(payload));

        assert_true(len > 0);
        assert_int_equal(cay_box_open_decode(payload, (size_t)len, &opened), 0);
        c = (struct cay_child){ .init = &init, .open = &opened, .uid = 1001, .gid = 1001 };
        return &c;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void what_it_takes(void **state)
{
        static const struct {
                const char *words[5];
                bool fits;
        } rows[] = {
                { { "python3", "-c", "1" }, true },
                { { "/usr/bin/python3", "-c", "1", "-B" }, true },
                { { "python3", "x.py", "-v" }, true },
                { { "python3", "-", "x" }, true },
                { { "python3" }, true },
                { { "python3", "" }, true }, /* the driver leaves it to a fresh one */
                { { "python3", "-c" }, true },
                { { "python3", "-B", "-c", "1" }, false },
                { { "python3", "-cprint()" }, false },
                { { "python3", "-m", "json" }, false },
                { { "python3", "--version" }, false },
                { { "python", "-c", "1" }, false },
                { { "python3.11", "-c", "1" }, false },
                { { "/workspace/python3", "-c", "1" }, false },
                { { "python33" }, false },
                { { "/bin/sh", "-c", "python3" }, false },
        };
        char to[256];

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                size_t len = cay_warm_put(child(rows[i].words, WORDS("A=1"), 0), to, sizeof(to));

                if ((len > 0) != rows[i].fits)
                        fail_msg("%s %s", rows[i].words[0], rows[i].words[1] ? rows[i].words[1] : "");
        }
        (void)state;
}

static void what_it_is_told(void **state)
{
        static const char want[] = "1\0/workspace\0003\0python3\0-c\0x\ny\0A=1\0B=";
        char to[256];
        size_t len = cay_warm_put(child(WORDS("python3", "-c", "x\ny"), WORDS("A=1", "B="), CAY_BOX_STDIN),
                                  to, sizeof(to));

        assert_int_equal(len, sizeof(want));
        assert_memory_equal(to, want, sizeof(want));
        /* exactly as much room as it needs, and less */
        assert_int_equal(cay_warm_put(child(WORDS("python3", "-c", "x\ny"), WORDS("A=1", "B="),
                                            CAY_BOX_STDIN),
                                      to, len),
                         len);
        for (size_t size = 0; size < len; size++)
                assert_int_equal(cay_warm_put(child(WORDS("python3", "-c", "x\ny"), WORDS("A=1", "B="),
                                                    CAY_BOX_STDIN),
                                              to, size),
                                 0);
        (void)state;
}

/* The driver's side stays open here. Returns that side. */
static int make_waiting(bool says)
{
        struct cay_warm_slot *s = &init.warm.first;
        int theirs;

        init = (struct cay_init){ .config = { .uid = 1001, .gid = 1001, .flags = CAY_INIT_BRIEF } };
        init.warm = (struct cay_warm){ .is_possible = true, .own_files_max = 4096 };
        cay_warm_slot_init(s, &init, false);
        for (unsigned i = 0; i < CAY_WARM_FORKS_MAX; i++)
                cay_warm_slot_init(&init.warm.forks[i], &init, true);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->ends.ask), 0);
        assert_int_equal(pipe2(s->ends.mine, 0), 0);
        theirs = s->ends.ask[1];
        s->ends.ask[1] = -1;
        s->pid = fork();
        if (s->pid == 0) {
                alarm(60);
                pause();
                _exit(0);
        }
        assert_true(s->pid > 0);
        if (says)
                assert_int_equal(send(theirs, "R", 1, 0), 1);
        return theirs;
}

static pid_t take(const struct cay_child *c)
{
        struct cay_ends ends = CAY_ENDS_NONE;
        struct cay_group group;
        pid_t pid = cay_warm_take(&init, c, &ends, &group);

        if (pid > 0) /* no input was asked for */
                assert_int_equal(ends.mine[0], -1);
        cay_ends_close(&ends);
        return pid;
}

static void end(pid_t pid, int theirs)
{
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        cay_ends_close(&init.warm.first.ends);
        close(theirs);
}

static void taken_once(void **state)
{
        const struct cay_child *c = child(WORDS("python3", "-c", "1"), WORDS("A=1"), 0);
        int theirs = make_waiting(true);
        pid_t pid = init.warm.first.pid;
        char got[256];

        kill(pid, SIGSTOP); /* by code of the box: it is continued */
        assert_int_equal(take(c), pid);
        assert_true(recv(theirs, got, sizeof(got), MSG_DONTWAIT) > 0);
        assert_int_equal(init.warm.first.pid, 0);
        assert_int_equal(take(c), 0);
        end(pid, theirs);
        (void)state;
}

static void not_taken(void **state)
{
        struct cay_child c = *child(WORDS("python3", "-c", "1"), WORDS("A=1"), 0);
        int theirs = make_waiting(false);
        pid_t pid = init.warm.first.pid;

        assert_int_equal(take(&c), 0); /* it has not said that it waits */
        assert_int_equal(send(theirs, "R", 1, 0), 1);
        c.uid = 0;
        assert_int_equal(take(&c), 0);
        c.uid = 1001;
        c.tty = true;
        assert_int_equal(take(&c), 0);
        c.tty = false;
        opened.exec.flags = CAY_BOX_ONE_SHOT;
        assert_int_equal(take(&c), 0);
        opened.exec.flags = 0;
        assert_int_equal(init.warm.first.pid, pid);
        /* other limits than its own: it is ended, and the next one has them */
        opened.exec.files_max = 100;
        assert_int_equal(take(&c), 0);
        assert_int_equal(init.warm.first.ends.ask[0], -1);
        assert_int_equal(init.warm.files_max, 100);
        end(pid, theirs);
        (void)state;
}

static void what_is_believed(void **state)
{
        static const struct {
                int32_t says[2];
                size_t len;
                enum cay_warm_word heard;
        } rows[] = { { { ENOENT }, 4, CAY_WARM_NO_FOLDER }, { { 0 }, 4, CAY_WARM_OVER },
                     { { -1 }, 4, CAY_WARM_OVER },          { { 5000 }, 4, CAY_WARM_OVER },
                     { { ENOENT, 1 }, 8, CAY_WARM_OVER },   { { ENOENT }, 3, CAY_WARM_OVER },
                     { { 'S' }, 1, CAY_WARM_OLD },          { { 'X' }, 1, CAY_WARM_OVER } };
        int pair[2], sys = 0;

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(cay_warm_hear(pair[0], &sys), CAY_WARM_QUIET);
        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(send(pair[1], rows[i].says, rows[i].len, 0), rows[i].len);
                assert_int_equal(cay_warm_hear(pair[0], &sys), rows[i].heard);
                if (rows[i].heard == CAY_WARM_NO_FOLDER)
                        assert_int_equal(sys, ENOENT);
        }
        close(pair[1]);
        assert_int_equal(cay_warm_hear(pair[0], &sys), CAY_WARM_OVER);
        close(pair[0]);
        (void)state;
}

/* Three that never waited: no more are made. One that did and was then ended by somebody does not count. */
static void failures_are_counted(void **state)
{
        for (int says = 0; says < 2; says++) {
                int theirs = make_waiting(says);
                pid_t pid = init.warm.first.pid;

                init.warm.failures = 2;
                kill(pid, SIGKILL);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                assert_false(cay_warm_reaped(&init, pid + 1));
                assert_true(cay_warm_reaped(&init, pid));
                assert_int_equal(init.warm.failures, says ? 0 : 3);
                assert_int_equal(init.warm.first.pid, 0);
                close(theirs);
        }
        (void)state;
}

/*
 * A server that was ended because files changed is dying when a command ends: the next one follows when it is
 * reaped.
 */
static void replaced_when_reaped(void **state)
{
        for (int ended = 0; ended < 2; ended++) {
                int theirs = make_waiting(false);
                pid_t pid = init.warm.first.pid;

                init.loop = cay_loop_new();
                assert_non_null(init.loop);
                init.config.flags = 0;
                init.warm.first.said = CAY_WARM_FORKS;
                cay_warm_outdated(&init);
                assert_false(cay_warm_slot_is_expected(&init.warm.first));
                if (ended)
                        cay_warm_ended(&init);
                assert_null(init.warm.timer.loop);
                assert_int_equal(waitpid(pid, NULL, 0), pid); /* it was killed */
                assert_true(cay_warm_reaped(&init, pid));
                assert_true(ended ? init.warm.timer.loop != NULL : init.warm.timer.loop == NULL);
                cay_timer_clear(&init.warm.timer);
                cay_loop_free(init.loop);
                close(theirs);
        }
        (void)state;
}

enum who { CHILD, GRANDCHILD };

static pid_t says_it_waits(int socket_fd, enum who who)
{
        pid_t pid = fork();

        if (pid == 0) {
                if (who == GRANDCHILD && fork() > 0)
                        pause();
                send(socket_fd, "R", 1, 0);
                alarm(60);
                pause();
                _exit(0);
        }
        assert_true(pid > 0);
        return pid;
}

/* The node is a folder with a file of its own: what the kernel would say of its processes. */
static void a_fork_is_checked(void **state)
{
        static const struct {
                const char *procs; /* after the fork's own pid */
                enum who who;
                bool is_alone, is_child, is_believed;
                uid_t uid_more;
                const char *node; /* of the server, after the true one */
        } rows[] = {
                { "\n", CHILD, true, true, true, 0 },   { "\n1\n", CHILD, true, true, false, 0 },
                { "\n", CHILD, false, true, false, 0 }, { "\n", GRANDCHILD, true, false, false, 0 },
                { "\n", CHILD, true, false, false, 1 }, { "\n", CHILD, true, false, false, 0, "x" },
        };

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                char folder[] = "/tmp/test_warm_XXXXXX", text[64] = "", first[2];
                struct cay_warm_slot *s = &init.warm.forks[0];
                const int yes = 1;
                pid_t pid, sender = 0;
                int procs, len, status;
                char want[64];
                static char cgroup[8192];
                struct cay_view node;
                uid_t uid;

                init = (struct cay_init){ .config = { .uid = getuid() + rows[i].uid_more } };
                cay_warm_slot_init(s, &init, true);
                assert_true(sys_read_file(AT_FDCWD, "/proc/self/cgroup", cgroup, sizeof(cgroup)) > 0);
                node = cay_process_node(cgroup);
                if (node.len + 2 > sizeof(init.warm.first.group.node))
                        skip(); /* no node of ours has such a name */
                snprintf(init.warm.first.group.node, sizeof(init.warm.first.group.node), "%.*s%s",
                         (int)node.len, node.ptr, rows[i].node ? rows[i].node : "");
                assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->ends.ask), 0);
                assert_int_equal(setsockopt(s->ends.ask[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
                assert_non_null(mkdtemp(folder));
                s->group.node_fd = open(folder, O_RDONLY | O_DIRECTORY);
                assert_true(cay_warm_slot_listen(s)); /* nothing yet */
                assert_int_equal(s->pid, 0);
                pid = says_it_waits(s->ends.ask[1], rows[i].who);
                assert_int_equal(sys_recv_sender(s->ends.ask[0], first, 2, &sender, &uid, MSG_PEEK), 1);
                assert_true(rows[i].who == CHILD ? sender == pid : sender != pid);
                len = snprintf(want, sizeof(want), "%d%s", rows[i].is_alone ? (int)sender : 1, rows[i].procs);
                procs = openat(s->group.node_fd, "cgroup.procs", O_RDWR | O_CREAT, 0600);
                assert_int_equal(ftruncate(procs, len), 0);
                init.workers_node = -1;
                if (cay_warm_slot_listen(s) != rows[i].is_child)
                        fail_msg("row %zu", i);
                assert_int_equal(s->pid, rows[i].is_child ? pid : 0);
                if (rows[i].is_child) { /* the helper writes its pid; then the file says what the row does */
                        assert_int_equal(s->said, CAY_WARM_JOINS);
                        assert_int_equal(waitpid(s->helper, &status, 0), s->helper);
                        assert_int_equal(status, 0);
                        assert_true(pread(procs, text, sizeof(text) - 1, 0) > 0);
                        assert_int_equal(strtol(text, NULL, 10), pid);
                        assert_int_equal(ftruncate(procs, len), 0);
                        assert_int_equal(pwrite(procs, want, (size_t)len, 0), len);
                        assert_true(cay_warm_slot_joined(s) == rows[i].is_believed);
                        assert_int_equal(s->helper, 0);
                }
                assert_int_equal(s->said == CAY_WARM_WAITS, rows[i].is_believed);
                close(procs);
                kill(sender, SIGKILL);
                kill(pid, SIGKILL);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                unlinkat(s->group.node_fd, "cgroup.procs", 0);
                close(s->group.node_fd);
                assert_int_equal(rmdir(folder), 0);
                cay_ends_close(&s->ends);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_it_takes),        cmocka_unit_test(what_it_is_told),
                cmocka_unit_test(taken_once),           cmocka_unit_test(not_taken),
                cmocka_unit_test(what_is_believed),     cmocka_unit_test(failures_are_counted),
                cmocka_unit_test(replaced_when_reaped), cmocka_unit_test(a_fork_is_checked),
        };

        return cmocka_run_group_tests_name("interpreters that wait", tests, NULL, NULL);
}
