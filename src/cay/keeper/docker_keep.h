/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's cay-docker: the program that holds Docker's socket or certificates. Started where the settings say so; its containers
 * outlive it, so when it ends, another is started with the next front and finds them.
 */
#pragma once

#include "domain/settings/config.h"
#include "cay/keeper/helper.h"

int cay_docker_keep_start(struct cay_helper *h, const struct cay_config *config, const char *program_dir,
                          const sigset_t *mask, struct cay_error *err);
