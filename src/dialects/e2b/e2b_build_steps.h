/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a build as the client wrote them: whether they can be run, and what each finds. b->step counts
 * those that were begun.
 */
#pragma once

#include "dialects/e2b/e2b_build.h"

const struct cay_json_value *e2b_step(const struct e2b_build *b, unsigned i);
const char *e2b_step_type(const struct e2b_build *b, unsigned i);
const char *e2b_step_arg(const struct e2b_build *b, unsigned i, size_t nr); /* NULL: there are fewer */
const char *e2b_step_user(const struct e2b_build *b, const char *asked);    /* or who it is at this step */
bool e2b_is_build_user(const char *text);
/* All that the client asks for, before anything begins. Sets b->step_count. */
int e2b_steps_check(struct e2b_build *b, struct cay_error *err);
/* Whether a variable is set by the steps from..to, and behind the argument `after` of the step from. */
bool e2b_steps_set(const struct e2b_build *b, unsigned from, unsigned to, size_t after, const char *name);
/* What the first `count` steps set: each variable once, as it was set last. */
void e2b_steps_put_variables(const struct e2b_build *b, struct cay_json *j, unsigned count);
/*
 * The member env of the command of the step that is run; and words for env, that unset what later steps set.
 */
void e2b_step_put_environment(const struct e2b_build *b, struct cay_json *j, bool is_root);
void e2b_step_put_unset(const struct e2b_build *b, struct cay_json *j);
/* Where a path of a step leads; -1: too long. */
int e2b_step_resolve(const struct e2b_build *b, const char *path, char *ret, size_t size);
