/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates that need a confirmation. The daemon answers the first request with a token; who is at a terminal
 * is shown what the template is and asked, --confirm says yes for scripts, and anybody else is refused with
 * that option's name. Then the same request goes out again, with the token.
 */
#pragma once

#include "cay/cli/verb.h"

/* A call as cay_reach_call makes it (fd: goes along), with the round trip where the daemon wants one. */
int cay_confirm_call(struct cay_reach *reach, struct cay_verb_args *a, int fd, struct cay_reach_answer *ret,
                     struct cay_error *err);
