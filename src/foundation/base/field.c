/* SPDX-License-Identifier: Apache-2.0 */
/* What every source of named values shares: looking a row up, values from text, ranges. */

#include "foundation/base/field.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "foundation/base/parse.h"

static const char *const kind_texts[] = {
        [CAY_FIELD_NONE] = "nothing",
        [CAY_FIELD_TEXT] = "a text",
        [CAY_FIELD_U64] = "a whole number",
        [CAY_FIELD_BOOL] = "true or false",
        [CAY_FIELD_SIZE] = "a size (like 256m, 1.5g or 1048576)",
        [CAY_FIELD_DURATION] = "a duration (like 60, 0.5, 250ms, 10m, 2h or 1d)",
        [CAY_FIELD_MILLI] = "a number with at most three decimals",
        [CAY_FIELD_TEXTS] = "a list of texts",
        [CAY_FIELD_WORDS] = "a text or a list of texts",
        [CAY_FIELD_MAP] = "an object whose values are texts",
        [CAY_FIELD_OBJECT] = "an object",
        [CAY_FIELD_PARSED] = "a text or a number",
        [CAY_FIELD_ANY] = "anything",
};

_Static_assert(CAY_COUNT(kind_texts) == CAY_FIELD_KIND_COUNT, "a text for every kind");

const char *cay_field_kind_text(enum cay_field_kind kind)
{
        return (unsigned)kind < CAY_COUNT(kind_texts) ? kind_texts[kind] : "nothing";
}

const struct cay_field *cay_field_find(const struct cay_field *table, const char *name, size_t len)
{
        for (; table->name; table++) {
                if (strlen(table->name) == len && memcmp(table->name, name, len) == 0)
                        return table;
        }
        return NULL;
}

void cay_field_note_given(const struct cay_field *field, void *args)
{
        if (field->given > 0)
                *(bool *)((char *)args + field->given - 1) = true;
}

/* As callers write a value of that kind: "90s", "256m", "0.5". */
static const char *value_text(enum cay_field_kind kind, uint64_t v, char *buf, size_t size)
{
        static const struct {
                enum cay_field_kind kind;
                uint64_t factor;
                const char *unit;
        } units[] = {
                { CAY_FIELD_DURATION, 86400000, "d" }, { CAY_FIELD_DURATION, 3600000, "h" },
                { CAY_FIELD_DURATION, 60000, "m" },    { CAY_FIELD_DURATION, 1000, "s" },
                { CAY_FIELD_DURATION, 1, "ms" },       { CAY_FIELD_SIZE, 1ull << 40, "t" },
                { CAY_FIELD_SIZE, 1ull << 30, "g" },   { CAY_FIELD_SIZE, 1ull << 20, "m" },
                { CAY_FIELD_SIZE, 1ull << 10, "k" },
        };

        for (unsigned i = 0; v > 0 && i < CAY_COUNT(units); i++) {
                if (units[i].kind != kind || v % units[i].factor != 0)
                        continue;
                snprintf(buf, size, "%" PRIu64 "%s", v / units[i].factor, units[i].unit);
                return buf;
        }
        if (kind == CAY_FIELD_MILLI && v % 1000 != 0)
                snprintf(buf, size, "%" PRIu64 ".%03u", v / 1000, (unsigned)(v % 1000));
        else
                snprintf(buf, size, "%" PRIu64, kind == CAY_FIELD_MILLI ? v / 1000 : v);
        return buf;
}

int cay_field_check_range(const struct cay_field *field, const char *where, uint64_t v, struct cay_error *err)
{
        char given[32], bound[32];

        if (v < field->min)
                return cay_fail(err, CAY_INVALID, "%s: %s is too small: at least %s", where,
                                value_text(field->kind, v, given, sizeof(given)),
                                value_text(field->kind, field->min, bound, sizeof(bound)));
        if (field->max > 0 && v > field->max)
                return cay_fail(err, CAY_INVALID, "%s: %s is too big: at most %s", where,
                                value_text(field->kind, v, given, sizeof(given)),
                                value_text(field->kind, field->max, bound, sizeof(bound)));
        return 0;
}

static int set_number(const struct cay_field *field, const char *where, const char *text, void *at,
                      int (*parse)(const char *s, uint64_t *ret), struct cay_error *err)
{
        uint64_t v;
        int r = parse(text, &v);

        if (r == -ERANGE)
                return cay_fail(err, CAY_INVALID, "%s: '%.60s' is too big", where, text);
        if (r < 0)
                return cay_fail(err, CAY_INVALID, "%s: '%.60s' is not %s", where, text,
                                cay_field_kind_text(field->kind));
        if (cay_field_check_range(field, where, v, err) < 0)
                return -1;
        *(uint64_t *)at = v;
        return 0;
}

static int set_bool(const char *where, const char *text, bool *at, struct cay_error *err)
{
        bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

        if (!yes && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
                return cay_fail(err, CAY_INVALID, "%s: '%.60s' is not true or false", where, text);
        *at = yes;
        return 0;
}

static int set_text(const struct cay_field *field, const char *where, const char *text, const char **at,
                    struct cay_error *err)
{
        uint64_t max = field->max > 0 ? field->max : CAY_FIELD_TEXT_MAX;
        size_t len = strlen(text);

        if (len > max)
                return cay_fail(err, CAY_INVALID, "%s: %zu bytes are too many: at most %" PRIu64, where, len,
                                max);
        if (len < field->min && len == 0)
                return cay_fail(err, CAY_INVALID, "%s: must not be empty", where);
        if (len < field->min)
                return cay_fail(err, CAY_INVALID, "%s: %zu bytes are too few: at least %" PRIu64, where, len,
                                field->min);
        *at = text;
        return 0;
}

static int set_one(const struct cay_field *field, const char *where, const char *text, void *at,
                   struct cay_error *err)
{
        switch (field->kind) {
        case CAY_FIELD_TEXT:
                return set_text(field, where, text, at, err);
        case CAY_FIELD_BOOL:
                return set_bool(where, text, at, err);
        case CAY_FIELD_U64:
                return set_number(field, where, text, at, cay_parse_u64, err);
        case CAY_FIELD_SIZE:
                return set_number(field, where, text, at, cay_parse_size, err);
        case CAY_FIELD_DURATION:
                return set_number(field, where, text, at, cay_parse_duration, err);
        case CAY_FIELD_MILLI:
                return set_number(field, where, text, at, cay_parse_milli, err);
        case CAY_FIELD_PARSED:
                return field->parse(field, where, text, at, err);
        default:
                return cay_fail(err, CAY_INVALID, "%s: must be %s", where, cay_field_kind_text(field->kind));
        }
}

int cay_field_set_text(const struct cay_field *field, const char *where, const char *text, void *args,
                       struct cay_error *err)
{
        if (set_one(field, where, text, (char *)args + field->offset, err) < 0)
                return -1;
        cay_field_note_given(field, args);
        return 0;
}
