/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that `cay bench` runs /bin/true with, in turn with the daemon: none (posix_spawn), cay run,
 * bubblewrap, docker run. Each is tried once first; one that is missing or does not work is left out with the
 * reason. Nothing is downloaded: Docker runs an existing image.
 */
#pragma once

#include <limits.h>

#include "foundation/base/error.h"

enum cay_beside {
        CAY_BESIDE_SPAWN,
        CAY_BESIDE_RUN,
        CAY_BESIDE_BUBBLEWRAP,
        CAY_BESIDE_DOCKER,
        CAY_BESIDE_COUNT
};

#define CAY_BESIDE_WORDS_MAX 40u

struct cay_beside_program {
        const char *words[CAY_BESIDE_WORDS_MAX]; /* borrowed literals, or what was given */
        char path[PATH_MAX];                     /* of cay itself */
};

/*
 * Makes the command line and tries it. -1: err says why it is left out. image: for Docker; NULL: none was
 * named.
 */
int cay_beside_open(enum cay_beside which, const char *image, struct cay_beside_program *p,
                    struct cay_error *err);
/* One run, from its start until it is reaped. -1: it failed, or took too long and was killed. */
int cay_beside_run(const struct cay_beside_program *p, struct cay_error *err);
