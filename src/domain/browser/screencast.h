/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings: what a browser showed, kept as frames with times.
 *
 * Theory of operation. A recording is a viewer of the browser's screen (live.h) that writes each frame into a
 * file of the data folder's `recordings`, named SANDBOX.RECORDING. The file is a tar archive from its first
 * byte, so that exporting it is sending it:
 *
 *   recording.json                  what was recorded, and since when
 *   NUMBER-MILLISECONDS.json, .jpg  a frame: its time since the beginning, its tab with address and title,
 *                                   the pointer; and its picture
 *   end.json                        how many frames, how long, and why it ended
 *
 * Each frame is one write at the end. A front that dies leaves a file without end.json, perhaps with half a
 * frame: the next front cuts it behind the last whole frame and ends it. Files of a sandbox that is gone are
 * removed: soon after it goes, and at the start.
 *
 * A recording is bounded in bytes, time and frames, and ends when the disk's reserve is reached. While it
 * runs it counts as the bytes that it may have, then as what it has, as its owner's disk (max_disk_owner).
 * The sandbox is not in use because of it, so it can go idle. The browser's end ends a recording, not the
 * other way round.
 */
#pragma once

#include "domain/browser/browser.h"

#define CAY_SCREENCASTS_MAX 1024u /* that are kept, of all owners; one gets half of what the others leave */
#define CAY_SCREENCASTS_SANDBOX_MAX 32u /* of one sandbox */
#define CAY_SCREENCAST_BYTES (64ull << 20)
#define CAY_SCREENCAST_BYTES_MIN (1ull << 20)
#define CAY_SCREENCAST_BYTES_MAX (1024ull << 20)
#define CAY_SCREENCAST_MS (10ull * 60 * 1000)
#define CAY_SCREENCAST_MS_MAX (6ull * 60 * 60 * 1000)
#define CAY_SCREENCAST_FRAMES_MAX 100000u
#define CAY_SCREENCAST_GAP_MS 100u /* between two frames, at least */
#define CAY_SCREENCAST_ID_LEN 16u

struct cay_screencasts;

struct cay_screencast_options {
        uint64_t bytes, time_ms, gap_ms; /* 0: the usual */
};

struct cay_screencast_view { /* borrowed until the next round */
        const char *id, *sandbox;
        bool is_running;
        const char *why; /* it ended; "" while it runs */
        uint64_t started_wall_ms, duration_ms, frames, bytes;
};

struct cay_screencasts *cay_screencasts_new(const struct cay_browsers_env *env,
                                            struct cay_browsers *bs); /* NULL: no memory */
/* Ends those that run: the browsers must be there still. Accepts NULL. */
void cay_screencasts_free(struct cay_screencasts *rs);

/*
 * Starts the browser if none runs. CAY_CONFLICT: one is recorded already; CAY_LIMIT; CAY_NO_SPACE. ret: its
 * id.
 */
int cay_screencast_start(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                         const struct cay_screencast_options *o, struct cay_screencast_view *ret,
                         struct cay_error *err);
int cay_screencast_stop(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        const char *id, struct cay_screencast_view *ret, struct cay_error *err);
int cay_screencast_get(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                       const char *id, struct cay_screencast_view *ret, struct cay_error *err);
/* Oldest first. */
int cay_screencast_list(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        void (*each)(void *ctx, const struct cay_screencast_view *view), void *ctx,
                        struct cay_error *err);
int cay_screencast_remove(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                          const char *id, struct cay_error *err);
/*
 * A descriptor of its file, of which the first ret_bytes count; the caller closes it. Zeros that end an
 * archive may have to follow. -1: err
 */
int cay_screencast_open(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        const char *id, uint64_t *ret_bytes, struct cay_error *err);
/* What counts as the owner's disk. bs may be NULL. */
uint64_t cay_screencasts_disk(const struct cay_browsers *bs, const char *owner);
