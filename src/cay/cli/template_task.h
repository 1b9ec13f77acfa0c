/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay template --task TEXT`: which template would be chosen for a task in words, and by which of its
 * triggers.
 */
#pragma once

#include "cay/cli/verb.h"

/* The exit status: 1 if no template's trigger is in the text. */
int cay_template_task(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err);
