/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process engine of a daemon: over a link to its keeper's cay-process (cay-process/broker.h). Boxes of
 * earlier fronts exist (list), closing leaves them all running; they end with cay-process. A workspace of the
 * caller is refused: commands run with an id that has no access to it.
 */
#pragma once

#include "domain/model/port_engine.h"

extern const struct cay_engine_ops cay_engine_process_link_ops;

/* Takes sock, also on failure. Blocks for the hello and the list; start-up only. */
int cay_engine_process_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                      struct cay_error *err);
