/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a document from written values, with the library's own nodes. */

#include "foundation/json/json_tree.h"

#include <errno.h>

#include "foundation/base/utf8.h"
#include "foundation/json/json_in_priv.h"

#define MEMORY_MAX (64u * 1024 * 1024) /* of lists and maps that are read from one */
#define NODE_BYTES 64u                 /* about what a value takes beside its text */

struct tree {
        struct cay_json_sink sink;
        json_t *root;                     /* owned */
        json_t *open[CAY_JSON_DEPTH_MAX]; /* borrowed from root, the outermost first */
        unsigned depth;
        char *key;         /* owned: pending until its value is written; NULL: none */
        size_t used, most; /* bytes: texts, keys, and NODE_BYTES for each value */
};

static int put_node(struct tree *t, json_t *node)
{
        json_t *into = t->depth > 0 ? t->open[t->depth - 1] : NULL;
        cay_auto_free char *key = cay_take(t->key);
        int r = 0;

        if (!node)
                return -ENOMEM;
        if (!into) {
                t->root = node;
                return 0;
        }
        if (json_is_object(into) && json_object_get(into, key)) {
                json_decref(node);
                return -EINVAL;
        }
        r = json_is_object(into) ? json_object_set_new_nocheck(into, key, node)
                                 : json_array_append_new(into, node);
        return r < 0 ? -ENOMEM : 0;
}

static int put_level(struct tree *t, json_t *node)
{
        int r = put_node(t, node);

        if (r == 0)
                t->open[t->depth++] = node; /* the writer opens no more levels than there is room for */
        return r;
}

/* Each byte that is not UTF-8 becomes U+FFFD, as in text. */
static json_t *mended(const char *text, size_t len)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 3 * len + 1);
        for (size_t n; len > 0; text += n, len -= n) {
                n = cay_utf8_next(text, len);
                if (cay_buf_put(&out, n > 0 ? text : "\xef\xbf\xbd", n > 0 ? n : 3) < 0)
                        return NULL;
                n += n == 0;
        }
        return json_stringn_nocheck(cay_buf_data(&out), out.len);
}

static int put_text(struct tree *t, const char *text, size_t len)
{
        if (memchr(text, '\0', len))
                return -EINVAL;
        return put_node(t, cay_utf8_valid(text, len) ? json_stringn_nocheck(text, len) : mended(text, len));
}

static int put_raw(struct tree *t, const char *text, size_t len)
{
        json_t *node = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

        return node ? put_node(t, node) : -EINVAL;
}

static int put_key(struct tree *t, const char *key, size_t len)
{
        if (memchr(key, '\0', len) || !cay_utf8_valid(key, len))
                return -EINVAL;
        t->key = strndup(key, len);
        return t->key ? 0 : -ENOMEM;
}

/* -ENOSPC as from a buffer that is full. */
static int count(struct tree *t, size_t len)
{
        if (t->used > t->most || len + NODE_BYTES > t->most - t->used)
                return -ENOSPC;
        t->used += len + NODE_BYTES;
        return 0;
}

static int put(struct cay_json_sink *sink, enum cay_json_part part, const char *text, size_t len,
               int64_t number)
{
        struct tree *t = cay_container_of(sink, struct tree, sink);

        if (part != CAY_JSON_PART_END && count(t, text ? len : 0) < 0)
                return -ENOSPC;
        switch (part) {
        case CAY_JSON_PART_OBJECT:
                return put_level(t, json_object());
        case CAY_JSON_PART_ARRAY:
                return put_level(t, json_array());
        case CAY_JSON_PART_END:
                t->depth--;
                return 0;
        case CAY_JSON_PART_KEY:
                return put_key(t, text, len);
        case CAY_JSON_PART_TEXT:
                return put_text(t, text, len);
        case CAY_JSON_PART_NUMBER:
                return put_node(t, json_integer(number));
        case CAY_JSON_PART_BOOL:
                return put_node(t, json_boolean(number));
        case CAY_JSON_PART_NULL:
                return put_node(t, json_null());
        case CAY_JSON_PART_RAW:
                return put_raw(t, text, len);
        }
        return -EINVAL;
}

static void free_tree(struct cay_json_sink *sink)
{
        struct tree *t = cay_container_of(sink, struct tree, sink);

        json_decref(t->root);
        free(t->key);
        free(t);
}

struct cay_json_sink *cay_json_tree_new(size_t most)
{
        struct tree *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        t->sink = (struct cay_json_sink){ .put = put, .free = free_tree };
        t->most = most;
        return &t->sink;
}

struct cay_json_in *cay_json_tree_take(struct cay_json_sink *sink)
{
        struct tree *t = cay_container_of(sink, struct tree, sink);
        struct cay_json_in *doc = t->root && t->depth == 0 ? calloc(1, sizeof(*doc)) : NULL;

        if (!doc)
                return NULL;
        cay_arena_init(&doc->mem, MEMORY_MAX);
        doc->root = cay_take(t->root);
        return doc;
}

static int put_reference(struct tree *t, const struct cay_json_value *v)
{
        int r = count(t, 0);

        return r < 0 ? r : put_node(t, json_incref(as_node(v)));
}

void cay_json_value_put(struct cay_json *j, const struct cay_json_value *v)
{
        if (!v) {
                cay_json_null(j);
        } else if (cay_json_raw_begin(j)) {
                if (!j->sink)
                        j->failed = cay_json_value_print(v, j->out);
                else if (j->sink->put == put)
                        j->failed = put_reference(cay_container_of(j->sink, struct tree, sink), v);
        }
}
