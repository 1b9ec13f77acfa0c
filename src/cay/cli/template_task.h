/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay template --task TEXT`: which template would be taken for a task in words, and which of its triggers
 * says so.
 */
#pragma once

#include "cay/cli/verb.h"

/* The exit status: 1 when no template's triggers stand in the text. */
int cay_template_task(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err);
