/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper becomes its successor by execve, as the warden does (cay-warden/upgrade.h), and for the same
 * reason: children, locks and listening sockets belong to the process, not to the program.
 *
 * Theory of operation. The state is one struct of fixed size in a sealed memory file. The environment
 * (RESUME) holds its descriptor number. First the new program checks in a child ("check:N") whether it could
 * continue. Settings come from the sealed copy that fronts get too, so a mistake in the settings file cannot
 * end a running daemon.
 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "domain/settings/config.h"
#include "cay/keeper/hand_over.h"
#include "cay/keeper/place.h"
#include "links/helper/helpers.h"

#define CAY_RESUME_OK 42 /* exit status of a check that says yes */

enum { CAY_KEPT_READY = 1 }; /* cay_keeper_state.flags: a front was ready before */

struct cay_keeper_state {
        uint32_t magic, version, size;
        int32_t pid; /* the owner: only it may wait for the children */
        struct cay_place place;
        sigset_t before; /* umask for children */
        int32_t config_fd;
        uint32_t flags;
        uint32_t engines;                     /* running engines, one bit each (engines.h) */
        int32_t registry_fd, registry_folder; /* accepted by a front; -1: none */
        struct {
                int32_t pid, sock; /* pid 0: none continues */
                uint32_t version;  /* of its protocol with fronts */
        } helpers[CAY_HELPER_COUNT];
        uint32_t port_count;
        int32_t port_fds[CAY_HAND_PORTS_MAX]; /* ports_keep.h */
};

/* The path of this program. Call it at the start, while the path is known. */
void cay_resume_note_program(void);
/* Whether the program at that path could take over. argv: as the verb was given, argv[0] its name. */
int cay_resume_check(char *const *argv, struct cay_keeper_state *state, struct cay_error *err);
/* Executes it. Returns only on failure, with the state unchanged. */
int cay_resume_exec(char *const *argv, struct cay_keeper_state *state, struct cay_error *err);

/* For the new program: reads RESUME and removes it from the environment. -1: an ordinary start. */
int cay_resume_asked(bool *ret_is_check);
int cay_resume_main_check(int fd); /* exit status */
int cay_resume_config(int fd, struct cay_config *ret, struct cay_error *err);
int cay_resume_load(int fd, struct cay_keeper_state *ret, struct cay_error *err); /* closes fd */
