/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay run` as its users see it: options and their errors, streams, statuses, JSON, input, signals,
 * terminals. The native engine, as root; after every test the machine is compared with how it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <utmp.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "integration/run/harness.h"
#include "patience.h"

static void assert_status(const struct run *r, int status)
{
        if (r->status != status)
                fail_msg("status %d, expected %d; stdout '%.300s', stderr '%.300s'", r->status, status,
                         r->out, r->err);
}

static void assert_out(const struct run *r, const char *out)
{
        if (strcmp(r->out, out) != 0)
                fail_msg("stdout '%.300s', expected '%.300s'; stderr '%.300s'", r->out, out, r->err);
}

static void assert_part(const char *text, const char *part)
{
        if (!run_has(text, part))
                fail_msg("'%s' is not in '%.600s'", part, text);
}

static void wrong_usage_costs_nothing(void **state)
{
        static const struct {
                const char *words[8];
                const char *text;
        } rows[] = {
                { { "run" }, "no COMMAND given" },
                { { "run", "--" }, "no COMMAND given" },
                { { "run", "--memroy", "1g", "true" }, "unknown option '--memroy' (did you mean --memory?)" },
                { { "run", "-m", "1g", "true" }, "unknown option '-m'" },
                { { "run", "--memory" }, "--memory needs a value" },
                { { "run", "--memory", "99999999999999g", "true" },
                  "--memory: '99999999999999g' is too big: at most 64 TiB" },
                { { "run", "--memory", "-1", "true" }, "--memory: '-1' is not a size" },
                { { "run", "--cpus", "0.0.5", "true" }, "--cpus: '0.0.5' is not" },
                { { "run", "--pids", "0", "true" }, "--pids: '0' is too small" },
                { { "run", "--timeout", "soon", "true" }, "--timeout: 'soon' is not a duration" },
                { { "run", "--disk", "12q", "true" }, "--disk: '12q' is not a size" },
                { { "run", "--output-limit", "x:cut", "true" }, "--output-limit: 'x' is not a size" },
                { { "run", "--workspace", "/no/such/folder", "true" },
                  "--workspace: folder '/no/such/folder'" },
                { { "run", "--workspace", "/etc/passwd:rw", "true" },
                  "--workspace: folder '/etc/passwd': Not a directory" },
                { { "run", "--template", "rootfs:/no/such/folder", "true" },
                  "--template: folder '/no/such/folder'" },
                { { "run", "--template", "alpine", "true" }, "--template: 'alpine' is no template" },
                { { "run", "--engine", "steam", "true" }, "--engine: no engine 'steam'" },
                { { "run", "--user", "no one", "true" }, "--user: 'no one' is no user" },
                { { "run", "--env", "X", "true" }, "--env: 'X' is not NAME=VALUE" },
                { { "run", "--cwd", "here", "true" }, "--cwd: 'here' is not an absolute path" },
                { { "run", "--id", "No Name", "true" }, "--id: 'No Name' is not a name" },
                { { "run", "--allow-missing", "luck", "true" }, "--allow-missing: 'luck' is no limit" },
                { { "run", "--json=yes", "true" }, "--json takes no value" },
                { { "rnu" }, "unknown verb 'rnu' (did you mean run?)" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct run r = run_cay(NULL, rows[i].words);

                assert_status(&r, 2);
                assert_part(r.err, rows[i].text);
                assert_int_equal(r.out_len, 0);
        }
}

static void help_and_version(void **state)
{
        struct run r = run_cay(NULL, WORDS("help", "run"));

        assert_status(&r, 0);
        assert_part(r.out, "--output-limit SIZE[:cut]");
        r = run_cay(NULL, WORDS("run", "--help"));
        assert_status(&r, 0);
        r = run_cay(NULL, WORDS("--help"));
        assert_part(r.out, "run one command in a fresh sandbox");
        r = run_cay(NULL, WORDS("version"));
        assert_part(r.out, "cay " CAY_VERSION "\n");
}

static void statuses(void **state)
{
        struct run r;

        run_need_root();
        r = SH("exit 0");
        assert_status(&r, 0);
        assert_out(&r, "");
        assert_string_equal(r.err, "");
        r = SH("exit 3");
        assert_status(&r, 3);
        assert_string_equal(r.err, ""); /* its own status: nothing to explain */
        r = SH("exit 255");
        assert_status(&r, 255);
        r = SH("kill -SEGV $$");
        assert_status(&r, 139);
        assert_part(r.err, "cay: signalled: ended by signal SIGSEGV; ");
        r = SH("kill -KILL $$");
        assert_status(&r, 137);
        r = CAY("--quiet", "/bin/sh", "-c", "kill -SEGV $$");
        assert_status(&r, 139);
        assert_string_equal(r.err, "");
        r = CAY("no-such-program");
        assert_status(&r, 127);
        assert_part(r.err, "not started: no-such-program");
        r = CAY("/no/such/program");
        assert_status(&r, 127);
        r = CAY("/etc/passwd");
        assert_status(&r, 126);
        r = CAY("/usr");
        assert_status(&r, 126);
}

static void commands_are_found_in_path(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("echo", "--memory", "is", "its own");
        assert_out(&r, "--memory is its own\n");
        r = CAY("--", "echo", "x");
        assert_out(&r, "x\n");
}

static void streams_come_apart_and_live(void **state)
{
        struct run_setup held = { .hold_input = true };
        struct started s;
        struct run r;

        run_need_root();
        s = run_start(&held,
                      WORDS("run", "/bin/sh", "-c", "echo to out; echo to err >&2; read x; echo more"));
        assert_true(run_wait_readable(s.out, test_patience(10000))); /* while it waits for us */
        assert_true(run_wait_readable(s.err, test_patience(10000)));
        assert_int_equal(write(s.in, "\n", 1), 1);
        r = run_finish(&s, 20000);
        assert_out(&r, "to out\nmore\n");
        assert_string_equal(r.err, "to err\n");
}

static void large_output_is_whole(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("--output-limit", "32m", "--timeout", "1h", "/bin/sh", "-c",
                "i=0; while [ $i -lt 20 ]; do head -c 1000000 /dev/zero | tr '\\0' x; i=$((i+1)); done");
        assert_status(&r, 0);
        assert_int_equal(r.out_len, 20000000);
        assert_int_equal(strspn(r.out, "x"), 20000000);
}

static void background_processes_do_not_hold_it_up(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("--timeout", "1h", "/bin/sh", "-c",
                "sleep 1000 & setsid sleep 1000 >/dev/null 2>&1 & exit 4");
        assert_status(&r, 4);
}

static void json(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("--json", "--id", "json-run", "--", "/bin/sh", "-c",
                "echo 'q\"\\'; printf '\\001\\t\\303\\244'; echo e >&2; exit 5");
        assert_status(&r, 5);
        assert_true(run_json_is_valid(&r));
        assert_part(
                r.out,
                "{\"id\":\"json-run\",\"engine\":\"native\",\"status\":\"ended\",\"stdout\":\"q\\\"\\\\\\n");
        assert_part(r.out, "\"stderr\":\"e\\n\",\"exit_code\":5,\"signal\":null,\"exit_status\":5,"
                           "\"cause\":\"exited\",\"cause_text\":\"exited with status 5\"");
        assert_part(r.out, "\"hints\":[],\"skipped\":[]");
        assert_part(r.out, "\"timings_ms\":{\"start\":");
        assert_part(r.out, "\"truncated\":false,");
        assert_false(run_has(r.out, "base64"));
        assert_string_equal(r.err, "");
        r = CAY("--json", "--", "/bin/sh", "-c", "printf '\\377\\376'; kill -TERM $$");
        assert_status(&r, 143);
        assert_true(run_json_is_valid(&r));
        assert_part(r.out, "\"stdout_base64\":\"//4=\"");
        assert_part(r.out, "\"exit_code\":null,\"signal\":\"SIGTERM\",\"exit_status\":143");
        r = CAY("--json", "head", "-c", "1000000", "/dev/urandom");
        assert_true(run_json_is_valid(&r));
}

/* One word with blanks is a line for a shell, as for `cay exec`; names of another program's options. */
static void a_line_and_other_names(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("echo hello; exit 4");
        assert_status(&r, 4);
        assert_string_equal(r.out, "hello\n");
        r = CAY("--json", "--run-id", "task-123", "--max-runtime-sec", "30", "--max-memory-mb", "256",
                "echo hello");
        assert_status(&r, 0);
        assert_part(r.out, "{\"id\":\"task-123\",");
        r = CAY("--max-runtime-sec", "1", "sleep 20");
        assert_status(&r, 124);
        r = CAY("--max-memory-mb", "x", "true");
        assert_status(&r, 2);
        assert_part(r.err, "--max-memory-mb: 'x' is not a number of MiB");
        r = CAY("/bin/no such");
        assert_status(&r, 127);
}

static void json_has_figures(void **state)
{
        const char *peak;
        struct run r;

        run_need_root();
        r = CAY("--json", "--cpus", "1", "--", "/bin/sh", "-c",
                "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
        assert_status(&r, 0);
        peak = strstr(r.out, "\"memory_peak_bytes\":");
        assert_non_null(peak);
        assert_true(strtoull(peak + 20, NULL, 10) > 100000);
        peak = strstr(r.out, "\"cpu_us\":");
        assert_non_null(peak);
        assert_true(strtoull(peak + 9, NULL, 10) > 10000);
}

static void input(void **state)
{
        static char big[5000000];
        struct run_setup s = { .input = "line one\nline two\n" };
        struct run r;
        int fd;

        run_need_root();
        r = run_cay(&s, WORDS("run", "cat"));
        assert_status(&r, 0);
        assert_out(&r, "line one\nline two\n");
        memset(big, 'z', sizeof(big));
        s = (struct run_setup){ .input = big, .input_len = sizeof(big) };
        r = run_cay(&s, WORDS("run", "wc", "-c"));
        assert_out(&r, "5000000\n");
        r = run_cay(&s, WORDS("run", "/bin/sh", "-c", "head -c 3")); /* reads a little, then ends */
        assert_status(&r, 0);
        assert_out(&r, "zzz");
        fd = open("/etc/hostname", O_RDONLY | O_CLOEXEC); /* a regular file cannot be polled */
        s = (struct run_setup){ .stdin_fd = fd };
        r = run_cay(&s, WORDS("run", "wc", "-l"));
        assert_status(&r, 0);
        assert_out(&r, "1\n");
        close(fd);
        r = run_cay(NULL, WORDS("run", "cat")); /* /dev/null */
        assert_status(&r, 0);
        assert_out(&r, "");
}

static void input_that_stays_open_does_not_hold_it_up(void **state)
{
        struct run_setup s = { .hold_input = true };
        struct run r;

        run_need_root();
        r = run_cay(&s, WORDS("run", "/bin/sh", "-c", "exit 6"));
        assert_status(&r, 6);
}

static void signal_during_a_run(int signo, int status)
{
        struct started s =
                run_start(NULL, WORDS("run", "/bin/sh", "-c", "trap '' INT TERM HUP; echo ready; sleep 100"));
        struct run r;

        assert_true(run_wait_readable(s.out, test_patience(10000)));
        kill(s.pid, signo);
        r = run_finish(&s, 20000);
        assert_status(&r, status);
        assert_part(r.err, "cay: killed: ended on request");
        assert_int_equal(run_left(), 0);
}

static void signals_end_the_run(void **state)
{
        run_need_root();
        signal_during_a_run(SIGINT, 130);
        signal_during_a_run(SIGTERM, 143);
        signal_during_a_run(SIGHUP, 129);
}

static void a_signal_at_any_moment_leaves_nothing(void **state)
{
        run_need_root();
        for (unsigned us = 0; us < 12000; us += 600) {
                struct started s = run_start(NULL, WORDS("run", "sleep", "100"));
                struct run r;

                usleep(us);
                kill(s.pid, SIGINT);
                r = run_finish(&s, 20000);
                /* Before cay looks at signals at all, it is simply ended by it. */
                assert_true(r.status == 130 || r.status == 1000 + SIGINT);
        }
        assert_int_equal(run_left(), 0);
}

static void a_warden_that_dies_is_told(void **state)
{
        struct started s;
        struct run r;
        pid_t warden;

        run_need_root();
        s = run_start(NULL, WORDS("run", "/bin/sh", "-c", "echo up; sleep 100"));
        assert_true(run_wait_readable(s.out, test_patience(10000)));
        warden = run_child_of(s.pid, "cay-warden");
        assert_true(warden > 0);
        kill(warden, SIGKILL);
        r = run_finish(&s, 20000);
        assert_status(&r, 125);
        assert_out(&r, "up\n");
        assert_part(r.err, "cay: engine_lost: ");
        r = CAY("true"); /* unmakes what it left */
        assert_status(&r, 0);
}

static void a_reader_that_leaves_ends_the_run(void **state)
{
        struct started s;
        struct run r;
        char buf[16];

        run_need_root();
        s = run_start(NULL, WORDS("run", "--output-limit", "1g", "yes"));
        assert_true(read(s.out, buf, sizeof(buf)) > 0);
        close(s.out);
        s.out = -1;
        r = run_finish(&s, 20000);
        assert_status(&r, 141);
}

static void a_reader_that_stalls_stops_the_command(void **state)
{
        struct started s;
        struct run r;

        run_need_root();
        s = run_start(NULL, WORDS("run", "--output-limit", "30m", "--json", "true"));
        r = run_finish(&s, 20000);
        s = run_start(NULL, WORDS("run", "--output-limit", "30m", "/bin/sh", "-c",
                                  "head -c 20000000 /dev/zero; date +%s.%N >&2"));
        usleep(1500000);
        assert_false(run_wait_readable(s.err, 0)); /* it waits in its write */
        r = run_finish(&s, 20000);
        assert_status(&r, 0);
        assert_int_equal(r.out_len, 20000000);
}

static void ids(void **state)
{
        struct run_setup held = { .hold_input = true };
        struct started s;
        struct run r;

        run_need_root();
        s = run_start(&held,
                      WORDS("run", "--id", "only-one", "/bin/sh", "-c", "echo up; read x; echo still here"));
        assert_true(run_wait_readable(s.out, test_patience(10000)));
        r = run_cay(NULL, WORDS("run", "--id", "only-one", "true"));
        assert_status(&r, 125);
        assert_part(r.err, "only-one");
        assert_int_equal(write(s.in, "\n", 1), 1);
        r = run_finish(&s, 20000);
        assert_status(&r, 0);
        assert_out(&r, "up\nstill here\n");
        r = CAY("--id", "only-one", "true"); /* free again */
        assert_status(&r, 0);
}

static void environment_and_descriptors_do_not_leak(void **state)
{
        struct run_setup s = { .env = "TOP_SECRET=hunter2" };
        struct run r;

        run_need_root();
        r = run_cay(&s, WORDS("run", "env"));
        assert_false(run_has(r.out, "hunter2"));
        assert_part(r.out, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
        assert_part(r.out, "HOME=/home/sandbox\n");
        assert_part(r.out, "USER=sandbox\n");
        r = CAY("/bin/sh", "-c", "touch $HOME/x && ls -A .");
        assert_status(&r, 0);
        assert_out(&r, "");
        r = CAY("--env", "A=b c", "--env", "PATH=/bin", "/bin/sh", "-c", "echo \"$A $PATH\"");
        assert_out(&r, "b c /bin\n");
        s = (struct run_setup){ .extra_fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC) };
        r = run_cay(&s, WORDS("run", "/bin/sh", "-c", "ls /proc/self/fd | wc -l; ls -l /proc/self/fd"));
        assert_int_equal(strtol(r.out, NULL, 10), 4); /* three, and ls's own */
        assert_false(run_has(r.out, "shadow"));
        close(s.extra_fd);
}

static void commands_start_with_a_clean_slate(void **state)
{
        struct run r;

        run_need_root();
        /* ends by SIGPIPE */
        r = SH("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2; umask; yes | head -n 1");
        assert_out(&r, "0000000000000000\n0000000000000000\n0022\ny\n");
        assert_string_equal(r.err, "");
}

static void users(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("/bin/sh", "-c", "id -u; id -g");
        assert_out(&r, "1001\n1001\n");
        r = CAY("--user", "root", "/bin/sh", "-c", "id -u; id -g; cat /proc/self/status | grep CapEff");
        assert_out(&r, "0\n0\nCapEff:\t0000000000000000\n");
        r = CAY("--user", "33:44", "/bin/sh", "-c", "id -u; id -g");
        assert_out(&r, "33\n44\n");
        r = CAY("--user", "sandbox", "id", "-u");
        assert_out(&r, "1001\n");
        r = CAY("--user", "nosuchuser", "true");
        assert_status(&r, 125);
        assert_part(r.err, "user 'nosuchuser' is not in the sandbox's /etc/passwd");
        r = run_cay(NULL, WORDS("run", "--user", "root", "--workspace", "/tmp:rw", "true"));
        assert_status(&r, 2);
        assert_part(r.err, "--user: a workspace that is mapped read-write belongs to the sandbox's own user");
        r = run_cay(NULL, WORDS("run", "--user", "1500", "touch", "/workspace/mine"));
        assert_status(&r, 0);
}

/* Pools of the host that one box could empty, and a lease that would stall the host's readers. */
static void what_is_the_hosts_stays_so(void **state)
{
        struct run r;

        run_need_root();
        r = run_cay(NULL, WORDS("run", "python3", "-c",
                                "import os\nn = 0\ntry:\n  while n < 500:\n"
                                "    os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY); n += 1\n"
                                "except OSError: pass\nprint(n)"));
        assert_status(&r, 0);
        assert_string_equal(r.out, "64\n");
        r = run_cay(NULL, WORDS("run", "python3", "-c",
                                "import fcntl\nf = open('/tmp/f', 'w')\n"
                                "try: fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); print('lease')\n"
                                "except OSError: print('refused')"));
        assert_status(&r, 0);
        assert_string_equal(r.out, "refused\n");
}

static void working_directories(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("pwd");
        assert_out(&r, "/workspace\n");
        r = CAY("--cwd", "/usr/bin", "pwd");
        assert_out(&r, "/usr/bin\n");
        r = CAY("--cwd", "/no/such", "pwd");
        assert_true(r.status == 126 || r.status == 127 || r.status == 125);
        assert_part(r.err, "cay");
}

static void read_only(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("--read-only", "/bin/sh", "-c",
                "echo x > /tmp/a && echo x > /dev/shm/b && echo x > c && echo x > /var/d");
        assert_status(&r, 2);
        assert_part(r.err, "/var/d: Read-only file system");
        r = CAY("/bin/sh", "-c", "echo x > /usr/x");
        assert_true(r.status != 0);
}

static void files_limit(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("/bin/sh", "-c", "ulimit -n");
        assert_out(&r, "4096\n");
        r = CAY("--files", "100", "/bin/sh", "-c", "ulimit -n; ulimit -Hn");
        assert_out(&r, "100\n100\n");
}

static void trace_shows_steps(void **state)
{
        struct run r;

        run_need_root();
        r = CAY("--trace", "true");
        assert_status(&r, 0);
        assert_part(r.err, "at ms");
        assert_part(r.err, "cli      cli_start");
        assert_part(r.err, "cli      confined");
        assert_part(r.err, "cli      gone");
}

static void a_missing_sibling_is_told(void **state)
{
        char dir[] = "/tmp/cay-alone-XXXXXX", from[4200], to[64];
        int status;
        pid_t pid;

        assert_non_null(mkdtemp(dir));
        snprintf(from, sizeof(from), "%s/cay", run_build_dir());
        snprintf(to, sizeof(to), "%s/cay", dir);
        pid = fork();
        if (pid == 0) {
                execlp("cp", "cp", from, to, (char *)NULL);
                _exit(99);
        }
        waitpid(pid, &status, 0);
        assert_int_equal(status, 0);
        pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                dup2(null, STDERR_FILENO);
                execl(to, "cay", "run", "true", (char *)NULL);
                _exit(99);
        }
        waitpid(pid, &status, 0);
        assert_int_equal(WEXITSTATUS(status), 125);
        unlink(to);
        rmdir(dir);
}

static void closed_standard_descriptors(void **state)
{
        char path[4200];
        int status;
        pid_t pid;

        run_need_root();
        snprintf(path, sizeof(path), "%s/cay", run_build_dir());
        pid = fork();
        if (pid == 0) {
                close(0);
                close(1);
                close(2);
                execl(path, "cay", "run", "/bin/sh", "-c", "echo x; echo y >&2; cat; exit 9", (char *)NULL);
                _exit(99);
        }
        waitpid(pid, &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 9);
}

/* Starts cay under a terminal of its own; the master's end is returned. */
static int start_on_terminal(const char *const *words, pid_t *ret_pid)
{
        struct winsize size = { .ws_row = 33, .ws_col = 77 };
        char path[4200], *argv[RUN_WORDS_MAX] = { (char *)"cay" };
        int master;

        for (unsigned i = 0; words[i] != NULL; i++)
                argv[i + 1] = (char *)words[i];
        snprintf(path, sizeof(path), "%s/cay", run_build_dir());
        *ret_pid = forkpty(&master, NULL, NULL, &size);
        assert_true(*ret_pid >= 0);
        if (*ret_pid == 0) {
                putenv((char *)"TERM=vt100");
                execv(path, argv);
                _exit(99);
        }
        return master;
}

/* Reads until `part` has come; false at the deadline. */
static bool read_until(int fd, char *text, size_t size, const char *part, unsigned ms)
{
        uint64_t end = run_now_ms() + test_patience(ms);
        size_t len = strlen(text);

        while (!run_has(text, part) && run_now_ms() < end && len + 1 < size) {
                ssize_t n;

                if (!run_wait_readable(fd, 100))
                        continue;
                n = read(fd, text + len, size - 1 - len);
                if (n <= 0)
                        break;
                len += (size_t)n;
                text[len] = '\0';
        }
        return run_has(text, part);
}

static void a_terminal(void **state)
{
        struct winsize size = { .ws_row = 20, .ws_col = 60 };
        char text[4096] = "";
        struct termios t;
        int master, status;
        pid_t pid;

        run_need_root();
        master = start_on_terminal(
                WORDS("run", "--tty", "/bin/sh", "-c",
                      "stty size; echo $TERM; tty >/dev/null && echo is-tty; read x; echo got=$x; "
                      "trap 'stty size; exit 5' WINCH; echo waiting; while :; do sleep 0.1; done"),
                &pid);
        assert_true(read_until(master, text, sizeof(text), "is-tty", 10000));
        assert_part(text, "33 77");
        assert_part(text, "vt100");
        assert_int_equal(tcgetattr(master, &t), 0);
        assert_false(t.c_lflag & ICANON); /* ours is raw: the box's terminal does the editing */
        assert_int_equal(write(master, "wo\177ord\r", 7), 7);
        assert_true(read_until(master, text, sizeof(text), "got=word", 10000));
        assert_true(read_until(master, text, sizeof(text), "waiting", 10000));
        assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
        assert_true(read_until(master, text, sizeof(text), "20 60", 10000));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), 5);
        close(master);
}

static void ctrl_c_in_a_terminal_is_the_command_s(void **state)
{
        char text[4096] = "";
        int master, status;
        pid_t pid;

        run_need_root();
        master = start_on_terminal(
                WORDS("run", "--tty", "/bin/sh", "-c",
                      "trap 'echo caught; exit 3' INT; echo up; while :; do sleep 0.1; done"),
                &pid);
        assert_true(read_until(master, text, sizeof(text), "up", 10000));
        assert_int_equal(write(master, "\003", 1), 1);
        assert_true(read_until(master, text, sizeof(text), "caught", 10000));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), 3);
        close(master);
}

static void the_terminal_is_put_back(void **state)
{
        char text[4096] = "";
        struct termios t;
        int master, slave, status;
        pid_t pid;

        run_need_root();
        for (unsigned i = 0; i < 3; i++) { /* exits, is signalled, cannot even start */
                const char *line = i == 0 ? "echo up; exit 0" : "echo up; sleep 100";
                const char *id = i == 2 ? "Bad Id" : "terminal";

                text[0] = '\0';
                assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
                pid = fork();
                if (pid == 0) {
                        char path[4200];

                        login_tty(slave);
                        snprintf(path, sizeof(path), "%s/cay", run_build_dir());
                        execl(path, "cay", "run", "--tty", "--id", id, "/bin/sh", "-c", line, (char *)NULL);
                        _exit(99);
                }
                assert_true(read_until(master, text, sizeof(text), i == 2 ? "not a name" : "up", 10000));
                if (i == 1)
                        kill(pid, SIGTERM);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(tcgetattr(slave, &t), 0);
                assert_true(t.c_lflag & ICANON);
                assert_true(t.c_lflag & ECHO);
                close(master);
                close(slave);
        }
}

static void without_tty_a_terminal_s_input_stays_outside(void **state)
{
        char text[4096] = "";
        int master, status;
        pid_t pid;

        run_need_root();
        master = start_on_terminal(WORDS("run", "/bin/sh", "-c", "tty; cat; echo over"), &pid);
        assert_true(read_until(master, text, sizeof(text), "over", 10000));
        assert_part(text, "not a tty");
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), 0);
        close(master);
}

static void auto_is_native_where_that_holds(void **state)
{
        struct run r = CAY("--engine", "auto", "--json", "true");

        assert_status(&r, 0);
        assert_part(r.out, "\"engine\":\"native\"");
}

static void the_process_engine_by_name(void **state)
{
        struct run r = CAY("--engine", "process", "true");

        assert_status(&r, 125);
        assert_part(r.err, "cannot hold these limits: memory, swap, cpus, pids, disk, inodes");
        r = CAY("--engine", "process", "--allow-missing", "all", "--quiet", "/bin/sh", "-c",
                "echo out; echo err >&2; exit 7");
        assert_status(&r, 7);
        assert_out(&r, "out\n");
        assert_string_equal(r.err, "err\n");
        r = CAY("--engine", "process", "--allow-missing", "all", "--timeout", "0.3", "sleep", "10");
        assert_status(&r, 124);
        assert_part(r.err, "cay: wall_time: time limit of 300 ms reached");
        assert_part(r.err, "cay: limits not enforced here: memory");
        assert_part(r.err,
                    "cay: not isolated: the process engine ran the command on this machine as uid 20132");
        r = CAY("--engine", "process", "--allow-missing", "all", "--template", "rootfs:/", "true");
        assert_status(&r, 125);
        r = CAY("--engine", "process", "--allow-missing", "all", "--read-only", "true");
        assert_status(&r, 125);
        r = CAY("--engine", "process", "--allow-missing", "all", "--workspace", "/tmp", "true");
        assert_status(&r, 125);
        assert_part(r.err, "DIR:rw");
        r = CAY("--engine", "process", "--allow-missing", "all", "--user", "33", "true");
        assert_status(&r, 125);
        r = CAY("--engine", "process", "--allow-missing", "all", "--quiet", "--workspace", "/tmp:rw", "pwd");
        assert_out(&r, "/tmp\n");
        r = CAY("--engine", "process", "--allow-missing", "all", "--json", "/bin/sh", "-c",
                "setsid sleep 100 & exit 0");
        assert_status(&r, 0);
        assert_true(run_json_is_valid(&r));
        assert_part(r.out, "\"engine\":\"process\"");
        assert_part(r.out, "\"skipped\":[\"memory\",\"swap\",\"cpus\",\"pids\",\"disk\",\"inodes\"]");
}

/*
 * As root: an id of its own, no other group, no way back; unless the folder is the caller's, and then it is
 * said.
 */
static void the_process_engine_is_not_root(void **state)
{
        struct run r = CAY("--engine", "process", "--allow-missing", "all", "--quiet", "/bin/sh", "-c",
                           "id -u; id -G; grep NoNewPrivs /proc/self/status; head -c 1 /etc/shadow 2>&1; "
                           "touch x && echo made");

        assert_true(strncmp(r.out, "20132", 5) == 0); /* engines/process/own_id.h */
        assert_part(r.out, "NoNewPrivs:\t1\n");
        assert_part(r.out, "Permission denied");
        assert_part(r.out, "made\n");
        r = CAY("--engine", "process", "--allow-missing", "all", "--workspace", "/tmp:rw", "id", "-u");
        assert_out(&r, "0\n");
        assert_part(r.err, "cay: not isolated: the process engine ran the command as root of this machine");
}

static void the_process_engine_killed_in_the_middle(void **state)
{
        struct started s =
                run_start(NULL, WORDS("run", "--engine", "process", "--allow-missing", "all", "/bin/sh", "-c",
                                      "setsid sleep 30.2718 & echo $PWD > left; pwd; sleep 30.2718"));
        char dir[256] = "";
        struct stat st;
        struct run r;
        unsigned i;

        assert_true(read(s.out, dir, sizeof(dir) - 1) > 0);
        dir[strcspn(dir, "\n")] = '\0';
        kill(s.pid, SIGKILL);
        r = run_finish(&s, 20000);
        assert_int_equal(r.status, 1000 + SIGKILL);
        for (i = 0; i < 2000 && system("pgrep -f '[s]leep 30.2718' >/dev/null") == 0; i++)
                usleep(20000);
        assert_true(i < 2000); /* init saw its engine go, and ended everything */
        assert_int_equal(stat(dir, &st), 0);
        r = CAY("--engine", "process", "--allow-missing", "all", "true");
        assert_status(&r, 0);
        assert_int_equal(stat(dir, &st), -1); /* the next one swept its folder */
}

static void without_root_it_works(void **state)
{
        char path[4200], text[512] = "";
        int fds[2], status;
        pid_t pid;

        run_need_root();
        snprintf(path, sizeof(path), "%s/cay", run_build_dir());
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                dup2(fds[1], STDERR_FILENO);
                if (setgid(65534) == 0 && setuid(65534) == 0)
                        execl(path, "cay", "run", "true", (char *)NULL);
                _exit(98); /* a build folder that others cannot enter */
        }
        close(fds[1]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(read(fds[0], text, sizeof(text) - 1) >= 0);
        close(fds[0]);
        if (WEXITSTATUS(status) == 98) {
                print_message("others cannot enter %s\n", run_build_dir());
                skip();
        }
        if (WEXITSTATUS(status) != 0)
                print_message("%s\n", text);
        assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, run_setup_test, run_teardown_test)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(wrong_usage_costs_nothing),
                TEST(help_and_version),
                TEST(statuses),
                TEST(commands_are_found_in_path),
                TEST(streams_come_apart_and_live),
                TEST(large_output_is_whole),
                TEST(background_processes_do_not_hold_it_up),
                TEST(json),
                TEST(a_line_and_other_names),
                TEST(json_has_figures),
                TEST(input),
                TEST(input_that_stays_open_does_not_hold_it_up),
                TEST(signals_end_the_run),
                TEST(a_signal_at_any_moment_leaves_nothing),
                TEST(a_warden_that_dies_is_told),
                TEST(a_reader_that_leaves_ends_the_run),
                TEST(a_reader_that_stalls_stops_the_command),
                TEST(ids),
                TEST(environment_and_descriptors_do_not_leak),
                TEST(commands_start_with_a_clean_slate),
                TEST(users),
                TEST(what_is_the_hosts_stays_so),
                TEST(working_directories),
                TEST(read_only),
                TEST(files_limit),
                TEST(trace_shows_steps),
                TEST(a_missing_sibling_is_told),
                TEST(closed_standard_descriptors),
                TEST(a_terminal),
                TEST(ctrl_c_in_a_terminal_is_the_command_s),
                TEST(the_terminal_is_put_back),
                TEST(without_tty_a_terminal_s_input_stays_outside),
                TEST(auto_is_native_where_that_holds),
                TEST(the_process_engine_by_name),
                TEST(the_process_engine_is_not_root),
                TEST(the_process_engine_killed_in_the_middle),
                TEST(without_root_it_works),
        };

        /* Ignored under nohup, or in the background of a shell: cay leaves such a signal alone. */
        signal(SIGHUP, SIG_DFL);
        signal(SIGINT, SIG_DFL);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
