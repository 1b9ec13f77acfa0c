/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's end of the link, which may say anything: it starts cay-docker before a fake Docker, as instance
 * "unit" with the image "img".
 */
#pragma once

#include "unit/cay-docker/fake_docker.h"
#include "links/helper/docker_message.h"

struct fake_front {
        pid_t broker;
        int link;            /* owned */
        int keeper;          /* owned: the keeper's end of its socket; -1: it has none */
        uint32_t seq;        /* of the last request */
        unsigned gone, lost; /* so many boxes were told as gone, files as lost */
};

/* more: its further arguments, up to NULL. */
void fake_front_start(struct fake_front *f, const struct fake_docker *d, const char *const *more);
/* The same with a keeper, as a daemon starts it. */
void fake_front_start_kept(struct fake_front *f, const struct fake_docker *d);
void fake_front_stop(struct fake_front *f);
/* The keeper goes: the program's exit status when it has ended. */
int fake_front_end_keeper(struct fake_front *f);

/* A request without a number gets the next one. The descriptors stay the caller's. */
void fake_front_say(struct fake_front *f, struct docker_request *req, const int *fds, unsigned count);
/* The next answer to a request, whichever; false: the link has ended. */
bool fake_front_hear(struct fake_front *f, struct docker_answer *ret);
/* The next answer has to be the one to req: its code. */
uint32_t fake_front_hear_code(struct fake_front *f, const struct docker_request *req);
uint32_t fake_front_ask(struct fake_front *f, struct docker_request *req, const int *fds, unsigned count);
uint32_t fake_front_greet(struct fake_front *f);
