/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine needs to know to make a sandbox. Plain values; strings and descriptors are borrowed for the
 * call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/id.h"
#include "domain/model/limits.h"
#include "domain/model/sandbox_options.h"

enum cay_template_kind {
        CAY_TEMPLATE_HOST,   /* the machine's own /usr */
        CAY_TEMPLATE_ROOTFS, /* a directory */
};

enum cay_workspace_mode {
        CAY_WORKSPACE_RO,
        CAY_WORKSPACE_RW,
        CAY_WORKSPACE_COW, /* writable, but the folder is not changed: the changes become a change set */
};

#define CAY_SPEC_BELOW_MAX 1023
#define CAY_SPEC_PORTS_MAX 16u
#define CAY_SPEC_DESKTOP_PORT 16080 /* noVNC's WebSocket */
#define CAY_SPEC_VOLUMES_MAX 8u
#define CAY_SPEC_TARGET_MAX 127
#define CAY_SPEC_PORT_WISH_MIN 1024u

struct cay_spec_port {         /* TCP, published on the loopback of the engine's host */
        uint16_t inside, host; /* host: the requested port; 0: any. If in use: the next free one */
};

struct cay_spec_volume { /* one of the owner's volumes, which outlives sandboxes: created if missing */
        const char *name, *target;
        bool read_only;
        bool is_layer; /* the layer of the id `name` instead: of a snapshot, read-only */
};

struct cay_spec_volume_text { /* one that was read from a text */
        char name[CAY_NAME_MAX + 1], target[CAY_SPEC_TARGET_MAX + 1];
        bool read_only;
};

/*
 * In a box with spec.ca: the host's certificates and that one, for programs to trust.
 */
#define CAY_SPEC_CA_FILE "/etc/cay-ca.pem"
#define CAY_SPEC_CA_MAX 767 /* bytes of it */

enum cay_spec_egress { /* where a box may connect to: one of these, */
                       CAY_EGRESS_NONE,
                       /* names that were resolved to an address; the kernel refuses all else immediately */
                       CAY_EGRESS_NAMES,
                       CAY_EGRESS_ADDRESSES, /* anywhere */
                       CAY_EGRESS_PUBLIC,    /* names, and public addresses; likewise */
                       CAY_EGRESS_UDP = 4,   /* and with it: datagrams too */
                       CAY_EGRESS_DIAL = 8,  /* and: others of its private network reach it */
};

struct cay_spec {
        char id[CAY_NAME_MAX + 1];
        enum cay_template_kind template_kind;
        int rootfs_fd;    /* O_PATH directory for CAY_TEMPLATE_ROOTFS, else -1 */
        int workspace_fd; /* directory mapped to /workspace, or -1: empty */
        /* Authorisation, where the caller is a daemon's front that the engine does not trust: */
        int workspace_peer;          /* connection of the client that passed workspace_fd; 0 or -1: none */
        unsigned workspace_root;     /* instead of workspace_fd: one of workspace_roots, from 1; 0: none */
        const char *workspace_below; /* and the path below it, at most CAY_SPEC_BELOW_MAX bytes */
        /* instead: a path on the machine of a box (CAY_ENGINE_CAN_OWN_FOLDERS); NULL: none */
        const char *workspace_there;
        bool workspace_rw,
                workspace_cow; /* neither: read-only. cow: writable, but the folder stays as it is */
        struct cay_sandbox_options options; /* no_init: for engines with CAY_ENGINE_CAN_NO_INIT */
        bool one_shot;                      /* ends with its first command */
        bool brief; /* it ends soon, and its files with it: they may be in memory, where that is faster */
        bool keep;  /* the writable layer is to outlive the box, where the engine can (port_engine.h) */
        bool go_on; /* with keep: continue with the layer of an earlier box of this id, and no other */
        bool host_plain; /* no command will run as root: the host's trees need no writable layer (cheaper) */
        struct cay_limits limits;
        unsigned may_skip;     /* limits (mask) that need not be enforced on this host */
        const uint8_t *secret; /* native: of the box link, 32 bytes; NULL: the engine makes one */
        unsigned test_off;     /* layers switched off; test builds only */
        /* For engines that take images, and label what they make; each may be NULL. */
        const char *image; /* NULL: the engine's own */
        const char *owner, *template_name;
        const char *const *labels; /* name, value, name, value, …; may be NULL */
        unsigned label_count;      /* of pairs */
        /* Each for engines that can (engine_caps.h): others refuse it. */
        /* its own network with access to the outside; else loopback only */
        bool bridge;
        /* outbound traffic is diverted to sockets, and their owner decides */
        enum cay_spec_egress egress;
        const char *ca; /* with egress: PEM text, for CAY_SPEC_CA_FILE; NULL: no such file */
        const struct cay_spec_port *ports; /* with a bridge */
        unsigned port_count;
        const struct cay_spec_volume *volumes;
        unsigned volume_count;
        unsigned volumes_max;  /* the owner may have; 0: any number. Where the engine can count them */
        uint64_t volume_bytes; /* of a new one, where the engine can limit it */
};

int cay_spec_check(const struct cay_spec *spec, struct cay_error *err);
/* CAY_UNSUPPORTED: it requests what an engine with these capabilities (CAY_ENGINE_CAN_…) cannot do. */
int cay_spec_check_caps(const struct cay_spec *spec, const char *engine, unsigned caps,
                        struct cay_error *err);

/*
 * "host", "rootfs:DIR", or DIR (with a '/' in it, so that a mistyped word is no folder); ret_dir points into
 * text.
 */
int cay_spec_parse_template(const char *text, enum cay_template_kind *ret_kind, const char **ret_dir,
                            struct cay_error *err);
/* "DIR[:ro|:rw|:cow]": the length of DIR and the access mode. The default is read-only, the safe choice. */
int cay_spec_parse_workspace(const char *text, size_t *ret_dir_len, enum cay_workspace_mode *ret_mode,
                             struct cay_error *err);
/* "INSIDE", or "HOST:INSIDE" with the requested port, from CAY_SPEC_PORT_WISH_MIN. */
int cay_spec_parse_port(const char *text, struct cay_spec_port *ret, struct cay_error *err);
/* "NAME:/PATH[:ro|:rw]"; writable by default. The engine decides where it may be mounted. */
int cay_spec_parse_volume(const char *text, struct cay_spec_volume_text *ret, struct cay_error *err);
