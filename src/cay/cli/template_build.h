/* SPDX-License-Identifier: Apache-2.0 */
/* `cay template build NAME`: prints Docker's output as it comes, then the image. `cay template rm NAME`. */
#pragma once

#include "cay/cli/verb.h"

/* The exit status: 1 when the build failed. */
int cay_template_build(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err);
int cay_template_rm(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err);
