/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run changed in a copy-on-write workspace: fetched when the command has ended, before the box is
 * destroyed.
 *
 * Theory of operation. The layer that holds the changes goes with the box, so the run stays between "ended"
 * and "leaving" for as long as the set takes to come: init has killed everything else by then (CAY_BOX_STAY)
 * and answers one more channel. The bytes go to the caller's file as they come; nobody looks into them here.
 * Whatever ends this early (a lost box, a full disk, a deadline, the caller's stop) leaves an error in the
 * result and lets the run end as it would have: a command's own result is never lost to its changes. The
 * sizes are checked here again, for an init that does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "foundation/base/clock.h"
#include "libcay/run_priv.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/sparse.h"

#define STALL_MS 30000  /* nothing came for so long */
#define TOTAL_MS 600000 /* all of it */
#define STOP_MS 3000    /* a command that was told to end is dead within this */

/*
 * Beside the bytes that the layer holds: headers for each of its files, holes (as zeros, within reason) and
 * the list of what is gone, which grows with the folder and not with the layer.
 */
#define PER_INODE_BYTES 4096u
#define LIST_BYTES (256ull << 20)
#define DISK_UNLIMITED (1ull << 30)

static struct cay_run *run_of(struct cay_box_channel *ch)
{
        return cay_container_of(ch, struct cay_run, changes);
}

bool cay_run_wants_changes(const struct cay_run *run)
{
        return run->o.spec.workspace_cow && run->o.changes_fd >= 0;
}

static uint64_t max_bytes(const struct cay_limits *l)
{
        uint64_t disk = l->disk_bytes > 0 ? l->disk_bytes : DISK_UNLIMITED;

        return 2 * disk + l->inodes * PER_INODE_BYTES + LIST_BYTES;
}

static void fail(struct cay_run *run, enum cay_code code, const char *why)
{
        if (run->result.changes_error.code == CAY_OK)
                cay_fail(&run->result.changes_error, code, "%s", why);
        cay_run_leave(run);
}

static void on_late(struct cay_timer *t)
{
        fail(cay_container_of(t, struct cay_run, changes_timer), CAY_TIMEOUT,
             "the sandbox did not hand over its changes in time");
}

/* The next moment at which it is too late: a stall, or the end of all patience. */
static void set_deadline(struct cay_run *run)
{
        uint64_t now = cay_clock_ms(), left;

        left = run->changes_until_ms > now ? run->changes_until_ms - now : 0;
        cay_timer_set(run->loop, &run->changes_timer, left < STALL_MS ? left : STALL_MS, on_late);
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct cay_run *run = run_of(ch);
        struct cay_error *err = &run->result.changes_error;
        int r;

        if (len > max_bytes(&run->o.spec.limits) - run->result.changes_bytes) {
                fail(run, CAY_LIMIT, "the sandbox sends more changes than it can have");
                return;
        }
        r = run->changes_sparse ? sys_sparse_write(run->o.changes_fd, bytes, len)
                                : sys_write_all(run->o.changes_fd, bytes, len);
        if (r < 0) {
                cay_fail_sys(err, r == -ENOSPC || r == -EDQUOT ? CAY_NO_SPACE : CAY_INTERNAL, r,
                             "keep the changes");
                cay_run_leave(run);
                return;
        }
        run->result.changes_bytes += len;
        set_deadline(run);
        cay_box_channel_ack(ch, stream, len);
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct cay_run *run = run_of(ch);
        char why[160];

        if (end->code != CAY_OK) {
                cay_box_clean_text(end->msg, why, sizeof(why));
                fail(run, end->code < CAY_CODE_COUNT ? (enum cay_code)end->code : CAY_INTERNAL, why);
                return;
        }
        if (end->file.bytes != run->result.changes_bytes) {
                fail(run, CAY_INTERNAL, "a part of the changes was lost on the way");
                return;
        }
        if (run->changes_sparse && sys_sparse_end(run->o.changes_fd) < 0) {
                fail(run, CAY_INTERNAL, "the file of the changes cannot be ended");
                return;
        }
        run->result.changes_entries = end->file.entries;
        run->result.changes_left_out = end->file.stat.size;
        run->changes_whole = true;
        cay_run_leave(run);
}

/* The caller's descriptor may be anything. */
static bool is_empty_file(int fd)
{
        int flags = fcntl(fd, F_GETFL);
        struct stat st;

        return flags >= 0 && !(flags & O_APPEND) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
               st.st_size == 0;
}

bool cay_run_changes_begin(struct cay_run *run)
{
        const struct cay_limits *l = &run->o.spec.limits;
        struct cay_box_open open = {
                .kind = CAY_BOX_CHANGES,
                .window = CAY_BOX_WINDOW_MAX,
                .file = { .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT, .max_bytes = max_bytes(l) },
        };

        if (!cay_run_wants_changes(run) || !run->result.started)
                return false;
        run->changes = (struct cay_box_channel){ .on_data = on_data, .on_end = on_end };
        if (cay_box_channel_open(run->client, &run->changes, &open, NULL, NULL) < 0)
                return false;
        run->changes_sparse = is_empty_file(run->o.changes_fd);
        run->changes_until_ms = cay_clock_ms() + TOTAL_MS;
        set_deadline(run);
        return true;
}

void cay_run_changes_stop(struct cay_run *run)
{
        cay_timer_clear(&run->changes_timer);
        cay_box_channel_close(&run->changes);
        if (cay_run_wants_changes(run) && run->result.started && !run->changes_whole &&
            run->result.changes_error.code == CAY_OK)
                cay_fail(&run->result.changes_error, CAY_UNAVAILABLE,
                         "the sandbox was gone before its changes could be read");
}

static void on_stop_late(struct cay_timer *t)
{
        cay_run_leave(cay_container_of(t, struct cay_run, exec_timer));
}

bool cay_run_changes_await(struct cay_run *run)
{
        if (!cay_run_wants_changes(run) || !run->result.started || !cay_box_channel_is_open(&run->exec))
                return false;
        cay_box_channel_kill(&run->exec, CAY_KILLED_ASKED);
        cay_timer_set(run->loop, &run->exec_timer, STOP_MS, on_stop_late);
        return true;
}
