/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every engine promises (core/port_engine.h), one list run on each row of engines.def and on the fake. Each test opens the
 * engine anew and afterwards compares what is left of it in this process: descriptors, children, scratch folders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "box/box_client.h"
#include "engine/engine_table.h"
#include "engine/native/native.h"
#include "fake/fake_engine.h"
#include "loop/loop.h"

#define WAIT_MS 20000

/* How an engine's boxes are told to do a thing: real ones have a shell, the fake has words of its own. */
struct kind {
        const struct cay_engine_ops *ops;
        bool is_fake, needs_root;
        bool needs_docker; /* run when asked for by name: CAY_CONTRACT_ENGINE=docker, with a Docker and an image */
        bool has_keeper; /* native as the daemon has it: layers may outlive their boxes */
};

struct leftovers {
        unsigned fds, children, scratch;
};

/* Boxes and execs are static: a test that fails in the middle leaves them to teardown, which cleans up after it. */
#define BOXES_MAX 4

struct box;

struct subject {
        const struct kind *kind;
        struct cay_loop *loop;
        struct cay_engine *engine;
        struct leftovers before;
        char gone[CAY_NAME_MAX + 1];
        struct box *boxes[BOXES_MAX]; /* attached ones */
        unsigned listed;
        char last_listed[CAY_NAME_MAX + 1];
        pid_t warden; /* has_keeper: ours */
        int keeper;
        char layers[32]; /* folder */
};

struct box {
        struct subject *s;
        struct cay_spec spec;
        struct cay_engine_box box;
        struct cay_box_client *client;
        bool lost;
};

struct exec {
        struct cay_box_channel ch;
        struct box *box;
        struct cay_buf out, err;
        struct cay_box_end end;
        bool opened, ended, hold;
        uint64_t cut_every; /* the link is cut each time so many bytes came; 0: never */
        uint64_t cut_at;
        unsigned cuts;
};

static unsigned count_entries(const char *path, const char *prefix)
{
        DIR *dir = opendir(path);
        struct dirent *entry;
        unsigned count = 0;

        if (dir == NULL)
                return 0;
        while ((entry = readdir(dir)) != NULL)
                count += entry->d_name[0] != '.' && cay_str_starts(entry->d_name, prefix);
        closedir(dir);
        return count;
}

static unsigned count_children(void)
{
        unsigned count = 0;
        DIR *dir = opendir("/proc");
        struct dirent *entry;

        assert_non_null(dir);
        while ((entry = readdir(dir)) != NULL) {
                char path[300], text[512];
                int fd, parent = 0;
                ssize_t n;
                const char *at;

                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
                if (fd >= 0)
                        close(fd);
                text[n > 0 ? n : 0] = '\0';
                at = strrchr(text, ')');
                if (at != NULL && sscanf(at + 1, " %*c %d", &parent) == 1 && parent == getpid())
                        count++;
        }
        closedir(dir);
        return count;
}

static struct leftovers look(void)
{
        return (struct leftovers){
                .fds = count_entries("/proc/self/fd", ""),
                .children = count_children(),
                .scratch = count_entries("/tmp", "cay-process-"),
        };
}

static void on_gone(void *ctx, const char *id)
{
        cay_str_copy(((struct subject *)ctx)->gone, CAY_NAME_MAX + 1, id);
}

static void open_engine(struct subject *s)
{
        const struct cay_engine_env env = { .loop = s->loop, .program_dir = getenv("CAY_BUILD_DIR") };
        struct cay_error err = { 0 };

        if (s->kind->ops->open(&env, &s->engine, &err) < 0)
                fail_msg("open: %s", err.msg);
        s->kind->ops->on_gone(s->engine, on_gone, s);
}

/* What `cay serve` does: a warden that we keep, with a folder for layers, and a link to it. */
static int start_warden(struct subject *s, int dir)
{
        int link[2], keep[2], parked[3];
        char path[256];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keep), 0);
        snprintf(path, sizeof(path), "%s/cay-warden", getenv("CAY_BUILD_DIR"));
        fflush(NULL);
        s->warden = fork();
        assert_true(s->warden >= 0);
        if (s->warden == 0) {
                parked[0] = fcntl(link[1], F_DUPFD, 100);
                parked[1] = fcntl(keep[1], F_DUPFD, 100);
                parked[2] = fcntl(dir, F_DUPFD, 100);
                for (int i = 0; i < 3; i++)
                        dup2(parked[i], 3 + i);
                for (int fd = 6; fd < 200; fd++)
                        close(fd);
                execl(path, "cay-warden", "keep", NULL);
                _exit(127);
        }
        close(link[1]);
        close(keep[1]);
        s->keeper = keep[0];
        return link[0];
}

static void open_kept_engine(struct subject *s)
{
        const struct cay_engine_env env = { .loop = s->loop };
        struct cay_error err = { 0 };
        int dir;

        cay_str_copy(s->layers, sizeof(s->layers), "/tmp/contract-XXXXXX");
        assert_non_null(mkdtemp(s->layers));
        dir = open(s->layers, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(dir >= 0);
        if (cay_engine_native_open_link_take(&env, start_warden(s, dir), &s->engine, &err) < 0)
                fail_msg("open: %s", err.msg);
        close(dir);
        s->kind->ops->on_gone(s->engine, on_gone, s);
}

/* Its folder holds nothing but what is ready for the next one: everything else was destroyed. */
static unsigned close_warden(struct subject *s)
{
        unsigned left = count_entries(s->layers, "");
        char command[64];

        close(s->keeper);
        waitpid(s->warden, NULL, 0);
        snprintf(command, sizeof(command), "rm -r %s", s->layers);
        assert_int_equal(system(command), 0);
        return left;
}

static bool is_skipped(const struct kind *kind)
{
        return kind->needs_root && geteuid() != 0;
}

static int setup(void **state)
{
        static struct subject s;
        const struct kind *kind = *state;

        fake_plan_reset();
        s = (struct subject){ .kind = kind, .before = look() };
        *state = &s;
        if (is_skipped(kind))
                return 0;
        s.loop = cay_loop_new();
        assert_non_null(s.loop);
        fake_plan.can_keep = kind->is_fake;
        if (kind->has_keeper)
                open_kept_engine(&s);
        else
                open_engine(&s);
        return 0;
}

static void detach(struct box *b)
{
        cay_box_client_free(cay_take(b->client));
        for (unsigned i = 0; i < BOXES_MAX; i++)
                if (b->s->boxes[i] == b)
                        b->s->boxes[i] = NULL;
}

static int teardown(void **state)
{
        struct subject *s = *state;
        struct leftovers after;

        if (s->loop == NULL)
                return 0;
        for (unsigned i = 0; i < BOXES_MAX; i++)
                if (s->boxes[i] != NULL)
                        detach(s->boxes[i]);
        s->kind->ops->close(s->engine);
        cay_loop_round(s->loop, 0);
        cay_loop_free(s->loop);
        if (s->warden > 0 && close_warden(s) > 0) {
                print_error("layers were left\n");
                return -1;
        }
        after = look();
        /* Fewer scratch folders than before is no fault: opening the engine sweeps what others left. */
        if (after.fds != s->before.fds || after.children != s->before.children ||
            after.scratch > s->before.scratch) {
                print_error("left: %d descriptors, %d children, %d scratch folders\n",
                            (int)(after.fds - s->before.fds), (int)(after.children - s->before.children),
                            (int)(after.scratch - s->before.scratch));
                return -1;
        }
        return fake_engine_boxes() == 0 ? 0 : -1;
}

static struct subject *subject(void **state)
{
        struct subject *s = *state;

        if (s->loop == NULL) {
                print_message("the %s engine needs root\n", s->kind->ops->name);
                skip();
        }
        return s;
}

static void wait_for(struct subject *s, const bool *flag)
{
        uint64_t end = cay_clock_ms() + WAIT_MS;

        while (!*flag && cay_clock_ms() < end)
                assert_int_equal(cay_loop_round(s->loop, 20), 0);
        assert_true(*flag);
}

static void nothing(struct cay_job *job)
{
}

static void prepare_job(struct cay_job *job)
{
        cay_job_init(job, nothing);
}

static enum cay_code job_result(struct subject *s, struct cay_job *job)
{
        wait_for(s, &job->done);
        cay_loop_round(s->loop, 0);
        return job->err.code;
}

static void prepare_box(struct subject *s, struct box *b, const char *id)
{
        *b = (struct box){ .s = s, .box.link_fd = -1 };
        b->spec = (struct cay_spec){
                .rootfs_fd = -1,
                .workspace_fd = -1,
                .limits = cay_limits_default_run(),
                .may_skip = CAY_LIMIT_MASK_ALL,
        };
        cay_str_copy(b->spec.id, sizeof(b->spec.id), id);
}

static enum cay_code create(struct box *b)
{
        struct cay_job job;

        prepare_job(&job);
        b->s->kind->ops->create(b->s->engine, &b->spec, &b->box, &job);
        return job_result(b->s, &job);
}

static enum cay_code destroy(struct box *b)
{
        struct cay_job job;

        detach(b);
        if (b->box.link_fd >= 0)
                close(cay_take_fd(b->box.link_fd));
        prepare_job(&job);
        b->s->kind->ops->destroy(b->s->engine, &b->box, &job);
        return job_result(b->s, &job);
}

static void on_lost(struct cay_box_client *c, int reason)
{
        ((struct box *)cay_box_client_ctx(c))->lost = true;
}

static void attach(struct box *b, const uint8_t *secret)
{
        static const struct cay_box_client_events events = { .on_lost = on_lost };

        assert_true(b->box.link_fd >= 0);
        if (b->client == NULL) {
                unsigned i = 0;

                b->client = cay_box_client_new(b->s->loop, secret, &events, b);
                while (b->s->boxes[i] != NULL)
                        i++;
                b->s->boxes[i] = b;
        }
        assert_non_null(b->client);
        b->lost = false;
        assert_int_equal(cay_box_client_attach_take(b->client, cay_take_fd(b->box.link_fd)), 0);
}

static void make_box(struct subject *s, struct box *b, const char *id)
{
        prepare_box(s, b, id);
        assert_int_equal(create(b), CAY_OK);
        assert_string_equal(b->box.id, id);
        attach(b, b->box.secret);
}

static enum cay_code relink(struct box *b)
{
        struct cay_job job;

        prepare_job(&job);
        b->s->kind->ops->relink(b->s->engine, &b->box, &job);
        return job_result(b->s, &job);
}

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        cay_container_of(ch, struct exec, ch)->opened = true;
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct exec *e = cay_container_of(ch, struct exec, ch);

        assert_int_equal(cay_buf_put(stream == CAY_STREAM_ERR ? &e->err : &e->out, bytes, len), 0);
        if (!e->hold)
                cay_box_channel_ack(ch, stream, len);
        if (e->cut_every > 0 && e->out.len >= e->cut_at) {
                e->cut_at = e->out.len + e->cut_every;
                e->cuts++;
                cay_box_client_drop(e->box->client);
        }
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct exec *e = cay_container_of(ch, struct exec, ch);

        e->end = *end;
        e->ended = true;
}

enum task { EXIT_0, EXIT_7, ECHO, WARN, CAT, WAIT, COUNT };

static const char *const *words(const struct subject *s, enum task task)
{
        static const char *const shell[][4] = {
                [EXIT_0] = { "/bin/sh", "-c", "exit 0" },
                [EXIT_7] = { "/bin/sh", "-c", "exit 7" },
                [ECHO] = { "/bin/echo", "spoken" },
                [WARN] = { "/bin/sh", "-c", "echo spoken >&2" },
                [CAT] = { "/bin/cat" },
                [WAIT] = { "/bin/sleep", "1000" },
                [COUNT] = { "/bin/sh", "-c",
                            "i=0; while [ $i -lt 30 ]; do head -c 100000 /dev/zero; i=$((i+1)); done" },
        };
        static const char *const fake[][4] = {
                [EXIT_0] = { "exit", "0" },       [EXIT_7] = { "exit", "7" }, [ECHO] = { "echo", "spoken" },
                [WARN] = { "warn", "spoken" },    [CAT] = { "cat" },          [WAIT] = { "wait" },
                [COUNT] = { "count", "3000000" },
        };

        return s->kind->is_fake ? fake[task] : shell[task];
}

static void begin_command(struct box *b, struct exec *e, const char *const *argv, unsigned flags)
{
        struct cay_box_open open = {
                .kind = CAY_BOX_EXEC,
                .window = CAY_BOX_WINDOW,
                .exec = { .flags = flags,
                          .uid = CAY_BOX_ID_DEFAULT,
                          .gid = CAY_BOX_ID_DEFAULT,
                          .rows = 24,
                          .cols = 80 },
        };

        *e = (struct exec){ .box = b };
        e->ch = (struct cay_box_channel){ .on_opened = on_opened, .on_data = on_data, .on_end = on_end };
        cay_buf_init(&e->out, 16u << 20);
        cay_buf_init(&e->err, 16u << 20);
        assert_int_equal(cay_box_channel_open(b->client, &e->ch, &open, argv, NULL), 0);
}

static void begin_exec(struct box *b, struct exec *e, enum task task, unsigned flags)
{
        begin_command(b, e, words(b->s, task), flags);
}

static void end_exec(struct exec *e)
{
        cay_box_channel_close(&e->ch);
        cay_buf_done(&e->out);
        cay_buf_done(&e->err);
}

static int exit_of(struct box *b, enum task task)
{
        static struct exec e;
        int code;

        begin_exec(b, &e, task, 0);
        wait_for(b->s, &e.ended);
        assert_int_equal(e.end.code, CAY_OK);
        code = e.end.exec.exit_code;
        end_exec(&e);
        return code;
}

static void runs_commands_one_after_the_other(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        make_box(s, &b, "first");
        assert_int_equal(exit_of(&b, EXIT_0), 0);
        assert_int_equal(exit_of(&b, EXIT_7), 7);
        assert_int_equal(exit_of(&b, EXIT_0), 0);
        assert_int_equal(destroy(&b), CAY_OK);
}

static void the_link_may_be_used_before_create_is_finished(void **state)
{
        struct subject *s = subject(state);
        struct cay_job job;
        static struct exec e;
        static struct box b;

        prepare_box(s, &b, "eager");
        prepare_job(&job);
        s->kind->ops->create(s->engine, &b.spec, &b.box, &job);
        if (b.box.link_fd >= 0) {
                attach(&b, b.box.secret);
                begin_exec(&b, &e, ECHO, 0);
                wait_for(s, &e.ended);
                assert_string_equal(cay_buf_data(&e.out), "spoken\n");
                end_exec(&e);
        }
        assert_int_equal(job_result(s, &job), CAY_OK);
        assert_int_equal(destroy(&b), CAY_OK);
}

static void keeps_streams_apart(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        make_box(s, &b, "streams");
        begin_exec(&b, &e, ECHO, 0);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.out), "spoken\n");
        assert_int_equal(e.err.len, 0);
        end_exec(&e);
        begin_exec(&b, &e, WARN, 0);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.err), "spoken\n");
        assert_int_equal(e.out.len, 0);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

static void gives_input(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        make_box(s, &b, "input");
        begin_exec(&b, &e, CAT, CAY_BOX_STDIN);
        assert_int_equal(cay_box_channel_write(&e.ch, "to and fro", 10), 10);
        cay_box_channel_write_eof(&e.ch);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.out), "to and fro");
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

static void delivers_signals_and_kills(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        make_box(s, &b, "signals");
        begin_exec(&b, &e, WAIT, 0);
        wait_for(s, &e.opened);
        cay_box_channel_signal(&e.ch, SIGTERM);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.exec.signal, SIGTERM);
        assert_int_equal(e.end.exec.exit_code, -1);
        assert_int_equal(e.end.exec.killed, CAY_KILLED_NOT);
        end_exec(&e);
        begin_exec(&b, &e, WAIT, 0);
        wait_for(s, &e.opened);
        cay_box_channel_kill(&e.ch, CAY_KILLED_ASKED);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.exec.signal, SIGKILL);
        assert_int_equal(e.end.exec.killed, CAY_KILLED_ASKED);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

static void loses_no_byte_over_lost_links(void **state)
{
        struct subject *s = subject(state);
        uint64_t end = cay_clock_ms() + WAIT_MS;
        static struct exec e;
        static struct box b;

        make_box(s, &b, "links");
        begin_exec(&b, &e, COUNT, 0);
        e.cut_every = e.cut_at = 250000;
        while (!e.ended && cay_clock_ms() < end) {
                if (!cay_box_client_is_attached(b.client)) {
                        assert_int_equal(relink(&b), CAY_OK);
                        attach(&b, NULL);
                }
                assert_int_equal(cay_loop_round(s->loop, 20), 0);
        }
        assert_true(e.ended);
        assert_true(e.cuts >= 5);
        assert_int_equal(e.end.exec.exit_code, 0);
        assert_int_equal(e.out.len, 3000000);
        for (size_t i = 0; i < e.out.len; i++)
                if ((uint8_t)cay_buf_data(&e.out)[i] != (s->kind->is_fake ? fake_pattern(i) : 0))
                        fail_msg("byte %zu differs", i);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

static void a_wrong_secret_opens_nothing(void **state)
{
        static const uint8_t wrong[CAY_BOX_SECRET];
        struct subject *s = subject(state);
        static struct box b;

        prepare_box(s, &b, "secret");
        assert_int_equal(create(&b), CAY_OK);
        attach(&b, wrong);
        wait_for(s, &b.lost);
        detach(&b);
        assert_int_equal(relink(&b), CAY_OK); /* the box itself lives on */
        attach(&b, b.box.secret);
        assert_int_equal(exit_of(&b, EXIT_7), 7);
        assert_int_equal(destroy(&b), CAY_OK);
}

static void destroying_twice_and_what_never_was(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        make_box(s, &b, "twice");
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(destroy(&b), CAY_OK);
        cay_str_copy(b.box.id, sizeof(b.box.id), "never-was");
        assert_int_equal(destroy(&b), CAY_OK);
}

static void an_id_is_taken_once(void **state)
{
        struct subject *s = subject(state);
        static struct box b, other;

        make_box(s, &b, "same");
        prepare_box(s, &other, "same");
        assert_int_equal(create(&other), CAY_EXISTS);
        assert_int_equal(other.box.link_fd, -1);
        assert_int_equal(exit_of(&b, EXIT_7), 7); /* the first one does not mind */
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(create(&other), CAY_OK); /* free again */
        assert_int_equal(destroy(&other), CAY_OK);
}

static void count_listed(void *ctx, const char *id)
{
        struct subject *s = ctx;

        s->listed++;
        cay_str_copy(s->last_listed, sizeof(s->last_listed), id);
}

static unsigned listed(struct subject *s)
{
        s->listed = 0;
        s->kind->ops->list(s->engine, count_listed, s);
        return s->listed;
}

static void lists_what_there_is(void **state)
{
        struct subject *s = subject(state);
        static struct box a, b;

        assert_int_equal(listed(s), 0);
        make_box(s, &a, "box-a");
        make_box(s, &b, "box-b");
        assert_int_equal(listed(s), 2);
        assert_int_equal(destroy(&a), CAY_OK);
        assert_int_equal(listed(s), 1);
        assert_string_equal(s->last_listed, "box-b");
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(listed(s), 0);
}

static void boxes_do_not_meet(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box a, b;

        make_box(s, &a, "left");
        make_box(s, &b, "right");
        begin_exec(&a, &e, WAIT, 0);
        wait_for(s, &e.opened);
        assert_int_equal(exit_of(&b, EXIT_7), 7);
        assert_int_equal(destroy(&b), CAY_OK);
        assert_false(e.ended);
        end_exec(&e);
        assert_int_equal(destroy(&a), CAY_OK);
}

static void tells_figures(void **state)
{
        struct subject *s = subject(state);
        struct cay_job job;
        static struct exec e;
        static struct box b;

        make_box(s, &b, "figures");
        begin_exec(&b, &e, WAIT, 0);
        wait_for(s, &e.opened);
        fake_plan.stats.pids = 1;
        for (unsigned i = 0; i < 100 && b.box.stats.pids == 0; i++) {
                cay_loop_round(s->loop, 10); /* the command counts once it has joined */
                prepare_job(&job);
                s->kind->ops->stats(s->engine, &b.box, &job);
                assert_int_equal(job_result(s, &job), CAY_OK);
        }
        assert_true(b.box.stats.pids >= 1);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
        prepare_job(&job);
        s->kind->ops->stats(s->engine, &b.box, &job);
        assert_int_equal(job_result(s, &job), CAY_NOT_FOUND);
}

/* Every limit by itself: held, or refused, or skipped with a word about it. */
static void a_limit_is_held_refused_or_skipped_never_dropped(void **state)
{
        struct subject *s = subject(state);
        const struct cay_limits all = {
                .memory_bytes = 64u << 20,
                .cpu_milli = 500,
                .pids = 20,
                .disk_bytes = 16u << 20,
                .inodes = 1000,
                .files = 64,
                .output_bytes = 1000,
                .wall_ms = 5000,
                .cpu_time_ms = 5000,
                .swap_bytes = 4096,
        };
        unsigned can_hold, some = 0;

        fake_plan.cannot_hold = CAY_LIMIT_BIT(pids) | CAY_LIMIT_BIT(disk_bytes);
        can_hold = s->kind->ops->can_hold(s->engine);
        for (unsigned nr = 0; nr < CAY_LIMIT_NR_COUNT; nr++) {
                uint64_t *value;
                unsigned need;
                static struct box b;

                prepare_box(s, &b, "limit");
                b.spec.limits = (struct cay_limits){ 0 };
                value = &b.spec.limits.memory_bytes + nr;
                *value = (&all.memory_bytes)[nr];
                b.spec.may_skip = 0;
                need = cay_limits_set_mask(&b.spec.limits);
                if ((need & ~can_hold) == 0) {
                        assert_int_equal(create(&b), CAY_OK);
                        assert_int_equal(b.box.skipped, 0);
                        assert_int_equal(destroy(&b), CAY_OK);
                        continue;
                }
                some++;
                assert_int_equal(create(&b), CAY_UNSUPPORTED);
                assert_int_equal(listed(s), 0);
                b.spec.may_skip = need & ~can_hold;
                assert_int_equal(create(&b), CAY_OK);
                assert_int_equal(b.box.skipped, need & ~can_hold);
                assert_int_equal(destroy(&b), CAY_OK);
        }
        if (s->kind->ops->lacks & CAY_ENGINE_LACKS_ISOLATION)
                assert_true(some > 0);
}

static void a_bad_spec_makes_nothing(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        prepare_box(s, &b, "UPPER/case");
        assert_int_equal(create(&b), CAY_INVALID);
        prepare_box(s, &b, "bad");
        b.spec.limits.memory_bytes = 1;
        assert_int_equal(create(&b), CAY_INVALID);
        prepare_box(s, &b, "bad");
        b.spec.template_kind = CAY_TEMPLATE_ROOTFS; /* without a folder */
        assert_int_equal(create(&b), CAY_INVALID);
        assert_int_equal(listed(s), 0);
}

static void says_when_a_box_goes_by_itself(void **state)
{
        struct subject *s = subject(state);
        uint64_t end = cay_clock_ms() + WAIT_MS;
        static struct exec e;
        static struct box b;

        make_box(s, &b, "going");
        begin_exec(&b, &e, EXIT_0, CAY_BOX_ONE_SHOT);
        wait_for(s, &e.ended);
        while (s->gone[0] == '\0' && cay_clock_ms() < end)
                cay_loop_round(s->loop, 20);
        assert_string_equal(s->gone, "going");
        end_exec(&e);
        assert_int_equal(relink(&b), CAY_UNAVAILABLE);
        assert_int_equal(b.box.link_fd, -1);
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(listed(s), 0);
}

static void freezes_or_says_that_it_cannot(void **state)
{
        static const char *const ticks[] = { "/bin/sh", "-c", "while :; do echo tick; sleep 0.01; done",
                                             NULL };
        struct subject *s = subject(state);
        enum cay_code code;
        struct cay_job job;
        static struct exec e;
        static struct box b;
        size_t before;

        make_box(s, &b, "cold");
        if (s->kind->is_fake)
                begin_exec(&b, &e, WAIT, 0);
        else
                begin_command(&b, &e, ticks, 0);
        wait_for(s, &e.opened);
        prepare_job(&job);
        s->kind->ops->freeze(s->engine, b.box.id, &job);
        code = job_result(s, &job);
        if (code != CAY_UNSUPPORTED) {
                assert_int_equal(code, CAY_OK);
                for (unsigned i = 0; i < 10; i++)
                        cay_loop_round(s->loop, 20); /* what was under way */
                before = e.out.len;
                for (unsigned i = 0; i < 10; i++)
                        cay_loop_round(s->loop, 20);
                assert_int_equal(e.out.len, before);
                prepare_job(&job);
                s->kind->ops->thaw(s->engine, b.box.id, &job);
                assert_int_equal(job_result(s, &job), CAY_OK);
                for (unsigned i = 0; i < 100 && e.out.len == before && !s->kind->is_fake; i++)
                        cay_loop_round(s->loop, 20);
                assert_true(e.out.len > before || s->kind->is_fake);
                prepare_job(&job);
                s->kind->ops->freeze(s->engine, b.box.id, &job); /* frozen ones can be destroyed */
                assert_int_equal(job_result(s, &job), CAY_OK);
        }
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
        prepare_job(&job);
        s->kind->ops->freeze(s->engine, "never-was", &job);
        assert_int_equal(job_result(s, &job), CAY_NOT_FOUND);
}

/* Is a process with this argument there (anywhere on the machine)? */
static bool is_running(const char *argument)
{
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        bool found = false;

        assert_non_null(dir);
        while (!found && (entry = readdir(dir)) != NULL) {
                char path[300], text[256];
                ssize_t n;
                int fd;

                snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
                fd = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC)
                                                                        : -1;
                if (fd < 0)
                        continue;
                n = read(fd, text, sizeof(text) - 1);
                close(fd);
                found = n > 0 && memmem(text, (size_t)n, argument, strlen(argument)) != NULL &&
                        memcmp(text, "sleep", 5) == 0;
        }
        closedir(dir);
        return found;
}

static void destroying_ends_everything_in_it(void **state)
{
        static const char line[] = "setsid sleep 31415.9 & (sleep 31415.9 & exec sleep 31415.9) & trap '' "
                                   "TERM HUP; echo up; wait";
        static const char *const argv[] = { "/bin/sh", "-c", line, NULL };
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        if (s->kind->is_fake)
                return; /* has no processes */
        make_box(s, &b, "ends");
        begin_command(&b, &e, argv, 0);
        for (unsigned i = 0; i < 200 && (e.out.len == 0 || !is_running("31415.9")); i++)
                cay_loop_round(s->loop, 20);
        assert_true(is_running("31415.9"));
        assert_int_equal(destroy(&b), CAY_OK);
        end_exec(&e);
        assert_false(is_running("31415.9")); /* at once: destroyed means gone */
}

static void closing_destroys_what_is_left_and_finishes_every_job(void **state)
{
        struct subject *s = subject(state);
        struct cay_job job;
        static struct box a, b;

        make_box(s, &a, "left-over");
        fake_plan.create_hangs = true;
        prepare_box(s, &b, "half-made");
        prepare_job(&job);
        s->kind->ops->create(s->engine, &b.spec, &b.box, &job);
        s->kind->ops->close(s->engine);
        s->engine = NULL;
        if (!job.done)
                cay_loop_round(s->loop, 0);
        assert_true(job.done);
        assert_true(job.err.code == CAY_UNAVAILABLE || job.err.code == CAY_OK);
        detach(&a);
        if (b.box.link_fd >= 0)
                close(b.box.link_fd);
        cay_loop_round(s->loop, 0);
        s->kind->ops->close(NULL);
}

/* One after the other. A container of Docker's takes a second to come and go, so there it is twenty. */
static void many_leave_nothing(void **state)
{
        struct subject *s = subject(state);
        unsigned many = s->kind->needs_docker ? 20 : 100;
        struct leftovers before, after;
        static struct box b;

        make_box(s, &b, "warm-up");
        assert_int_equal(destroy(&b), CAY_OK);
        before = look();
        for (unsigned i = 0; i < many; i++) {
                char id[16];

                snprintf(id, sizeof(id), "box-%u", i);
                make_box(s, &b, id);
                if (i % 10 == 0)
                        assert_int_equal(exit_of(&b, EXIT_7), 7);
                assert_int_equal(destroy(&b), CAY_OK);
        }
        after = look();
        assert_memory_equal(&before, &after, sizeof(before));
        assert_int_equal(listed(s), 0);
}

static void a_writable_workspace_is_the_folder_itself(void **state)
{
        static const char *const argv[] = { "/bin/sh", "-c", "echo written > made-inside && cat given",
                                            NULL };
        struct subject *s = subject(state);
        char dir[] = "/tmp/contract-XXXXXX", path[64];
        struct stat st;
        static struct exec e;
        static struct box b;
        FILE *f;

        if (s->kind->is_fake)
                return;
        assert_non_null(mkdtemp(dir));
        chmod(dir, 0755);
        snprintf(path, sizeof(path), "%s/given", dir);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs("outside\n", f);
        fclose(f);
        prepare_box(s, &b, "folder");
        b.spec.workspace_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        b.spec.workspace_rw = true;
        assert_int_equal(create(&b), CAY_OK);
        attach(&b, b.box.secret);
        begin_command(&b, &e, argv, 0);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.err), "");
        assert_string_equal(cay_buf_data(&e.out), "outside\n");
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
        close(b.spec.workspace_fd);
        unlink(path);
        snprintf(path, sizeof(path), "%s/made-inside", dir);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, geteuid()); /* belongs to the folder's owner */
        assert_int_equal(st.st_size, 8);
        unlink(path);
        assert_int_equal(rmdir(dir), 0);
}

static void on_kept(void *ctx, const char *id)
{
        struct subject *s = ctx;

        s->listed++;
        cay_str_copy(s->last_listed, sizeof(s->last_listed), id);
}

static unsigned kept(struct subject *s)
{
        struct cay_error err = { 0 };

        s->listed = 0;
        assert_int_equal(s->kind->ops->list_kept(s->engine, on_kept, s, &err), 0);
        return s->listed;
}

static enum cay_code stop(struct box *b)
{
        struct cay_job job;

        detach(b);
        if (b->box.link_fd >= 0)
                close(cay_take_fd(b->box.link_fd));
        prepare_job(&job);
        b->s->kind->ops->stop(b->s->engine, &b->box, &job);
        return job_result(b->s, &job);
}

static void run_ok(struct box *b, const char *line)
{
        const char *const argv[] = { "/bin/sh", "-c", line, NULL };
        static struct exec e;

        if (b->s->kind->is_fake)
                return;
        begin_command(b, &e, argv, 0);
        wait_for(b->s, &e.ended);
        assert_string_equal(cay_buf_data(&e.err), "");
        assert_int_equal(e.end.exec.exit_code, 0);
        end_exec(&e);
}

static void a_stopped_box_goes_on_with_its_files(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        if (!(s->engine->caps & CAY_ENGINE_CAN_KEEP))
                return;
        for (unsigned plain = 0; plain < 2; plain++) {
                prepare_box(s, &b, "kept");
                b.spec.keep = true;
                b.spec.host_plain = plain;
                assert_int_equal(create(&b), CAY_OK);
                assert_true(b.box.kept);
                attach(&b, b.box.secret);
                run_ok(&b, "echo here > /workspace/f; echo home > /home/sandbox/h; mkdir /tmp/d; ln -s / "
                           "/tmp/d/l");
                for (unsigned i = 0; i < 3; i++) {
                        assert_int_equal(stop(&b), CAY_OK);
                        assert_int_equal(stop(&b), CAY_OK); /* once more changes nothing */
                        assert_int_equal(listed(s), 0);
                        assert_int_equal(kept(s), 1);
                        assert_string_equal(s->last_listed, "kept");
                        b.spec.go_on = true;
                        assert_int_equal(create(&b), CAY_OK);
                        assert_true(b.box.kept);
                        attach(&b, b.box.secret);
                        run_ok(&b, "test $(cat /workspace/f) = here && test $(cat /home/sandbox/h) = home && "
                                   "test -L /tmp/d/l && "
                                   "test $(stat -c %u /home/sandbox/h) = 1001 && touch /workspace/again");
                }
                assert_int_equal(destroy(&b), CAY_OK);
                assert_int_equal(kept(s), 0);
        }
}

static void files_that_are_not_there_are_not_made_anew(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        if (!(s->engine->caps & CAY_ENGINE_CAN_KEEP))
                return;
        prepare_box(s, &b, "never-was");
        b.spec.keep = b.spec.go_on = true;
        assert_int_equal(create(&b), CAY_CONFLICT);
        assert_int_equal(b.box.link_fd, -1);
        assert_int_equal(kept(s), 0);
        b.spec.go_on = false;
        assert_int_equal(create(&b), CAY_OK);
        attach(&b, b.box.secret);
        assert_int_equal(stop(&b), CAY_OK);
        assert_int_equal(create(&b), CAY_EXISTS); /* nor are those that are there lost to a new one */
        assert_int_equal(kept(s), 1);
        assert_int_equal(destroy(&b), CAY_OK); /* of one that has no box */
        assert_int_equal(kept(s), 0);
        b.spec.go_on = true;
        assert_int_equal(create(&b), CAY_CONFLICT);
        prepare_box(s, &b, "odd");
        b.spec.go_on = true;
        assert_int_equal(create(&b), CAY_INVALID);
}

/* A port that is taken is no error, a volume is its owner's, and a network goes with its box. */
static void networks_ports_and_volumes(void **state)
{
        static const struct cay_spec_port wish[] = { { .inside = 80, .host = 18080 }, { .inside = 81 } };
        static const struct cay_spec_volume volume[] = { { .name = "data", .target = "/data" } };
        static const char *const labels[] = { "cay.id", "forged", "colour", "blue" };
        struct subject *s = subject(state);
        static struct box b[3];

        if (!(s->engine->caps & CAY_ENGINE_CAN_BRIDGE)) {
                prepare_box(s, &b[0], "plain");
                b[0].spec.bridge = true;
                if (!s->kind->is_fake)
                        assert_int_equal(create(&b[0]), CAY_UNSUPPORTED);
                return;
        }
        for (unsigned i = 0; i < 3; i++) {
                prepare_box(s, &b[i], (const char *[]){ "net-a", "net-b", "net-c" }[i]);
                b[i].spec.bridge = i < 2;
                b[i].spec.ports = wish;
                b[i].spec.port_count = i < 2 ? CAY_COUNT(wish) : 0;
                b[i].spec.volumes = volume;
                b[i].spec.volume_count = 1;
                b[i].spec.owner = i < 2 ? "alice" : "bob";
                b[i].spec.labels = labels;
                b[i].spec.label_count = 2;
                assert_int_equal(create(&b[i]), CAY_OK);
                attach(&b[i], b[i].box.secret);
        }
        assert_int_equal(b[0].box.port_count, 2);
        assert_int_equal(b[0].box.ports[0].inside, 80);
        assert_int_equal(b[0].box.ports[0].host, 18080);
        assert_int_equal(b[1].box.ports[0].host, 18081); /* the next one */
        assert_true(b[0].box.ports[1].host > 0 && b[0].box.ports[1].host != b[1].box.ports[1].host);
        assert_int_equal(b[2].box.port_count, 0);
        run_ok(&b[0], "grep -q eth0 /proc/net/dev && echo alice > /data/f");
        run_ok(&b[1], "test $(cat /data/f) = alice");
        run_ok(&b[2], "! grep -q eth0 /proc/net/dev && test ! -e /data/f && echo bob > /data/f");
        run_ok(&b[0], "test $(cat /data/f) = alice");
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(destroy(&b[i]), CAY_OK);
        assert_int_equal(system("test -z \"$(docker network ls -q --filter label=cay.id)\""), 0);
        assert_int_equal(
                system("docker volume rm -f $(docker volume ls -q --filter label=cay.volume) >/dev/null"), 0);
}

static const struct {
        const char *name;
        void (*run)(void **state);
} promises[] = {
#define PROMISE(name)                                                                                        \
        {                                                                                                    \
#name, name                                                                                  \
        }
        PROMISE(runs_commands_one_after_the_other),
        PROMISE(the_link_may_be_used_before_create_is_finished),
        PROMISE(keeps_streams_apart),
        PROMISE(gives_input),
        PROMISE(delivers_signals_and_kills),
        PROMISE(loses_no_byte_over_lost_links),
        PROMISE(a_wrong_secret_opens_nothing),
        PROMISE(destroying_twice_and_what_never_was),
        PROMISE(an_id_is_taken_once),
        PROMISE(lists_what_there_is),
        PROMISE(boxes_do_not_meet),
        PROMISE(tells_figures),
        PROMISE(a_limit_is_held_refused_or_skipped_never_dropped),
        PROMISE(a_bad_spec_makes_nothing),
        PROMISE(says_when_a_box_goes_by_itself),
        PROMISE(freezes_or_says_that_it_cannot),
        PROMISE(destroying_ends_everything_in_it),
        PROMISE(closing_destroys_what_is_left_and_finishes_every_job),
        PROMISE(many_leave_nothing),
        PROMISE(a_writable_workspace_is_the_folder_itself),
        PROMISE(a_stopped_box_goes_on_with_its_files),
        PROMISE(files_that_are_not_there_are_not_made_anew),
        PROMISE(networks_ports_and_volumes),
};

#define ENGINES_MAX 8

int main(void)
{
        static struct kind kinds[ENGINES_MAX];
        static struct CMUnitTest tests[ENGINES_MAX * CAY_COUNT(promises)];
        static char names[CAY_COUNT(tests)][96];
        unsigned kind_count = 0, count = 0;
        const char *only = getenv("CAY_CONTRACT_ENGINE");

        kinds[kind_count++] = (struct kind){ .ops = &cay_engine_fake_ops, .is_fake = true };
        for (unsigned i = 0; cay_engine_at(i) != NULL && kind_count < ENGINES_MAX; i++)
                kinds[kind_count++] =
                        (struct kind){ .ops = cay_engine_at(i),
                                       .needs_root = !cay_engine_at(i)->lacks,
                                       .needs_docker = strcmp(cay_engine_at(i)->name, "docker") == 0 };
        kinds[kind_count++] =
                (struct kind){ .ops = &cay_engine_native_ops, .needs_root = true, .has_keeper = true };
        for (unsigned k = 0; k < kind_count; k++) {
                for (unsigned i = 0; i < CAY_COUNT(promises); i++) {
                        /* There boxes outlive the engine, and a folder needs somebody's right. */
                        if (kinds[k].has_keeper &&
                            (promises[i].run == closing_destroys_what_is_left_and_finishes_every_job ||
                             promises[i].run == a_writable_workspace_is_the_folder_itself))
                                continue;
                        if (only != NULL ? strcmp(only, kinds[k].ops->name) != 0 : kinds[k].needs_docker)
                                continue;
                        /* Docker takes no open folder. */
                        if (kinds[k].needs_docker &&
                            promises[i].run == a_writable_workspace_is_the_folder_itself)
                                continue;
                        snprintf(names[count], sizeof(names[count]), "%s%s: %s", kinds[k].ops->name,
                                 kinds[k].has_keeper ? " (kept)" : "", promises[i].name);
                        tests[count] = (struct CMUnitTest){ names[count], promises[i].run, setup, teardown,
                                                            &kinds[k] };
                        count++;
                }
        }
        return _cmocka_run_group_tests("engines", tests, count, NULL, NULL);
}
