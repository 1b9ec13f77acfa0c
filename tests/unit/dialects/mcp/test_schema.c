/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every tool has an op, and every parameter that claims to be a field of it is one; schemas are what clients
 * take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/mcp/tools.h"

static void check_param(const struct cay_mcp_tool *t, const struct cay_tool_param *p)
{
        const struct cay_op *op = cay_op_find(t->op);

        assert_true(!p->own != !p->field);
        if (!p->field)
                return;
        if (!op->fields || !cay_field_find(op->fields, p->field, strlen(p->field)))
                fail_msg("%s: %s has no field %s", t->name, t->op, p->field);
}

static bool check_property(void *ctx, const char *name, const struct cay_json_value *v)
{
        const char *tool = ctx;

        if (!cay_json_value_text(cay_json_value_find(v, "type")) ||
            !cay_json_value_text(cay_json_value_find(v, "description")))
                fail_msg("%s: %s has no type or no description", tool, name);
        return true;
}

static void check_schema(const struct cay_mcp_tool *t)
{
        cay_auto_buf struct cay_buf text = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *properties, *required;
        struct cay_error err = { 0 };
        struct cay_json j;

        cay_buf_init(&text, 64 * 1024);
        cay_json_init(&j, &text);
        cay_mcp_put_schema(&j, t, t->flags & CAY_TOOL_IN_SANDBOX);
        assert_int_equal(cay_json_end(&j), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&text), text.len, NULL, &doc, &err), 0);
        properties = cay_json_value_find(cay_json_in_root(doc), "properties");
        cay_json_value_each(properties, check_property, (void *)t->name);
        required = cay_json_value_find(cay_json_in_root(doc), "required");
        for (size_t i = 0; i < cay_json_value_count(required); i++)
                assert_non_null(
                        cay_json_value_find(properties, cay_json_value_text(cay_json_value_at(required, i))));
}

static void tools(void **state)
{
        unsigned count;
        const struct cay_mcp_tool *all = cay_mcp_tools(&count);

        (void)state;
        assert_true(count > cay_mcp_own_tool_count);
        for (unsigned i = 0; i < count; i++) {
                const struct cay_mcp_tool *t = &all[i];

                assert_non_null(cay_op_find(t->op));
                assert_true(strlen(t->name) <= 40 && t->doc[0] && t->title[0] && t->run);
                for (const struct cay_tool_param *p = t->params; p->name; p++)
                        check_param(t, p);
                check_schema(t);
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(all[k].name, t->name);
        }
        assert_true(all[0].flags & CAY_TOOL_READS); /* clients may try the first one */
}

static const struct cay_mcp_tool *find_tool(const char *name)
{
        unsigned count;
        const struct cay_mcp_tool *all = cay_mcp_tools(&count);

        for (unsigned i = 0; i < count; i++)
                if (strcmp(all[i].name, name) == 0)
                        return &all[i];
        return NULL;
}

/*
 * An op becomes a tool by its row alone; it must be one that answers with JSON or a picture and takes no
 * bytes.
 */
static void rows(void **state)
{
        const struct cay_mcp_tool *log = find_tool("network_log"), *links = find_tool("port_url");

        (void)state;
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];
                const char *name = op->tool && op->tool->name ? op->tool->name : op->name;

                assert_true(!op->tool || (find_tool(name) && (op->result || cay_mcp_is_picture(op)) &&
                                          !(op->flags & CAY_OP_RAW_IN)));
        }
        assert_non_null(log);
        assert_int_equal(log->flags, CAY_TOOL_READS | CAY_TOOL_IN_SANDBOX);
        assert_string_equal(log->params[0].name, "from"); /* the sandbox is no field of a model's */
        assert_string_equal(log->params[1].field, "limit");
        assert_null(log->params[2].name);
        assert_non_null(links);
        assert_int_equal(links->flags, CAY_TOOL_IN_SANDBOX);
        assert_true(find_tool("delete_path")->flags & CAY_TOOL_DESTROYS);
        assert_int_equal(find_tool("sandbox_list")->flags, CAY_TOOL_READS | CAY_TOOL_FLEET);
}

static void images(void **state)
{
        (void)state;
        assert_string_equal(cay_mcp_image_type("\x89PNG\r\n\x1a\n.", 9), "image/png");
        assert_string_equal(cay_mcp_image_type("\xff\xd8\xff\xe0", 4), "image/jpeg");
        assert_string_equal(cay_mcp_image_type("GIF89a", 6), "image/gif");
        assert_string_equal(cay_mcp_image_type("RIFF....WEBP", 12), "image/webp");
        assert_null(cay_mcp_image_type("RIFF....WAVE", 12));
        assert_null(cay_mcp_image_type("\x89PN", 3));
        assert_null(cay_mcp_image_type("", 0));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tools),
                cmocka_unit_test(rows),
                cmocka_unit_test(images),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
