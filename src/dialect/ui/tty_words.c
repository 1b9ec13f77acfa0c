/* SPDX-License-Identifier: Apache-2.0 */
/* What ttyd's clients say. */
#include "dialect/ui/tty_words.h"

#include "json/json_in.h"

#define JSON_MAX 4096u

static bool read_side(const struct cay_json_value *v, const char *name, uint64_t *ret)
{
        int64_t n = 0;

        if (!cay_json_value_i64(cay_json_value_find(v, name), &n) || n < 1)
                return false;
        *ret = n > CAY_TTY_SIDE_MAX ? CAY_TTY_SIDE_MAX : (uint64_t)n;
        return true;
}

/* -1: no object; 0: no size in it; 1. */
static int read_size(const char *json, size_t len, struct cay_tty_size *ret)
{
        const struct cay_json_in_limits limits = { .bytes = JSON_MAX, .values = 100, .depth = 4 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        struct cay_tty_size size;
        const struct cay_json_value *root;

        if (cay_json_in_parse(json, len, &limits, &doc, &err) < 0)
                return -1;
        root = cay_json_in_root(doc);
        if (cay_json_value_type(root) != CAY_JSON_OBJECT)
                return -1;
        if (!read_side(root, "rows", &size.rows) || !read_side(root, "columns", &size.cols))
                return 0;
        *ret = size;
        return 1;
}

bool cay_tty_read_first(const void *bytes, size_t len, struct cay_tty_size *ret)
{
        *ret = (struct cay_tty_size){ .rows = 24, .cols = 80 };
        return read_size(bytes, len, ret) >= 0;
}

enum cay_tty_word cay_tty_read(const void *bytes, size_t len, struct cay_tty_size *ret)
{
        const char *text = bytes;

        switch (len > 0 ? text[0] : '\0') {
        case '0':
                return CAY_TTY_INPUT;
        case '1':
                return read_size(text + 1, len - 1, ret) == 1 ? CAY_TTY_SIZE : CAY_TTY_NONSENSE;
        case '2':
                return CAY_TTY_PAUSE;
        case '3':
                return CAY_TTY_RESUME;
        default:
                return CAY_TTY_NONSENSE;
        }
}
