/* SPDX-License-Identifier: Apache-2.0 */
/* The op around the detector: which template, and whether to execute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/json/json_in.h"
#include "domain/ops/template_use.h"

static const char *no_words[] = { NULL };
static const char *python_words[] = { "run python", "test this", NULL };
static const char *node_words[] = { "run javascript", NULL };
static const char *gpu_words[] = { "gpu box", NULL };

#define ROW(n, words, have)                                                                                  \
        {                                                                                                    \
                .name = n, .description = "", .root_text = "", .engine = "native", .network = "none",        \
                .init = "cay", .triggers = { .items = words, .count = CAY_COUNT(words) - 1 },                \
                .available = have                                                                            \
        }

static const struct cay_template rows[] = {
        ROW("host", no_words, true),
        ROW("python", python_words, true),
        ROW("node", node_words, false),
        ROW("gpu", gpu_words, true),
};

struct asked {
        struct cay_op_call call;
        struct cay_json_in *doc;
        enum cay_code failed;
};

static void on_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct asked *a = cay_container_of(c, struct asked, call);
        struct cay_error err = { 0 };

        assert_int_equal(status, CAY_OP_OK);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&r->text), r->text.len, NULL, &a->doc, &err), 0);
}

static void on_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct asked *a = cay_container_of(c, struct asked, call);

        assert_string_equal(field, "message");
        a->failed = err->code;
}

static struct asked ask(const char *message, const struct cay_template_set *set)
{
        static const struct cay_op_responder responder = { .answer = on_answer, .fail = on_fail };
        static struct cay_templates templates;
        struct cay_op_world world = { .templates = set ? &templates : NULL };
        struct {
                const char *message;
        } args = { message };
        struct asked a = {
                .call = { .op = cay_op_find("intent_detect"), .responder = &responder, .args = &args }
        };

        templates.set = set;
        a.call.world = &world;
        assert_non_null(a.call.op);
        assert_int_equal(a.call.op->args_size, sizeof(args));
        a.call.op->run(&a.call);
        return a;
}

static const struct cay_template_set set = { .rows = rows, .count = CAY_COUNT(rows), .origin = "test" };

struct want {
        const char *message, *decision;
        bool execute;
        const char *template_name, *by; /* NULL: there is none */
};

static const struct want wants[] = {
        { "run it\n```python\nprint(1)\n```", "run", true, "python", "language" },
        { "test this\n```python\nprint(1)\n```", "run", true, "python", "trigger" },
        { "test this\n```js\nconsole.log(1)\n```", "run", false, "node",
          "language" }, /* not python's; not here */
        { "in the gpu box: run this\n```python\nprint(1)\n```", "run", true, "gpu", "trigger" },
        { "run this\n```python\n# gpu box\n```", "run", true, "python",
          "language" }, /* words of the code are none */
        { "run this\n```rust\nfn main() {}\n```", "run", false, NULL, NULL },
        { "run this\n```\n???\n```", "run", false, NULL, NULL },
        { "run this\n```python\nos.remove('x')\n```", "run", false, "python",
          "language" }, /* asked about first */
        { "explain this\n```python\nprint(1)\n```", "explain", false, "python", "language" },
        { "hello", "none", false, NULL, NULL },
};

static const char *text_of(const struct cay_json_value *v, const char *key)
{
        return cay_json_value_text(cay_json_value_find(v, key));
}

static bool is_true(const struct cay_json_value *v, const char *key)
{
        assert_non_null(cay_json_value_find(v, key));
        return cay_json_value_is_true(cay_json_value_find(v, key));
}

static void check(const struct want *want)
{
        struct asked a = ask(want->message, &set);
        const struct cay_json_value *root = cay_json_in_root(a.doc), *t;

        t = cay_json_value_find(root, "template");
        assert_string_equal(text_of(root, "decision"), want->decision);
        assert_int_equal(is_true(root, "execute"), want->execute);
        assert_int_equal(t != NULL, want->template_name != NULL);
        if (t) {
                assert_string_equal(text_of(t, "name"), want->template_name);
                assert_string_equal(text_of(t, "matched_by"), want->by);
        }
        cay_json_in_free(a.doc);
}

static void test_templates(void **state)
{
        for (size_t i = 0; i < CAY_COUNT(wants); i++)
                check(&wants[i]);
        (void)state;
}

static void test_no_templates(void **state)
{
        struct asked a = ask("run it\n```python\nprint(1)\n```", NULL);
        const struct cay_json_value *root = cay_json_in_root(a.doc), *code;

        assert_false(is_true(root, "execute"));
        assert_string_equal(text_of(root, "obstacle"), "no template runs Python; add one");
        code = cay_json_value_find(root, "code");
        assert_string_equal(text_of(code, "text"), "print(1)\n");
        assert_string_equal(text_of(code, "language"), "python");
        assert_string_equal(text_of(code, "kind"), "fenced");
        cay_json_in_free(a.doc);
        (void)state;
}

static void test_refused(void **state)
{
        struct asked a = ask("\377", &set);

        assert_null(a.doc);
        assert_int_equal(a.failed, CAY_INVALID);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_templates),
                cmocka_unit_test(test_no_templates),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
