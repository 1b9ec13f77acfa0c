/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels send, checked and written for clients. */
#include "domain/ops/context_result.h"

#include <stdbool.h>

#include "foundation/base/json_view.h"

static const struct { /* what a result may have; is_data: any JSON, else text */
        const char *name;
        bool is_data;
} kinds[] = {
        { "text", false }, { "html", false },       { "markdown", false }, { "svg", false },
        { "png", false },  { "jpeg", false },       { "pdf", false },      { "latex", false },
        { "json", true },  { "javascript", false }, { "data", true },      { "chart", true },
        { "extra", true },
};

/* The text was read whole and strictly, so each value in it is JSON as it stands. */
static void put_view(struct cay_json *j, const char *key, struct cay_json_view v)
{
        cay_json_key(j, key);
        cay_json_raw(j, v.at, v.len);
}

int cay_context_put_result(struct cay_json *j, const char *bytes, size_t len)
{
        struct cay_json_view object, v;

        if (cay_json_view_open(bytes, len, &object) < 0 || object.len == 0 || object.at[0] != '{')
                return -1;
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                v = cay_json_view_find(object, kinds[i].name);
                if (v.len > 0 && (kinds[i].is_data || cay_json_view_is_text(v)))
                        put_view(j, kinds[i].name, v);
        }
        cay_json_key(j, "is_main_result");
        cay_json_bool(j, cay_json_view_is_true(cay_json_view_find(object, "is_main_result")));
        return 0;
}

void cay_context_put_error(struct cay_json *j, const char *bytes, size_t len)
{
        static const char *const names[] = { "name", "value", "traceback" };
        struct cay_json_view object = { 0 }, v;
        bool is_read = cay_json_view_open(bytes, len, &object) == 0;

        for (unsigned i = 0; i < 3; i++) {
                v = is_read ? cay_json_view_find(object, names[i]) : (struct cay_json_view){ 0 };
                if (cay_json_view_is_text(v)) {
                        put_view(j, names[i], v);
                } else {
                        cay_json_key(j, names[i]);
                        cay_json_text(j, i == 0 ? "Error" : "");
                }
        }
}
