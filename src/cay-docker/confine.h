/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walls around cay-docker, put up when everything is open and before the first word of a front or of Docker
 * is heard.
 *
 * Theory of operation. Docker's socket is all that this program is worth; whoever takes it over through an
 * answer of Docker's or a plan is to have that and nothing besides. Landlock: no file can be opened but those
 * below the registry's folder, to be read (workspaces are only looked at, without opening them), and no TCP
 * port connected to but Docker's own. A filter of system calls: sockets of three families, files, memory that
 * is never both new and code, one kind of child (who reads a build's files); no program is ever started. What
 * is not in the list ends the process, and its keeper starts another.
 */
#pragma once

#include "foundation/base/error.h"
#include "cay-docker/options.h"

int docker_confine(const struct docker_options *o, struct cay_error *err);
