/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the request that the front works on, where the keeper finds it after a crash, and refuses requests
 * that crashed fronts before (cay/keeper/crashers.h has the theory). A request is identified by its client
 * (address or uid) and its route: method and path, with all ids replaced by one sign.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/http/request.h"
#include "cay/keeper/hand_over.h"

struct cay_front_crashers {
        struct cay_hand_crashers *shared; /* NULL: the keeper gave none */
        uint64_t refused[CAY_HAND_REFUSED_MAX], until_ms;
};

/* words: what the front was started with, from argv[3] on. */
void cay_front_crashers_open(struct cay_front_crashers *t, char *const *words);
void cay_front_crashers_begin(struct cay_front_crashers *t,
                              const struct cay_http_request *req); /* NULL: the request has ended */
bool cay_front_crashers_refuses(const struct cay_front_crashers *t, const struct cay_http_request *req);

/* Never 0; text: the same for people. Pure. */
uint64_t cay_front_request_key(const struct cay_http_peer *peer, const char *method, const char *path,
                               char text[CAY_HAND_REQUEST_TEXT]);
