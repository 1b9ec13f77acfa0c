/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper becomes its successor by execve, as the warden does (cay-warden/upgrade.h), and for the same reason: its children, its locks and
 * its listening sockets are the process's, not the program's.
 *
 * Theory of operation. What it holds is one struct of fixed size in a sealed memory file, whose number stands in the environment
 * (RESUME). The new program is asked first, in a child ("check:N"), whether it could go on; settings come from the sealed copy that fronts
 * are given too, so that a mistake made in the file meanwhile cannot end a daemon that runs.
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

enum { CAY_KEPT_READY = 1 }; /* cay_keeper_state.flags: some front was, once */

struct cay_keeper_state {
        uint32_t magic, version, size;
        int32_t pid; /* whose it is: nobody else's children are waited for */
        struct cay_place place;
        sigset_t before; /* mask for children */
        int32_t config_fd;
        uint32_t flags;
        uint32_t engines;                     /* that run: a bit for each (engines.h) */
        int32_t registry_fd, registry_folder; /* that a front took; -1: none */
        struct {
                int32_t pid, sock; /* pid 0: none that goes on */
                uint32_t version;  /* of what it speaks with fronts */
        } helpers[CAY_HELPER_COUNT];
        uint32_t port_count;
        int32_t port_fds[CAY_HAND_PORTS_MAX]; /* ports_keep.h */
};

/* Where this program was started from; at the start, while that is known. */
void cay_resume_note_program(void);
/* Whether the program that is there now could take over. argv: as the verb was given, argv[0] its name. */
int cay_resume_check(char *const *argv, struct cay_keeper_state *state, struct cay_error *err);
/* Becomes it. Returns only when that failed, with everything as it was. */
int cay_resume_exec(char *const *argv, struct cay_keeper_state *state, struct cay_error *err);

/* The new program's side. What the environment says (and is then forgotten): -1: an ordinary start. */
int cay_resume_asked(bool *ret_is_check);
int cay_resume_main_check(int fd); /* exit status */
int cay_resume_config(int fd, struct cay_config *ret, struct cay_error *err);
int cay_resume_load(int fd, struct cay_keeper_state *ret, struct cay_error *err); /* takes fd */
