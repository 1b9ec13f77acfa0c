/* SPDX-License-Identifier: Apache-2.0 */
/* PROCESSES: lines of /proc, and which exec they belong to. */

#include "test_files.h"

#include <signal.h>
#include <sys/prctl.h>

#include "cay-init/processes.h"
#include "foundation/sys/fd.h"

static void stat_lines_are_read(void **state)
{
        struct cay_process p;

        (void)state;
        assert_int_equal(cay_process_stat_parse("12 (sh) S 1 12 10 0 -1 4194560", &p), 0);
        assert_int_equal(p.pid, 12);
        assert_int_equal(p.ppid, 1);
        assert_int_equal(p.session, 10);
        assert_int_equal(p.state, 'S');
        assert_string_equal(p.comm, "sh");
        assert_int_equal(p.cpu_ticks, 0);
        assert_int_equal(cay_process_stat_parse("12 (sh) S 1 12 10 0 -1 4194560 5 6 7 8 120 34 9 9 20", &p),
                         0);
        assert_int_equal(p.cpu_ticks, 154);
        assert_int_equal(cay_process_stat_parse("12 (sh) S 1 12 10 0 -1 4194560 5 6 7 8 120", &p), 0);
        assert_int_equal(p.cpu_ticks, 0);
        /* a name that pretends to be the rest of the line */
        assert_int_equal(cay_process_stat_parse("12 (a) R 99 98 97 (\n) Z 3 4 5 0", &p), 0);
        assert_int_equal(p.ppid, 3);
        assert_int_equal(p.state, 'Z');
        assert_string_equal(p.comm, "a) R 99 98 97 (\n");
        assert_int_equal(cay_process_stat_parse("", &p), -EINVAL);
        assert_int_equal(cay_process_stat_parse("12 (sh", &p), -EINVAL);
        assert_int_equal(cay_process_stat_parse("12 )sh( S 1 2 3", &p), -EINVAL);
        assert_int_equal(cay_process_stat_parse("12 (sh)", &p), -EINVAL);
        assert_int_equal(cay_process_stat_parse("12 (sh) ", &p), -EINVAL);
        assert_int_equal(cay_process_stat_parse("12 (sh) S 1 2", &p), -EINVAL);
        assert_int_equal(cay_process_stat_parse("x (sh) S 1 2 3", &p), -EINVAL);
}

static uint32_t channel(const char *text)
{
        static const struct cay_worker_exec execs[] = { { 40, 7, 0 }, { 41, 9, 3 } };

        return cay_process_channel(cay_process_node(text), execs, CAY_COUNT(execs));
}

static void cgroup_lines_are_read(void **state)
{
        (void)state;
        assert_int_equal(channel("0::/cay/box/x17\n"), 17);
        assert_int_equal(channel("12:memory:/a/x1\n1:name=systemd:/\n0::/../x4294967295\n"), 4294967295u);
        assert_int_equal(channel("0::/x5_3\n"), 5);
        assert_int_equal(channel("0::/x5\n1:memory:/x6\n"), 5);
        assert_int_equal(channel("0::/x5"), 5);
        assert_int_equal(channel("0::/x5/sub\n"), 0);
        assert_int_equal(channel("0::/x\n"), 0);
        assert_int_equal(channel("0::/x5y\n"), 0);
        assert_int_equal(channel("0::/x4294967296\n"), 0);
        assert_int_equal(channel("0::/box/s3\n"), 9); /* made ahead: the list says whose it is */
        assert_int_equal(channel("0::/box/s7\n"), 0);
        assert_int_equal(channel("0::/box/s0\n"), 0);
        assert_int_equal(channel("0::/\n"), 0);
        assert_int_equal(channel("0::\n"), 0);
        assert_int_equal(channel("4:memory:/x5\n"), 0);
        assert_int_equal(channel(""), 0);
        assert_int_equal(cay_process_node("0::/a/w\n").len, 1);
        assert_int_equal(cay_process_node("0::\n").len, 0);
}

/* --- With real processes: this test plays init, a forked child the worker. --- */

static pid_t start(const char *const argv[])
{
        pid_t pid = fork();

        if (pid == 0) {
                setsid();
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left when the test fails */
                execvp(argv[0], (char *const *)argv);
                _exit(127);
        }
        assert_true(pid > 0);
        return pid;
}

struct answer {
        uint32_t code;
        uint64_t entries;
        char text[65536];
};

static struct answer *answer;

static void list(const struct cay_worker_exec *execs, uint32_t count, uint64_t max)
{
        struct cay_box_open open_msg = { .kind = CAY_BOX_PROCESSES, .file = { .max_entries = max } };
        pid_t pid;
        int status;

        memset(answer, 0, sizeof(*answer));
        pid = fork();
        if (pid == 0) {
                struct cay_worker_request req = {
                        .open = &open_msg, .path = "", .path2 = "", .execs = execs, .exec_count = count
                };
                static struct cay_worker_result res;

                setsid();
                req.out_fd = memfd_create("out", MFD_CLOEXEC);
                cay_processes_list(&req, &res);
                lseek(req.out_fd, 0, SEEK_SET);
                sys_read_all(req.out_fd, answer->text, sizeof(answer->text) - 1);
                answer->code = res.code;
                answer->entries = res.entries;
                _exit(0);
        }
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(answer->code, CAY_OK);
}

/* A line without its figures, which change. */
static bool is_line(const char *at, const char *line)
{
        const char *figures = strchr(at, ':');
        size_t head = figures ? (size_t)(figures - at) : 0, len = strlen(line);

        if (!figures || len <= head)
                return strncmp(at, line, len) == 0;
        return strncmp(at, line, head) == 0 &&
               strncmp(figures + strcspn(figures, " "), line + head, len - head) == 0;
}

static bool has_line(const char *line)
{
        const char *at = answer->text;

        while (*at) {
                if (is_line(at, line))
                        return true;
                at += strcspn(at, "\n");
                at += *at == '\n';
        }
        return false;
}

static void wait_for(pid_t pid, const char *comm)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        for (unsigned i = 0; i < 3000 && strncmp(get_file(path), comm, strlen(comm)) != 0; i++)
                usleep(10000);
}

static void processes_are_listed_by_exec(void **state)
{
        static const char *const odd[] = { "sh", "-c", "kill -STOP $$", "new\nline", "\xff%", NULL };
        static const char *const tree[] = { "sh", "-c", "sleep 1001 & wait", NULL };
        struct cay_worker_exec execs[] = { { 0, 7 }, { 0, 9 } };
        char line[128], lines[3][128], path[64];
        pid_t a, b, child;

        (void)state;
        answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(answer, MAP_FAILED);
        a = start(odd);
        b = start(tree);
        wait_for(b, "sh");
        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", b, b);
        for (unsigned i = 0; i < 3000 && (child = (pid_t)strtol(get_file(path), NULL, 10)) <= 0; i++)
                usleep(10000);
        wait_for(child, "sleep");
        execs[0].pid = a;
        execs[1].pid = b;
        snprintf(lines[0], sizeof(lines[0]), "%d %d 7 T sh -c kill -STOP $$ new%%0Aline %%FF%%25\n", a,
                 getpid());
        snprintf(lines[1], sizeof(lines[1]), "%d %d 9 S sh -c sleep 1001 & wait\n", b, getpid());
        snprintf(lines[2], sizeof(lines[2]), "%d %d 9 S sleep 1001\n", child, b);
        for (unsigned i = 0; i < 3000; i++) { /* until each of them has come to rest */
                list(execs, 2, 0);
                if (has_line(lines[0]) && has_line(lines[1]) && has_line(lines[2]))
                        break;
                usleep(10000);
        }
        for (unsigned i = 0; i < 3; i++)
                assert_true(has_line(lines[i]));
        /* init itself, and of other people's processes none; the worker is not there */
        snprintf(line, sizeof(line), "%d %d 0 ", getpid(), getppid());
        assert_true(has_line(line));
        snprintf(line, sizeof(line), "%d ", getppid());
        assert_false(has_line(line));
        assert_int_equal(answer->entries, 4);
        list(execs, 2, 2);
        assert_int_equal(answer->entries, 2);
        /* a child of init's that is no exec is a helper of its own */
        list(execs, 1, 0);
        snprintf(line, sizeof(line), "%d ", b);
        assert_false(has_line(line));

        kill(a, SIGKILL);
        kill(child, SIGKILL);
        kill(b, SIGKILL);
        /* a zombie has no command line any more */
        for (unsigned i = 0; i < 3000; i++) {
                list(execs, 2, 0);
                snprintf(line, sizeof(line), "%d %d 7 Z [sh]\n", a, getpid());
                if (has_line(line))
                        break;
                usleep(10000);
        }
        assert_true(has_line(line));
        assert_int_equal(waitpid(a, NULL, 0), a);
        assert_int_equal(waitpid(b, NULL, 0), b);
        munmap(answer, sizeof(*answer));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(stat_lines_are_read),
                cmocka_unit_test(cgroup_lines_are_read),
                FILE_TEST(processes_are_listed_by_exec),
        };

        return cmocka_run_group_tests_name("init/processes", tests, NULL, NULL);
}
