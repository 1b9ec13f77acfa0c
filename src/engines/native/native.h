/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: boxes on the host's own kernel, made by a warden that this engine starts. */
#pragma once

#include "domain/model/port_engine.h"

extern const struct cay_engine_ops cay_engine_native_ops;

/*
 * Uses a link to a warden of the daemon's keeper: boxes of earlier fronts exist (list), closing leaves them
 * all running. Takes sock, also on failure. Blocks for the hello and the list; start-up only.
 */
int cay_engine_native_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err);
