/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of boxes, beside the queue of tasks.
 *
 * Theory of operation. Docker publishes a container's figures once a second, so asking for them takes up to a
 * second, and changes nothing. As tasks such requests would hold up what does: a removal behind forty of them
 * would wait for forty seconds. So a box has at most one call for figures under way; whoever asks meanwhile
 * waits for the same answer, which was taken after the question, since Docker answers with the next figures
 * that it publishes. When a box is to be stopped, removed or frozen, the call is let go and those who wait
 * are told so.
 */
#pragma once

#include "cay-docker/broker.h"

#define DOCKER_MEASURE_ASKERS_MAX 64u /* of one box: a front asks once for all of its own */

struct docker_measure;

/* Answers req, which is a box_stat, now or when Docker has. */
void docker_measure_ask(struct docker_broker *b, const struct docker_request *req);
/* Lets the call of this box go, if there is one: those who wait are answered with CAY_CONFLICT and `why`. */
void docker_measure_let_go(struct docker_broker *b, struct docker_box *box, const char *why);
