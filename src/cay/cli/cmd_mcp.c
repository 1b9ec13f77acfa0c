/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay mcp`: MCP on standard input and output, for agents that start their servers themselves. A relay: lines
 * go to the daemon and back as they are (Upgrade: mcp-lines on its /mcp), so all of the protocol is the
 * daemon's.
 *
 * A daemon that dies or is replaced by an upgrade does not end this. The relay reconnects, repeats the
 * session's start and its subscriptions (mcp_memory.h), and answers pending requests as lost, since their
 * outcome is unknown.
 *
 * Where no daemon answers and none was named, a private one is started for the time of the relay, on a
 * temporary folder. Standard output carries only messages; diagnostics go to standard error.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/clock.h"
#include "cay/cli/cli.h"
#include "cay/cli/mcp_install.h"
#include "cay/cli/mcp_memory.h"
#include "cay/cli/reach.h"
#include "cay/client/connect.h"

#define PIECE (64u * 1024)
#define HEAD_MAX (16u * 1024)
#define HEAD_MS 30000
#define START_MS 20000u
#define BROKEN_TRIES 50u /* tries when a daemon closes the connection, because it died or was replaced */
#define STARTING_STEP_MS 50u
#define STOP_MS 30000u
#define LAST_MS 30000 /* for output after our input has ended, between two messages */
#define TREE_DEPTH 16u
#define LINE_MAX_BYTES (16u * 1024 * 1024) /* longer lines are passed on unparsed */
#define TOLD_MAX (1024u * 1024)
#define AGAIN_MS 60000u /* for a daemon to return */

struct mcp_args {
        struct cay_reach_args reach;
        const char *sandbox;
        const char *tools;
        bool is_temporary; /* the daemon is ours and ends with us */
};

static const struct cay_flag flags[] = {
        { "sandbox", "ID", "offer only this sandbox; its tools need no sandbox_id", cay_flag_set_text,
          offsetof(struct mcp_args, sandbox) },
        { "tools", "GROUPS", "list the tools of these groups too, like network,browser; all: of every group",
          cay_flag_set_text, offsetof(struct mcp_args, tools) },
        CAY_REACH_FLAGS(offsetof(struct mcp_args, reach)),
        {},
};

struct daemon_of_ours {
        pid_t pid; /* 0: none */
        char folder[64];
};

static volatile sig_atomic_t told_to_stop;

static void on_signal(int signo)
{
        (void)signo;
        told_to_stop = 1;
}

static void watch_signals(void)
{
        const struct sigaction stop = { .sa_handler = on_signal };
        const struct sigaction none = { .sa_handler = SIG_IGN };

        sigaction(SIGTERM, &stop, NULL);
        sigaction(SIGINT, &stop, NULL);
        sigaction(SIGHUP, &stop, NULL);
        sigaction(SIGPIPE, &none, NULL);
}

/* A private daemon */

static void pause_ms(unsigned ms)
{
        const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

        nanosleep(&t, NULL);
}

/* Never follows a link; what cannot be removed stays. */
static void remove_tree(int dir, const char *name, unsigned depth)
{
        int fd = depth < TREE_DEPTH ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        struct dirent *e;

        if (fd >= 0 && !d)
                close(fd);
        while (d && (e = readdir(d)) != NULL) {
                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                if (unlinkat(dirfd(d), e->d_name, 0) < 0)
                        remove_tree(dirfd(d), e->d_name, depth + 1);
        }
        if (d)
                closedir(d);
        unlinkat(dir, name, AT_REMOVEDIR);
}

/* Its output would be ours. It lists who has access, which is only us. */
static void run_daemon(const struct daemon_of_ours *d)
{
        char data[80];
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        prctl(PR_SET_PDEATHSIG, SIGTERM);
        snprintf(data, sizeof(data), "%s/data", d->folder);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
                _exit(127);
        execl("/proc/self/exe", "cay", "serve", "--data", data, "--listen", "127.0.0.1:0", "--log-level",
              "warn", (char *)NULL);
        _exit(127);
}

static int start_daemon(struct daemon_of_ours *d, struct cay_reach *reach, int *ret_fd, struct cay_error *err)
{
        uint64_t until = cay_clock_ms() + START_MS;
        struct cay_error ignored = { 0 };
        pid_t helper = 0;
        char path[100];

        snprintf(d->folder, sizeof(d->folder), "/tmp/cay-mcp-XXXXXX");
        if (!mkdtemp(d->folder)) {
                d->folder[0] = '\0';
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a folder in /tmp");
        }
        snprintf(path, sizeof(path), "%s/data/cay.sock", d->folder);
        if (cay_url_unix(path, &reach->client.url, err) < 0)
                return -1;
        d->pid = fork();
        if (d->pid == 0)
                run_daemon(d);
        if (d->pid < 0) {
                d->pid = 0;
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "start a daemon");
        }
        while (cay_connect(&reach->client, ret_fd, &helper, &ignored) < 0) {
                if (waitpid(d->pid, NULL, WNOHANG) == d->pid) {
                        d->pid = 0;
                        return cay_fail(err, CAY_UNAVAILABLE, "the daemon that cay mcp started has ended");
                }
                if (told_to_stop || cay_clock_ms() > until)
                        return cay_fail(err, CAY_TIMEOUT, "the daemon that cay mcp started does not answer");
                pause_ms(20);
        }
        return 0;
}

static void stop_daemon(struct daemon_of_ours *d)
{
        uint64_t until = cay_clock_ms() + STOP_MS;

        if (d->pid > 0) {
                kill(d->pid, SIGTERM);
                while (waitpid(d->pid, NULL, WNOHANG) == 0) {
                        if (cay_clock_ms() > until)
                                kill(d->pid, SIGKILL);
                        pause_ms(10);
                }
        }
        if (d->folder[0])
                remove_tree(AT_FDCWD, d->folder, 0);
}

/* The connection */

static int say(int fd, const char *bytes, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, bytes, len);

                if (n < 0 && errno == EAGAIN) {
                        struct pollfd p = { .fd = fd, .events = POLLOUT };

                        poll(&p, 1, HEAD_MS);
                        continue;
                }
                if (n < 0 && errno == EINTR && !told_to_stop)
                        continue;
                if (n < 0)
                        return -errno;
                bytes += n;
                len -= (size_t)n;
        }
        return 0;
}

static int ask_upgrade(int fd, const struct cay_reach *reach, const struct mcp_args *a, struct cay_error *err)
{
        const struct cay_client *c = &reach->client;
        cay_auto_buf struct cay_buf out = { 0 };
        int r;

        cay_buf_init(&out, HEAD_MAX);
        r = cay_buf_printf(&out, "GET %s", c->url.base);
        if (r == 0 && a->sandbox)
                r = cay_buf_puts(&out, "/api/sandboxes/");
        if (r == 0 && a->sandbox)
                r = cay_url_escape(&out, a->sandbox, false);
        if (r == 0)
                r = cay_buf_puts(&out, a->is_temporary ? "/mcp?temporary" : "/mcp");
        if (r == 0 && a->tools)
                r = cay_buf_puts(&out, a->is_temporary ? "&tools=" : "?tools=");
        if (r == 0 && a->tools)
                r = cay_url_escape(&out, a->tools, false);
        if (r == 0)
                r = cay_buf_printf(&out,
                                   " HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: mcp-lines\r\n",
                                   c->url.kind == CAY_URL_UNIX ? "localhost" : c->url.authority);
        if (r == 0 && c->token[0])
                r = cay_buf_printf(&out, "Authorization: Bearer %s\r\n", c->token);
        if (r == 0)
                r = cay_buf_puts(&out, "\r\n");
        if (r == 0)
                r = say(fd, cay_buf_data(&out), out.len);
        explicit_bzero(cay_buf_data(&out), out.len);
        if (r < 0)
                cay_fail_sys(err, CAY_UNAVAILABLE, r, "speak to the daemon");
        return r == -EPIPE ? -ECONNRESET : r;
}

static int refused(unsigned status, struct cay_error *err)
{
        if (status == 401)
                return cay_fail(err, CAY_DENIED,
                                "the daemon needs a valid token: use --token-file or CAY_TOKEN");
        if (status == 404)
                return cay_fail(err, CAY_NOT_FOUND, "the daemon has no such sandbox (or is too old for MCP)");
        if (status == 400)
                return cay_fail(
                        err, CAY_INVALID,
                        "--tools: one of these groups does not exist; the tool more_tools names them");
        if (status == 503) {
                cay_fail(err, CAY_UNAVAILABLE, "the daemon is not ready or has too many clients; try again");
                return -EAGAIN;
        }
        if (status == 429)
                return cay_fail(err, CAY_LIMIT, "too many requests; try again in a minute");
        return cay_fail(err, CAY_UNAVAILABLE, "the daemon does not speak MCP here (HTTP status %u)", status);
}

/* Byte by byte: messages follow the head. -EAGAIN: nothing now; -ECONNRESET: closed. */
static int await_upgrade(int fd, struct cay_error *err)
{
        cay_auto(cay_answer_done) struct cay_answer answer;

        cay_answer_init(&answer);
        answer.may_upgrade = true;
        while (!cay_answer_has_head(&answer)) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                int r = poll(&p, 1, HEAD_MS);
                char byte;
                ssize_t n = r > 0 ? read(fd, &byte, 1) : r;
                const char *body;
                size_t len;

                if (r > 0 && (n == 0 || (n < 0 && errno == ECONNRESET))) {
                        cay_fail(err, CAY_UNAVAILABLE, "the daemon ended the connection without an answer");
                        return -ECONNRESET;
                }
                if (n <= 0)
                        return cay_fail(err, CAY_UNAVAILABLE, "the daemon does not answer");
                if (cay_answer_feed(&answer, &byte, 1, &body, &len) < 0)
                        return cay_fail(err, CAY_UNAVAILABLE,
                                        "the server there does not speak HTTP as a daemon does");
        }
        return answer.status == 101 ? 0 : refused(answer.status, err);
}

/*
 * A daemon may answer before it is ready or while it stops, or die before it answers. Then nothing was done,
 * and the request is repeated.
 */
static int open_lines(const struct cay_reach *reach, const struct mcp_args *a, int *fd, pid_t *helper,
                      struct cay_error *err)
{
        uint64_t until = cay_clock_ms() + START_MS;
        unsigned broken = 0;

        for (;;) {
                struct cay_error failed = { 0 };
                int r = ask_upgrade(*fd, reach, a, &failed);

                if (r == 0)
                        r = await_upgrade(*fd, &failed);
                if (r == -ECONNRESET && reach->client.url.kind != CAY_URL_HTTPS && ++broken < BROKEN_TRIES)
                        r = -EAGAIN;
                if (r != -EAGAIN || told_to_stop || cay_clock_ms() > until) {
                        *err = failed;
                        return r;
                }
                cay_connect_close(fd, helper);
                pause_ms(STARTING_STEP_MS);
                while (cay_connect(&reach->client, fd, helper, err) < 0) {
                        if (told_to_stop || cay_clock_ms() > until)
                                return -1;
                        pause_ms(STARTING_STEP_MS);
                }
                *err = (struct cay_error){ 0 };
        }
}

/* Lines in both directions */

struct relay {
        const struct mcp_args *args;
        struct cay_reach *reach;
        int fd;
        pid_t helper;
        struct cay_mcp_memory memory;
        struct cay_buf in, out;   /* of the client, of the daemon: an incomplete line */
        bool in_skips, out_skips; /* inside a line that is too long to be kept */
        bool is_drained;          /* the client will send no more */
};

enum heard { HEARD, OVER, BROKEN }; /* more may come; our side is gone; the daemon's is gone */

/* Passes whole lines on. A line that is too long for the buffer is passed on without being parsed. */
static int pass_lines(struct relay *r, struct cay_buf *buf, bool *skips, int to, bool is_ours)
{
        char *newline;
        int result = 0;

        while (result == 0 && (newline = memchr(cay_buf_data(buf), '\n', buf->len)) != NULL) {
                size_t len = (size_t)(newline - (char *)cay_buf_data(buf)) + 1;
                bool is_for_them = true;

                if (!*skips && is_ours)
                        cay_mcp_memory_said(&r->memory, cay_buf_data(buf), len - 1);
                else if (!*skips)
                        is_for_them = cay_mcp_memory_heard(&r->memory, cay_buf_data(buf), len - 1);
                *skips = false;
                if (is_for_them)
                        result = say(to, cay_buf_data(buf), len);
                cay_buf_drop(buf, len);
        }
        if (result == 0 && buf->len >= LINE_MAX_BYTES) {
                result = say(to, cay_buf_data(buf), buf->len);
                cay_buf_clear(buf);
                *skips = true;
        }
        return result;
}

static enum heard read_client(struct relay *r)
{
        static char piece[PIECE];
        ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return HEARD;
        if (n > 0)
                return cay_buf_put(&r->in, piece, (size_t)n) < 0              ? OVER
                       : pass_lines(r, &r->in, &r->in_skips, r->fd, true) < 0 ? BROKEN
                                                                              : HEARD;
        /* A last line may lack its newline. */
        if (r->in.len > 0) {
                cay_mcp_memory_said(&r->memory, cay_buf_data(&r->in), r->in.len);
                cay_buf_putc(&r->in, '\n');
                say(r->fd, cay_buf_data(&r->in), r->in.len);
        }
        shutdown(r->fd, SHUT_WR);
        r->is_drained = true;
        return HEARD;
}

static enum heard read_daemon(struct relay *r)
{
        static char piece[PIECE];
        ssize_t n = read(r->fd, piece, sizeof(piece));

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return HEARD;
        if (n <= 0)
                return BROKEN;
        if (cay_buf_put(&r->out, piece, (size_t)n) < 0)
                return OVER;
        return pass_lines(r, &r->out, &r->out_skips, STDOUT_FILENO, false) < 0 ? OVER : HEARD;
}

static void tell_lost(struct relay *r, const char *why)
{
        cay_auto_buf struct cay_buf told = { 0 };

        cay_buf_init(&told, TOLD_MAX);
        if (r->out_skips && say(STDOUT_FILENO, "\n", 1) < 0) /* the beginning of a line was passed on */
                return;
        cay_mcp_memory_lost(&r->memory, why, &told);
        say(STDOUT_FILENO, cay_buf_data(&told), told.len);
}

/* The same daemon, or its successor. */
static int connect_again(struct relay *r, struct cay_error *err)
{
        uint64_t until = cay_clock_ms() + AGAIN_MS;
        cay_auto_buf struct cay_buf first = { 0 };

        cay_connect_close(&r->fd, &r->helper);
        cay_buf_clear(&r->out);
        while (cay_connect(&r->reach->client, &r->fd, &r->helper, err) < 0) {
                if (told_to_stop || cay_clock_ms() > until)
                        return -1;
                *err = (struct cay_error){ 0 };
                pause_ms(STARTING_STEP_MS);
        }
        if (open_lines(r->reach, r->args, &r->fd, &r->helper, err) < 0)
                return -1;
        cay_buf_init(&first, TOLD_MAX * 8);
        if (cay_mcp_memory_again(&r->memory, &first) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory to begin the session again");
        if (say(r->fd, cay_buf_data(&first), first.len) < 0)
                return 0; /* broken again: noticed at the next read */
        fprintf(stderr, "cay mcp: the connection to the daemon was lost and is restored\n");
        return 0;
}

static int take_up_again(struct relay *r, struct cay_error *err)
{
        int result = connect_again(r, err);

        tell_lost(r, result == 0 ? "the daemon ended or was replaced while this was under way, and its "
                                   "answer is lost; it may have been done: "
                                   "look before you ask again"
                                 : "the daemon has ended while this was under way, and does not come back");
        r->out_skips = false;
        return result;
}

/* End of input is passed to the daemon, which then finishes its output. */
static int relay(struct relay *r, struct cay_error *err)
{
        while (!told_to_stop) {
                struct pollfd p[2] = { { .fd = r->is_drained ? -1 : STDIN_FILENO, .events = POLLIN },
                                       { .fd = r->fd, .events = POLLIN } };
                int n = poll(p, 2, r->is_drained ? LAST_MS : -1);
                enum heard heard = HEARD;

                if (n == 0 || (n < 0 && errno != EINTR))
                        return 0;
                if (n < 0)
                        continue;
                if (p[1].revents)
                        heard = read_daemon(r);
                if (heard == HEARD && p[0].revents)
                        heard = read_client(r);
                if (heard == BROKEN && r->is_drained) {
                        tell_lost(r, "the daemon has ended while this was under way, and its answer is lost");
                        return 0;
                }
                if (heard == BROKEN && !told_to_stop && take_up_again(r, err) < 0)
                        return told_to_stop ? 0 : -1;
                if (heard == OVER)
                        return 0;
        }
        return 0;
}

static int relay_lines(const struct mcp_args *a, struct cay_reach *reach, int *fd, pid_t *helper,
                       struct cay_error *err)
{
        struct relay r = { .args = a, .reach = reach, .fd = *fd, .helper = *helper };
        int result;

        cay_buf_init(&r.in, LINE_MAX_BYTES + PIECE);
        cay_buf_init(&r.out, LINE_MAX_BYTES + PIECE);
        result = relay(&r, err);
        *fd = r.fd;
        *helper = r.helper;
        cay_mcp_memory_done(&r.memory);
        cay_buf_done(&r.in);
        cay_buf_done(&r.out);
        return result;
}

static int serve(struct mcp_args *a, struct cay_reach *reach, struct daemon_of_ours *d, struct cay_error *err)
{
        bool may_start = a->reach.url == NULL && a->reach.data == NULL && a->sandbox == NULL;
        pid_t helper = 0;
        int fd = -1, r;

        if (cay_reach_open(reach, &a->reach, err) < 0)
                return -1;
        r = cay_connect(&reach->client, &fd, &helper, err);
        if (r < 0 && may_start && reach->client.url.kind == CAY_URL_UNIX && err->code == CAY_UNAVAILABLE) {
                *err = (struct cay_error){ 0 };
                r = start_daemon(d, reach, &fd, err);
                a->is_temporary = true;
        }
        if (r == 0)
                r = open_lines(reach, a, &fd, &helper, err);
        if (r == 0)
                r = relay_lines(a, reach, &fd, &helper, err);
        cay_connect_close(&fd, &helper);
        return r;
}

int cay_cmd_mcp(int argc, char **argv)
{
        struct daemon_of_ours d = { 0 };
        struct mcp_args a = { 0 };
        struct cay_reach reach = { 0 };
        struct cay_error err = { 0 };
        int rest = 0, r;

        if (argc > 1 && strcmp(argv[1], "install") == 0)
                return cay_mcp_install(argc - 1, argv + 1);
        r = cay_flags_parse(flags, argc, argv, &a, &rest, &err);
        if (r > 0) {
                printf("usage: cay mcp [options]\n"
                       "       cay mcp install [options] [CLIENT...]\n\n"
                       "Serves MCP on standard input and output, for agents that start their servers "
                       "themselves. It uses the\n"
                       "running daemon, or starts one that ends with it. `cay mcp install` writes it into "
                       "the "
                       "configuration of agents.\n\n");
                cay_flags_print(flags, stdout);
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "unexpected argument '%.40s'", argv[rest]);
        if (r == 0) {
                watch_signals();
                r = serve(&a, &reach, &d, &err);
                stop_daemon(&d);
        }
        return r < 0 ? cay_reach_complain(&reach, "mcp", &err) : 0;
}
