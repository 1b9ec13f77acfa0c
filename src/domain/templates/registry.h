/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: a file of templates (docs/registry.md), or the built-in one when there is none.
 *
 * Theory of operation. Loading has two steps. cay_registry_parse checks only the text: its result depends on
 * nothing else, so a keeper may keep a valid text and pass it to the next front. cay_registry_look then
 * checks the machine (files beside the registry, engines, networks, programs) and never fails: something
 * missing makes a template unavailable, with the reason.
 *
 * A text with an error gives no registry at all: a reload keeps the previous one.
 */
#pragma once

#include "domain/model/template.h"
#include "domain/templates/notes.h"

#define CAY_REGISTRY_FILE_MAX (256u * 1024)
#define CAY_REGISTRY_SYSTEM_MAX (64u * 1024)      /* of one SYSTEM.md */
#define CAY_REGISTRY_SYSTEMS_MAX (4u << 20)       /* of all together */
#define CAY_REGISTRY_AUTO_IDLE_MS (5 * 60 * 1000) /* of what auto_cleanup holds for and says no idle_time */
#define CAY_REGISTRY_BUILTIN "built-in"

struct cay_registry;

/* 0, or -1: notes has at least one error. Both may leave warnings. `origin` is copied. */
int cay_registry_parse(const char *origin, const char *text, size_t len, struct cay_notes *notes,
                       struct cay_registry **ret);
void cay_registry_free(struct cay_registry *r); /* accepts NULL; closes what was opened */
CAY_DEFINE_AUTO(struct cay_registry, cay_registry_free)
const struct cay_template_set *cay_registry_set(const struct cay_registry *r); /* until it is freed */

struct cay_registry_place { /* what is looked at; borrowed for the call */
        int folder_fd;      /* the registry's; -1: there is none */
        /* the machine's /usr; -1: it is not accessible, so programs are assumed to exist */
        int usr_fd;
        const char *engines;        /* names of those that work here, with blanks between */
        const char *default_engine; /* the default engine among them; NULL: the first */
        const char *bridge_engines; /* likewise, of those with the network "bridge"; NULL: none */
        const char *policy_engines; /* likewise, of those with networks that have rules */
        const char *no_init_engine; /* the first of them with "init: none"; NULL: none */
        uint64_t now_wall_ms;
        /* Why an engine is not among them; NULL, or returns NULL: unknown. */
        const char *(*why_not)(void *ctx, const char *engine);
        void *ctx;
};

/* Once, after the parse. Warnings go to notes. */
void cay_registry_look(struct cay_registry *r, const struct cay_registry_place *place,
                       struct cay_notes *notes);

extern const char cay_registry_builtin[]; /* a registry's text */

/* The JSON Schema of a registry file, from the tables. 0 or -errno. */
int cay_registry_put_schema(struct cay_buf *out);

/* `cay template check [--json] FILE…` and `cay template schema`: argv[0] is the verb. The exit status. */
int cay_registry_check_main(int argc, char **argv);
