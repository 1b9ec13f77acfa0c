/* SPDX-License-Identifier: Apache-2.0 */
/* What Docker is asked about images, and what it says of those that there are. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "foundation/base/json_out.h"
#include "foundation/base/str.h"
#include "cay-docker/build.h"

bool docker_template_is_name(const char *name, size_t size)
{
        return strnlen(name, size) < size && cay_id_is_valid(name);
}

static const char *text(const struct cay_json_value *object, const char *name)
{
        const char *value = cay_json_value_text(cay_json_value_find(object, name));

        return value ? value : "";
}

static int64_t number(const struct cay_json_value *object, const char *name)
{
        int64_t value = 0;

        return cay_json_value_i64(cay_json_value_find(object, name), &value) && value > 0 ? value : 0;
}

static bool is_hex(const char *id, size_t len)
{
        return strlen(id) == len && strspn(id, "0123456789abcdef") == len;
}

/* Whoever builds on one of our images gets its labels along: that is another's, and known by its names. */
static bool has_own_tag(const struct cay_json_value *one, const char *name, const char *context)
{
        const struct cay_json_value *tags = cay_json_value_find(one, "RepoTags");
        char own[DOCKER_WORD + DOCKER_CONTEXT + 8];
        size_t others = 0;

        snprintf(own, sizeof(own), "cay/%s:%s", name, context);
        for (size_t i = 0; i < cay_json_value_count(tags); i++) {
                const char *tag = cay_json_value_text(cay_json_value_at(tags, i));

                if (tag && strcmp(tag, own) == 0)
                        return true;
                others += tag && strcmp(tag, "<none>:<none>") != 0;
        }
        return others == 0;
}

static bool read_one(const struct cay_json_value *one, const char *instance, const char *name,
                     struct docker_found *ret)
{
        const struct cay_json_value *labels = cay_json_value_find(one, "Labels");
        const char *own = text(labels, "cay.template"), *context = text(labels, "cay.context"),
                   *id = text(one, "Id");

        if (!docker_template_is_name(own, DOCKER_WORD) || !is_hex(context, DOCKER_CONTEXT - 1) ||
            !cay_str_starts(id, "sha256:") || !is_hex(id + 7, 64))
                return false;
        if ((name && strcmp(own, name) != 0) || strcmp(text(labels, "cay.instance"), instance) != 0 ||
            !has_own_tag(one, own, context))
                return false;
        *ret = (struct docker_found){ .size_bytes = (uint64_t)number(one, "Size"),
                                      .built_s = number(one, "Created") };
        return cay_str_copy(ret->name, sizeof(ret->name), own) &&
               cay_str_copy(ret->id, sizeof(ret->id), id) &&
               cay_str_copy(ret->context, sizeof(ret->context), context);
}

unsigned docker_found_read(const struct cay_json_value *list, const char *instance, const char *name,
                           struct docker_found *ret, unsigned max)
{
        unsigned count = 0;

        for (size_t i = 0; i < cay_json_value_count(list) && count < max; i++)
                count += read_one(cay_json_value_at(list, i), instance, name, &ret[count]);
        return count;
}

const struct docker_found *docker_found_newest(const struct docker_found *rows, unsigned count,
                                               const char *name)
{
        const struct docker_found *newest = NULL;

        for (unsigned i = 0; i < count; i++)
                if (strcmp(rows[i].name, name) == 0 && (!newest || rows[i].built_s > newest->built_s))
                        newest = &rows[i];
        return newest;
}

/* Paths */

static int put_coded(struct cay_buf *out, const char *value)
{
        int r = 0;

        for (; *value && r == 0; value++) {
                unsigned char c = (unsigned char)*value;
                bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                             strchr("-._~/:", c);

                r = plain ? cay_buf_putc(out, (char)c) : cay_buf_printf(out, "%%%02X", c);
        }
        return r;
}

/* A JSON object of texts, coded: name, value, …, NULL. */
static int put_labels(struct cay_buf *out, const char *const *pairs)
{
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_json j;
        int r;

        cay_buf_init(&json, 8192);
        cay_json_init(&j, &json);
        cay_json_begin_object(&j);
        for (; *pairs; pairs += 2) {
                cay_json_key(&j, pairs[0]);
                cay_json_text(&j, pairs[1]);
        }
        cay_json_end_object(&j);
        r = cay_json_end(&j);
        return r < 0 ? r : put_coded(out, cay_buf_data(&json));
}

int docker_found_put_path(const char *name, struct cay_buf *out)
{
        char filter[128];
        int r = cay_buf_puts(out, "/images/json?filters=");

        snprintf(filter, sizeof(filter), "{\"label\":[\"cay.template%s%s\"]}", name ? "=" : "",
                 name ? name : "");
        return r < 0 ? r : put_coded(out, filter);
}

int docker_image_put_path(const char *image, struct cay_buf *out)
{
        int r = cay_buf_puts(out, "/images/");

        if (r == 0)
                r = put_coded(out, image);
        return r == 0 ? cay_buf_puts(out, "/json") : r;
}

int docker_build_put_path(const struct docker_context *c, const char *instance, bool no_cache,
                          struct cay_buf *out)
{
        const char *const labels[] = { "cay.template", c->name,  "cay.context", c->hash,
                                       "cay.instance", instance, NULL };
        int r = cay_buf_printf(
                out,
                "/build?t=cay/%s:%s&rm=1&forcerm=1&pull=0&nocache=%d&networkmode=%s&memory=%llu"
                "&memswap=%llu&dockerfile=",
                c->name, c->hash, no_cache, c->bridge ? "bridge" : "none",
                (unsigned long long)c->memory_bytes, (unsigned long long)c->memory_bytes);

        if (r == 0)
                r = put_coded(out, c->dockerfile);
        if (r == 0)
                r = cay_buf_puts(out, "&buildargs=");
        if (r == 0)
                r = put_coded(out, c->args);
        if (r == 0)
                r = cay_buf_puts(out, "&labels=");
        return r == 0 ? put_labels(out, labels) : r;
}
