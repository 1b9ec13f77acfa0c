/* SPDX-License-Identifier: Apache-2.0 */
/* Parses messages of ttyd's clients. */
#include "dialects/page/tty_words.h"

#include <string.h>

#include "foundation/json/json_in.h"

#define JSON_MAX 4096u

static bool read_side(const struct cay_json_value *v, const char *name, uint64_t *ret)
{
        int64_t n = 0;

        if (!cay_json_value_i64(cay_json_value_find(v, name), &n) || n < 1)
                return false;
        *ret = n > CAY_TTY_SIDE_MAX ? CAY_TTY_SIDE_MAX : (uint64_t)n;
        return true;
}

/* NULL: it is no object. */
static const struct cay_json_value *read_object(const char *json, size_t len, struct cay_json_in **doc)
{
        const struct cay_json_in_limits limits = { .bytes = JSON_MAX, .values = 100, .depth = 4 };
        struct cay_error err = { 0 };

        if (cay_json_in_parse(json, len, &limits, doc, &err) < 0 ||
            cay_json_value_type(cay_json_in_root(*doc)) != CAY_JSON_OBJECT)
                return NULL;
        return cay_json_in_root(*doc);
}

/* Unchanged if there is none. */
static bool read_size(const struct cay_json_value *root, struct cay_tty_size *ret)
{
        struct cay_tty_size size;

        if (!read_side(root, "rows", &size.rows) || !read_side(root, "columns", &size.cols))
                return false;
        *ret = size;
        return true;
}

bool cay_tty_read_first(const void *bytes, size_t len, struct cay_tty_first *ret)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *root = read_object(bytes, len, &doc);
        const char *token;

        *ret = (struct cay_tty_first){ .size = { .rows = 24, .cols = 80 } };
        if (!root)
                return false;
        read_size(root, &ret->size);
        token = cay_json_value_text(cay_json_value_find(root, "AuthToken"));
        if (token && strlen(token) <= CAY_TTY_TOKEN_MAX)
                memcpy(ret->token, token, strlen(token) + 1);
        return true;
}

static enum cay_tty_word read_resize(const char *json, size_t len, struct cay_tty_size *ret)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *root = read_object(json, len, &doc);

        return root && read_size(root, ret) ? CAY_TTY_SIZE : CAY_TTY_NONSENSE;
}

enum cay_tty_word cay_tty_read(const void *bytes, size_t len, struct cay_tty_size *ret)
{
        const char *text = bytes;

        switch (len > 0 ? text[0] : '\0') {
        case '0':
                return CAY_TTY_INPUT;
        case '1':
                return read_resize(text + 1, len - 1, ret);
        case '2':
                return CAY_TTY_PAUSE;
        case '3':
                return CAY_TTY_RESUME;
        default:
                return CAY_TTY_NONSENSE;
        }
}
