/* SPDX-License-Identifier: Apache-2.0 */
/* Pipes, poll and a deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "isolated/leftovers.h"
#include "foundation/base/banned.h"
#include "foundation/base/buf.h"
#include "integration/run/harness.h"
#include "patience.h"

#define STREAM_MAX (64u << 20)

const char *run_build_dir(void)
{
        const char *dir = getenv("CAY_BUILD_DIR");

        assert_non_null(dir);
        return dir;
}

uint64_t run_now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int keep(int fd, const void *bytes, size_t len)
{
        return write(fd, bytes, len) == (ssize_t)len ? 0 : -1;
}

/* A file that is gone already: input of any size without a writer beside us. */
static int input_file(const struct run_setup *s)
{
        char path[] = "/tmp/cay-input-XXXXXX";
        size_t len = s->input_len > 0 ? s->input_len : strlen(s->input);
        int fd = mkostemp(path, O_CLOEXEC), pipe_fds[2];
        pid_t pid;

        assert_true(fd >= 0);
        unlink(path);
        assert_int_equal(keep(fd, s->input, len), 0);
        lseek(fd, 0, SEEK_SET);
        /* As a pipe, which is what a shell gives: a child of its own writes it. */
        assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                char buf[65536];
                ssize_t n;

                if (fork() != 0)
                        _exit(0); /* nobody has to wait for the writer */
                close(pipe_fds[0]);
                signal(SIGPIPE, SIG_DFL);
                while ((n = read(fd, buf, sizeof(buf))) > 0)
                        if (write(pipe_fds[1], buf, (size_t)n) < 0)
                                break;
                _exit(0);
        }
        waitpid(pid, NULL, 0);
        close(fd);
        close(pipe_fds[1]);
        return pipe_fds[0];
}

static void become_cay(const char *const *words, int in, int out, int err, const struct run_setup *setup)
{
        char path[4096], *argv[RUN_WORDS_MAX + 2] = { (char *)"cay" };
        unsigned i = 0;

        for (; words[i] != NULL && i < RUN_WORDS_MAX; i++)
                argv[i + 1] = (char *)words[i];
        snprintf(path, sizeof(path), "%s/cay", getenv("CAY_BUILD_DIR"));
        dup2(in, STDIN_FILENO);
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        if (setup != NULL && setup->env != NULL)
                putenv((char *)setup->env);
        if (setup != NULL && setup->extra_fd > 0)
                fcntl(setup->extra_fd, F_SETFD, 0);
        signal(SIGPIPE, SIG_DFL);
        execv(path, argv);
        _exit(99);
}

struct started run_start(const struct run_setup *setup, const char *const *words)
{
        struct started s = { .in = -1, .start_ms = run_now_ms() };
        int out[2], err[2], in[2] = { -1, -1 }, in_fd;

        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
        if (setup != NULL && setup->stdin_fd > 0) {
                in_fd = setup->stdin_fd;
        } else if (setup != NULL && setup->hold_input) {
                assert_int_equal(pipe2(in, O_CLOEXEC), 0);
                in_fd = in[0];
                s.in = in[1];
        } else if (setup != NULL && setup->input != NULL) {
                in_fd = input_file(setup);
        } else {
                in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        }
        s.pid = fork();
        assert_true(s.pid >= 0);
        if (s.pid == 0)
                become_cay(words, in_fd, out[1], err[1], setup);
        if (setup == NULL || setup->stdin_fd <= 0)
                close(in_fd);
        close(out[1]);
        close(err[1]);
        s.out = out[0];
        s.err = err[0];
        return s;
}

bool run_wait_readable(int fd, unsigned ms)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };

        return poll(&p, 1, (int)ms) > 0;
}

static bool pull(int *fd, struct cay_buf *b)
{
        char *room = cay_buf_room(b, 65536);
        ssize_t n;

        assert_non_null(room);
        n = read(*fd, room, 65536);
        if (n <= 0) {
                close(*fd);
                *fd = -1;
                return false;
        }
        cay_buf_added(b, (size_t)n);
        return true;
}

struct run run_finish(struct started *s, unsigned deadline_ms)
{
        static struct cay_buf bufs[2];
        struct run r = { .status = -1 };
        uint64_t end = s->start_ms + test_patience(deadline_ms);
        int status;

        for (unsigned i = 0; i < 2; i++) {
                cay_buf_done(&bufs[i]);
                cay_buf_init(&bufs[i], STREAM_MAX);
        }
        while (s->out >= 0 || s->err >= 0) {
                struct pollfd p[2] = { { .fd = s->out, .events = POLLIN },
                                       { .fd = s->err, .events = POLLIN } };
                uint64_t now = run_now_ms();

                if (now >= end || poll(p, 2, (int)(end - now)) == 0) {
                        kill(s->pid, SIGKILL);
                        waitpid(s->pid, NULL, 0);
                        fail_msg("cay did not end within %u ms; stdout '%.200s', stderr '%.200s'",
                                 deadline_ms, cay_buf_data(&bufs[0]), cay_buf_data(&bufs[1]));
                }
                if (p[0].revents != 0 && pull(&s->out, &bufs[0]) && r.first_out_ms == 0)
                        r.first_out_ms = (unsigned)(run_now_ms() - s->start_ms) + 1;
                if (p[1].revents != 0)
                        pull(&s->err, &bufs[1]);
        }
        assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
        r.ms = (unsigned)(run_now_ms() - s->start_ms);
        if (s->in >= 0)
                close(s->in);
        r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        r.out = cay_buf_data(&bufs[0]);
        r.err = cay_buf_data(&bufs[1]);
        r.out_len = bufs[0].len;
        r.err_len = bufs[1].len;
        return r;
}

struct run run_cay(const struct run_setup *setup, const char *const *words)
{
        struct started s = run_start(setup, words);

        return run_finish(&s, 60000);
}

bool run_has(const char *text, const char *part)
{
        return strstr(text, part) != NULL;
}

bool run_json_is_valid(const struct run *r)
{
        int fds[2], status;
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                int null = open("/dev/null", O_RDWR);

                dup2(fds[0], STDIN_FILENO);
                dup2(null, STDOUT_FILENO);
                dup2(null, STDERR_FILENO);
                execlp("python3", "python3", "-m", "json.tool", (char *)NULL);
                _exit(99);
        }
        close(fds[0]);
        signal(SIGPIPE, SIG_IGN);
        for (size_t done = 0; done < r->out_len;) {
                ssize_t n = write(fds[1], r->out + done, r->out_len - done);

                if (n <= 0)
                        break;
                done += (size_t)n;
        }
        close(fds[1]);
        signal(SIGPIPE, SIG_DFL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool run_has_static_init(void)
{
        char path[4200];
        Elf64_Ehdr head;
        Elf64_Phdr part;
        bool is_static = true;
        int fd;

        snprintf(path, sizeof(path), "%s/cay-init", run_build_dir());
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(read(fd, &head, sizeof(head)), sizeof(head));
        for (unsigned i = 0; i < head.e_phnum; i++) {
                assert_int_equal(pread(fd, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))),
                                 sizeof(part));
                is_static &= part.p_type != PT_INTERP;
        }
        close(fd);
        return is_static;
}

pid_t run_child_of(pid_t parent, const char *name)
{
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        pid_t found = 0;

        assert_non_null(dir);
        while (found == 0 && (entry = readdir(dir)) != NULL) {
                char path[300], text[512], *open_mark, *close_mark;
                ssize_t n;
                int fd, ppid;

                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
                if (fd >= 0)
                        close(fd);
                text[n > 0 ? n : 0] = '\0';
                open_mark = strchr(text, '(');
                close_mark = strrchr(text, ')');
                if (open_mark == NULL || close_mark == NULL ||
                    sscanf(close_mark + 1, " %*c %d", &ppid) != 1 || ppid != parent)
                        continue;
                *close_mark = '\0';
                if (strcmp(open_mark + 1, name) == 0)
                        found = (pid_t)strtol(text, NULL, 10);
        }
        closedir(dir);
        return found;
}

static struct cay_leftovers *before;

int run_setup_test(void **state)
{
        (void)state;
        if (geteuid() == 0)
                before = cay_leftovers_take();
        return 0;
}

unsigned run_left(void)
{
        return before ? cay_leftovers_compare(before, CAY_LEFTOVERS_WAIT_MS) : 0;
}

int run_teardown_test(void **state)
{
        unsigned left = run_left();

        (void)state;
        if (before)
                cay_leftovers_free(before);
        before = NULL;
        return left == 0 ? 0 : -1;
}

void run_need_root(void)
{
        if (geteuid() != 0) {
                print_message("the native engine needs root\n");
                skip();
        }
}
