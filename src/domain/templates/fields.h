/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a registry file: tables of fields that fill struct cay_template and the settings. The reader,
 * the suggestions and the JSON Schema all use these rows, so a new key is a row.
 */
#pragma once

#include "foundation/base/field.h"
#include "domain/model/template.h"

#define CAY_REGISTRY_TEMPLATES_MAX 256
#define CAY_REGISTRY_RULES_MAX 100 /* allowances of one template; the same for denials */

struct cay_registry_row { /* a template in the making */
        struct cay_template t;
        const char *rootfs, *dockerfile, *image; /* at most one, and not with host */
        const char *network_mode, *mode;         /* of its network; at most one */
        bool host, has_auto_cleanup;
};

struct cay_registry_settings {
        bool auto_cleanup;
        uint64_t max_concurrent, queue, queue_ms;
        struct cay_field_map aliases;
};

extern const struct cay_field cay_registry_template_fields[]; /* fill a struct cay_registry_row */
extern const struct cay_field cay_registry_settings_fields[];
extern const struct cay_field cay_registry_root_fields[]; /* names and docs alone: containers, settings */

/* How a PARSED row is read; the schema tells them apart by these. */
int cay_registry_parse_word(const struct cay_field *f, const char *where, const char *text, void *at,
                            struct cay_error *err); /* one of cay_registry_words[f->nr] */
int cay_registry_parse_path(const struct cay_field *f, const char *where, const char *text, void *at,
                            struct cay_error *err); /* below the registry's folder; "./" is let go */
int cay_registry_parse_image(const struct cay_field *f, const char *where, const char *text, void *at,
                             struct cay_error *err);
int cay_registry_parse_limit(const struct cay_field *f, const char *where, const char *text, void *at,
                             struct cay_error *err); /* f->nr: enum cay_limit */

enum cay_registry_list {
        CAY_REGISTRY_NETWORKS, /* of document 001 */
        CAY_REGISTRY_MODES,
        CAY_REGISTRY_ENGINES,
        CAY_REGISTRY_INITS,
        CAY_REGISTRY_LIST_COUNT
};
extern const char *const *const cay_registry_words[CAY_REGISTRY_LIST_COUNT]; /* each NULL-terminated */

/* Engines that a template may name, in the order of engines.def, with the most they can on any host. */
struct cay_registry_engine {
        const char *name;
        unsigned caps;
};
extern const struct cay_registry_engine cay_registry_engines[]; /* ended by a NULL name */
/* The first with any of these capabilities; NULL: none. */
const struct cay_registry_engine *cay_registry_engine_with(unsigned caps);
bool cay_registry_engine_can(const char *name, unsigned cap);

/* The name of `table` that is closest to a mistyped one; NULL: none is close. */
const char *cay_registry_suggest(const struct cay_field *table, const char *name);
const char *cay_registry_suggest_word(const char *const *words, const char *name);
