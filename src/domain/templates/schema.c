/* SPDX-License-Identifier: Apache-2.0 */
/* The tables as a JSON Schema, for editors. docs/registry.schema.json is this, and a test sees to it. */
#include "foundation/base/json_out.h"
#include "domain/templates/fields.h"
#include "domain/templates/registry.h"

#define NAME_PATTERN "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
#define PATH_PATTERN "^(\\./+)*[^/.][^/]*(/[^/]+)*$|^(\\./+)*\\.[^/.][^/]*(/[^/]+)*$"
#define IMAGE_PATTERN "^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$"
#define SIZE_PATTERN "^[0-9]+(\\.[0-9]+)?([kKmMgGtT]([iI]?[bB]?)?|[bB])?$"
#define DURATION_PATTERN "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)?$"
#define MILLI_PATTERN "^[0-9]+(\\.[0-9]{1,3})?$"
#define COUNT_PATTERN "^[0-9]+$"
#define USR_PATTERN "^/usr/"

static void put_text(struct cay_json *j, const char *key, const char *value)
{
        cay_json_key(j, key);
        cay_json_text(j, value);
}

static void put_u64(struct cay_json *j, const char *key, uint64_t value)
{
        cay_json_key(j, key);
        cay_json_u64(j, value);
}

/* A number, or the same as a text with a unit. */
static void put_number_or(struct cay_json *j, const char *number, const char *pattern)
{
        cay_json_key(j, "type");
        cay_json_begin_array(j);
        cay_json_text(j, number);
        cay_json_text(j, "string");
        cay_json_end_array(j);
        put_text(j, "pattern", pattern);
        put_u64(j, "minimum", 0);
}

static void put_limit(struct cay_json *j, enum cay_limit nr)
{
        static const struct {
                const char *number, *pattern;
        } kinds[] = {
                [CAY_LIMIT_SIZE] = { "integer", SIZE_PATTERN },
                [CAY_LIMIT_MILLI] = { "number", MILLI_PATTERN },
                [CAY_LIMIT_COUNT_KIND] = { "integer", COUNT_PATTERN },
                [CAY_LIMIT_DURATION] = { "number", DURATION_PATTERN },
        };
        static const enum cay_limit_kind by_nr[] = {
#define COUNT COUNT_KIND
#define KIND_OF_(kind) CAY_LIMIT_##kind
#define KIND_OF(kind) KIND_OF_(kind)
#define CAY_LIMIT(field, word, kind, min, max, doc) [CAY_LIMIT_NR_##field] = KIND_OF(kind),
#include "domain/model/limits.def"
#undef CAY_LIMIT
#undef COUNT
        };

        put_number_or(j, kinds[by_nr[nr]].number, kinds[by_nr[nr]].pattern);
}

static void put_words(struct cay_json *j, const char *const *words)
{
        cay_json_key(j, "enum");
        cay_json_begin_array(j);
        for (; *words; words++)
                cay_json_text(j, *words);
        cay_json_end_array(j);
}

static void put_parsed(struct cay_json *j, const struct cay_field *f)
{
        if (f->parse == cay_registry_parse_limit) {
                put_limit(j, (enum cay_limit)f->nr);
        } else if (f->parse == cay_registry_parse_word) {
                put_words(j, cay_registry_words[f->nr]);
        } else {
                put_text(j, "type", "string");
                put_text(j, "pattern", f->parse == cay_registry_parse_image ? IMAGE_PATTERN : PATH_PATTERN);
        }
}

static void put_list(struct cay_json *j, const struct cay_field *f)
{
        put_text(j, "type", "array");
        put_u64(j, "maxItems", f->max > 0 ? f->max : CAY_FIELD_ITEMS_MAX);
        cay_json_key(j, "items");
        cay_json_begin_object(j);
        put_text(j, "type", "string");
        put_u64(j, "minLength", 1);
        put_u64(j, "maxLength", f->item_max > 0 ? f->item_max : CAY_FIELD_TEXT_MAX);
        if (strcmp(f->name, "requires") == 0)
                put_text(j, "pattern", USR_PATTERN);
        cay_json_end_object(j);
}

static void put_list_or_line(struct cay_json *j, const struct cay_field *f)
{
        cay_json_key(j, "oneOf");
        cay_json_begin_array(j);
        cay_json_begin_object(j);
        put_text(j, "type", "string");
        cay_json_end_object(j);
        cay_json_begin_object(j);
        put_list(j, f);
        cay_json_end_object(j);
        cay_json_end_array(j);
}

static void put_map(struct cay_json *j, const struct cay_field *f)
{
        put_text(j, "type", "object");
        put_u64(j, "maxProperties", f->max > 0 ? f->max : CAY_FIELD_ITEMS_MAX);
        cay_json_key(j, "additionalProperties");
        cay_json_begin_object(j);
        cay_json_key(j, "type");
        cay_json_begin_array(j);
        cay_json_text(j, "string");
        cay_json_text(j, "number");
        cay_json_text(j, "boolean");
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void put_strict(struct cay_json *j, const struct cay_field *table);

static void put_field(struct cay_json *j, const struct cay_field *f)
{
        switch (f->kind) {
        case CAY_FIELD_BOOL:
                put_text(j, "type", "boolean");
                break;
        case CAY_FIELD_U64:
                put_number_or(j, "integer", COUNT_PATTERN);
                if (f->max > 0)
                        put_u64(j, "maximum", f->max);
                break;
        case CAY_FIELD_SIZE:
                put_number_or(j, "integer", SIZE_PATTERN);
                break;
        case CAY_FIELD_DURATION:
                put_number_or(j, "number", DURATION_PATTERN);
                break;
        case CAY_FIELD_TEXT:
                put_text(j, "type", "string");
                put_u64(j, "maxLength", f->max > 0 ? f->max : CAY_FIELD_TEXT_MAX);
                break;
        case CAY_FIELD_TEXTS:
                put_list(j, f);
                break;
        case CAY_FIELD_WORDS:
                put_list_or_line(j, f);
                break;
        case CAY_FIELD_MAP:
                put_map(j, f);
                break;
        case CAY_FIELD_OBJECT:
                put_strict(j, f->fields);
                break;
        default:
                put_parsed(j, f);
                break;
        }
}

/*
 * A template's own unknown keys are warnings as long as they resemble none that is known, which a schema
 * can't say. Objects in it are strict.
 */
static void put_fields(struct cay_json *j, const struct cay_field *table)
{
        put_text(j, "type", "object");
        cay_json_key(j, "properties");
        cay_json_begin_object(j);
        for (; table->name; table++) {
                cay_json_key(j, table->name);
                cay_json_begin_object(j);
                put_text(j, "description", table->doc);
                put_field(j, table);
                cay_json_end_object(j);
        }
        cay_json_end_object(j);
}

static void put_strict(struct cay_json *j, const struct cay_field *table)
{
        put_fields(j, table);
        cay_json_key(j, "additionalProperties");
        cay_json_bool(j, false);
}

static void put_one_root(struct cay_json *j)
{
        static const char *const roots[] = { "dockerfile", "rootfs", "image", "host" };

        cay_json_key(j, "oneOf");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < CAY_COUNT(roots); i++) {
                cay_json_begin_object(j);
                cay_json_key(j, "required");
                cay_json_begin_array(j);
                cay_json_text(j, roots[i]);
                cay_json_end_array(j);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void put_containers(struct cay_json *j, const struct cay_field *f)
{
        cay_json_key(j, f->name);
        cay_json_begin_object(j);
        put_text(j, "description", f->doc);
        put_text(j, "type", "object");
        put_u64(j, "minProperties", 1);
        put_u64(j, "maxProperties", f->max);
        cay_json_key(j, "additionalProperties");
        cay_json_bool(j, false);
        cay_json_key(j, "patternProperties");
        cay_json_begin_object(j);
        cay_json_key(j, NAME_PATTERN);
        cay_json_begin_object(j);
        put_fields(j, cay_registry_template_fields);
        put_one_root(j);
        cay_json_end_object(j);
        cay_json_end_object(j);
        cay_json_end_object(j);
}

int cay_registry_put_schema(struct cay_buf *out)
{
        const struct cay_field *settings = &cay_registry_root_fields[1];
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        put_text(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
        put_text(&j, "title", "Cay registry");
        put_text(&j, "description", "Templates of sandboxes: registry.yaml");
        put_text(&j, "type", "object");
        cay_json_key(&j, "required");
        cay_json_begin_array(&j);
        cay_json_text(&j, cay_registry_root_fields[0].name);
        cay_json_end_array(&j);
        cay_json_key(&j, "properties");
        cay_json_begin_object(&j);
        put_containers(&j, &cay_registry_root_fields[0]);
        cay_json_key(&j, settings->name);
        cay_json_begin_object(&j);
        put_text(&j, "description", settings->doc);
        put_strict(&j, settings->fields);
        cay_json_end_object(&j);
        cay_json_end_object(&j);
        cay_json_end_object(&j);
        return cay_json_end(&j);
}
