/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Init as the first process of a Docker container, where no engine holds a control socket.
 *
 * Theory of operation. Its configuration is a file that came in by the archive API before the container was started: read and
 * unlinked before anything else runs. Streams come through an abstract socket of the container's own network namespace, which nobody
 * can take away while init lives: `cay-init attach`, started by Docker's exec, joins it with its standard input and output.
 * The helper has no secret. What proves a stream is its first frame, HELLO with the box's secret, and until that is there
 * a stream is a candidate: it replaces the link only then, so code in the box that connects here ends nothing.
 *
 * Commands have init's own id. Init and the helper are undumpable from their first instruction on (their file cannot be read),
 * and as pid 1 init takes no signal from inside.
 */
#pragma once

#include "cay-init/init.h"

#define CAY_DOCKER_CONFIG "/.cay/in/config"
#define CAY_DOCKER_SOCKET "cay-init" /* abstract */

int cay_docker_read_config(struct cay_init *init); /* 0 or -errno */
int cay_docker_listen(struct cay_init *init);      /* 0 or -errno */
/* Waits, bounded, until the helper has taken everything and gone: it dies with us, and with it what it had not passed on. */
void cay_docker_drain(struct cay_init *init);
int cay_docker_attach_main(void); /* the helper: an exit status */
