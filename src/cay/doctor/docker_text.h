/* SPDX-License-Identifier: Apache-2.0 */
/* What Docker says and where it is: addresses as DOCKER_HOST has them, HTTP answers, and the two words we want of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/banned.h"

enum cay_docker_state {
        CAY_DOCKER_ANSWERS,
        CAY_DOCKER_ABSENT,  /* no socket there */
        CAY_DOCKER_DENIED,  /* we may not */
        CAY_DOCKER_DEAD,    /* nobody listens, or no answer in time */
        CAY_DOCKER_ODD,     /* something answers, which is not Docker */
        CAY_DOCKER_UNKNOWN, /* an address of a kind that we do not speak */
};

struct cay_docker {
        enum cay_docker_state state;
        bool asked_for;  /* DOCKER_HOST is set */
        char where[128]; /* as DOCKER_HOST would name it */
        char version[40], api[16];
        int sys; /* -errno, 0: none */
};

struct cay_docker_address {
        bool is_unix;
        char path[108]; /* of the socket */
        char host[80], port[8];
};

/* "unix:///path", "tcp://host:port", "host:port"; NULL or "": the usual socket. -EINVAL: none of these. */
int cay_docker_address_parse(const char *text, struct cay_docker_address *ret);

/* The status of an HTTP answer (200 to 599), 0 when it is none; *ret_body is what follows its head. */
int cay_docker_answer_parse(const char *bytes, size_t len, const char **ret_body, size_t *ret_len);

/* A string that is a member of the outermost JSON object, printable ASCII only; false when there is none that fits. */
bool cay_docker_member(const char *json, size_t len, const char *key, char *ret, size_t size);
