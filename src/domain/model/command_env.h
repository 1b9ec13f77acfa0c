/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of every command in a box: PATH, HOME, USER, LANG (TERM with a terminal), then the caller's
 * variables, in layers; later layers win. A box with its own environment (an image's ENV) keeps its PATH and
 * LANG. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/arena.h"
#include "foundation/base/field.h"
#include "domain/model/spec.h"
#include "domain/model/user.h"

struct cay_command_env {
        const struct cay_user *user;
        const char *box_workspace; /* the engine's own place for it; NULL: /workspace */
        bool has_workspace;        /* a host folder is mapped */
        enum cay_template_kind template_kind;
        bool read_only;
        bool box_env;      /* the box has a PATH and a LANG of its own (CAY_ENGINE_CAN_ENV) */
        const char *proxy; /* its address and port, for programs that look for one; NULL: none */
        bool tty;
        const char *term;                      /* NULL: xterm-256color */
        const struct cay_field_map *layers[2]; /* may be NULL; the second wins */
        const char *const *texts;              /* NULL, or NAME=VALUE texts (borrowed), which win over all */
        const char *user_name;                 /* for USER; NULL: the user's own */
};

/* Where commands start: a borrowed text. */
const char *cay_command_workspace(const struct cay_command_env *in);
/* K=V texts, NULL-terminated, all in mem; NULL when that is full. */
const char **cay_command_env_make(const struct cay_command_env *in, struct cay_arena *mem);
/* A name that an environment can have: not empty, no '=', no NUL. */
bool cay_command_env_is_name(const char *name);
