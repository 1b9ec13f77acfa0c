/* SPDX-License-Identifier: Apache-2.0 */
/* docs/registry.schema.json is what the tables say, but for the blanks between. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "foundation/json/json_in.h"
#include "domain/templates/registry.h"
#include "foundation/sys/fd.h"

#define MAX (256u * 1024)

/* Blanks outside of texts go. */
static void squeeze(char *json)
{
        char *to = json;
        bool in_text = false;

        for (const char *at = json; *at; at++) {
                if (in_text && *at == '\\')
                        *to++ = *at++;
                else if (*at == '"')
                        in_text = !in_text;
                else if (!in_text && strchr(" \n\r\t", *at))
                        continue;
                *to++ = *at;
        }
        *to = '\0';
}

static void the_page_is_the_tables(void **state)
{
        cay_auto_buf struct cay_buf made = { 0 };
        char path[4096], *text = malloc(MAX);

        assert_non_null(text);
        cay_buf_init(&made, MAX);
        assert_int_equal(cay_registry_put_schema(&made), 0);
        snprintf(path, sizeof(path), "%s/docs/registry.schema.json", getenv("CAY_SOURCE_DIR"));
        assert_true(sys_read_file(AT_FDCWD, path, text, MAX) > 0);
        squeeze(text);
        squeeze(cay_buf_data(&made));
        if (strcmp(text, cay_buf_data(&made)) != 0)
                fail_msg("docs/registry.schema.json is not what `cay template schema` prints now");
        free(text);
}

static void it_is_json(void **state)
{
        cay_auto_buf struct cay_buf made = { 0 };
        struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        cay_buf_init(&made, MAX);
        assert_int_equal(cay_registry_put_schema(&made), 0);
        if (cay_json_in_parse(cay_buf_data(&made), made.len, NULL, &doc, &err) < 0)
                fail_msg("%s", err.msg);
        cay_json_in_free(doc);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_page_is_the_tables),
                cmocka_unit_test(it_is_json),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
