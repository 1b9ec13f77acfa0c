/* SPDX-License-Identifier: Apache-2.0 */
/* Docker's address as in DOCKER_HOST, HTTP answers, and the two values we need from them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/banned.h"

enum cay_docker_state {
        CAY_DOCKER_ANSWERS,
        CAY_DOCKER_ABSENT,  /* no socket */
        CAY_DOCKER_DENIED,  /* not permitted */
        CAY_DOCKER_DEAD,    /* nothing listens, or no answer in time */
        CAY_DOCKER_ODD,     /* something answers, but it is not Docker */
        CAY_DOCKER_UNKNOWN, /* an unsupported kind of address */
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

/* "unix:///path", "tcp://host:port", "host:port"; NULL or "": the default socket. -EINVAL: none of these. */
int cay_docker_address_parse(const char *text, struct cay_docker_address *ret);

/* The status of an HTTP answer (200 to 599), 0: invalid; *ret_body is what follows its head. */
int cay_docker_answer_parse(const char *bytes, size_t len, const char **ret_body, size_t *ret_len);

/* A string member of the outermost JSON object, printable ASCII only; false: none that fits. */
bool cay_docker_member(const char *json, size_t len, const char *key, char *ret, size_t size);
