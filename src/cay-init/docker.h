/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Init as the first process of a Docker container, where there is no control socket from an engine.
 *
 * Theory of operation. Its configuration is a file that was copied in by the archive API before the container
 * was started. It is read and unlinked before anything else runs. Streams arrive on an abstract socket of the
 * container's own network namespace, which cannot be taken over while init lives. `cay-init attach`, started
 * by Docker's exec, connects it to its standard input and output. The helper has no secret. A stream is
 * authenticated by its first frame, HELLO with the box's secret. Until then it is a candidate and does not
 * replace the link, so code in the box that connects here has no effect.
 *
 * Commands have init's own id. Init and the helper are undumpable from their first instruction on (their file
 * cannot be read), and as pid 1 init takes no signal from inside.
 */
#pragma once

#include "cay-init/init.h"

#define CAY_DOCKER_CONFIG "/.cay/in/config"
#define CAY_DOCKER_SOCKET "cay-init" /* abstract */

int cay_docker_read_config(struct cay_init *init); /* 0 or -errno */
int cay_docker_listen(struct cay_init *init);      /* 0 or -errno */
/*
 * Waits, bounded, until the helper has read everything and exited: it dies with us, and unsent data would be
 * lost.
 */
void cay_docker_drain(struct cay_init *init);
int cay_docker_attach_main(void); /* the helper: an exit status */
