/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-init's own state, shared by the files of this folder. There is one per process; it lives as long as the
 * box. Owners: init.c starts and ends, link.c handles the front's link, channel.c the channels.
 */
#pragma once

#include "links/box/peer.h"
#include "links/box/stream.h"
#include "cay-init/counters.h"
#include "cay-init/prefork.h"
#include "cay-init/warm.h"
#include "cay-init/proc_overlay.h"
#include "cay-init/limit_watch.h"
#include "foundation/loop/loop.h"
#include "foundation/loop/signal.h"
#include "links/helper/init_config.h"
#include "links/helper/layers.h"

#define CAY_INIT_WORKERS_NODE "w" /* cgroup2 node below the box's own */

struct cay_channel;

struct cay_init {
        struct cay_loop *loop; /* owned */
        struct cay_init_config config;
        int fds[CAY_INIT_FD_COUNT];       /* owned; -1: not given */
        int landlock_fd;                  /* owned; -1: none */
        int layer_fds[2];                 /* owned: "/" and "/workspace", asked for free space; -1: none */
        int volume_fds[CAY_INIT_VOLUMES]; /* owned: likewise */
        int workers_node;                 /* owned: cgroup2 node of the workers; -1: none yet */
        bool is_pid1;
        bool has_session;   /* of our own, without a terminal: commands need none for themselves */
        bool is_filtered;   /* our own calls, see init_filter.h */
        bool childless;     /* at the last reaping nothing was left to wait for */
        uint32_t uid, gid;  /* our own */
        uint64_t files_max; /* RLIMIT_NOFILE that we were given, for commands without their own */

        struct cay_watch control;
        struct cay_signal signal;
        struct cay_peer peer;
        bool welcomed;                 /* HELLO was received on this stream */
        bool one_shot;                 /* an exec requested that the box ends with it */
        bool leaving;                  /* the box ends now */
        struct cay_timer relink_timer; /* one-shot without a stream: how long to wait for another */

        struct cay_channel *channels;       /* owned: live, ended and closing ones */
        const struct cay_channel *starting; /* one of them, before its command exists; NULL: none is */
        uint32_t channel_count;
        struct cay_ring_pool rings; /* of the channels' OUT and ERR */
        struct cay_proc_overlay proc_overlay;
        struct cay_limit_watch limit_watch;
        struct cay_prefork spare;
        struct cay_warm warm;
        struct cay_counters counters; /* where the engine does not report what the cgroups count */
};

static inline bool cay_init_is_isolated(const struct cay_init *init)
{
        return init->config.flags & CAY_INIT_ISOLATED;
}

static inline bool cay_init_has_layer(const struct cay_init *init, enum cay_layer layer)
{
        return cay_layer_is_on(init->config.test_off, layer);
}

/* Serves until the box is to end; never returns to a caller that has anything left to do. Exit status. */
int cay_init_main(void);
int cay_init_docker_main(void); /* the same in a Docker container (docker.h) */
