/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a front's plan to what Docker is asked for. This is where a front that was taken over is held:
 * whatever a plan says, what comes out has no network or one of its own, no capability, no new privileges,
 * user 1001, our labels, an image of the list, at most one folder, below a root of the list, and volumes of
 * its owner's. Pure but for the look at that folder.
 *
 * With DOCKER_PLAN_NO_INIT the container runs one command, with the same restrictions. There is nobody in it
 * who could compare the folder that Docker mounted with the one that was looked at here, so such a workspace
 * has to lie where nobody but the machine's administrator and whoever started us can put another in its
 * place.
 */
#pragma once

#include "foundation/base/buf.h"
#include "links/box/message.h"
#include "cay-docker/accounts.h"
#include "cay-docker/options.h"
#include "links/helper/docker_message.h"

#define DOCKER_USER 1001u
#define DOCKER_PIDS_SPARE                                                                                    \
        8u /* init, the link's helper, keepers of execs, and what Docker needs to start the helper */
#define DOCKER_PIDS_START 16u /* without init: Docker's own way to a command takes a few threads */
#define DOCKER_NAME_PREFIX "cay-"
#define DOCKER_INIT_LABEL "cay.init" /* "none": nobody can speak to it but who started it */

struct docker_facts {      /* of the Docker daemon */
        unsigned can_hold; /* enum helper_limit */
        unsigned cpus;
        uint64_t memory_bytes;
        char machine[16]; /* its architecture, in its own words: amd64 */
        bool has_seccomp; /* it can filter system calls */
};

enum docker_port_wish {                    /* each is tried when the one before it could not be had */
                        DOCKER_PORT_EXACT, /* the one that is wished for */
                        DOCKER_PORT_NEAR,  /* one of those behind it */
                        DOCKER_PORT_ANY,
};

struct docker_order { /* a plan that was looked at */
        struct docker_plan plan;
        const char *image;           /* borrowed from the options; NULL: the one that was built, see below */
        char built[DOCKER_IMAGE_ID]; /* its id, once it was found; "": none */
        unsigned skipped;            /* enum helper_limit */
        char bind[4096 + DOCKER_BELOW];  /* the folder for /workspace; "": none */
        uint64_t bind_dev, bind_ino;     /* that folder itself */
        enum docker_port_wish ports;     /* how the ports that are wished for are asked of Docker */
        bool lacks_lang;                 /* the image's environment says nothing of the language */
        const struct cay_box_exec *exec; /* borrowed: the command of a box without init; NULL: cay-init */
};

/* A plan of strings that end, in range, within the options; err says what is not. */
int docker_order_check(const struct docker_plan *plan, const struct docker_options *o,
                       const struct docker_facts *facts, struct docker_order *ret, struct cay_error *err);
/* Body of "create a container". 0 or -errno. */
int docker_order_put_json(const struct docker_order *order, const struct docker_options *o,
                          const struct docker_facts *facts, struct cay_buf *out);
#define DOCKER_CA_FILE "/etc/cay-ca.pem" /* as domain/model/spec.h has it */
#define DOCKER_CERTIFICATES_MAX (2u << 20)

/*
 * The archive that goes in before the start: init, its configuration, folders, those of the accounts
 * (DOCKER_ACCOUNT_COUNT of them) that are not empty, and certificates (of the host; used with DOCKER_PLAN_CA
 * alone). 0 or -errno.
 */
int docker_order_put_archive(const struct docker_order *order, const struct docker_facts *facts,
                             const void *init, size_t init_len, const struct cay_buf *accounts,
                             const struct cay_buf *certificates, struct cay_buf *out);
/*
 * With a read-only root and nothing else at /workspace that is a volume, and belongs to the sandbox by this
 * archive.
 */
bool docker_order_has_workspace_volume(const struct docker_order *order);
int docker_order_put_workspace(struct cay_buf *out);
const char *docker_order_archive_path(const struct docker_order *order); /* where it is unpacked */
