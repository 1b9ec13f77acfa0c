/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates that need a confirmation. The daemon answers the first request with a token. A user at a terminal
 * is shown the template and asked; --confirm says yes for scripts; otherwise the request is refused with that
 * option's name. Then the same request is sent again with the token.
 */
#pragma once

#include "cay/cli/verb.h"

/* Calls as cay_reach_call (fd: passed along), and repeats the request if the daemon wants a confirmation. */
int cay_confirm_call(struct cay_reach *reach, struct cay_verb_args *a, int fd, struct cay_reach_answer *ret,
                     struct cay_error *err);
