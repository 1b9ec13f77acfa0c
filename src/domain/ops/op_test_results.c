/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of tests as data: read from a file in the sandbox, or from a command's output. domain/test_results
 * reads the bytes as they come; the answer is written meanwhile and has a maximum, whatever is in them. What
 * is wrong with the bytes is told in the answer (`problem`) and does not cost the cases that were read
 * before: a test program that was killed leaves half a file.
 */
#include <string.h>

#include "domain/ops/files.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/test_results/test_results.h"

#define INPUT_MAX (64u * 1024 * 1024)
#define CASES_DEFAULT 1000u
#define CASES_MAX 10000u
#define TEXTS_MAX (4u * 1024 * 1024) /* of all texts in an answer */
#define PIECE (64u * 1024)
#define ROUND (512u * 1024) /* bytes of output that are read before others have their turn */

struct args {
        const char *id, *path, *exec, *format;
        uint64_t limit;
        bool as_root;
};

static const struct cay_field fields[] = {
        CAY_OP_SANDBOX_FIELD(struct args, id),
        { "path", CAY_FIELD_TEXT, offsetof(struct args, path), CAY_FIELD_BYTES,
          "file with the results; below the workspace unless it starts with /", .min = 1,
          .max = CAY_BOX_PATH_MAX - 1 },
        { "exec", CAY_FIELD_TEXT, offsetof(struct args, exec), 0,
          "instead of path: the command whose standard output has the results", .min = 1,
          .max = CAY_NAME_MAX },
        { "format", CAY_FIELD_TEXT, offsetof(struct args, format), 0, "junit, tap or auto (default)",
          .max = 5 },
        { "limit", CAY_FIELD_U64, offsetof(struct args, limit), 0,
          "at most this many cases that did not pass, and as many that did; default 1000", .min = 1,
          .max = CASES_MAX },
        CAY_OP_USER_FIELD(struct args, as_root),
        {},
};

struct work {                       /* one of the two sources is used */
        struct cay_op_channel base; /* of a file; first, and freed as it is */
        struct cay_exec_watcher watcher;
        struct cay_timer next; /* round of reading output */
        uint64_t output_end;
        uint64_t read;
        struct cay_test_reader *reader;
        struct cay_op_result o;
        struct cay_error problem; /* with the bytes */
        uint64_t counts[CAY_TEST_STATUS_COUNT];
        uint64_t duration_us, limit, told[2], texts; /* told: cases that passed, and others */
        bool is_over, is_cut;                        /* is_over: the reader takes no more */
};

/* The answer */

static void put_text(struct work *s, const char *key, const char *text)
{
        size_t len = strlen(text);

        if (s->texts + len > TEXTS_MAX) {
                s->is_cut = true;
                text = "";
                len = 0;
        }
        s->texts += len;
        cay_op_key_text(&s->o.j, key, text);
}

static void on_case(void *ctx, const struct cay_test_case *c)
{
        struct work *s = ctx;
        struct cay_json *j = &s->o.j;

        s->counts[c->status]++;
        if (c->duration_us > 0)
                s->duration_us += (uint64_t)c->duration_us;
        if (s->told[c->status != CAY_TEST_PASSED]++ >= s->limit) {
                s->is_cut = true;
                return;
        }
        cay_json_begin_object(j);
        put_text(s, "suite", c->suite);
        put_text(s, "name", c->name);
        put_text(s, "class_name", c->class_name);
        cay_op_key_text(j, "status", cay_test_status_word(c->status));
        put_text(s, "message", c->message);
        put_text(s, "text", c->text);
        cay_op_key_bool(j, "text_cut", c->is_cut);
        put_text(s, "file", c->file);
        cay_op_key_u64(j, "line", c->line);
        cay_json_key(j, "duration_us");
        if (c->duration_us >= 0)
                cay_json_u64(j, (uint64_t)c->duration_us);
        else
                cay_json_null(j);
        cay_json_end_object(j);
}

static void feed(struct work *s, const char *bytes, size_t len)
{
        if (s->is_over)
                return;
        s->read += len;
        if (s->read > INPUT_MAX)
                cay_fail(&s->problem, CAY_INVALID, "it is larger than 64 MiB: the rest was not read");
        else if (cay_test_reader_feed(s->reader, bytes, len, &s->problem) == 0)
                return;
        s->is_over = true;
}

static void put_answer(struct work *s)
{
        struct cay_json *j = &s->o.j;
        uint64_t all = 0;

        if (!s->is_over)
                cay_test_reader_end(s->reader, &s->problem);
        cay_json_end_array(j);
        for (unsigned i = 0; i < CAY_TEST_STATUS_COUNT; i++)
                all += s->counts[i];
        cay_op_key_text(j, "format", cay_test_format_word(cay_test_reader_format(s->reader)));
        cay_op_key_u64(j, "tests", all);
        cay_op_key_u64(j, "passed", s->counts[CAY_TEST_PASSED]);
        cay_op_key_u64(j, "failed", s->counts[CAY_TEST_FAILED]);
        cay_op_key_u64(j, "errors", s->counts[CAY_TEST_ERROR]);
        cay_op_key_u64(j, "skipped", s->counts[CAY_TEST_SKIPPED]);
        cay_op_key_u64(j, "duration_us", s->duration_us);
        cay_op_key_bool(j, "more", s->is_cut);
        cay_op_key_text(j, "problem", s->problem.code != CAY_OK ? s->problem.msg : NULL);
}

static void work_done(struct cay_op_channel *base)
{
        struct work *s = cay_container_of(base, struct work, base);

        cay_test_reader_free(s->reader);
        cay_op_result_done(&s->o);
}

/* From a file */

static void on_data(struct cay_service_channel *ch, const void *bytes, size_t len)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);

        feed(s, bytes, len);
        cay_op_channel_ack(&s->base, len);
}

static void on_end(struct cay_service_channel *ch, const struct cay_box_end *end, const struct cay_error *err)
{
        struct work *s = cay_container_of(ch, struct work, base.ch);

        (void)end;
        if (err && err->code != CAY_OK) {
                cay_op_channel_fail(&s->base, err);
                return;
        }
        put_answer(s);
        cay_op_result_answer(&s->o, cay_op_channel_finish(&s->base), CAY_OP_OK);
}

static void begin_file(struct work *s, struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_box_open open = cay_op_file_open(CAY_BOX_READ, a->path, a->as_root);

        open.file.max_bytes = INPUT_MAX + 1;
        s->base.ch.on_data = on_data;
        s->base.ch.on_end = on_end;
        cay_op_channel_open(&s->base, c, a->id, &open);
}

/* From a command's output, a part in each round of the loop */

static struct cay_op_call *finish_output(struct work *s)
{
        cay_timer_clear(&s->next);
        cay_service_exec_unwatch(&s->watcher);
        return cay_op_channel_finish(&s->base); /* a channel that was never opened is closed, too */
}

static void read_on(struct work *s);

static void on_next(struct cay_timer *t)
{
        read_on(cay_container_of(t, struct work, next));
}

static void read_on(struct work *s)
{
        char bytes[PIECE];
        struct cay_exec_piece piece = { 0 };
        struct cay_error err = { 0 };
        size_t seen = 0;
        int r = 1;

        while (seen < ROUND && !s->is_over &&
               (r = cay_exec_watcher_read(&s->watcher, bytes, sizeof(bytes), &piece, &err)) != 0) {
                if (r < 0 && (err.code == CAY_CONFLICT || err.code == CAY_DAMAGED)) {
                        cay_fail(&s->problem, err.code, "a part of the output is no longer kept");
                        err = (struct cay_error){ 0 };
                        continue;
                }
                if (r < 0) {
                        cay_op_fail(finish_output(s), &err, "exec");
                        return;
                }
                seen += piece.len;
                if (piece.stream != 2)
                        feed(s, bytes, piece.len);
                if (piece.cursor + piece.len >= s->output_end)
                        break;
        }
        if (r > 0 && !s->is_over && piece.cursor + piece.len < s->output_end) {
                cay_timer_set(s->base.call->world->loop, &s->next, 0, on_next);
                return;
        }
        put_answer(s);
        cay_op_result_answer(&s->o, finish_output(s), CAY_OP_OK);
}

static void on_output(struct cay_exec_watcher *w)
{
        (void)w; /* the timer goes on with it */
}

static void on_gone(struct cay_op_call *c)
{
        cay_op_abort(finish_output(c->state));
}

static int watch(struct work *s, struct cay_op_call *c, struct cay_error *err)
{
        const struct args *a = c->args;
        struct cay_service *service = c->world->service;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view box;
        struct cay_exec_view exec;

        if (cay_service_get(service, &viewer, a->id, &box, err) < 0 ||
            cay_service_exec_get(service, &viewer, box.id, a->exec, &exec, err) < 0)
                return -1;
        s->output_end = exec.output_end;
        s->watcher.on_output = on_output;
        return cay_service_exec_watch(service, &viewer, box.id, a->exec, exec.output_first, false,
                                      &s->watcher, err);
}

static void begin_output(struct work *s, struct cay_op_call *c)
{
        struct cay_error err = { 0 };

        s->base.call = c;
        c->state = s;
        if (watch(s, c, &err) < 0) {
                cay_op_fail(cay_op_channel_finish(&s->base), &err, "exec");
                return;
        }
        c->on_gone = on_gone;
        cay_timer_set(c->world->loop, &s->next, 0, on_next);
}

static int find_format(const char *word, enum cay_test_format *ret, struct cay_error *err)
{
        *ret = CAY_TEST_AUTO;
        if (!word || strcmp(word, "auto") == 0)
                return 0;
        for (unsigned f = CAY_TEST_JUNIT; f <= CAY_TEST_TAP; f++)
                if (strcmp(word, cay_test_format_word(f)) == 0) {
                        *ret = f;
                        return 0;
                }
        return cay_fail(err, CAY_INVALID, "format: must be junit, tap or auto");
}

static void run(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_error err = { 0 };
        struct cay_sandbox_view view;
        enum cay_test_format format;
        struct work *s;

        if (!cay_op_get_sandbox(c, a->id, &view))
                return;
        if (find_format(a->format, &format, &err) < 0) {
                cay_op_fail(c, &err, "format");
                return;
        }
        if (!a->path == !a->exec) {
                cay_fail(&err, CAY_INVALID, "path: set either path or exec");
                cay_op_fail(c, &err, "path");
                return;
        }
        s = calloc(1, sizeof(*s));
        if (s)
                s->reader = cay_test_reader_new(format, on_case, s);
        if (!s || !s->reader) {
                free(s);
                cay_op_fail_memory(c);
                return;
        }
        s->limit = a->limit ? a->limit : CASES_DEFAULT;
        s->base.done = work_done;
        cay_op_result_begin(&s->o, c);
        cay_json_key(&s->o.j, "cases");
        cay_json_begin_array(&s->o.j);
        if (a->path)
                begin_file(s, c);
        else
                begin_output(s, c);
}

RESULT(test_case, "TestCase", TEXT("suite"), TEXT("name"), TEXT("class_name"), TEXT("status"),
       TEXT("message"), TEXT("text"), BOOL("text_cut"), TEXT("file"), NUMBER("line"),
       MAYBE("duration_us", NUMBER));
RESULT(result, "TestResults", LIST("cases", test_case), TEXT("format"), NUMBER("tests"), NUMBER("passed"),
       NUMBER("failed"), NUMBER("errors"), NUMBER("skipped"), NUMBER("duration_us"), BOOL("more"),
       MAYBE("problem", TEXT));

const struct cay_op cay_op_test_results = {
        .name = "test_results",
        .route = "GET /api/sandboxes/{id}/tests",
        .doc = "Reads results of tests (JUnit XML or TAP) from a file or a command's output",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_INSIDE,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result,
        .run = run,
};
