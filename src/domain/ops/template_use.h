/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ops do with templates: the set in force, and what it takes to make a sandbox from one. A request that names no template gets
 * the machine's own /usr and the daemon's defaults; one that names a template gets what that says wherever the request itself
 * says nothing. What a template's security says can be made tighter by a request, never looser.
 */
#pragma once

#include "domain/model/template.h"
#include "domain/ops/admission.h"
#include "domain/ops/confirm.h"
#include "domain/ops/op.h"

struct cay_templates {                      /* the front's; world->templates */
        const struct cay_template_set *set; /* in force; a reload puts another here */
        struct cay_confirms confirms;
        struct cay_admission admission;
};

/* The operator's (default_template), for requests that name none; NULL: there is none. */
const char *cay_op_unnamed_template(const struct cay_op_call *c);
/* name NULL: the operator's. That or "host" where the registry has no such row: *ret is NULL. CAY_NOT_FOUND; CAY_CONFLICT: not available here. */
int cay_op_find_template(const struct cay_op_call *c, const char *name, const struct cay_template **ret,
                         struct cay_error *err);
/* A token that came back: the claim is to be put into the store, and then, when nobody had it before, is_right decides. */
struct cay_confirmation {
        char claim[CAY_CONFIRM_CLAIM];
        bool is_right;
};
/*
 * Of a template that needs_confirm, or of what is dangerous (why; else NULL). 0: ret is filled; else -1, and without a token c->confirm
 * holds the one to come back with.
 */
int cay_op_confirm(struct cay_op_call *c, const struct cay_template *t, const char *danger, const char *token,
                   const struct cay_buf *what, struct cay_confirmation *ret, struct cay_error *err);
/*
 * engine: the request's, NULL or "auto" when it says none. *ret is what to ask the service for. A template that names its engine is made
 * by that one alone: CAY_CONFLICT.
 */
int cay_op_template_engine(const struct cay_template *t, const char *engine, const char **ret,
                           struct cay_error *err);
/* A sandbox at rest is to be started again: may one more of its template be alive? CAY_LIMIT. What is not there is for others to say. */
int cay_op_check_room(const struct cay_op_world *w, const struct cay_viewer *v, const char *id,
                      struct cay_error *err);
/* init: the request's, NULL when it says none. *ret is what holds: "cay" or "none". */
int cay_op_template_init(const struct cay_template *t, const char *init, const char **ret,
                         struct cay_error *err);
/* Limits that are 0 become the template's. */
void cay_op_template_limits(const struct cay_template *t, struct cay_limits *l);
/* The template's variables, then the request's over them, into pairs (room for CAY_SERVICE_PAIRS_MAX). */
int cay_op_template_env(const struct cay_template *t, const struct cay_field_map *own,
                        struct cay_field_pair *pairs, struct cay_field_map *ret, struct cay_error *err);
