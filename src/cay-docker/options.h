/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cay-docker was started with, by whoever trusts it with Docker: arguments, and for what they do not say
 * Docker's own variables. A front has no way to change any of it.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"
#include "links/helper/docker_message.h"

#define DOCKER_IMAGES_MAX 32u
#define DOCKER_ROOTS_MAX 64u

enum docker_host_kind { DOCKER_HOST_UNIX, DOCKER_HOST_TCP, DOCKER_HOST_TLS };

struct docker_host {
        enum docker_host_kind kind;
        char path[108]; /* of the unix socket */
        char host[254]; /* IPv6 addresses without brackets */
        char port[6];
};

struct docker_options {
        bool keep;
        const char *host_text; /* as given: for messages */
        struct docker_host host;
        const char *cert_dir; /* ca.pem, cert.pem, key.pem; "": none */
        const char *instance; /* label of all that is ours: two daemons on one Docker do not meet */
        const char *init_path;
        const char *images[DOCKER_IMAGES_MAX]; /* the first is for boxes that name none */
        unsigned image_count;
        const char *roots[DOCKER_ROOTS_MAX]; /* workspace_roots, by number */
        unsigned root_count;
        const char *registry; /* file of templates, beside which their Dockerfiles lie; "": none */
};

/* unix:///path, tcp://host[:port]; `tls`: TCP with TLS. "": Docker's usual socket. */
int docker_host_parse(const char *text, bool tls, struct docker_host *ret, struct cay_error *err);
int docker_options_read(int argc, char **argv, struct docker_options *ret, struct cay_error *err);
