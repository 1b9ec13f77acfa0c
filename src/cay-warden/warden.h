/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-warden: the one program with privileges. Turns checked, fixed-size plans into boxes and back.
 *
 * Theory of operation. One socket to the front (HELPER_FRONT_FD), one epoll, a fixed table of boxes. Read one
 * message, look up its row, check, act, answer. A box is made in the background: its first process reports on
 * a status pipe, which closes when cay-init runs, and then the front gets its answer. The front is notified
 * when a box's process ends. What was made for the box is removed on the front's request, or with the warden.
 * When the front exits, all boxes are removed, then the warden exits. If there is a keeper (the daemon's `cay
 * serve`), it passes the next front: then boxes survive until the keeper exits. The warden never reads from a
 * box: the link to cay-init is one way.
 *
 * Two kinds of callers. The host's root: the warden makes cgroups, maps and mounts. Anybody else: the box
 * makes its own mounts with the privileges of its own user namespace (isolate.h), ids are the caller's
 * (ids.h), cgroups what was delegated, and what no cgroup holds, cay-init watches.
 *
 * No heap after start, no JSON, no network, libc only.
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/sys/cgroup.h"
#include "cay-warden/ids.h"
#include "cay-warden/isolate.h"
#include "cay-warden/record.h"
#include "cay-warden/workspace.h"
#include "links/helper/message.h"

#define WARDEN_BOXES 1024u
#define WARDEN_VOLUMES 256u       /* in use at once */
#define WARDEN_FRONT_PATIENCE_S 5 /* with a front that does not read its answers */

enum box_state {
        BOX_FREE,
        BOX_MAKING, /* waiting for the status pipe */
        BOX_LIVE,   /* cay-init runs */
        BOX_DEAD,   /* its process has ended; the front was notified */
        BOX_LEAVING /* it is being killed, and the requester waits: box.c */
};

struct warden_room { /* of an image, and the file system in it: room.h */
        bool is_known, grew;
        bool has_share; /* of what the last look left for images to come: it needs no look of its own */
        char device[16];
        uint64_t blocks, block_bytes, usual, held, errors; /* held: back, in clusters */
        uint64_t had, need, tables, coming, share;         /* bytes */
        uint64_t shared, shared_at_ms; /* bytes that overwriting has to find again: room_shared.h */
};

struct warden_volume { /* one that boxes use: volume.h */
        bool is_used;
        bool is_new; /* made for a box that does not run yet: removed with it */
        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
        unsigned users;
        int mount;    /* the first; -1: it is being closed */
        pid_t closer; /* helper that closes the last mount; -1: none */
        int closer_fd;
        struct warden_room room;
};

struct warden_box {
        enum box_state state;
        struct wire_plan plan;
        uint32_t make_seq, skipped;
        pid_t pid, helper; /* helper: started the box and makes its network; 0 once reaped */
        int pidfd;         /* -1: none, likewise below */
        int control;       /* to cay-init; written only */
        int status;        /* read end while making */
        struct cay_record record;
        struct cay_ids ids;
        struct sys_cgroup cgroup;
        bool kept;       /* its layer is a file of its own, in the keeper's folder */
        bool drop_layer; /* and is removed with it: its make is not complete, or the box is to be destroyed */
        bool is_mended;  /* that file was repaired after the machine had stopped */
        bool is_damaged; /* that file does not hold what was written: it is set aside */
        struct warden_room room;        /* of that file */
        uint16_t volumes[WIRE_VOLUMES]; /* rows of them, from 1; 0: none */
        struct {                        /* of a box that leaves */
                uint32_t type, seq;
                bool is_asked;   /* by the current front */
                bool is_written; /* its files are on their way to the disk, or need not */
                bool is_unsure;  /* the write is not confirmed */
                int fs;          /* a descriptor in its layer, so that failed writes are reported; -1 */
                struct wire_stats stats;
                uint64_t until_ms;
        } leaving;
        struct {           /* request_box_reclaim.c */
                pid_t pid; /* of the helper; 0: none */
                int out;   /* closed when it has ended */
                uint32_t seq;
                uint64_t before_bytes;
                bool is_asked; /* by the current front */
        } reclaim;
};

#define WARDEN_CLONES 64u

enum clone_state { CLONE_FREE, CLONE_WAITS, CLONE_RUNS };

struct warden_clone { /* a copy of a layer: request_layer_clone.c */
        enum clone_state state;
        uint32_t seq, flags;
        uint64_t nr;   /* they begin in this order */
        bool is_asked; /* by the current front */
        bool freezes;  /* its helper freezes the box */
        bool is_live;  /* the source has a box */
        pid_t pid;     /* its helper */
        int out;       /* what it found */
        uint64_t until_ms;
        char from[CAY_NAME_MAX + 1], to[CAY_NAME_MAX + 1];
};

struct warden {
        int front, epoll, init_exe;
        int keeper;            /* while it exists, boxes outlive their front; -1: none */
        bool is_kept;          /* there is, or was: then the front is a daemon's, and not trusted */
        int roots[WIRE_ROOTS]; /* folders that clients may name workspaces below; -1: none */
        bool has_own_roots;    /* they are the keeper's own choice, as in `cay run`: not judged any further */
        int registry;          /* folder below which a box's root may lie; -1: none */
        struct warden_listener listener;
        /* what follows was set: then plans that exceed it, or without a limit, are refused */
        bool has_ceiling;
        struct wire_ceiling ceiling;
        bool is_upgrading;
        unsigned state;     /* enum helper_state */
        unsigned can_hold;  /* enum helper_limit */
        unsigned can_watch; /* of those, what cay-init enforces by watching, without a cgroup */
        int layers;         /* folder of layers that outlive their box; -1: none was given */
        /* a folder on the disk that has them in the end: of layers itself, or of the pool that they are in */
        int disk;
        uint64_t reserve; /* bytes that are kept back in that folder: room.h, room_shared.h */
        uint64_t margin;  /* bytes of that folder's disk that layers leave free */
        struct {          /* room_pool.h */
                bool is_one, is_locked, cannot, has_room;
                bool is_left; /* a helper died that was locking or unlocking it: a part of that is done */
                pid_t helper; /* 0: none */
                unsigned work;
                uint64_t retry_at_ms, trim_at_ms, look_until_ms, tables;
                uint64_t room,
                        room_for_more; /* as they were when the helper began; has_room: they are known */
        } pool;
        struct {
                uint64_t left;
                uint64_t least; /* a smaller share is none; UINT64_MAX: all that is needed fits */
                uint64_t tables;
        } spare;                           /* room for images to come: room.c */
        uint64_t room_at_ms, errors_at_ms; /* when layers are looked at next; room_at_ms 0: there are none */
        bool can_keep;                     /* there is one, and images can be mounted with other ids */
        bool can_share;                    /* and they can share blocks */
        bool self;   /* boxes make their own mounts: we may not, or this kernel cannot */
        int signals; /* reports ends of boxes without pidfds; 0: not needed */
        struct cay_ids_pool ids;
        bool single;    /* ends with its first box */
        bool has_swept; /* what dead wardens left */
        bool failed;    /* something could not be removed: our exit status says so */
        struct sys_cgroup_host cgroups;
        struct cay_steps *steps; /* shared with boxes */
        unsigned leaving;        /* boxes in that state */
        uint64_t clone_nr;       /* of the last one asked for */
        struct warden_clone clones[WARDEN_CLONES];
        unsigned volume_rows; /* of volumes that were ever used */
        struct warden_volume volumes[WARDEN_VOLUMES];
        unsigned rows; /* of boxes that were ever used: the rest is not even touched */
        struct warden_box boxes[WARDEN_BOXES];
};

#define WARDEN_SWEEP_MS 5000 /* the last process of a box may have a file system to write out */

int warden_main(bool kept);
int warden_main_resume(int state_fd); /* upgrade.h */

/* warden.c */
enum {
        WATCH_FRONT,
        WATCH_PIDFD,
        WATCH_STATUS,
        WATCH_SIGNAL,
        WATCH_KEEPER,
        WATCH_VOLUME,
        WATCH_CLONE,
        WATCH_RECLAIM
};
void warden_watch(struct warden *w, int fd, unsigned kind, struct warden_box *box);
void warden_watch_volume(struct warden *w, int fd, struct warden_volume *v); /* the end of its helper */
void warden_watch_nr(struct warden *w, int fd, unsigned kind, unsigned nr);

/* start.c */
void warden_take_given(struct warden *w, bool kept); /* what a warden is born with */
/* is_resumed: our predecessor's boxes are in the table, and its cgroups are ours. */
int warden_set_up(struct warden *w, bool is_resumed, struct cay_error *err);
/*
 * Removes what dead wardens left. A warden of a daemon does so before it serves anybody. One that serves a
 * single run looks at it while the command runs, and nobody waits for that: each live box of the machine
 * costs the sweep two microseconds. It takes what needs time last, before it ends.
 */
void warden_sweep(struct warden *w, unsigned wait_ms);
void warden_sweep_at_last(struct warden *w);
/* Reports why nothing is available, in answer to the front's first request. The exit status. */
int warden_refuse(struct warden *w, const struct cay_error *err);

/* keeper.c */
void warden_hear_keeper(struct warden *w); /* handles all its pending messages */
void warden_hang_up(struct warden *w);     /* there is no front any more */
void warden_answer_keeper(struct warden *w, uint32_t type, const struct cay_error *err);

/* requests.c */
bool warden_on_request(struct warden *w); /* one; false ends the link */
void warden_answer(struct warden *w, struct wire_answer *a);
struct warden_box *warden_find(struct warden *w, const char *id); /* NULL: none */

/* box.c: after the start */
void warden_box_stats(struct warden_box *box, struct wire_stats *ret);
void warden_box_network(const struct warden_box *box,
                        struct wire_network *ret); /* of its namespace: what the kernel counts */
/* What is true of it as long as it is there: in every answer about it. */
void warden_box_describe(const struct warden *w, const struct warden_box *box, struct wire_answer *a);
void warden_box_doom(struct warden *w, struct warden_box *box,
                     struct wire_stats *ret_stats); /* kills; last figures */
/*
 * For a doomed box: reaps, removes all that was made, frees the row. false: something stayed, for the next
 * sweep.
 */
bool warden_box_unmake(struct warden *w, struct warden_box *box);
/*
 * Drops or stops a box for a request, and answers it: immediately if no waiting is needed, or when its
 * processes are gone. Others are served meanwhile: the end of a box unmounts its files, which waits for a
 * disk.
 */
void warden_box_leave(struct warden *w, struct warden_box *box, const struct wire_request *req,
                      struct wire_answer *a);
void warden_box_on_left(struct warden *w,
                        struct warden_box *box); /* its process is gone, or its files are written */
void warden_box_left(struct warden *w, struct warden_box *box); /* waits for one that leaves, and answers */
void warden_boxes_overdue(struct warden *w); /* ends the waiting for those that do not die */
void warden_boxes_unasked(struct warden *w); /* the front that waits for answers is gone */
void warden_box_on_exit(struct warden *w, struct warden_box *box);
void warden_box_on_status(struct warden *w, struct warden_box *box);

/* request_layer_clone.c */
void warden_layer_clone(struct warden *w, const struct wire_request *req); /* answered when it is done */
void warden_clone_on_event(struct warden *w, unsigned nr);
void warden_clones_overdue(struct warden *w);
void warden_clones_unasked(struct warden *w); /* the front that waits for answers is gone */
unsigned warden_clones_count(const struct warden *w);

/* request_box_reclaim.c */
void warden_box_reclaim(struct warden *w, struct warden_box *box,
                        uint32_t seq); /* answered when it is done */
void warden_box_on_reclaimed(struct warden *w, struct warden_box *box);
void warden_box_end_reclaim(struct warden_box *box); /* without an answer; fine when there is none */

/* request_box_make.c */
int warden_box_change_network(struct warden_box *box, uint32_t mode, int to); /* request_box_network.c */
void warden_box_make(struct warden *w, const struct wire_request *req, int *fds, unsigned fd_count);
