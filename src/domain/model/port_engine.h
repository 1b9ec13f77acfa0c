/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: the box from outside. An adapter embeds struct cay_engine and finds itself by cay_container_of. An
 * engine makes, freezes, measures and removes boxes and provides a duplex stream to the cay-init inside; the
 * box link handles everything inside.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/job.h"
#include "domain/model/volume.h"
#include "domain/model/engine_caps.h"
#include "domain/model/image.h"
#include "domain/model/spec.h"

#define CAY_ENGINE_SECRET 32

struct cay_loop;
struct cay_engine;

struct cay_engine_env {
        struct cay_loop *loop;   /* borrowed: outlives the engine */
        const char *program_dir; /* where cay-warden and cay-init are */
        bool trace;              /* collect step times */
        bool single;             /* exactly one box will be made: the engine may end with it */
};

struct cay_engine_stats {
        uint64_t memory_bytes, memory_peak_bytes, oom_kills;
        uint64_t pids, pids_refused;
        uint64_t cpu_us;
        uint64_t rx_bytes, tx_bytes; /* its network namespace since it was made, all but loopback */
        uint64_t loopback_bytes;     /* traffic on loopback; 0 where an engine cannot measure these */
};

/* Facts about a box; filled by the engine before the job is finished. Owner: the caller. */
struct cay_engine_box {
        char id[CAY_NAME_MAX + 1];
        const char *owner, *machine; /* of its sandbox; borrowed for the call; NULL: unknown */
        int link_fd;                 /* stream to init; taken by the caller (set to -1 when taken) */
        /*
         * create with spec.egress: its sockets arrive here (struct wire_network_sockets); taken by the caller
         */
        int network_fd;
        uint8_t secret[CAY_ENGINE_SECRET]; /* for the link's HELLO */
        unsigned skipped;                  /* limits that are not enforced, as the spec allowed */
        /* limits that are enforced by watching, not by the kernel: weaker */
        unsigned watched;
        bool is_open; /* create: commands are not isolated, and have this id of the host's: */
        uint32_t host_uid;
        bool kept;    /* create: its writable layer can be kept by `stop`, as the spec requested */
        bool mended;  /* create with go_on: the layer had to be repaired; the last writes may be missing */
        bool damaged; /* stop: the layer is corrupt (the disk was full, or fails); go_on is refused */
        const char *workspace; /* as commands see it; NULL: /workspace. The engine's, until destroyed */
        unsigned port_count;   /* create, relink: published ports with their actual `host` port */
        struct cay_spec_port ports[CAY_SPEC_PORTS_MAX];
        struct cay_engine_stats stats; /* as of stats or destroy */
        uint64_t reclaimed_bytes;      /* reclaim: that the host has back */
        struct {                       /* clone */
                bool is_shared;        /* blocks are shared with the source, not copied */
                uint64_t bytes;        /* of the copy */
                uint64_t added;        /* of those: that the source shared with nobody before */
                uint64_t frozen_us;    /* how long the source's box stood still */
        } clone;
};

enum {                               /* how a layer is cloned */
       CAY_ENGINE_CLONE_REPLACE = 1, /* instead of the layer that is there; else there must be none */
       CAY_ENGINE_CLONE_SYNC = 2,    /* the job is finished when it is on disk */
};

struct cay_engine_ops {
        const char *name;
        unsigned lacks;       /* CAY_ENGINE_LACKS_… */
        unsigned never_holds; /* limits (mask) that it cannot enforce on any host */

        /* Checks its means; may block, start-up only. */
        int (*open)(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err);
        /*
         * Accepts NULL; remaining boxes are destroyed; pending jobs end with CAY_UNAVAILABLE. -1: something
         * may have stayed.
         */
        int (*close)(struct cay_engine *e);

        /*
         * The program that makes its boxes ended, and sock connects to the next one. Its boxes are known when
         * the job is finished; until then every call fails with CAY_UNAVAILABLE. Takes sock. Does not block.
         * NULL: there is no such program.
         */
        void (*reopen_take)(struct cay_engine *e, int sock, struct cay_job *job);

        /* Limits (mask) that this engine can enforce on this host. */
        unsigned (*can_hold)(struct cay_engine *e);

        /*
         * Nothing below blocks; each call finishes its job exactly once; box and spec are borrowed until
         * then. create: link_fd and secret may be set before the job is finished, so that frames can be sent
         * immediately. A job that fails leaves link_fd at -1. A spec that cay_spec_check refuses: its error,
         * and nothing is made. An id that exists already: CAY_EXISTS. A limit that cannot be enforced and may
         * not be skipped: CAY_UNSUPPORTED. go_on: CAY_CONFLICT when the layer does not exist (err.sys is
         * ENOENT then) or cannot be used, CAY_UNAVAILABLE while it is still being released. A create with
         * go_on that fails leaves the layer as it was.
         */
        void (*create)(struct cay_engine *e, const struct cay_spec *spec, struct cay_engine_box *box,
                       struct cay_job *job);
        void (*relink)(struct cay_engine *e, struct cay_engine_box *box,
                       struct cay_job *job); /* a fresh link_fd; the old stream ends */
        /*
         * A link to a live box of an earlier process: id and secret are given; link_fd, workspace, skipped
         * and watched are filled. CAY_NOT_FOUND: there is no such box. May be NULL: relink does it.
         */
        void (*adopt)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
        /*
         * Ends everything in the box and keeps its writable layer, if that is a kept one. create with go_on
         * and the same id continues with it, destroy removes it, list does not include it. box->stats as with
         * destroy; an absent id is success. NULL without CAY_ENGINE_CAN_KEEP.
         */
        void (*stop)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
        /*
         * Calls back for every kept layer, with or without a box; may block: only at start-up, and after
         * its helper was replaced. NULL without CAY_ENGINE_CAN_KEEP.
         */
        int (*list_kept)(struct cay_engine *e, void (*each)(void *ctx, const char *id), void *ctx,
                         struct cay_error *err);
        /*
         * A copy of the kept layer `from` (of a box, which stands still for it, or of none) as the layer
         * box->id, which has no box. destroy removes it, list_kept lists it, create with go_on uses it.
         * CAY_CONFLICT: the source is missing (err.sys is ENOENT), damaged, or ended meanwhile; CAY_EXISTS;
         * CAY_NO_SPACE. One that fails leaves nothing. NULL without CAY_ENGINE_CAN_KEEP.
         */
        void (*clone)(struct cay_engine *e, const char *from, unsigned how, struct cay_engine_box *box,
                      struct cay_job *job);
        void (*freeze)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
        void (*thaw)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
        void (*stats)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
        /*
         * Gives the memory of a frozen box back to the host, as far as the kernel can; box->stats are the
         * figures after it. May take seconds. NULL: it cannot.
         */
        void (*reclaim)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
        /*
         * The network of a box that is there, also of one that was made without (spec.egress): from now on
         * for these destinations. has_sockets: whoever has its sockets keeps them; else new ones arrive at
         * box->network_fd, as with create. NULL without CAY_ENGINE_CAN_EGRESS.
         */
        void (*network)(struct cay_engine *e, struct cay_engine_box *box, enum cay_spec_egress egress,
                        bool has_sockets, struct cay_job *job);
        /*
         * Ends everything in it and removes it; box->stats holds the last figures. An absent id is success.
         */
        void (*destroy)(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job);
        /* Called when a box ends unexpectedly (init has exited). May be NULL. */
        void (*on_gone)(struct cay_engine *e, void (*gone)(void *ctx, const char *id), void *ctx);
        /*
         * Called when somebody else removes what a box that has ended had kept for a start. NULL: nobody can.
         */
        void (*on_files_lost)(struct cay_engine *e, void (*lost)(void *ctx, const char *id), void *ctx);
        /* Calls back for every existing box. */
        void (*list)(struct cay_engine *e, void (*each)(void *ctx, const char *id), void *ctx);
        /*
         * Images of templates, for engines that build them; else all four are NULL. build: once at a time per
         * template (CAY_CONFLICT); one whose files have not changed is up_to_date. flow: the subscriber of
         * its lines may pause, or unsubscribe. images: those of all templates with a Dockerfile, compared
         * with their files now. image_remove: CAY_NOT_FOUND when there is none.
         */
        void (*build)(struct cay_engine *e, struct cay_build *b, struct cay_job *job);
        void (*build_flow)(struct cay_engine *e, struct cay_build *b, enum cay_build_flow flow);
        void (*images)(struct cay_engine *e, struct cay_images *ret, struct cay_job *job);
        void (*image_remove)(struct cay_engine *e, const char *template_name, struct cay_image *ret,
                             struct cay_job *job);
        /*
         * Named volumes of owners, for engines with CAY_ENGINE_CAN_VOLUMES; both NULL: it does not list them.
         * volumes: in the order of owner and name; owner "": of all. volume_remove: CAY_NOT_FOUND, or
         * CAY_CONFLICT while a box has it.
         */
        void (*volumes)(struct cay_engine *e, const char *owner, struct cay_volumes *ret,
                        struct cay_job *job);
        void (*volume_remove)(struct cay_engine *e, const char *owner, const char *name, struct cay_job *job);
        /*
         * Can it be called at all (its helper lives)? 0, or -1 with the reason. Does not block. May be NULL:
         * unknown.
         */
        int (*health)(struct cay_engine *e, struct cay_error *err);
        /* Step times since open, oldest first: name, microseconds since start; NULL when not traced. */
        void (*trace)(struct cay_engine *e,
                      void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx);
};

struct cay_engine {
        const struct cay_engine_ops *ops;
        unsigned caps; /* CAY_ENGINE_CAN_…; set by open */
};
