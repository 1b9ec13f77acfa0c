/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops of the test's own, asked from inside: every ask has exactly one last word, whatever the op or the asker
 * does.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/call/call.h"
#include "foundation/loop/loop.h"

struct args {
        const char *word;
        uint64_t count;
};

static const struct cay_field fields[] = {
        { .name = "word",
          .kind = CAY_FIELD_TEXT,
          .offset = offsetof(struct args, word),
          .flags = CAY_FIELD_REQUIRED },
        { .name = "count", .kind = CAY_FIELD_U64, .offset = offsetof(struct args, count), .max = 100 },
        { .name = NULL },
};

struct heard {
        char log[1024];
        unsigned last_words;
        enum cay_code code;
        char field[64], first[64], confirm[64];
        ssize_t waiting; /* what on_event answers */
        size_t body;     /* bytes that the op got */
        struct cay_loop *loop;
};

static struct heard *heard; /* of the test that runs: ops of the test know nobody else */

static void note(const char *text)
{
        size_t at = strlen(heard->log);

        snprintf(heard->log + at, sizeof(heard->log) - at, "%s;", text);
}

/* Ops */

static void run_echo(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_op_result r;

        cay_op_result_begin(&r, c);
        cay_op_key_text(&r.j, "word", a->word);
        cay_op_key_u64(&r.j, "count", a->count);
        cay_op_result_answer(&r, c, CAY_OP_CREATED);
}

static void run_inside_trouble(struct cay_op_call *c)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_INTERNAL, "the secret path is /x/y");
        (c->responder->fail)(c, &err, NULL);
}

static void run_used(struct cay_op_call *c)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_EXISTS, "used before");
        snprintf(c->first, sizeof(c->first), "first1");
        snprintf(c->confirm, sizeof(c->confirm), "confirm1");
        (c->responder->fail)(c, &err, "word");
}

static ssize_t put_line(struct cay_op_call *c, const char *id)
{
        struct cay_op_result r = { 0 };
        ssize_t waits;

        cay_op_event_begin(&r, c);
        waits = cay_op_event_put(&r, c, id, "line");
        cay_op_result_done(&r);
        return waits;
}

static void more(struct cay_op_call *c)
{
        note("drained");
        put_line(c, "2");
        cay_op_end(c);
}

static void gone(struct cay_op_call *c)
{
        note("gone");
        cay_op_abort(c);
}

static void run_stream(struct cay_op_call *c)
{
        if (cay_op_begin(c, NULL) < 0 || put_line(c, "1") < 0) {
                cay_op_abort(c);
                return;
        }
        c->on_drain = more;
        c->on_gone = gone;
}

static size_t take(struct cay_op_call *c, const void *bytes, size_t len)
{
        size_t n = len > 3 ? 3 : len;

        (void)c;
        (void)bytes;
        heard->body += n;
        return n;
}

static void took_all(struct cay_op_call *c)
{
        struct cay_op_result r;

        cay_op_result_begin(&r, c);
        cay_op_result_answer(&r, c, CAY_OP_OK);
}

static void run_takes(struct cay_op_call *c)
{
        c->on_body = take;
        c->on_body_end = took_all;
        assert_int_equal(cay_op_read(c), 0);
}

#define ROW(n, scope_, flags_)                                                                               \
        static const struct cay_op op_##n = { .name = #n,                                                    \
                                              .route = "POST /api/test",                                     \
                                              .doc = "of the test",                                          \
                                              .scope = (scope_),                                             \
                                              .flags = (flags_),                                             \
                                              .fields = fields,                                              \
                                              .args_size = sizeof(struct args),                              \
                                              .run = run_##n }
ROW(echo, CAY_SCOPE_EXEC, 0);
ROW(inside_trouble, CAY_SCOPE_EXEC, 0);
ROW(used, CAY_SCOPE_EXEC, 0);
ROW(stream, CAY_SCOPE_EXEC, CAY_OP_STREAM);
ROW(takes, CAY_SCOPE_EXEC, CAY_OP_RAW_IN);

/* The asker */

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        cay_auto_buf struct cay_buf json = { 0 };
        char text[200];

        assert_ptr_equal(cay_call_user(a), heard);
        cay_buf_init(&json, 100);
        assert_int_equal(cay_json_value_print(answer, &json), 0);
        snprintf(text, sizeof(text), "answer %d %s", (int)status, cay_buf_data(&json));
        note(text);
        heard->last_words++;
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        heard->code = err->code;
        snprintf(heard->confirm, sizeof(heard->confirm), "%s", cay_call_confirm(a));
        assert_null(strstr(err->msg, "secret path"));
        snprintf(heard->field, sizeof(heard->field), "%s", field ? field : "");
        snprintf(heard->first, sizeof(heard->first), "%s", first);
        heard->last_words++;
}

static ssize_t on_event_text(struct cay_call *a, const char *id, const char *kind, const char *json,
                             size_t len)
{
        char text[100];

        (void)a;
        snprintf(text, sizeof(text), "event %s %s %.*s", id, kind, (int)len, json);
        note(text);
        return heard->waiting;
}

static ssize_t on_event(struct cay_call *a, const char *id, const char *kind,
                        const struct cay_json_value *event)
{
        cay_auto_buf struct cay_buf json = { 0 };

        cay_buf_init(&json, 100);
        assert_int_equal(cay_json_value_print(event, &json), 0);
        return on_event_text(a, id, kind, cay_buf_data(&json), json.len);
}

static void on_end(struct cay_call *a, bool was_cut)
{
        (void)a;
        note(was_cut ? "cut" : "end");
        heard->last_words++;
}

static const struct cay_call_ops plain = { .on_answer = on_answer, .on_fail = on_fail };
static const struct cay_call_ops streaming = {
        .on_answer = on_answer, .on_fail = on_fail, .on_event = on_event, .on_end = on_end
};
static const struct cay_call_ops passing_on = {
        .on_answer = on_answer, .on_fail = on_fail, .on_event_text = on_event_text, .on_end = on_end
};

static struct cay_op_world world;

static bool put_arg(void *ctx, const char *name, const struct cay_json_value *member)
{
        struct cay_json *j = ctx;

        cay_json_key(j, name);
        cay_json_value_put(j, member);
        return true;
}

static void settle(void)
{
        for (int i = 0; i < 3; i++)
                assert_int_equal(cay_loop_round(heard->loop, 0), 0);
}

static struct cay_call *begin(const struct cay_op *op, const char *json, unsigned scopes,
                              const struct cay_call_ops *ops)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        struct cay_call_args args;
        struct cay_call_what what = { .op = op,
                                      .world = &world,
                                      .caller = { .owner = "ann", .scopes = scopes },
                                      .is_known = true,
                                      .wants_stream = op->flags & CAY_OP_STREAM && ops->on_end,
                                      .fd = -1,
                                      .args = &args,
                                      .ops = ops,
                                      .user = heard };
        struct cay_call *a;

        assert_int_equal(cay_json_in_parse(json, strlen(json), NULL, &doc, &err), 0);
        cay_call_args_begin(&args);
        cay_json_value_each(cay_json_in_root(doc), put_arg, &args.j);
        a = cay_call(&what);
        assert_non_null(a);
        assert_int_equal(heard->last_words, 0); /* never inside */
        return a;
}

static int setup(void **state)
{
        static struct heard h;

        memset(&h, 0, sizeof(h));
        h.loop = cay_loop_new();
        heard = &h;
        world = (struct cay_op_world){ .loop = h.loop };
        *state = &h;
        return h.loop ? 0 : -1;
}

static int teardown(void **state)
{
        (void)state;
        cay_loop_free(heard->loop);
        return 0;
}

static void test_answers(void **state)
{
        begin(&op_echo, "{\"word\":\"hi\",\"count\":7}", CAY_SCOPE_EXEC, &plain);
        settle();
        assert_string_equal(heard->log, "answer 1 {\"word\":\"hi\",\"count\":7};");
        assert_int_equal(heard->last_words, 1);
        (void)state;
}

static void test_checks_come_from_the_row(void **state)
{
        static const struct {
                const char *json, *field;
                unsigned scopes;
                enum cay_code code;
        } rows[] = {
                { "{\"word\":\"hi\",\"count\":101}", "count", CAY_SCOPE_EXEC, CAY_INVALID },
                { "{}", "word", CAY_SCOPE_EXEC, CAY_INVALID },
                { "{\"word\":1}", "word", CAY_SCOPE_EXEC, CAY_INVALID },
                { "{\"word\":\"hi\",\"other\":1}", "other", CAY_SCOPE_EXEC, CAY_INVALID },
                { "{\"word\":\"hi\"}", "", CAY_SCOPE_READ, CAY_DENIED },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                heard->last_words = 0;
                begin(&op_echo, rows[i].json, rows[i].scopes, &plain);
                settle();
                assert_int_equal(heard->last_words, 1);
                assert_int_equal(heard->code, rows[i].code);
                assert_string_equal(heard->field, rows[i].field);
                assert_string_equal(heard->log, ""); /* the op never ran */
        }
        (void)state;
}

static void test_unknown_caller(void **state)
{
        struct cay_call_what what = {
                .op = &op_echo, .world = &world, .fd = -1, .ops = &plain, .user = heard
        };

        assert_non_null(cay_call(&what));
        settle();
        assert_int_equal(heard->last_words, 1);
        assert_int_equal(heard->code, CAY_DENIED);
        (void)state;
}

static void test_trouble_inside_is_not_told(void **state)
{
        begin(&op_inside_trouble, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &plain);
        settle();
        assert_int_equal(heard->last_words, 1);
        assert_int_equal(heard->code, CAY_INTERNAL); /* on_fail looked at the text */
        (void)state;
}

static void test_first_use_is_told(void **state)
{
        begin(&op_used, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &plain);
        settle();
        assert_int_equal(heard->code, CAY_EXISTS);
        assert_string_equal(heard->first, "first1");
        assert_string_equal(heard->confirm, "confirm1");
        assert_string_equal(heard->field, "word");
        (void)state;
}

static void test_streams(void **state)
{
        struct cay_call *a = begin(&op_stream, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &streaming);

        settle();
        assert_string_equal(heard->log, "event 1 line {};");
        cay_call_drained(a);
        assert_string_equal(heard->log, "event 1 line {};drained;event 2 line {};end;");
        cay_call_gone(a); /* still in the same round: nobody is told twice */
        assert_int_equal(heard->last_words, 1);
        settle();
        (void)state;
}

/* An asker that sends events on gets them as text, and its answers as values all the same. */
static void test_events_as_text(void **state)
{
        struct cay_call *a = begin(&op_stream, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &passing_on);

        settle();
        cay_call_drained(a);
        assert_string_equal(heard->log, "event 1 line {};drained;event 2 line {};end;");
        settle();
        (void)state;
}

/* Arguments that could not be written are told, and the op does not run. */
static void test_bad_args(void **state)
{
        struct cay_call_args args;
        struct cay_call_what what = { .op = &op_echo,
                                      .world = &world,
                                      .caller = { .owner = "ann", .scopes = CAY_SCOPE_EXEC },
                                      .is_known = true,
                                      .fd = -1,
                                      .args = &args,
                                      .ops = &plain,
                                      .user = heard };

        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "word", "a");
        cay_op_key_text(&args.j, "word", "b");
        assert_non_null(cay_call(&what));
        assert_null(args.tree);
        settle();
        assert_int_equal(heard->last_words, 1);
        assert_int_equal(heard->code, CAY_INTERNAL);
        assert_string_equal(heard->log, "");
        (void)state;
}

static void test_asker_goes(void **state)
{
        struct cay_call *a = begin(&op_stream, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &streaming);

        settle();
        cay_call_gone(a);
        settle();
        assert_string_equal(heard->log, "event 1 line {};gone;cut;");
        assert_int_equal(heard->last_words, 1);
        (void)state;
}

static void test_asker_goes_before_it_ran(void **state)
{
        cay_call_gone(begin(&op_stream, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &streaming));
        settle();
        assert_string_equal(heard->log, "event 1 line {};gone;cut;");
        assert_int_equal(heard->last_words, 1);
        (void)state;
}

static void test_stream_where_none_fits(void **state)
{
        begin(&op_stream, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &plain);
        settle();
        assert_int_equal(heard->last_words, 1);
        assert_int_equal(heard->code, CAY_UNSUPPORTED);
        (void)state;
}

static void test_bytes_in(void **state)
{
        struct cay_call *a = begin(&op_takes, "{\"word\":\"x\"}", CAY_SCOPE_EXEC, &plain);

        assert_int_equal(cay_call_write(a, "early", 5), 0); /* nobody asked yet */
        settle();
        assert_int_equal(cay_call_write(a, "abcdef", 6), 3);
        assert_int_equal(cay_call_write(a, "def", 3), 3);
        assert_int_equal(heard->body, 6);
        cay_call_write_end(a);
        cay_call_write_end(a);
        assert_int_equal(cay_call_write(a, "late", 4), 0);
        assert_int_equal(heard->last_words, 1);
        settle();
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                T(test_answers),
                T(test_checks_come_from_the_row),
                T(test_unknown_caller),
                T(test_trouble_inside_is_not_told),
                T(test_first_use_is_told),
                T(test_streams),
                T(test_events_as_text),
                T(test_bad_args),
                T(test_asker_goes),
                T(test_asker_goes_before_it_ran),
                T(test_stream_where_none_fits),
                T(test_bytes_in),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
