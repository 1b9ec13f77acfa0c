/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands whose process was ready before them (cay-init/prefork.h): they are what any other command is, and
 * nobody can tell or spoil it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/init_exec/harness.h"
#include "patience.h"
#include "foundation/sys/fd.h"

#define NODE "sed -n 's|^0::.*/||p' /proc/self/cgroup; "
#define FACTS                                                                                                \
        "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs|Seccomp:|Sig[BI]|Groups)' /proc/self/status; "       \
        "cat /proc/self/oom_score_adj; ls /proc/self/fd; umask; ulimit -a; pwd; env | sort; "                \
        "echo x > /proc/self/comm; echo $?; tty; "                                                           \
        "[ \"$(ps -o pgid= -p $$ | tr -d ' ')\" = $$ ] && echo leader"

/* A way to see one: children of init under init's own uid, as the machine numbers them. 0: there is none. */
static pid_t find_spare(const struct box *b)
{
        char path[64], text[1024], *at = text;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)b->pid, (int)b->pid);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return 0;
        while (*at) {
                char *end;
                pid_t pid = (pid_t)strtol(at, &end, 10);

                if (end == at)
                        break;
                snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
                at = end;
                if (sys_read_file(AT_FDCWD, path, text + 512, 64) > 0 &&
                    strncmp(text + 512, "cay-init", 8) == 0)
                        return pid;
        }
        return 0;
}

static void run_plain(struct box *b, struct run *r, const char *script)
{
        run_sh(b, r, NULL, script);
        run_wait(r, 5000);
}

/* After it there is one, and it waits. */
static pid_t await_spare(struct box *b)
{
        uint64_t until = now_ms() + test_patience(10000);
        pid_t pid = 0;
        struct run r;

        for (int i = 0; i < 3; i++) {
                run_plain(b, &r, "true");
                run_free(&r);
        }
        while (pid == 0 && now_ms() < until) {
                box_round(b, 10);
                pid = find_spare(b);
        }
        assert_true(pid > 0);
        return pid;
}

static void it_is_what_any_command_is(void **state)
{
        struct cay_buf first;
        struct run r;
        struct box b;

        box_start(&b, BOX_ISOLATED);
        run_plain(&b, &r, FACTS);
        first = r.out;
        r.out = (struct cay_buf){ 0 };
        run_free(&r);
        await_spare(&b);
        run_plain(&b, &r, FACTS);
        assert_string_equal(cay_buf_data(&r.out), cay_buf_data(&first));
        assert_non_null(strstr(cay_buf_data(&first), "Seccomp:\t2"));
        assert_non_null(strstr(cay_buf_data(&first), "leader"));
        run_free(&r);
        await_spare(&b);
        run_plain(&b, &r, NODE);
        assert_int_equal(cay_buf_data(&r.out)[0], 's'); /* it was one */
        run_free(&r);
        cay_buf_done(&first);
        box_stop(&b);
}

static void it_fails_and_is_denied_as_any_other(void **state)
{
        const char *const absent[] = { "/no/such/command", NULL };
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, BOX_ISOLATED);
        await_spare(&b);
        run_open(&b, &r, &open, absent, NULL);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_NOT_FOUND);
        run_free(&r);
        await_spare(&b);
        run_plain(&b, &r, "unshare -U true; exit 3");
        assert_int_equal(r.end.exec.exit_code, 3);
        assert_int_equal(r.end.exec.denied_count, 1);
        run_free(&r);
        await_spare(&b);
        open.exec.cwd = (struct cay_view){ "/no/such/folder", 15 };
        run_sh(&b, &r, &open, "true");
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_NOT_FOUND);
        run_free(&r);
        await_spare(&b);
        run_plain(&b, &r, "kill -9 $$");
        assert_int_equal(r.end.exec.signal, SIGKILL);
        run_free(&r);
        box_stop(&b);
}

static void its_input_arrives(void **state)
{
        const char *const cat[] = { "cat", NULL };
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, BOX_ISOLATED);
        await_spare(&b);
        open.exec.flags |= CAY_BOX_STDIN;
        run_open(&b, &r, &open, cat, NULL);
        assert_int_equal(cay_box_channel_write(&r.channel, "words", 5), 5);
        cay_box_channel_write_eof(&r.channel);
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "words");
        run_free(&r);
        box_stop(&b);
}

/* Other users, terminals: those start as the first command did, and the spare waits on. */
static void others_do_without(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;
        pid_t pid;

        box_start(&b, BOX_ISOLATED);
        pid = await_spare(&b);
        open.exec.uid = open.exec.gid = 1002;
        run_sh(&b, &r, &open, "id -u");
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "1002\n");
        run_free(&r);
        open = run_default();
        open.exec.flags |= CAY_BOX_TTY;
        open.exec.rows = 24;
        open.exec.cols = 80;
        run_sh(&b, &r, &open, "test -t 0 && echo terminal");
        run_wait(&r, 5000);
        assert_non_null(strstr(cay_buf_data(&r.out), "terminal"));
        run_free(&r);
        assert_int_equal(find_spare(&b), pid);
        box_stop(&b);
}

/*
 * No signal of the code reaches it, nothing of it can be read, and it is no process of the box in any list.
 */
static void it_is_out_of_reach(void **state)
{
        struct cay_box_open open = { .kind = CAY_BOX_PROCESSES,
                                     .window = CAY_BOX_WINDOW,
                                     .file = { .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT } };
        struct run r, sleeper;
        struct box b;

        box_start(&b, BOX_ISOLATED);
        await_spare(&b);
        run_sh(&b, &sleeper, NULL, "sleep 100");
        run_wait_opened(&sleeper, 5000); /* has taken it; the next two make another */
        await_spare(&b);
        run_plain(&b, &r,
                  "for p in /proc/[0-9]*; do case $(cat $p/comm) in cay-init) p=${p#/proc/}; kill -9 $p; "
                  "kill -STOP $p; cat /proc/$p/environ; readlink /proc/$p/exe; ls /proc/$p/fd;; esac; done "
                  "2>/dev/null; kill -STOP -1; kill -9 -1");
        assert_string_equal(cay_buf_data(&r.out), "");
        run_free(&r);
        run_wait(&sleeper, 5000); /* the same signals reached it */
        assert_int_equal(sleeper.end.exec.signal, SIGKILL);
        run_free(&sleeper);
        run_plain(&b, &r, "echo still there");
        assert_string_equal(cay_buf_data(&r.out), "still there\n");
        run_free(&r);
        await_spare(&b);
        run_open(&b, &r, &open, NULL, NULL);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_OK);
        assert_int_equal(strncmp(cay_buf_data(&r.out), "1 0 0 ", 6), 0);
        assert_ptr_equal(strchr(cay_buf_data(&r.out), '\n'),
                         strrchr(cay_buf_data(&r.out), '\n')); /* init alone */
        run_free(&r);
        box_stop(&b);
}

static void a_process_left_by_it_is_found_as_its_own(void **state)
{
        struct cay_box_open open = { .kind = CAY_BOX_PROCESSES,
                                     .window = CAY_BOX_WINDOW,
                                     .file = { .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT } };
        struct run r, list;
        char row[64] = "";
        struct box b;

        box_start(&b, BOX_ISOLATED);
        await_spare(&b);
        run_plain(&b, &r, NODE "(setsid sleep 100 >/dev/null 2>&1 &)"); /* an orphan: only its node tells */
        assert_int_equal(cay_buf_data(&r.out)[0], 's');
        assert_int_equal(r.end.exec.left, 1);
        run_open(&b, &list, &open, NULL, NULL);
        run_wait(&list, 5000);
        /* init, and one more: pid, parent, channel */
        assert_int_equal(sscanf(cay_buf_data(&list.out), "1 0 0 %*[^\n]\n%*u 1 %63s", row), 1);
        assert_int_equal(strtoul(row, NULL, 10), 4); /* as the three commands of await_spare had 1 to 3 */
        run_free(&list);
        run_free(&r);
        box_stop(&b);
}

static void one_that_dies_is_missed_by_nobody(void **state)
{
        struct run r;
        struct box b;
        pid_t pid;

        box_start(&b, BOX_ISOLATED);
        for (int i = 0; i < 3; i++) {
                pid = await_spare(&b);
                assert_return_code(kill(pid, SIGKILL), errno); /* as the kernel may, short of memory */
                run_plain(&b, &r, "echo fine");
                if (r.end.exec.signal == 0) /* else it died with the command in its hands, as any may */
                        assert_string_equal(cay_buf_data(&r.out), "fine\n");
                run_free(&r);
        }
        run_plain(&b, &r, "echo fine");
        assert_string_equal(cay_buf_data(&r.out), "fine\n");
        run_free(&r);
        box_stop(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_is_what_any_command_is),
                cmocka_unit_test(it_fails_and_is_denied_as_any_other),
                cmocka_unit_test(its_input_arrives),
                cmocka_unit_test(others_do_without),
                cmocka_unit_test(it_is_out_of_reach),
                cmocka_unit_test(a_process_left_by_it_is_found_as_its_own),
                cmocka_unit_test(one_that_dies_is_missed_by_nobody),
        };

        if (geteuid() != 0) {
                print_message("needs root\n");
                return 77;
        }
        return cmocka_run_group_tests_name("processes ahead of their commands", tests, NULL, NULL);
}
