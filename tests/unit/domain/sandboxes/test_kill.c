/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front is killed at every step of domain/sandboxes/kill_points.def, on the real store, with boxes that
 * outlive it: they are played by this process, which hands out links to them over a socket, as a warden
 * would. What was answered must be there afterwards, nothing may be left that nobody owns, and each lost
 * thing has a cause. A step that the story below does not pass fails the test.
 */
#include "unit/domain/sandboxes/service_test.h"

#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "foundation/base/parse.h"
#include "domain/sandboxes/kill_points.h"
#include "daemon/store/store_sqlite.h"

#ifndef CAY_TEST_HOOKS

int main(void)
{
        puts("built without test hooks");
        return 77;
}

#else

#define PRINTED 300000
#define BOXES 8

/* Words between the front and whoever has the boxes. */

enum verb { CREATE, LINK, DESTROY, FREEZE, THAW, LIST };

struct word {
        enum verb verb;
        enum cay_code code;
        char id[CAY_NAME_MAX + 1];
        uint8_t secret[CAY_ENGINE_SECRET];
        char ids[BOXES][CAY_NAME_MAX + 1];
};

static int send_word(int socket, const struct word *w, int fd)
{
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = { 0 };
        struct iovec iov = { (void *)w, sizeof(*w) };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (fd >= 0) {
                struct cmsghdr *c;

                msg.msg_control = control.bytes;
                msg.msg_controllen = sizeof(control.bytes);
                c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int));
                memcpy(CMSG_DATA(c), &fd, sizeof(int));
        }
        return sendmsg(socket, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(*w) ? 0 : -1;
}

static int receive_word(int socket, struct word *w, int *ret_fd, int flags)
{
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr align;
        } control = { 0 };
        struct iovec iov = { w, sizeof(*w) };
        struct msghdr msg = { .msg_iov = &iov,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
        const struct cmsghdr *c;

        *ret_fd = -1;
        if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | flags) != (ssize_t)sizeof(*w))
                return -1;
        c = CMSG_FIRSTHDR(&msg);
        if (c != NULL && c->cmsg_type == SCM_RIGHTS)
                memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
        return 0;
}

/* The boxes: in this process. */

struct box {
        char id[CAY_NAME_MAX + 1];
        struct fake_init *init;
        bool frozen;
};

struct keeper {
        struct cay_loop *loop;
        struct cay_watch watch;
        int socket, heard; /* the front's questions; what it says was answered */
        struct box boxes[BOXES];
        struct fake_script script;
        char told[20000];
        size_t told_len;
};

static struct box *box_find(struct keeper *k, const char *id)
{
        for (unsigned i = 0; i < BOXES; i++)
                if (strcmp(k->boxes[i].id, id) == 0)
                        return &k->boxes[i];
        return NULL;
}

static int box_link(struct box *b)
{
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(fake_init_link_take(b->init, pair[1]), 0);
        return pair[0];
}

static void on_question(struct cay_watch *watch, uint32_t events)
{
        struct keeper *k = cay_container_of(watch, struct keeper, watch);
        struct box *b;
        struct word w;
        int fd;

        if (receive_word(k->socket, &w, &fd, MSG_DONTWAIT) < 0) {
                cay_watch_remove(watch);
                return;
        }
        b = w.verb == CREATE ? box_find(k, "") : box_find(k, w.id);
        w.code = b != NULL ? CAY_OK : CAY_NOT_FOUND;
        switch (w.verb) {
        case CREATE:
                assert_non_null(b);
                snprintf(b->id, sizeof(b->id), "%s", w.id);
                b->init = fake_init_new(k->loop, &k->script, w.secret, NULL, NULL);
                fd = box_link(b);
                break;
        case LINK:
                if (b != NULL)
                        fd = box_link(b);
                break;
        case DESTROY:
                w.code = CAY_OK;
                if (b == NULL)
                        break;
                fake_init_free(b->init);
                *b = (struct box){ 0 };
                break;
        case FREEZE:
        case THAW:
                if (b != NULL)
                        b->frozen = w.verb == FREEZE;
                break;
        case LIST:
                w.code = CAY_OK;
                for (unsigned i = 0; i < BOXES; i++)
                        memcpy(w.ids[i], k->boxes[i].id, sizeof(w.ids[i]));
                break;
        }
        send_word(k->socket, &w, fd); /* it may be dead meanwhile */
        if (fd >= 0)
                close(fd);
}

static void hear(struct keeper *k)
{
        ssize_t n = read(k->heard, k->told + k->told_len, sizeof(k->told) - k->told_len - 1);

        if (n > 0)
                k->told_len += (size_t)n;
        k->told[k->told_len] = '\0';
}

/* The engine: in the front. */

struct proxy {
        struct cay_engine engine;
        struct cay_loop *loop;
        int socket;
};

static struct proxy *proxy(struct cay_engine *e)
{
        return cay_container_of(e, struct proxy, engine);
}

/* Asks and waits: the keeper answers at once, and the job is finished from the loop all the same. */
static enum cay_code ask(struct cay_engine *e, enum verb verb, const char *id, const uint8_t *secret,
                         int *ret_fd, struct word *w)
{
        int fd = -1;

        *w = (struct word){ .verb = verb };
        snprintf(w->id, sizeof(w->id), "%s", id);
        if (secret != NULL)
                memcpy(w->secret, secret, sizeof(w->secret));
        if (send_word(proxy(e)->socket, w, -1) < 0 || receive_word(proxy(e)->socket, w, &fd, 0) < 0)
                return CAY_UNAVAILABLE;
        if (ret_fd != NULL)
                *ret_fd = fd;
        else if (fd >= 0)
                close(fd);
        return w->code;
}

static void done(struct cay_engine *e, struct cay_job *job, enum cay_code code)
{
        struct cay_error err = { 0 };

        if (code != CAY_OK)
                cay_fail(&err, code, "keeper: %s", cay_code_word(code));
        cay_job_finish(cay_loop_jobs(proxy(e)->loop), job, code != CAY_OK ? &err : NULL);
}

static void proxy_create(struct cay_engine *e, const struct cay_spec *spec, struct cay_engine_box *box,
                         struct cay_job *job)
{
        struct word w;

        if (getrandom(box->secret, sizeof(box->secret), 0) != (ssize_t)sizeof(box->secret))
                abort();
        done(e, job, ask(e, CREATE, spec->id, box->secret, &box->link_fd, &w));
}

static void proxy_relink(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct word w;

        done(e, job, ask(e, LINK, box->id, NULL, &box->link_fd, &w));
}

static void proxy_freeze(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct word w;

        done(e, job, ask(e, FREEZE, box->id, NULL, NULL, &w));
}

static void proxy_thaw(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct word w;

        done(e, job, ask(e, THAW, box->id, NULL, NULL, &w));
}

static void proxy_stats(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        done(e, job, CAY_OK);
}

static void proxy_destroy(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct word w;

        done(e, job, ask(e, DESTROY, box->id, NULL, NULL, &w));
}

static void proxy_list(struct cay_engine *e, void (*each)(void *ctx, const char *id), void *ctx)
{
        struct word w;

        ask(e, LIST, "", NULL, NULL, &w);
        for (unsigned i = 0; i < BOXES; i++)
                if (w.ids[i][0] != '\0')
                        each(ctx, w.ids[i]);
}

static const struct cay_engine_ops proxy_ops = {
        .name = "proxy",
        .create = proxy_create,
        .relink = proxy_relink,
        .freeze = proxy_freeze,
        .thaw = proxy_thaw,
        .stats = proxy_stats,
        .destroy = proxy_destroy,
        .list = proxy_list,
};

/* The front: a process of its own, which may die at any step. */

struct front {
        struct test t;
        struct proxy proxy;
        int says;
};

static void say(struct front *f, const char *fmt, ...) CAY_PRINTF(2, 3);
static void say(struct front *f, const char *fmt, ...)
{
        char line[300];
        va_list args;
        int n;

        va_start(args, fmt);
        n = vsnprintf(line, sizeof(line), fmt, args);
        va_end(args);
        if (write(f->says, line, (size_t)n) != n)
                _exit(3);
}

#define must(cond)                                                                                           \
        do {                                                                                                 \
                if (!(cond)) {                                                                               \
                        fprintf(stderr, "front: line %d: %s\n", __LINE__, #cond);                            \
                        _exit(4);                                                                            \
                }                                                                                            \
        } while (0)

#define until(f, cond)                                                                                       \
        do {                                                                                                 \
                unsigned rounds_ = 0;                                                                        \
                while (!(cond)) {                                                                            \
                        must(rounds_++ < ROUNDS);                                                            \
                        must(cay_loop_round((f)->t.loop, 10) == 0);                                          \
                }                                                                                            \
        } while (0)

static void on_front_ready(struct cay_service *s, void *ctx)
{
        ((struct front *)ctx)->t.ready = true;
}

static void front_open(struct front *f, const char *dir)
{
        struct cay_store_sqlite_env store_env = { .clock = &cay_store_system_clock, .folder = dir };
        struct cay_store_sqlite_report report;
        struct cay_error err = { 0 };
        struct test *t = &f->t;
        char spools[100];

        t->loop = cay_loop_new();
        store_env.loop = t->loop;
        must(t->loop != NULL);
        if (cay_store_sqlite_open(&store_env, &t->env.store, &report, &err) < 0) {
                fprintf(stderr, "front: %s\n", err.msg);
                _exit(5);
        }
        snprintf(spools, sizeof(spools), "%s/spools", dir);
        mkdir(spools, 0700);
        f->proxy.engine.ops = &proxy_ops;
        f->proxy.loop = t->loop;
        t->env.loop = t->loop;
        t->env.engines[0] = (struct cay_service_engine){ "fake", &f->proxy.engine, "" };
        t->env.engine_count = 1;
        t->env.clock = &cay_store_system_clock;
        t->env.spool_dir = open(spools, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        t->env.read_json = test_read_json;
        t->env.free_json = test_free_json;
        must(cay_service_open(&t->env, on_front_ready, f, &t->service, &err) == 0);
        until(f, t->ready);
}

#define told(f, verb, id)                                                                                    \
        do {                                                                                                 \
                struct call c_;                                                                              \
                say(f, "begin " #verb "\n");                                                                 \
                call_init(&c_);                                                                              \
                cay_service_##verb((f)->t.service, &me, id, &c_.call);                                       \
                until(f, c_.done);                                                                           \
                must(c_.call.job.err.code == CAY_OK);                                                        \
                say(f, "done " #verb "\n");                                                                  \
        } while (0)

static void front_exec(struct front *f, const char *sandbox, const char *name, const char *word,
                       const char *more, char id[CAY_NAME_MAX + 1])
{
        const char *argv[] = { word, more, NULL };
        struct cay_exec_new what = { .argv = argv };
        struct exec_call c = { 0 };

        say(f, "begin %s\n", name);
        cay_job_init(&c.call.job, on_exec_call);
        cay_service_exec(f->t.service, &me, sandbox, &what, &c.call);
        until(f, c.done);
        must(c.call.job.err.code == CAY_OK);
        memcpy(id, c.call.id, CAY_NAME_MAX + 1);
        say(f, "done %s %s\n", name, id);
}

/* Every step of the table is on this way. */
static _Noreturn void first_front(struct front *f)
{
        struct cay_sandbox_new what = plain();
        char id[CAY_NAME_MAX + 1], x[CAY_NAME_MAX + 1];
        struct watcher w = { .w.on_output = on_output, .t = &f->t };
        struct cay_error err = { 0 };
        struct call c;

        say(f, "begin create\n");
        call_init(&c);
        cay_service_create(f->t.service, &what, &c.call);
        until(f, c.done);
        must(c.call.job.err.code == CAY_OK);
        memcpy(id, c.call.id, sizeof(id));
        say(f, "done create %s\n", id);
        front_exec(f, id, "wait", "wait", NULL, x);
        front_exec(f, id, "count", "count", "300000", x);
        must(cay_service_exec_watch(f->t.service, &me, id, x, 0, true, &w.w, &err) == 0);
        until(f, w.over);
        must(w.len == PRINTED);
        say(f, "done counted\n");
        cay_service_exec_unwatch(&w.w);
        told(f, pause, id);
        told(f, resume, id);
        told(f, stop, id);
        say(f, "begin start\n");
        call_init(&c);
        cay_service_start(f->t.service, &me, id, NULL, &c.call);
        until(f, c.done);
        must(c.call.job.err.code == CAY_OK);
        say(f, "done start\n");
        told(f, destroy, id);
        _exit(0);
}

static struct front *telling;

static void tell_exec(void *ctx, const struct cay_exec_view *view)
{
        say(telling, "exec %s %s exit=%d cause=%s out=%llu first=%llu\n", view->id,
            cay_exec_state_word(view->state), view->exit_code,
            view->cause != CAY_CAUSE_NONE ? cay_cause_word(view->cause) : "none",
            (unsigned long long)view->out_bytes, (unsigned long long)view->output_first);
}

static bool counting_is_over(struct front *f, const char *sandbox)
{
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        /* Nothing but "wait" may run on. */
        return cay_service_get(f->t.service, &root, sandbox, &view, &err) < 0 || view.execs_running <= 1;
}

static char known[CAY_NAME_MAX + 1];
static unsigned known_count;

static void tell_sandbox(void *ctx, const struct cay_sandbox_view *view)
{
        memcpy(known, view->id, strlen(view->id) + 1);
        known_count++;
}

static void check_count(void *ctx, const struct cay_exec_view *view)
{
        struct front *f = telling;
        struct watcher w = { .w.on_output = on_output, .t = &f->t };
        struct cay_error err = { 0 };
        bool right;

        if (strcmp(view->argv[0], "count") != 0 || view->cause != CAY_CAUSE_EXITED)
                return;
        must(cay_service_exec_watch(f->t.service, &me, view->sandbox, view->id, 0, true, &w.w, &err) == 0);
        until(f, w.over);
        right = w.len == PRINTED;
        for (size_t i = 0; i < w.len && right; i++)
                right = w.bytes[i] == fake_pattern(i);
        say(f, "output %s\n", right ? "right" : "wrong");
        cay_service_exec_unwatch(&w.w);
        free(w.bytes);
}

/* Finds what is there, tells it, and in the end takes everything away. */
static _Noreturn void second_front(struct front *f)
{
        char cursor[CAY_SERVICE_CURSOR_MAX];
        const struct cay_service_report *report = cay_service_report(f->t.service);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        telling = f;
        say(f, "report adopted=%u lost=%u rest=%u removed=%u\n", report->adopted, report->lost,
            report->at_rest, report->removed);
        must(cay_service_list(f->t.service, &root, NULL, NULL, 0, tell_sandbox, NULL, cursor, &err) == 0);
        must(known_count <= 1);
        if (known_count == 1) {
                until(f, counting_is_over(f, known));
                must(cay_service_get(f->t.service, &root, known, &view, &err) == 0);
                say(f, "sandbox %s %s\n", view.id, cay_state_word(view.state));
                must(cay_service_exec_list(f->t.service, &root, known, tell_exec, NULL, &err) == 0);
                must(cay_service_exec_list(f->t.service, &root, known, check_count, NULL, &err) == 0);
        }
        say(f, "end\n");
        if (known_count == 1)
                told(f, destroy, known);
        _exit(0);
}

static void run_front(struct keeper *k, const char *dir, const char *kill_at, unsigned after, int *ret_status)
{
        int sockets[2], pipes[2];
        pid_t pid;

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct front *f = calloc(1, sizeof(*f));
                char step[60], count[20];

                f->proxy.socket = fcntl(sockets[1], F_DUPFD_CLOEXEC, 200);
                f->says = fcntl(pipes[1], F_DUPFD_CLOEXEC, 200);
                for (int fd = 3; fd < 200; fd++) /* the other ends of all links are the keeper's alone */
                        close(fd);
                snprintf(step, sizeof(step), "front@%s", kill_at != NULL ? kill_at : "");
                snprintf(count, sizeof(count), "%u", after);
                setenv("CAY_TEST_KILL", step, 1);
                setenv("CAY_TEST_KILL_AFTER", count, 1);
                front_open(f, dir);
                if (kill_at != NULL)
                        first_front(f);
                second_front(f);
        }
        close(sockets[1]);
        close(pipes[1]);
        k->socket = sockets[0];
        k->heard = pipes[0];
        fcntl(k->heard, F_SETFL, O_NONBLOCK);
        assert_int_equal(cay_watch_add(k->loop, &k->watch, k->socket, EPOLLIN, on_question), 0);
        k->told_len = 0;
        for (unsigned rounds = 0; waitpid(pid, ret_status, WNOHANG) == 0; rounds++) {
                if (rounds > 5 * ROUNDS) { /* of at most 2 ms */
                        kill(pid, SIGKILL);
                        waitpid(pid, ret_status, 0);
                        fail_msg("a front hangs (killed at %s)", kill_at != NULL ? kill_at : "-");
                }
                cay_loop_round(k->loop, 2);
                hear(k);
        }
        hear(k);
        cay_watch_remove(&k->watch);
        for (unsigned i = 0; i < 5; i++)
                cay_loop_round(k->loop, 0);
        close(k->socket);
        close(k->heard);
}

static unsigned boxes_of(const struct keeper *k)
{
        unsigned count = 0;

        for (unsigned i = 0; i < BOXES; i++)
                count += k->boxes[i].id[0] != '\0';
        return count;
}

static unsigned files_in(const char *dir, bool remove)
{
        char path[100];
        struct dirent *d;
        unsigned count = 0;
        DIR *open_dir;

        snprintf(path, sizeof(path), "%s/spools", dir);
        open_dir = opendir(path);
        while (open_dir != NULL && (d = readdir(open_dir)) != NULL) {
                if (d->d_name[0] == '.')
                        continue;
                count++;
                if (remove)
                        unlinkat(dirfd(open_dir), d->d_name, 0);
        }
        if (open_dir != NULL)
                closedir(open_dir);
        if (remove)
                rmdir(path);
        return count;
}

static bool has(const char *text, const char *line)
{
        return strstr(text, line) != NULL;
}

/* What the first front said was done must be so. */
static void judge(struct keeper *k, const char *before, const char *after)
{
        bool there = has(after, "\nsandbox "),
             ended = has(before, "begin stop") || has(before, "begin destroy");
        const char *state = there ? strstr(after, "\nsandbox ") : "";

        assert_true(has(after, "\nend\n"));
        if (has(before, "done destroy"))
                assert_false(there);
        else if (has(before, "done create") && !has(before, "begin destroy"))
                assert_true(there);
        if (!there)
                return;
        if (has(before, "done create") && !ended) {
                /* It lives: nothing may be lost. */
                assert_true(has(after, "adopted=1"));
                assert_true(has(state, " busy\n") || has(state, " ready\n") || has(state, " paused\n"));
                if (has(before, "done wait"))
                        assert_true(has(after, " running exit=-1"));
                if (has(before, "done count"))
                        assert_true(has(after, "output right"));
                if (has(before, "done pause") && !has(before, "begin resume"))
                        assert_true(has(state, " paused\n"));
                if (has(before, "done resume"))
                        assert_false(has(state, " paused\n"));
        }
        if (has(before, "done stop") && !has(before, "begin start"))
                assert_true(has(state, " stopped\n"));
        if (has(before, "done start") && !has(before, "begin destroy"))
                assert_true(has(state, " ready\n"));
        assert_false(has(after, "output wrong"));
        if (has(after, "ended exit=-1 cause=none"))
                fail_msg("an end without a cause: %s | %s", before, after);
        /* A command that nobody was told of may be lost, but then it is by the daemon's doing. */
        if (has(after, "cause=sandbox_gone") || has(after, "cause=engine_lost"))
                fail_msg("a wrong cause: %s", after);
}

static void kill_at(const char *step, unsigned after)
{
        struct keeper k = { .script.end.last_denied = -1 };
        char dir[64] = "/tmp/cay-kill-XXXXXX", before[sizeof(k.told)], path[100];
        struct dirent *d;
        DIR *open_dir;
        int status;

        k.loop = cay_loop_new();
        assert_non_null(k.loop);
        assert_non_null(mkdtemp(dir));
        run_front(&k, dir, step, after, &status);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                fail_msg("the front was not killed at %s: %x; it said: %s", step, status, k.told);
        memcpy(before, k.told, sizeof(before));
        run_front(&k, dir, NULL, 0, &status);
        if (status != 0)
                fail_msg("after %s the next front failed (%x): %s | %s", step, status, before, k.told);
        judge(&k, before, k.told);
        assert_int_equal(boxes_of(&k), 0);
        assert_int_equal(files_in(dir, true), 0);
        for (unsigned i = 0; i < BOXES; i++)
                fake_init_free(k.boxes[i].init);
        cay_loop_free(k.loop);
        open_dir = opendir(dir);
        while (open_dir != NULL && (d = readdir(open_dir)) != NULL) {
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                snprintf(path, sizeof(path), "%s/%.30s", dir, d->d_name);
                unlink(path);
        }
        if (open_dir != NULL)
                closedir(open_dir);
        assert_int_equal(rmdir(dir), 0);
}

/*
 * These boxes keep no files, so there are no snapshots and steps of them: serve/test_faults.py passes these
 * steps.
 */
static bool needs_files(enum cay_kill_point step)
{
        return step == CAY_KILL_POINT_create_cloned ||
               (step >= CAY_KILL_POINT_snapshot_asked && step <= CAY_KILL_POINT_undo_restored);
}

static void at_every_step(void **state)
{
        for (unsigned i = 0; i < CAY_KILL_POINT_COUNT; i++)
                if (!needs_files((enum cay_kill_point)i))
                        kill_at(cay_kill_point_name((enum cay_kill_point)i), 0);
}

/* Not the first command, nor the first piece of output. */
static void at_later_passes(void **state)
{
        static const char *const steps[] = { "exec_spooled", "exec_sent", "exec_stored", "exec_opened" };
        unsigned after = 1;

        for (unsigned i = 0; i < CAY_COUNT(steps); i++)
                kill_at(steps[i], 1);
        for (; after < 5; after++) {
                kill_at("exec_output", after);
                kill_at("exec_output_kept", after);
        }
        kill_at("create_made", 1); /* of start */
        kill_at("create_sent", 1);
        kill_at("create_stored", 1);
        kill_at("exec_end_stored", 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(at_every_step),
                                            cmocka_unit_test(at_later_passes) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
