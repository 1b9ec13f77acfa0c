/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and commands, in the words that tests use. */
#include "contract/contract.h"

static void nothing(struct cay_job *job)
{
}

void prepare_job(struct cay_job *job)
{
        cay_job_init(job, nothing);
}

enum cay_code job_result(struct subject *s, struct cay_job *job)
{
        wait_for(s, &job->done);
        cay_loop_round(s->loop, 0);
        if (job->err.code == CAY_INTERNAL) /* no test wants that one */
                print_error("%s\n", job->err.msg);
        return job->err.code;
}

void prepare_box(struct subject *s, struct box *b, const char *id)
{
        *b = (struct box){ .s = s,
                           .box = { .link_fd = -1, .owner = SUBJECT_OWNER, .machine = SUBJECT_MACHINE } };
        b->spec = (struct cay_spec){
                .owner = SUBJECT_OWNER,
                .rootfs_fd = -1,
                .workspace_fd = -1,
                .limits = cay_limits_default_run(),
                .may_skip = CAY_LIMIT_MASK_ALL,
        };
        if (s->kind->has_agent)
                b->spec.options.machine = SUBJECT_MACHINE;
        cay_str_copy(b->spec.id, sizeof(b->spec.id), id);
}

enum cay_code create(struct box *b)
{
        struct cay_job job;

        prepare_job(&job);
        b->s->kind->ops->create(b->s->engine, &b->spec, &b->box, &job);
        return job_result(b->s, &job);
}

void detach(struct box *b)
{
        cay_box_client_free(cay_take(b->client));
        for (unsigned i = 0; i < BOXES_MAX; i++)
                if (b->s->boxes[i] == b)
                        b->s->boxes[i] = NULL;
}

enum cay_code destroy(struct box *b)
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

void attach(struct box *b, const uint8_t *secret)
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

void make_box(struct subject *s, struct box *b, const char *id)
{
        prepare_box(s, b, id);
        assert_int_equal(create(b), CAY_OK);
        assert_string_equal(b->box.id, id);
        attach(b, b->box.secret);
}

enum cay_code relink(struct box *b)
{
        struct cay_job job;

        prepare_job(&job);
        b->s->kind->ops->relink(b->s->engine, &b->box, &job);
        return job_result(b->s, &job);
}

enum cay_code stop(struct box *b)
{
        struct cay_job job;

        detach(b);
        if (b->box.link_fd >= 0)
                close(cay_take_fd(b->box.link_fd));
        prepare_job(&job);
        b->s->kind->ops->stop(b->s->engine, &b->box, &job);
        return job_result(b->s, &job);
}

static void count_listed(void *ctx, const char *id)
{
        struct subject *s = ctx;

        s->listed++;
        cay_str_copy(s->last_listed, sizeof(s->last_listed), id);
}

unsigned listed(struct subject *s)
{
        s->listed = 0;
        s->kind->ops->list(s->engine, count_listed, s);
        return s->listed;
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

void begin_channel(struct box *b, struct exec *e, const struct cay_box_open *open, const char *const *argv)
{
        *e = (struct exec){ .box = b };
        e->ch = (struct cay_box_channel){ .on_opened = on_opened, .on_data = on_data, .on_end = on_end };
        cay_buf_init(&e->out, 16u << 20);
        cay_buf_init(&e->err, 16u << 20);
        assert_int_equal(cay_box_channel_open(b->client, &e->ch, open, argv, NULL), 0);
}

void begin_command(struct box *b, struct exec *e, const char *const *argv, unsigned flags)
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

        begin_channel(b, e, &open, argv);
}

void begin_exec(struct box *b, struct exec *e, enum task task, unsigned flags)
{
        begin_command(b, e, words(b->s, task), flags);
}

void end_exec(struct exec *e)
{
        cay_box_channel_close(&e->ch);
        cay_buf_done(&e->out);
        cay_buf_done(&e->err);
}

int exit_of(struct box *b, enum task task)
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

void run_ok(struct box *b, const char *line)
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
