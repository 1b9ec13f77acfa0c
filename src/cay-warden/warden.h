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
#define WARDEN_FRONT_PATIENCE_S 5 /* with a front that does not read its answers */

enum box_state {
        BOX_FREE,
        BOX_MAKING, /* waiting for the status pipe */
        BOX_LIVE,   /* cay-init runs */
        BOX_DEAD,   /* its process has ended; the front was notified */
        BOX_LEAVING /* it is being killed, and the requester waits: box.c */
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
        struct {         /* of that file, and the file system in it: room.h */
                bool is_known, grew;
                char device[16];
                uint64_t blocks, block_bytes, usual, held, errors; /* held: back, in clusters */
                uint64_t had, need, tables, coming, share;         /* bytes */
        } room;
        struct { /* of a box that leaves */
                uint32_t type, seq;
                bool is_asked;   /* by the current front */
                bool is_written; /* its files are on their way to the disk, or need not */
                bool is_unsure;  /* the write is not confirmed */
                int fs;          /* a descriptor in its layer, so that failed writes are reported; -1 */
                struct wire_stats stats;
                uint64_t until_ms;
        } leaving;
};

struct warden {
        int front, epoll, init_exe;
        int keeper;            /* while it exists, boxes outlive their front; -1: none */
        bool is_kept;          /* there is, or was: then the front is a daemon's, and not trusted */
        int roots[WIRE_ROOTS]; /* folders that clients may name workspaces below; -1: none */
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
        bool has_reserve;   /* blocks are kept back in that folder: room.h */
        uint64_t margin;    /* bytes of that folder's disk that layers leave free */
        uint64_t room_at_ms, errors_at_ms; /* when layers are looked at next; room_at_ms 0: there are none */
        bool can_keep;                     /* there is one, and images can be mounted with other ids */
        bool self;   /* boxes make their own mounts: we may not, or this kernel cannot */
        int signals; /* reports ends of boxes without pidfds; 0: not needed */
        struct cay_ids_pool ids;
        bool single; /* ends with its first box */
        bool failed; /* something could not be removed: our exit status says so */
        struct sys_cgroup_host cgroups;
        struct cay_steps *steps; /* shared with boxes */
        unsigned leaving;        /* boxes in that state */
        unsigned rows;           /* of boxes that were ever used: the rest is not even touched */
        struct warden_box boxes[WARDEN_BOXES];
};

int warden_main(bool kept);
int warden_main_resume(int state_fd); /* upgrade.h */

/* warden.c */
enum { WATCH_FRONT, WATCH_PIDFD, WATCH_STATUS, WATCH_SIGNAL, WATCH_KEEPER };
void warden_watch(struct warden *w, int fd, unsigned kind, struct warden_box *box);

/* start.c */
void warden_take_given(struct warden *w, bool kept); /* what a warden is born with */
/* is_resumed: our predecessor's boxes are in the table, and its cgroups are ours. */
int warden_set_up(struct warden *w, bool is_resumed, struct cay_error *err);
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

/* request_box_make.c */
int warden_box_change_network(struct warden_box *box, uint32_t mode, int to); /* request_box_network.c */
void warden_box_make(struct warden *w, const struct wire_request *req, int *fds, unsigned fd_count);
