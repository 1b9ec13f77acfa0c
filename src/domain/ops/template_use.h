/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How ops use templates: the active set, and what is needed to make a sandbox from one. A request without a
 * template gets the machine's own /usr and the daemon's defaults. A request with a template gets the
 * template's values where it has none of its own. A request can tighten a template's security settings, never
 * loosen them.
 */
#pragma once

#include "domain/model/template.h"
#include "domain/ops/admission.h"
#include "domain/ops/confirm.h"
#include "domain/ops/op.h"

struct cay_templates {                      /* the front's; world->templates */
        const struct cay_template_set *set; /* active; a reload replaces it */
        struct cay_confirms confirms;
        struct cay_admission admission;
};

/* The operator's default_template, for requests that name none; NULL: none. */
const char *cay_op_unnamed_template(const struct cay_op_call *c);
/*
 * name NULL: the operator's default. For that or "host" without such a row in the registry, *ret is NULL.
 * CAY_NOT_FOUND; CAY_CONFLICT: not available here.
 */
int cay_op_find_template(const struct cay_op_call *c, const char *name, const struct cay_template **ret,
                         struct cay_error *err);
/* A token that came back: store the claim; if it was new, is_right decides. */
struct cay_confirmation {
        char claim[CAY_CONFIRM_CLAIM];
        bool is_right;
};
/*
 * For a template that needs_confirm, or for something dangerous (why; else NULL). 0: ret is filled; else -1,
 * and if there was no token, c->confirm has the one to repeat the request with.
 */
int cay_op_confirm(struct cay_op_call *c, const struct cay_template *t, const char *danger, const char *token,
                   const struct cay_buf *what, struct cay_confirmation *ret, struct cay_error *err);
/*
 * engine: the request's; NULL or "auto": none. *ret is the engine to ask the service for. A template that
 * names its engine works with that one only: CAY_CONFLICT.
 */
int cay_op_template_engine(const struct cay_template *t, const char *engine, const char **ret,
                           struct cay_error *err);
/*
 * A stopped sandbox is to be started: whether one more of its template may be alive. CAY_LIMIT. Other errors
 * are not reported here.
 */
int cay_op_check_room(const struct cay_op_world *w, const struct cay_viewer *v, const char *id,
                      struct cay_error *err);
/* init: the request's; NULL: none. *ret is the result: "cay" or "none". */
int cay_op_template_init(const struct cay_template *t, const char *init, const char **ret,
                         struct cay_error *err);
/* Limits that are 0 become the template's. */
void cay_op_template_limits(const struct cay_template *t, struct cay_limits *l);
/* The template's variables, overridden by the request's, into pairs (room for CAY_SERVICE_PAIRS_MAX). */
int cay_op_template_env(const struct cay_template *t, const struct cay_field_map *own,
                        struct cay_field_pair *pairs, struct cay_field_map *ret, struct cay_error *err);
