/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recording: a tar archive that grows by whole frames. What is in it is told in screencast.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/screencast_priv.h"
#include "foundation/base/str.h"
#include "foundation/tar/tar.h"

#define HEAD_NAME "recording.json"
#define END_NAME "end.json"
#define JSON_MAX 4096u
#define PIECE_MAX (CAY_LIVE_FRAME_MAX + 16u * 1024)
#define VERSION 1u

void cay_screencast_name(const struct cay_screencast *r, char ret[CAY_SCREENCAST_FILE_MAX])
{
        snprintf(ret, CAY_SCREENCAST_FILE_MAX, "%s.%s", r->sandbox, r->id);
}

/* Writing */

static int add_member(struct cay_screencast *r, const char *name, const void *bytes, size_t len,
                      uint64_t wall_ms)
{
        const struct cay_tar_member m = { .type = CAY_TAR_FILE,
                                          .mode = 0644,
                                          .size = len,
                                          .mtime_s = (int64_t)(wall_ms / 1000),
                                          .name = name,
                                          .link = "" };
        static const char zeros[CAY_TAR_BLOCK];
        uint8_t head[CAY_TAR_BLOCK * 4];
        int n = cay_tar_member_format(&m, head, sizeof(head));

        if (n < 0)
                return n;
        if (cay_buf_put(&r->piece, head, (size_t)n) < 0 || cay_buf_put(&r->piece, bytes, len) < 0 ||
            cay_buf_put(&r->piece, zeros, cay_tar_padding(len)) < 0)
                return -ENOMEM;
        return 0;
}

/* All of the piece, or nothing that counts: what was written of it is overwritten by the next one. */
static int write_piece(struct cay_screencast *r)
{
        const char *at = cay_buf_data(&r->piece);
        uint64_t place = r->bytes;
        size_t left = r->piece.len;

        while (left > 0) {
                ssize_t n = pwrite(r->fd, at, left, (off_t)place);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                at += n;
                place += (uint64_t)n;
                left -= (size_t)n;
        }
        r->bytes = place;
        cay_buf_done(&r->piece); /* as large as a frame, of every browser that is recorded */
        return 0;
}

static int begin_piece(struct cay_screencast *r)
{
        cay_buf_clear(&r->piece);
        return r->fd >= 0 ? 0 : -EBADF;
}

static int put_facts(struct cay_screencast *r, const char *name, struct cay_json *j, struct cay_buf *text,
                     uint64_t wall_ms)
{
        cay_json_end_object(j);
        if (begin_piece(r) < 0 || cay_json_end(j) < 0 ||
            add_member(r, name, cay_buf_data(text), text->len, wall_ms) < 0)
                return -ENOMEM;
        return write_piece(r);
}

int cay_screencast_create(struct cay_screencast *r, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        char name[CAY_SCREENCAST_FILE_MAX];
        struct cay_json j;
        int e;

        cay_screencast_name(r, name);
        cay_buf_init(&r->piece, PIECE_MAX);
        r->fd = openat(r->all->env.screencasts_dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       0600);
        if (r->fd < 0)
                return cay_fail_sys(err, errno == ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, -errno,
                                    "make the recording's file");
        cay_buf_init(&text, JSON_MAX);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        cay_action_put_u64(&j, "version", VERSION);
        cay_action_put_text(&j, "recording_id", r->id);
        cay_action_put_text(&j, "sandbox_id", r->sandbox);
        cay_action_put_text(&j, "owner", r->owner);
        cay_action_put_u64(&j, "started_ms", r->started_wall_ms);
        e = put_facts(r, HEAD_NAME, &j, &text, r->started_wall_ms);
        if (e == 0)
                return 0;
        close(cay_take_fd(r->fd));
        unlinkat(r->all->env.screencasts_dir, name, 0);
        return cay_fail_sys(err, e == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, e, "write the recording's file");
}

int cay_screencast_put(struct cay_screencast *r, const struct cay_live_frame *f, const char *facts,
                       uint64_t at_ms)
{
        char name[64];
        int e = begin_piece(r);

        snprintf(name, sizeof(name), "%06llu-%09llu.json", (unsigned long long)r->frames + 1,
                 (unsigned long long)at_ms);
        if (e == 0)
                e = add_member(r, name, facts, strlen(facts), f->wall_ms);
        snprintf(name, sizeof(name), "%06llu-%09llu.jpg", (unsigned long long)r->frames + 1,
                 (unsigned long long)at_ms);
        if (e == 0)
                e = add_member(r, name, f->bytes, f->len, f->wall_ms);
        if (e == 0)
                e = write_piece(r);
        if (e == 0) {
                r->frames++;
                r->duration_ms = at_ms;
        }
        return e;
}

void cay_screencast_finish(struct cay_screencast *r)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_json j;

        cay_buf_init(&text, JSON_MAX);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        cay_action_put_u64(&j, "frames", r->frames);
        cay_action_put_u64(&j, "duration_ms", r->duration_ms);
        cay_action_put_text(&j, "why", r->why);
        if (r->fd >= 0)
                (void)!ftruncate(r->fd, (off_t)r->bytes); /* half a frame, if there is one */
        put_facts(r, END_NAME, &j, &text, r->started_wall_ms + r->duration_ms);
        cay_buf_done(&r->piece);
}

/* Reading */

static bool read_at(int fd, void *buf, size_t len, uint64_t place)
{
        char *at = buf;

        while (len > 0) {
                ssize_t n = pread(fd, at, len, (off_t)place);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return false;
                at += n;
                place += (uint64_t)n;
                len -= (size_t)n;
        }
        return true;
}

/* The member at a place, and where the next one is; false: there is no whole one. */
static bool next_member(int fd, uint64_t size, uint64_t *place, struct cay_tar_header *ret,
                        uint64_t *ret_data)
{
        uint8_t block[CAY_TAR_BLOCK];
        uint64_t all;

        if (!read_at(fd, block, sizeof(block), *place) || cay_tar_header_parse(block, ret) != 1 ||
            ret->type != CAY_TAR_FILE || ret->size > PIECE_MAX)
                return false;
        all = CAY_TAR_BLOCK + ret->size + cay_tar_padding(ret->size);
        if (*place + all > size)
                return false;
        *ret_data = *place + CAY_TAR_BLOCK;
        *place += all;
        return true;
}

static bool read_json(int fd, const struct cay_tar_header *head, uint64_t data, char text[JSON_MAX],
                      struct cay_json_view *ret)
{
        return head->size < JSON_MAX && read_at(fd, text, head->size, data) &&
               cay_json_view_open(text, head->size, ret) == 0;
}

static bool read_head(struct cay_screencast *r, uint64_t size, uint64_t *place)
{
        struct cay_tar_header head;
        struct cay_json_view o;
        char text[JSON_MAX];
        uint64_t data;

        if (!next_member(r->fd, size, place, &head, &data) || strcmp(head.name, HEAD_NAME) != 0 ||
            !read_json(r->fd, &head, data, text, &o) ||
            !cay_json_view_u64(cay_json_view_find(o, "started_ms"), &r->started_wall_ms))
                return false;
        cay_json_view_copy(cay_json_view_find(o, "owner"), r->owner, sizeof(r->owner));
        return true;
}

/* "000012-000034567.jpg": its time. */
static bool read_name(const char *name, uint64_t *ret_at_ms)
{
        const char *dash = strchr(name, '-'), *dot = strrchr(name, '.');
        char *end;

        if (!dash || !dot || strcmp(dot, ".jpg") != 0)
                return false;
        *ret_at_ms = strtoull(dash + 1, &end, 10);
        return end == dot;
}

static void read_members(struct cay_screencast *r, uint64_t size, uint64_t place)
{
        struct cay_tar_header head;
        struct cay_json_view o;
        char text[JSON_MAX];
        uint64_t data, at_ms;

        r->bytes = place;
        while (r->frames < CAY_SCREENCAST_FRAMES_MAX && next_member(r->fd, size, &place, &head, &data)) {
                if (strcmp(head.name, END_NAME) == 0) {
                        r->bytes = place;
                        if (read_json(r->fd, &head, data, text, &o))
                                cay_json_view_copy(cay_json_view_find(o, "why"), r->why, sizeof(r->why));
                        return;
                }
                if (!read_name(head.name, &at_ms))
                        continue;
                r->frames++;
                r->duration_ms = at_ms;
                r->bytes = place;
        }
}

bool cay_screencast_load(struct cay_screencast *r, int dir)
{
        char name[CAY_SCREENCAST_FILE_MAX];
        struct stat st;
        uint64_t place = 0;
        bool is_ours;

        cay_screencast_name(r, name);
        r->fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (r->fd < 0)
                return false;
        is_ours = fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode) && read_head(r, (uint64_t)st.st_size, &place);
        if (is_ours) {
                read_members(r, (uint64_t)st.st_size, place);
                if (r->why[0] == '\0') {
                        cay_str_copy(r->why, sizeof(r->why), "the daemon's front ended");
                        cay_buf_init(&r->piece, PIECE_MAX);
                        cay_screencast_finish(r);
                }
        }
        close(cay_take_fd(r->fd));
        return is_ours;
}
