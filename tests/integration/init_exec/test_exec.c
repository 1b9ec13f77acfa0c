/* SPDX-License-Identifier: Apache-2.0 */
/* Running programs: output, exit codes, signals, input, terminals, limits. Each test on every kind of box. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "integration/init_exec/harness.h"
#include "patience.h"

static enum box_way way;

static void echo_comes_back(void **state)
{
        uint64_t begun;
        struct run r;
        struct box b;

        box_start(&b, way);
        begun = now_ms();
        run_sh(&b, &r, NULL, "echo hello; echo oops >&2; exit 3");
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "hello\n");
        assert_string_equal(cay_buf_data(&r.err), "oops\n");
        assert_int_equal(r.end.code, CAY_OK);
        assert_int_equal(r.end.exec.exit_code, 3);
        assert_int_equal(r.end.exec.signal, 0);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_NOT);
        assert_int_equal(r.end.exec.out_bytes, 6);
        assert_int_equal(r.end.exec.err_bytes, 5);
        assert_int_equal(r.end.exec.left, 0);
        assert_int_equal(r.end.exec.last_denied, -1);
        assert_in_range(r.end.exec.wall_us, 100, (now_ms() - begun + 1) * 1000);
        assert_true(r.pid > 1);
        run_free(&r);
        box_stop(&b);
}

static void every_exit_status_is_told(void **state)
{
        static const int codes[] = { 0, 1, 77, 126, 127, 255 };
        struct run r;
        struct box b;

        box_start(&b, way);
        for (size_t i = 0; i < CAY_COUNT(codes); i++) {
                char script[32];

                snprintf(script, sizeof(script), "exit %d", codes[i]);
                run_sh(&b, &r, NULL, script);
                run_wait(&r, 5000);
                assert_int_equal(r.end.exec.exit_code, codes[i]);
                run_free(&r);
        }
        run_sh(&b, &r, NULL, "kill -SEGV $$");
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.exit_code, -1);
        assert_int_equal(r.end.exec.signal, SIGSEGV);
        run_free(&r);
        box_stop(&b);
}

static void start_failures_have_their_own_words(void **state)
{
        static const char *const none[] = { "no-such-command-here", NULL };
        static const char *const path[] = { "/no/such/command", NULL };
        static const char *const plain[] = { "/etc/passwd", NULL };
        static const char *const odd[] = { "/", NULL };
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        run_open(&b, &r, &open, none, NULL);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_NOT_FOUND);
        assert_int_equal(r.end.sys, ENOENT);
        assert_string_equal(r.msg, "command 'no-such-command-here' was not found in the sandbox's PATH");
        run_free(&r);
        run_open(&b, &r, &open, path, NULL);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_NOT_FOUND);
        assert_string_equal(r.msg, "command '/no/such/command' was not found in the sandbox");
        run_free(&r);
        run_open(&b, &r, &open, plain, NULL);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_DENIED);
        assert_int_equal(r.end.sys, EACCES);
        run_free(&r);
        run_open(&b, &r, &open, odd, NULL);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_DENIED);
        run_free(&r);
        open.exec.cwd = (struct cay_view){ "/no/such/place", 14 };
        run_sh(&b, &r, &open, "true");
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_NOT_FOUND);
        assert_string_equal(r.msg, "working directory '/no/such/place' does not exist in the sandbox");
        run_free(&r);
        box_stop(&b);
}

static void environment_and_directory_are_what_was_asked(void **state)
{
        static const char *const argv[] = { "env", NULL };
        static const char *const env[] = { "PATH=/nowhere:/usr/bin:/bin", "A=b c", NULL };
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        run_open(&b, &r, &open, argv, env);
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "PATH=/nowhere:/usr/bin:/bin\nA=b c\n");
        run_free(&r);
        open.exec.cwd = (struct cay_view){ "/usr/share", 10 };
        run_sh(&b, &r, &open,
               "pwd; umask; ls /proc/self/fd | wc -l; grep -c SigIgn:.0000000000000000 /proc/self/status; "
               "grep -c SigBlk:.0000000000000000 /proc/self/status");
        run_wait(&r, 5000);
        /* ls sees 0, 1, 2 and the directory it reads. */
        assert_string_equal(cay_buf_data(&r.out), "/usr/share\n0022\n4\n1\n1\n");
        run_free(&r);
        box_stop(&b);
}

static void input_reaches_the_command(void **state)
{
        struct cay_box_open open = run_default();
        char block[1000];
        size_t sent = 0, total = 3000000;
        uint64_t until = now_ms() + test_patience(20000);
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.flags = CAY_BOX_STDIN;
        run_sh(&b, &r, &open, "wc -c; cat | wc -c");
        memset(block, 'x', sizeof(block));
        while (sent < total) {
                size_t want = total - sent < sizeof(block) ? total - sent : sizeof(block);
                size_t put = cay_box_channel_write(&r.channel, block, want);

                sent += put;
                if (put < want)
                        box_round(&b, 100);
                assert_true(now_ms() < until);
        }
        cay_box_channel_write_eof(&r.channel);
        run_wait(&r, 10000);
        assert_string_equal(cay_buf_data(&r.out), "3000000\n0\n");
        run_free(&r);

        run_sh(&b, &r, NULL, "wc -c"); /* no IN: an empty one */
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "0\n");
        run_free(&r);

        run_sh(&b, &r, &open,
               "exec <&-; sleep 0.2; echo gone"); /* nobody reads: the front is not kept waiting */
        for (sent = 0; sent < total;) {
                size_t put = cay_box_channel_write(&r.channel, block, sizeof(block));

                sent += put;
                if (put < sizeof(block))
                        box_round(&b, 100);
                assert_true(now_ms() < until);
                if (r.ended)
                        break;
        }
        run_wait(&r, 10000);
        assert_string_equal(cay_buf_data(&r.out), "gone\n");
        run_free(&r);
        box_stop(&b);
}

static void signals_are_forwarded(void **state)
{
        struct run r;
        struct box b;

        box_start(&b, way);
        run_sh(&b, &r, NULL,
               "trap 'echo got usr1' USR1; trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.02; "
               "done");
        run_wait_out(&r, "ready", 5000);
        cay_box_channel_signal(&r.channel, SIGUSR1);
        run_wait_out(&r, "got usr1", 5000);
        cay_box_channel_signal(&r.channel, SIGTERM);
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.exit_code, 9);
        run_free(&r);
        box_stop(&b);
}

static void a_terminal_is_one(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.flags = CAY_BOX_TTY | CAY_BOX_STDIN;
        open.exec.rows = 33;
        open.exec.cols = 99;
        run_sh(&b, &r, &open,
               "test -t 0 && test -t 1 && test -t 2 && echo is-tty; stty size; echo x > /dev/tty; echo err "
               ">&2; "
               "echo again > $(tty); echo re > /dev/stdout; trap 'stty size; resized=1' WINCH; echo ready; "
               "until test \"$resized\"; do sleep 0.02; done; while read line; do echo \"<$line>\"; done; "
               "echo end-of-input");
        run_wait_out(&r, "ready", 5000);
        assert_non_null(strstr(cay_buf_data(&r.out), "is-tty\r\n33 99\r\nx\r\nerr\r\nagain\r\nre\r\n"));
        cay_box_channel_resize(&r.channel, 12, 40);
        run_wait_out(&r, "12 40", 5000);
        cay_box_channel_write(&r.channel, "hi there\n", 9);
        run_wait_out(&r, "<hi there>", 5000);
        cay_box_channel_write_eof(&r.channel);
        run_wait(&r, 5000);
        assert_non_null(strstr(cay_buf_data(&r.out), "end-of-input"));
        assert_int_equal(r.end.exec.exit_code, 0);
        assert_int_equal(r.err.len, 0);
        run_free(&r);

        run_sh(&b, &r, &open, "echo up; exec sleep 100"); /* ^C is the terminal's own business */
        run_wait_out(&r, "up", 5000);
        cay_box_channel_write(&r.channel, "\003", 1);
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.signal, SIGINT);
        run_free(&r);
        box_stop(&b);
}

/* A process that leaves the command's session; what follows begins when that has said its number. */
#define DAEMON                                                                                               \
        "trap up=1 USR1; setsid sh -c \"sleep 300.0471 & echo daemon \\$!; kill -USR1 $$; wait\" & "         \
        "until test \"$up\"; do sleep 0.01; done; "

static pid_t daemon_pid(const struct run *r)
{
        const char *at = strstr(cay_buf_data(&r->out), "daemon ");

        return at ? (pid_t)strtol(at + 7, NULL, 10) : 0;
}

/* Pids in the box are not ours when it is isolated: look for the sleeper by what it is. */
static unsigned sleepers(struct box *b)
{
        struct run r;
        unsigned n;

        run_sh(b, &r, NULL,
               "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done | grep -c "
               "'^sleep 300.0471 $'");
        run_wait(&r, 5000);
        n = (unsigned)strtoul(cay_buf_data(&r.out), NULL, 10);
        run_free(&r);
        return n;
}

static void time_out_ends_daemons_too(void **state)
{
        struct cay_box_open open = run_default();
        uint64_t begun;
        struct run r;
        struct box b;
        bool was_up;

        box_start(&b, way);
        open.exec.wall_ms = 200;
        do { /* however long it takes the machine to start them all: the limit is behind that */
                open.exec.wall_ms *= 2;
                begun = now_ms();
                run_sh(&b, &r, &open,
                       DAEMON "(sleep 300.0471 &) ; trap '' TERM INT HUP; echo all; sleep 300.0471");
                run_wait(&r, (int)open.exec.wall_ms + 5000);
                assert_int_equal(r.end.exec.killed, CAY_KILLED_WALL_TIME);
                assert_int_equal(r.end.exec.signal, SIGKILL);
                assert_int_equal(r.end.exec.left, 0);
                assert_in_range(r.end.exec.wall_us, open.exec.wall_ms * 1000, (now_ms() - begun + 1) * 1000);
                assert_int_equal(sleepers(&b), 0);
                was_up = strstr(cay_buf_data(&r.out), "all\n") != NULL;
                assert_true(!was_up || daemon_pid(&r) > 0);
                run_free(&r);
        } while (!was_up && open.exec.wall_ms < 20000);
        assert_true(was_up);
        box_stop(&b);
}

static void wait_stopped(struct box *b, long pid)
{
        char script[96];
        struct run r;

        snprintf(script, sizeof(script), "until grep -q '^State:.T' /proc/%ld/status; do sleep 0.01; done",
                 pid);
        run_sh(b, &r, NULL, script);
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.exit_code, 0);
        run_free(&r);
}

static void kill_ends_stopped_ones_too(void **state)
{
        const char *said;
        struct run r;
        struct box b;

        box_start(&b, way);
        run_sh(&b, &r, NULL, DAEMON "echo \"pid $$.\"; echo ready; while :; do kill -STOP $$; done");
        run_wait_out(&r, "ready", 5000);
        said = strstr(cay_buf_data(&r.out), "pid ");
        assert_non_null(said);
        wait_stopped(&b, strtol(said + 4, NULL, 10));
        cay_box_channel_kill(&r.channel, CAY_KILLED_ASKED);
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_ASKED);
        assert_int_equal(sleepers(&b), 0);
        run_free(&r);
        box_stop(&b);
}

static void background_processes_go_on_and_are_counted(void **state)
{
        struct run r, other;
        struct box b;
        char kill_it[48];
        const char *said;

        box_start(&b, way);
        run_sh(&b, &r, NULL,
               "sleep 300.0471 & echo \"pid $!.\"; (while :; do echo noise; sleep 0.01; done) & echo front; "
               "exit "
               "5");
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.exit_code, 5);
        assert_true(r.end.exec.left >= 2 && r.end.exec.left <= 3); /* the loop may be between two sleeps */
        assert_non_null(strstr(cay_buf_data(&r.out), "front\n"));
        said = strstr(cay_buf_data(&r.out), "pid ");
        assert_non_null(said);
        /* By its number: without a pid namespace others' sleeps are in sight too. */
        snprintf(kill_it, sizeof(kill_it), "kill %ld", strtol(said + 4, NULL, 10));
        run_free(&r);                                       /* CLOSE after END ends nothing */
        for (int i = 0; i < 2000 && sleepers(&b) == 0; i++) /* the shell did not wait for its start */
                usleep(10000);
        assert_int_equal(sleepers(&b), 1);
        run_sh(&b, &other, NULL, kill_it);
        run_wait(&other, 5000);
        run_free(&other);
        box_stop(&b);
}

static void closing_a_running_exec_kills_it(void **state)
{
        struct run r;
        struct box b;

        box_start(&b, way);
        run_sh(&b, &r, NULL, DAEMON "echo ready; sleep 300.0471");
        run_wait_out(&r, "ready", 5000);
        run_free(&r);
        for (int i = 0; i < 2000 && sleepers(&b) > 0; i++)
                usleep(10000);
        assert_int_equal(sleepers(&b), 0);
        box_stop(&b);
}

static void the_output_limit_ends(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.output_max_bytes = 100000;
        run_sh(&b, &r, &open, "yes");
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_OUTPUT);
        assert_int_equal(r.out.len, 100000);
        assert_true(r.end.exec.cut_bytes > 0); /* what came before it died, and is missing */
        run_free(&r);

        open.exec.output_max_bytes = 6; /* exactly that much is no breach */
        run_sh(&b, &r, &open, "echo abc; echo x >&2; exit 4");
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_NOT);
        assert_int_equal(r.end.exec.exit_code, 4);
        run_free(&r);
        box_stop(&b);
}

static void the_output_limit_cuts(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.output_max_bytes = 1000;
        open.exec.flags = CAY_BOX_CUT;
        run_sh(&b, &r, &open, "head -c 5000000 /dev/zero; echo tail >&2; exit 6");
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_NOT);
        assert_int_equal(r.end.exec.exit_code, 6);
        assert_int_equal(r.out.len + r.err.len, 1000);
        assert_int_equal(r.end.exec.out_bytes, 5000000);
        assert_int_equal(r.end.exec.err_bytes, 5);
        assert_int_equal(r.end.exec.cut_bytes, 5000005 - 1000);
        run_free(&r);
        box_stop(&b);
}

static void processor_time_is_limited_and_told(void **state)
{
        struct cay_box_open open = run_default();
        unsigned tries = 0;
        struct run r;
        struct box b;
        uint64_t cpu;

        box_start(&b, way);
        open.exec.cpu_ms = 300;
        do { /* where the machine holds init up, and not what it watches, that one gets more */
                run_sh(&b, &r, &open, "(while :; do :; done) & while :; do :; done");
                run_wait(&r, 10000);
                assert_int_equal(r.end.exec.killed, CAY_KILLED_CPU_TIME);
                cpu = r.end.exec.cpu_us;
                assert_true(cpu >= 250000);
                run_free(&r);
        } while (cpu >= 2000000 && ++tries < 5);
        assert_true(cpu < 2000000);
        box_stop(&b);
}

/* Also of those who went after the command itself: here the END comes behind all of them. */
static void processor_time_of_all_is_told(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.flags = CAY_BOX_ONE_SHOT;
        open.exec.cpu_ms = 300;
        run_sh(&b, &r, &open, "(while :; do :; done) & while :; do :; done");
        run_wait(&r, 10000);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_CPU_TIME);
        assert_true(r.end.exec.cpu_us >= 250000);
        assert_int_equal(box_wait_gone(&b, 5000), 0);
        run_free(&r);
        box_stop(&b);
}

static void limits_of_files_hold(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.files_max = 37;
        open.exec.file_max_bytes = 1 << 20;
        run_sh(&b, &r, &open,
               "ulimit -n; ulimit -Hn; ulimit -c; ulimit -f; ulimit -r 2>/dev/null; cat "
               "/proc/self/oom_score_adj");
        run_wait(&r, 5000);
        assert_non_null(strstr(cay_buf_data(&r.out), "37\n37\n0\n2048\n"));
        assert_non_null(strstr(cay_buf_data(&r.out), "1000\n"));
        run_free(&r);
        box_stop(&b);
}

static void standard_error_can_be_opened_again(void **state)
{
        struct run r;
        struct box b;

        box_start(&b, way);
        run_sh(&b, &r, NULL, "echo a > /dev/stderr && echo b > /dev/stdout");
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.err), "a\n");
        assert_string_equal(cay_buf_data(&r.out), "b\n");
        run_free(&r);
        box_stop(&b);
}

static void scripts_without_a_first_line_run(void **state)
{
        struct run r;
        struct box b;

        box_start(&b, way);
        run_sh(&b, &r, NULL,
               "d=$(mktemp -d); cd $d; printf 'echo script $1\\n' > s; printf '#!/no/interpreter\\n' > t; "
               "chmod +x s t; "
               "env ./s arg; echo $d; echo made; sleep 100");
        run_wait_out(&r, "\nmade\n", 5000);
        assert_non_null(strstr(cay_buf_data(&r.out), "script arg\n/"));
        {
                char path[300];
                const char *at = strstr(cay_buf_data(&r.out), "/");
                const char *const script[] = { path, "one two", NULL };
                struct cay_box_open open = run_default();
                struct run s;

                snprintf(path, sizeof(path), "%.*s/s", (int)strcspn(at, "\n"), at);
                run_open(&b, &s, &open, script, NULL);
                run_wait(&s, 5000);
                assert_string_equal(cay_buf_data(&s.out), "script one two\n");
                run_free(&s);
                snprintf(path, sizeof(path), "%.*s/t", (int)strcspn(at, "\n"), at);
                run_open(&b, &s, &open, script, NULL);
                run_wait(&s, 5000);
                assert_int_equal(s.end.code, CAY_NOT_FOUND);
                assert_non_null(strstr(s.msg, "interpreter"));
                run_free(&s);
                snprintf(path, sizeof(path), "rm -rf '%.*s'", (int)strcspn(at, "\n"), at);
                run_sh(&b, &s, NULL, path);
                run_wait(&s, 5000);
                run_free(&s);
        }
        run_free(&r);
        box_stop(&b);
}

static void one_shot_ends_everything(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.flags = CAY_BOX_ONE_SHOT;
        run_sh(&b, &r, &open, DAEMON "(trap '' TERM; setsid sleep 300.0471 &); echo out; exit 7");
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.exit_code, 7);
        assert_int_equal(r.end.exec.left, 0);
        assert_non_null(strstr(cay_buf_data(&r.out), "out\n"));
        assert_int_equal(box_wait_gone(&b, 5000), 0);
        if (way != BOX_ISOLATED)
                assert_false(is_alive(daemon_pid(&r)));
        run_free(&r);
        box_stop(&b);
}

static void one_shot_says_all_before_it_goes(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, way);
        open.exec.flags = CAY_BOX_ONE_SHOT;
        run_sh(&b, &r, &open, "head -c 3000000 /dev/zero | tr '\\0' x; echo end");
        r.keep = false;
        usleep(300000); /* nobody reads: it waits */
        run_wait(&r, 10000);
        assert_int_equal(r.out_bytes, 3000004);
        assert_int_equal(box_wait_gone(&b, 5000), 0);
        run_free(&r);
        box_stop(&b);
}

/* Everything ends with it but init, which answers what comes then: that is how changes are fetched. */
static void one_shot_that_stays_takes_more_channels(void **state)
{
        struct cay_box_open open = run_default(), changes = {
                .kind = CAY_BOX_CHANGES,
                .window = CAY_BOX_WINDOW,
                .file = { .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT },
        };
        struct run r, more;
        struct box b;

        box_start(&b, way);
        open.exec.flags = CAY_BOX_ONE_SHOT | CAY_BOX_STAY;
        run_sh(&b, &r, &open, DAEMON "(trap '' TERM; setsid sleep 300.0471 &); echo out; exit 7");
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.exit_code, 7);
        assert_int_equal(r.end.exec.left, 0);
        if (way != BOX_ISOLATED)
                assert_false(is_alive(daemon_pid(&r)));
        assert_int_equal(box_wait_gone(&b, 25), -1);
        run_open(&b, &more, &changes, NULL, NULL);
        run_wait(&more, 5000);
        assert_int_equal(more.end.code, CAY_UNSUPPORTED);
        assert_non_null(strstr(more.msg, "no copy-on-write workspace"));
        run_free(&more);
        run_free(&r);
        box_stop(&b);
}

static void the_engines_end_ends_the_box(void **state)
{
        struct run r;
        struct box b;
        pid_t pid;

        box_start(&b, way);
        run_sh(&b, &r, NULL, DAEMON "echo ready; sleep 300.0471");
        run_wait_out(&r, "ready", 5000);
        pid = daemon_pid(&r);
        close(b.control);
        b.control = -1;
        assert_int_equal(box_wait_gone(&b, 5000), 0);
        if (way != BOX_ISOLATED)
                assert_false(is_alive(pid));
        run_free(&r);
        box_stop(&b);
}

static void many_execs_at_once(void **state)
{
        enum { MANY = 12 };
        static struct run r[MANY];
        struct box b;

        box_start(&b, way);
        for (int round = 0; round < 5; round++) {
                for (int i = 0; i < MANY; i++) {
                        char script[64];

                        snprintf(script, sizeof(script), "echo %d; exit %d", i, i);
                        run_sh(&b, &r[i], NULL, script);
                }
                for (int i = 0; i < MANY; i++) {
                        run_wait(&r[i], 10000);
                        assert_int_equal(r[i].end.exec.exit_code, i);
                        run_free(&r[i]);
                }
        }
        box_stop(&b);
}

#define ALL_TESTS                                                                                            \
        cmocka_unit_test(echo_comes_back), cmocka_unit_test(every_exit_status_is_told),                      \
                cmocka_unit_test(start_failures_have_their_own_words),                                       \
                cmocka_unit_test(environment_and_directory_are_what_was_asked),                              \
                cmocka_unit_test(input_reaches_the_command), cmocka_unit_test(signals_are_forwarded),        \
                cmocka_unit_test(a_terminal_is_one), cmocka_unit_test(time_out_ends_daemons_too),            \
                cmocka_unit_test(kill_ends_stopped_ones_too),                                                \
                cmocka_unit_test(background_processes_go_on_and_are_counted),                                \
                cmocka_unit_test(closing_a_running_exec_kills_it), cmocka_unit_test(the_output_limit_ends),  \
                cmocka_unit_test(the_output_limit_cuts),                                                     \
                cmocka_unit_test(processor_time_is_limited_and_told),                                        \
                cmocka_unit_test(processor_time_of_all_is_told), cmocka_unit_test(limits_of_files_hold),     \
                cmocka_unit_test(standard_error_can_be_opened_again),                                        \
                cmocka_unit_test(scripts_without_a_first_line_run),                                          \
                cmocka_unit_test(one_shot_ends_everything),                                                  \
                cmocka_unit_test(one_shot_says_all_before_it_goes),                                          \
                cmocka_unit_test(one_shot_that_stays_takes_more_channels),                                   \
                cmocka_unit_test(the_engines_end_ends_the_box), cmocka_unit_test(many_execs_at_once)

int main(void)
{
        const struct CMUnitTest tests[] = { ALL_TESTS };
        static const char *const names[] = { "exec in a plain process", "exec with a cgroup2 node",
                                             "exec in namespaces" };
        int failed = 0;

        for (way = BOX_PLAIN; way <= BOX_ISOLATED; way++) {
                if (way == BOX_ISOLATED && geteuid() != 0) {
                        print_message("exec in namespaces: needs root, skipped\n");
                        continue;
                }
                failed += _cmocka_run_group_tests(names[way], tests, CAY_COUNT(tests), NULL, NULL);
        }
        return failed;
}
