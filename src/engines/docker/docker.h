/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The docker engine: boxes are containers of a Docker daemon, made by a cay-docker that this engine or the
 * keeper has started.
 */
#pragma once

#include "domain/model/port_engine.h"

extern const struct cay_engine_ops cay_engine_docker_ops;

/*
 * Uses a link to a cay-docker of the daemon's keeper: boxes of earlier fronts exist (list), closing leaves
 * them all running, and Docker may be unreachable (health says so). Takes sock, also on failure. Blocks for
 * the hello and the list; start-up only.
 */
int cay_engine_docker_open_link_take(const struct cay_engine_env *env, int sock, struct cay_engine **ret,
                                     struct cay_error *err);
