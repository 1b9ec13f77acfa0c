/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper's cay-docker: the program that holds Docker's socket or certificates. Started where the settings say so; its containers
 * outlive it, so when it ends, another is started with the next front and finds them.
 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "config/config.h"

struct cay_docker_keep {
        pid_t pid; /* 0: none */
        uint64_t since_ms;
        int sock; /* our end of the keeper's socket; owned; -1: none */
        int link; /* for its first front; -1: handed on */
};

#define CAY_DOCKER_KEEP_NONE                                                                                 \
        {                                                                                                    \
                .sock = -1, .link = -1                                                                       \
        }

int cay_docker_keep_start(struct cay_docker_keep *d, const struct cay_config *config, const char *program_dir,
                          const sigset_t *mask, struct cay_error *err);
/* A link for the next front: the one it was born with, or a fresh one. */
int cay_docker_keep_link(struct cay_docker_keep *d, int *ret, struct cay_error *err);
void cay_docker_keep_close(struct cay_docker_keep *d); /* which is how it is told to end; fine twice */
