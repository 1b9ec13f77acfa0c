/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init puts around a command in a box of its own: ids, capabilities, filter, landlock, and the figures
 * it shows.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "integration/init_exec/harness.h"
#include "patience.h"
#include "links/helper/layers.h"

#define OFF(layer) (1u << CAY_LAYER_##layer)

static void start_and_run(struct box *b, struct run *r, uint32_t test_off, const char *script)
{
        box_start_with(b, BOX_ISOLATED, test_off);
        run_sh(b, r, NULL, script);
        run_wait(r, 5000);
}

static void stop(struct box *b, struct run *r)
{
        run_free(r);
        box_stop(b);
}

static void a_command_has_no_privileges(void **state)
{
        struct run r;
        struct box b;

        start_and_run(
                &b, &r, 0,
                "id -u; id -g; id -G; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -d '\\t '; "
                "cat /proc/self/oom_score_adj");
        assert_string_equal(cay_buf_data(&r.out),
                            "1001\n1001\n1001\n"
                            "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
                            "CapBnd:0000000000000000\nCapAmb:0000000000000000\n"
                            "NoNewPrivs:1\nSeccomp:2\n1000\n");
        stop(&b, &r);
}

static void even_uid_0_has_none(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, BOX_ISOLATED);
        open.exec.uid = open.exec.gid = 0;
        run_sh(&b, &r, &open,
               "id -u; grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status | tr -d '\\t '; echo x > "
               "/proc/sys/kernel/hostname");
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out),
                            "0\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\n");
        assert_non_null(strstr(cay_buf_data(&r.err), "denied"));
        run_free(&r);
        open.exec.uid = BOX_INIT_UID;
        run_sh(&b, &r, &open, "true");
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_DENIED);
        run_free(&r);
        open.exec.uid = 70000; /* not in the map */
        run_sh(&b, &r, &open, "true");
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_INVALID);
        stop(&b, &r);
}

static void init_is_out_of_reach(void **state)
{
        struct run r;
        struct box b;

        start_and_run(&b, &r, 0,
                      "cat /proc/1/environ; ls /proc/1/fd; readlink /proc/1/exe; kill -9 1; kill -STOP 1; "
                      "echo alive; kill -9 -1");
        assert_string_equal(cay_buf_data(&r.out), "alive\n");
        assert_int_equal(r.end.exec.signal, 0); /* kill -1 spares the caller; init reports */
        run_free(&r);
        run_sh(&b, &r, NULL, "echo still there");
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "still there\n");
        stop(&b, &r);
}

/* python3 is there wherever the tests' own tools are; it makes system calls by number. */
#define SYSCALL "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True)\n"

static void denied_calls_are_told(void **state)
{
        struct run r;
        struct box b;

        /* bpf, then keyctl twice: the last one is keyctl, and each is counted. */
        start_and_run(&b, &r, 0,
                      SYSCALL "c.syscall(321, 0, 0, 0); print(ctypes.get_errno()); c.syscall(250, 0, 0)\n"
                              "c.syscall(250, 0, 0); print(ctypes.get_errno()); os._exit(4)'");
        assert_string_equal(cay_buf_data(&r.out), "");
        assert_int_equal(r.end.exec.exit_code, 4);
        assert_int_equal(r.end.exec.last_denied, 250);
        assert_int_equal(r.end.exec.denied_count, 2);
        assert_int_equal(r.end.exec.denied[0].nr, 321);
        assert_int_equal(r.end.exec.denied[0].count, 1);
        assert_int_equal(r.end.exec.denied[1].nr, 250);
        assert_int_equal(r.end.exec.denied[1].count, 2);
        run_free(&r);
        run_sh(&b, &r, NULL, SYSCALL "c.syscall(321, 0, 0, 0); print(ctypes.get_errno())'");
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "1\n");
        assert_int_equal(r.end.exec.exit_code, 0);
        assert_int_equal(r.end.exec.last_denied, 321);
        stop(&b, &r);
}

static void a_thousand_denied_calls_end_it(void **state)
{
        struct run r;
        struct box b;

        start_and_run(&b, &r, 0, SYSCALL "while True: c.syscall(321, 0, 0, 0)'");
        assert_int_equal(r.end.exec.killed, CAY_KILLED_SYSCALL);
        assert_int_equal(r.end.exec.last_denied, 321);
        assert_int_equal(r.end.exec.denied[0].count, 1000);
        stop(&b, &r);
}

static void a_background_process_is_still_answered(void **state)
{
        struct run r;
        struct box b;

        start_and_run(&b, &r, 0,
                      "(until test -e /tmp/go; do sleep 0.02; done; " SYSCALL
                      "c.syscall(321, 0, 0, 0); print(ctypes.get_errno())' > /tmp/answer) & true");
        assert_int_equal(r.end.exec.left > 0, 1);
        run_free(&r);
        run_sh(&b, &r, NULL,
               "touch /tmp/go; until test -s /tmp/answer; do sleep 0.02; done; cat /tmp/answer");
        run_wait(&r, 10000);
        assert_string_equal(cay_buf_data(&r.out), "1\n");
        stop(&b, &r);
}

#define WRITES                                                                                               \
        "for f in /proc/sys/kernel/domainname /proc/self/oom_score_adj /proc/self/comm; do "                 \
        "if echo 1000 > $f; then echo wrote $f; fi; done 2>/dev/null; "                                      \
        "echo a > /dev/null && echo b > /tmp/file && echo c > /dev/shm/cay-test && rm /tmp/file "            \
        "/dev/shm/cay-test && "                                                                              \
        "mkdir /tmp/a /tmp/b && echo x > /tmp/a/f && mv /tmp/a/f /tmp/b/f && ln /tmp/b/f /tmp/a/g && echo "  \
        "ordinary"

static void landlock_keeps_proc_unwritable(void **state)
{
        struct run r;
        struct box b;

        start_and_run(&b, &r, 0, WRITES);
        assert_string_equal(cay_buf_data(&r.out), "ordinary\n");
        stop(&b, &r);
        /* Without it the process's own files of /proc can be written. */
        start_and_run(&b, &r, OFF(LANDLOCK), WRITES);
        assert_non_null(strstr(cay_buf_data(&r.out), "wrote /proc/self/oom_score_adj\n"));
        assert_non_null(strstr(cay_buf_data(&r.out), "ordinary\n"));
        stop(&b, &r);
}

static void layers_can_be_switched_off(void **state)
{
        struct run r;
        struct box b;

        start_and_run(&b, &r, OFF(SECCOMP),
                      "grep Seccomp: /proc/self/status | tr -d '\\t '; " SYSCALL
                      "c.syscall(250, 0, -3); print(ctypes.get_errno() == 1)'");
        assert_string_equal(cay_buf_data(&r.out), "Seccomp:0\nFalse\n");
        stop(&b, &r);
        start_and_run(&b, &r, OFF(NNP), "grep NoNewPrivs /proc/self/status | tr -d '\\t '");
        assert_string_equal(cay_buf_data(&r.out), "NoNewPrivs:0\n");
        stop(&b, &r);
        start_and_run(&b, &r, OFF(CAPS), "grep CapEff /proc/self/status | tr -d '\\t '");
        assert_string_equal(cay_buf_data(&r.out), "CapEff:00000000000001e0\n");
        stop(&b, &r);
        start_and_run(&b, &r, OFF(RLIMITS), "ulimit -Hc");
        assert_string_not_equal(cay_buf_data(&r.out), "0\n");
        stop(&b, &r);
        start_and_run(&b, &r, OFF(FDS), "ls /proc/self/fd | wc -l");
        assert_true(strtoul(cay_buf_data(&r.out), NULL, 10) > 4);
        stop(&b, &r);
}

static void read_file(int fd, char *text, size_t size)
{
        ssize_t n = pread(fd, text, size - 1, 0);

        assert_true(n > 0);
        text[n] = 0;
}

static unsigned long long value_of(const char *text, const char *key)
{
        const char *at = strstr(text, key);

        assert_non_null(at);
        return strtoull(at + strlen(key), NULL, 10);
}

static void the_figures_are_true_and_move(void **state)
{
        char memory[8192], stat[8192], load[256], before[8192];
        uint64_t until = now_ms() + test_patience(10000);
        struct stat first, last;
        struct run r;
        struct box b;

        box_start(&b, BOX_ISOLATED);
        run_sh(&b, &r, NULL, "while :; do :; done");
        run_wait_opened(&r, 5000);
        read_file(b.files[0], memory, sizeof(memory)); /* there before the command is */
        read_file(b.files[1], before, sizeof(before));
        assert_return_code(fstat(b.files[1], &first), errno);
        assert_int_equal(value_of(memory, "MemTotal:"), 256 * 1024);
        assert_int_equal(value_of(memory, "SwapTotal:"), 0);
        assert_int_equal(value_of(before, "\nbtime "), 1700000000);
        assert_non_null(strstr(before, "\ncpu1 "));
        assert_null(strstr(before, "\ncpu2 "));
        do { /* 0.8 s of a processor, which a busy machine gives when it can */
                usleep(50000);
                read_file(b.files[1], stat, sizeof(stat));
                read_file(b.files[2], load, sizeof(load));
        } while ((value_of(stat, "cpu ") < value_of(before, "cpu ") + 80 ||
                  value_of(stat, "procs_running ") < 1 || strncmp(load, "0.00", 4) == 0) &&
                 now_ms() < until);
        assert_in_range(value_of(stat, "cpu "), value_of(before, "cpu ") + 80, 6000);
        assert_true(value_of(stat, "procs_running ") >= 1);
        assert_string_not_equal(load, "");
        assert_false(strncmp(load, "0.00", 4) == 0);
        assert_return_code(fstat(b.files[1], &last), errno);
        assert_int_equal(first.st_size, last.st_size);
        cay_box_channel_kill(&r.channel, CAY_KILLED_ASKED);
        run_wait(&r, 5000);
        stop(&b, &r);
}

static void a_fork_bomb_does_not_hurt_init(void **state)
{
        struct cay_box_open open = run_default();
        struct run r, other;
        struct box b;

        box_start(&b, BOX_ISOLATED);
        open.exec.wall_ms = 1500;
        /* 400 processes that fork, exit and fork again: what a pids limit would leave of a bomb. */
        run_sh(&b, &r, &open,
               "f() { for i in 1 2 3 4 5 6 7; do (sleep 0.01 &) ; done; }; while :; do f; done");
        run_sh(&b, &other, NULL, "echo between");
        run_wait(&other, 5000);
        assert_string_equal(cay_buf_data(&other.out), "between\n");
        run_free(&other);
        run_wait(&r, 10000);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_WALL_TIME);
        assert_int_equal(r.end.exec.left, 0);
        stop(&b, &r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_command_has_no_privileges),
                cmocka_unit_test(even_uid_0_has_none),
                cmocka_unit_test(init_is_out_of_reach),
                cmocka_unit_test(denied_calls_are_told),
                cmocka_unit_test(a_thousand_denied_calls_end_it),
                cmocka_unit_test(a_background_process_is_still_answered),
                cmocka_unit_test(landlock_keeps_proc_unwritable),
                cmocka_unit_test(layers_can_be_switched_off),
                cmocka_unit_test(the_figures_are_true_and_move),
                cmocka_unit_test(a_fork_bomb_does_not_hurt_init),
        };

        if (geteuid() != 0) {
                print_message("needs root\n");
                return 77;
        }
        return cmocka_run_group_tests_name("what init puts around a command", tests, NULL, NULL);
}
