/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI document: JSON, with every op at its path, and no reference that leads nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_openapi.h"
#include "dialects/rest/rest_reference.h"
#include "foundation/json/json_in.h"
#include "domain/ops/op.h"

static struct cay_buf text;
static struct cay_json_in *doc;
static struct cay_rest_listing listing;

static int set_up(void **state)
{
        const struct cay_json_in_limits limits = { .bytes = CAY_REFERENCE_MAX, .values = 200000 };
        struct cay_error err = { 0 };

        cay_buf_init(&text, CAY_REFERENCE_MAX);
        listing = (struct cay_rest_listing){ cay_ops, cay_op_count };
        assert_int_equal(cay_openapi_put(&listing, &text), 0);
        if (cay_json_in_parse(cay_buf_data(&text), text.len, &limits, &doc, &err) < 0)
                fail_msg("%s", err.msg);
        (void)state;
        return 0;
}

static int tear_down(void **state)
{
        cay_json_in_free(doc);
        cay_buf_done(&text);
        (void)state;
        return 0;
}

static const struct cay_json_value *at(const struct cay_json_value *v, const char *name)
{
        v = cay_json_value_find(v, name);
        if (!v)
                fail_msg("there is no '%s'", name);
        return v;
}

static void test_paths(void **state)
{
        static const char *const methods[][2] = {
                { "GET", "get" },       { "POST", "post" },   { "PUT", "put" },
                { "DELETE", "delete" }, { "PATCH", "patch" },
        };
        const struct cay_json_value *paths = at(cay_json_in_root(doc), "paths");

        for (unsigned i = 0; i < cay_op_count; i++) {
                const char *blank = strchr(cay_ops[i]->route, ' ');
                const struct cay_json_value *item = at(paths, blank + 1), *op = NULL;

                for (size_t m = 0; m < CAY_COUNT(methods); m++)
                        if (strncmp(methods[m][0], cay_ops[i]->route, (size_t)(blank - cay_ops[i]->route)) ==
                            0)
                                op = at(item, methods[m][1]);
                assert_string_equal(cay_json_value_text(at(op, "operationId")), cay_ops[i]->name);
                at(at(op, "responses"), "default");
        }
        (void)state;
}

/* Every "#/components/schemas/X" is there. */
static void test_references(void **state)
{
        static const char start[] = "\"#/components/schemas/";
        const struct cay_json_value *schemas = at(at(cay_json_in_root(doc), "components"), "schemas");
        unsigned count = 0;

        for (const char *p = cay_buf_data(&text); (p = strstr(p, start)); count++) {
                char name[64] = "";
                size_t len;

                p += strlen(start);
                len = strcspn(p, "\"");
                assert_true(len < sizeof(name));
                memcpy(name, p, len);
                at(schemas, name);
        }
        assert_true(count > 20);
        (void)state;
}

/* The words of errors, for generators: each once, and none for success. */
static void test_error_codes(void **state)
{
        const struct cay_json_value *schemas = at(at(cay_json_in_root(doc), "components"), "schemas");
        const struct cay_json_value *inner =
                at(at(at(at(schemas, "Error"), "properties"), "error"), "properties");
        const struct cay_json_value *words = at(at(inner, "code"), "enum");
        const char *all[CAY_REST_WORDS_MAX];
        unsigned count = cay_rest_error_words(all), found = 0;

        assert_int_equal(cay_json_value_count(words), count);
        for (unsigned i = 0; i < count; i++) {
                assert_string_equal(cay_json_value_text(cay_json_value_at(words, i)), all[i]);
                assert_string_not_equal(all[i], "ok");
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(all[k], all[i]);
                found += strcmp(all[i], "exists") == 0 || strcmp(all[i], "unauthenticated") == 0;
        }
        assert_int_equal(found, 2);
        (void)state;
}

static void test_no_room(void **state)
{
        cay_auto_buf struct cay_buf small = { 0 };

        cay_buf_init(&small, 1000);
        assert_true(cay_openapi_put(&listing, &small) < 0);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_paths),
                cmocka_unit_test(test_references),
                cmocka_unit_test(test_error_codes),
                cmocka_unit_test(test_no_room),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
