/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay agent --install`: a systemd unit that runs this agent from now on, also after a reboot: of this user's
 * manager, or root's of the machine. The machine is paired before, since a service has no terminal to type a
 * code in. --uninstall ends the service and removes it.
 */
#pragma once

#include "cay-agent/options.h"
#include "foundation/base/error.h"

int agent_install_can(struct cay_error *err); /* a manager answers: asked before a code is used */
/* Writes the unit and starts it. What fails is undone: then there is no unit. */
int agent_install(const struct agent_options *o, struct cay_error *err);
int agent_uninstall(const struct agent_options *o, struct cay_error *err);

/* A word of ExecStart as systemd reads it back: 0, or -1: it does not fit, or has a control character. */
int agent_install_quote(const char *word, char *ret, size_t size);
