/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates: what sandboxes are made from, and the defaults of requests. Plain values: the code that fills a
 * set (from a registry file or a built-in list) also checks what is available on this machine.
 *
 * A set is never changed once it is in use: a reload makes another one. Pointers into it are valid until the
 * loop's next round.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/field.h"
#include "domain/model/limits.h"
#include "domain/model/sandbox_options.h"

#define CAY_TEMPLATE_NAME_MAX 63
#define CAY_TEMPLATE_DEFAULT "host" /* of requests that name none */

enum cay_template_root {
        CAY_TEMPLATE_ROOT_NONE,
        CAY_TEMPLATE_ROOT_HOST,       /* the machine's own /usr, read-only */
        CAY_TEMPLATE_ROOT_ROOTFS,     /* a folder */
        CAY_TEMPLATE_ROOT_DOCKERFILE, /* built by an engine that can */
        CAY_TEMPLATE_ROOT_IMAGE,      /* OCI reference */
        CAY_TEMPLATE_ROOT_COUNT
};

struct cay_template {
        const char *name, *description; /* description: "" when there is none */
        enum cay_template_root root;
        const char *root_text; /* path below the registry's folder, or reference; "" for host */
        /* never NULL: the requested engine, or the one that the root needs */
        const char *engine;
        struct cay_field_texts triggers;    /* words of a task that mean this template */
        const char *network;                /* "none", "list", "bridge", "learn" */
        struct cay_field_texts allow, deny; /* rules of its network */
        bool private_networks;              /* its sandboxes may join private networks of their owner */
        const char *init; /* "cay", "none": nothing is copied into it, and it runs one command */
        struct cay_sandbox_options options;
        bool needs_confirm, auto_cleanup;
        /* what the file does not say is document 001's default; of CAY_TEMPLATE_DEFAULT 0: the daemon's */
        struct cay_limits limits;
        uint64_t life_ms, idle_ms;        /* 0: not said */
        struct cay_field_map env;         /* of all commands; overridden by the request's */
        struct cay_field_texts command;   /* the default command; may be empty */
        struct cay_field_texts interpret; /* takes code on its standard input */
        struct cay_field_texts requires;  /* programs of the host, by path below /usr */
        const char *system_path;          /* of SYSTEM.md, below the registry's folder; "" when nobody said */
        uint64_t pool;                    /* boxes kept ready */
        bool pool_learned;                /* as many as were lately asked for at once */
        bool has_warm;                    /* the file says which interpreters wait, or that none does */
        struct cay_field_texts warm;      /* languages */
        struct cay_field_texts warm_modules; /* as options.warm_modules, one by one */
        /* maximum alive at once; 0: only the set's and the daemon's limits apply */
        uint64_t max_concurrent;
        const char *build_network;       /* of what a Dockerfile runs: "none", "bridge" */
        struct cay_field_map build_args; /* its ARGs */
        uint64_t build_memory, build_ms; /* 0: the builder's own */

        /* as the machine was looked at */
        bool available;
        char why[192];           /* when it is not */
        const char *system_text; /* SYSTEM.md; NULL: there is none */
        int root_fd;             /* O_PATH of a ROOTFS; -1: none. Owned by the owner of the set */
};

struct cay_template_set {
        const struct cay_template *rows;
        unsigned count;
        const char *origin;           /* "built-in", or the file's path */
        uint64_t loaded_wall_ms;      /* 0: nobody said */
        uint64_t max_concurrent;      /* alive at once, of all templates together; 0: no limit of its own */
        uint64_t queue;               /* creates that may wait for that */
        uint64_t queue_ms;            /* how long */
        bool auto_cleanup;            /* of templates that do not say */
        struct cay_field_map aliases; /* other names of templates, for clients that have names of their own */
};

/*
 * Whether an interpreter is kept ready in its sandboxes. What nobody said: in those of a pool, if Python
 * takes its code, or it is the default one. NULL: a sandbox without a template of the registry.
 */
bool cay_template_is_warm(const struct cay_template *t, bool has_pool);
const struct cay_template *cay_template_find(const struct cay_template_set *set, const char *name); /* NULL */
/*
 * Whether a trigger's words occur in a text, as whole words, ignoring case and the amount of white space.
 * Returns the length of the trigger, so that the longest can be chosen; 0: no.
 */
size_t cay_template_trigger(const char *trigger, const char *text);
bool cay_template_trigger_is(const char *a, const char *b); /* whether two triggers have the same words */
/*
 * The template for a task's text: the one with the longest trigger in it; among equals the first in the file.
 * NULL: none.
 */
const struct cay_template *cay_template_match(const struct cay_template_set *set, const char *text);
const char *cay_template_root_word(enum cay_template_root root); /* "host", "rootfs", "dockerfile", "image" */
/* Whether it can be started here: 0, or CAY_CONFLICT with the reason. */
int cay_template_check(const struct cay_template *t, struct cay_error *err);
