/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload codecs.
 *
 * Theory of operation. Every message has one layout function that names its fields in wire order and checks
 * each one's range right there; it runs in both directions over the same struct. So encoder and decoder
 * cannot drift apart, and an encoder refuses exactly what a decoder would. Nothing is allocated; strings are
 * views. A decoder also requires that the whole payload is used. So no two payloads mean the same message;
 * the fuzzer checks encode(decode(x)) == x.
 */
#include "links/box/message.h"

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/error.h"

struct codec {
        bool writing, valid; /* valid: no field out of range so far */
        struct cay_bytes_writer w;
        struct cay_bytes_reader r;
};

static void codec_write(struct codec *c, void *mem, size_t size)
{
        *c = (struct codec){ .writing = true, .valid = true };
        cay_writer_init(&c->w, mem, size);
}

static void codec_read(struct codec *c, const void *mem, size_t len)
{
        *c = (struct codec){ .valid = true };
        cay_reader_init(&c->r, mem, len);
}

static int wrote(const struct codec *c, const void *mem)
{
        if (!c->valid)
                return -EINVAL;
        if (!c->w.ok)
                return -EMSGSIZE;
        return (int)(c->w.at - (const uint8_t *)mem);
}

static int was_read(const struct codec *c)
{
        return c->valid && cay_reader_is_done(&c->r) ? 0 : -EPROTO;
}

static bool is_good(const struct codec *c)
{
        return c->valid && (c->writing ? c->w.ok : c->r.ok);
}

/* Fields: value, then its lowest and highest allowed value. */

static void u8(struct codec *c, uint8_t *v, uint8_t max)
{
        if (c->writing)
                cay_put_u8(&c->w, *v);
        else
                *v = cay_get_u8(&c->r);
        if (*v > max)
                c->valid = false;
}

static void u16(struct codec *c, uint16_t *v, uint16_t min, uint16_t max)
{
        if (c->writing)
                cay_put_u16(&c->w, *v);
        else
                *v = cay_get_u16(&c->r);
        if (*v < min || *v > max)
                c->valid = false;
}

static void u32(struct codec *c, uint32_t *v, uint32_t min, uint32_t max)
{
        if (c->writing)
                cay_put_u32(&c->w, *v);
        else
                *v = cay_get_u32(&c->r);
        if (*v < min || *v > max)
                c->valid = false;
}

static void i32(struct codec *c, int32_t *v, int32_t min, int32_t max)
{
        if (c->writing)
                cay_put_u32(&c->w, (uint32_t)*v);
        else
                *v = (int32_t)cay_get_u32(&c->r);
        if (*v < min || *v > max)
                c->valid = false;
}

static void u64(struct codec *c, uint64_t *v, uint64_t max)
{
        if (c->writing)
                cay_put_u64(&c->w, *v);
        else
                *v = cay_get_u64(&c->r);
        if (*v > max)
                c->valid = false;
}

/* An offset, size, count or time: half the range, so that the sum of two cannot overflow. */
static void half(struct codec *c, uint64_t *v)
{
        u64(c, v, INT64_MAX);
}

static void i64(struct codec *c, int64_t *v)
{
        uint64_t bits = (uint64_t)*v;

        u64(c, &bits, UINT64_MAX);
        *v = (int64_t)bits;
}

static void str(struct codec *c, struct cay_view *v, uint32_t min, uint32_t max)
{
        if (c->writing) {
                if (v->len > max || (v->len > 0 && memchr(v->ptr, 0, v->len)))
                        c->valid = false;
                else
                        cay_put_str(&c->w, v->ptr, v->len);
        } else {
                *v = cay_get_str(&c->r, max);
        }
        if (v->len < min)
                c->valid = false;
}

static void path(struct codec *c, struct cay_view *v, bool needed)
{
        str(c, v, needed ? 1 : 0, CAY_BOX_PATH_MAX - 1);
}

/* The public pair of a message without strings of its own: the layout function, run either way. */
#define CODEC(name)                                                                                          \
        int cay_box_##name##_encode(const struct cay_box_##name *m, void *mem, size_t size)                  \
        {                                                                                                    \
                struct cay_box_##name copy = *m;                                                             \
                struct codec c;                                                                              \
                                                                                                             \
                codec_write(&c, mem, size);                                                                  \
                name(&c, &copy);                                                                             \
                return wrote(&c, mem);                                                                       \
        }                                                                                                    \
                                                                                                             \
        int cay_box_##name##_decode(const void *mem, size_t len, struct cay_box_##name *ret)                 \
        {                                                                                                    \
                struct codec c;                                                                              \
                                                                                                             \
                codec_read(&c, mem, len);                                                                    \
                name(&c, ret);                                                                               \
                return was_read(&c);                                                                         \
        }

static void hello(struct codec *c, struct cay_box_hello *m)
{
        u32(c, &m->version, 1, UINT32_MAX);
        if (c->writing) {
                cay_put_raw(&c->w, m->secret, sizeof(m->secret));
        } else {
                const void *secret = cay_get_raw(&c->r, sizeof(m->secret));

                if (secret)
                        memcpy(m->secret, secret, sizeof(m->secret));
        }
}

CODEC(hello)

static void welcome(struct codec *c, struct cay_box_welcome *m)
{
        u32(c, &m->version, 1, UINT32_MAX);
        u32(c, &m->count, 0, CAY_BOX_CHANNELS_MAX);
        for (uint32_t i = 0; is_good(c) && i < m->count; i++) {
                u32(c, &m->channels[i], 1, UINT32_MAX);
                for (uint32_t k = 0; k < i; k++) {
                        if (m->channels[k] == m->channels[i])
                                c->valid = false;
                }
        }
}

CODEC(welcome)

static void opened(struct codec *c, struct cay_box_opened *m)
{
        u32(c, &m->pid, 0, INT32_MAX);
        u32(c, &m->reserved, 0, 0);
        half(c, &m->in_got);
}

CODEC(opened)

static void resume(struct codec *c, struct cay_box_resume *m)
{
        half(c, &m->out_got);
        half(c, &m->err_got);
}

CODEC(resume)

int cay_box_signal_encode(int signo, void *mem, size_t size)
{
        int32_t v = signo;
        struct codec c;

        codec_write(&c, mem, size);
        i32(&c, &v, 1, CAY_BOX_SIGNAL_MAX);
        return wrote(&c, mem);
}

int cay_box_signal_decode(const void *mem, size_t len, int *ret)
{
        struct codec c;
        int32_t v = 0;

        codec_read(&c, mem, len);
        i32(&c, &v, 1, CAY_BOX_SIGNAL_MAX);
        if (was_read(&c) < 0)
                return -EPROTO;
        *ret = v;
        return 0;
}

int cay_box_kill_encode(enum cay_box_killed why, void *mem, size_t size)
{
        uint32_t v = (uint32_t)why;
        struct codec c;

        codec_write(&c, mem, size);
        u32(&c, &v, CAY_KILLED_NOT + 1, CAY_KILLED_COUNT - 1);
        return wrote(&c, mem);
}

int cay_box_kill_decode(const void *mem, size_t len, enum cay_box_killed *ret)
{
        struct codec c;
        uint32_t v = 0;

        codec_read(&c, mem, len);
        u32(&c, &v, CAY_KILLED_NOT + 1, CAY_KILLED_COUNT - 1);
        if (was_read(&c) < 0)
                return -EPROTO;
        *ret = (enum cay_box_killed)v;
        return 0;
}

static void resize(struct codec *c, struct cay_box_resize *m)
{
        u16(c, &m->rows, 0, UINT16_MAX);
        u16(c, &m->cols, 0, UINT16_MAX);
}

CODEC(resize)

static void exec_fixed(struct codec *c, struct cay_box_exec *m)
{
        u32(c, &m->flags, 0, CAY_BOX_TTY | CAY_BOX_STDIN | CAY_BOX_ONE_SHOT | CAY_BOX_CUT | CAY_BOX_STAY);
        u32(c, &m->uid, 0, UINT32_MAX);
        u32(c, &m->gid, 0, UINT32_MAX);
        u16(c, &m->rows, 0, UINT16_MAX);
        u16(c, &m->cols, 0, UINT16_MAX);
        u64(c, &m->wall_ms, CAY_BOX_TIME_MAX_MS);
        u64(c, &m->cpu_ms, CAY_BOX_TIME_MAX_MS);
        half(c, &m->output_max_bytes);
        half(c, &m->file_max_bytes);
        u32(c, &m->files_max, 0, INT32_MAX);
        path(c, &m->cwd, false);
        u32(c, &m->argc, 1, CAY_BOX_ARGS_MAX);
        u32(c, &m->envc, 0, CAY_BOX_ARGS_MAX);
}

static void strings_write(struct codec *c, const char *const *strings, uint32_t count)
{
        for (uint32_t i = 0; is_good(c) && i < count; i++) {
                size_t len = strlen(strings[i]);

                if (len > CAY_FRAME_MAX)
                        c->w.ok = false;
                else
                        cay_put_str(&c->w, strings[i], len);
        }
}

/* Walks the strings once, so that cay_box_next_string need not check again. */
static void strings_read(struct codec *c, struct cay_box_exec *m)
{
        const uint8_t *from = c->r.at;

        for (uint32_t i = 0; is_good(c) && i < m->argc + m->envc; i++)
                cay_get_str(&c->r, CAY_FRAME_MAX);
        m->args = (struct cay_view){ .ptr = (const char *)from, .len = (uint32_t)(c->r.at - from) };
}

static void file(struct codec *c, uint16_t kind, struct cay_box_file *m)
{
        bool two = kind == CAY_BOX_MOVE || kind == CAY_BOX_SYMLINK || kind == CAY_BOX_SEARCH ||
                   kind == CAY_BOX_COMPARE;

        u32(c, &m->flags, 0,
            CAY_BOX_PARENTS | CAY_BOX_RECURSIVE | CAY_BOX_FOLLOW | CAY_BOX_EXCLUSIVE | CAY_BOX_TRUNCATE |
                    CAY_BOX_APPEND | CAY_BOX_SORTED | CAY_BOX_LITERAL | CAY_BOX_NO_CASE);
        u32(c, &m->uid, 0, UINT32_MAX);
        u32(c, &m->gid, 0, UINT32_MAX);
        u32(c, &m->mode, 0, 07777);
        half(c, &m->offset);
        half(c, &m->max_bytes);
        half(c, &m->max_entries);
        path(c, &m->path, kind != CAY_BOX_PROCESSES && kind != CAY_BOX_CHANGES);
        path(c, &m->path2, two);
        if (!two && kind != CAY_BOX_LIST && !(kind == CAY_BOX_WRITE && m->flags & CAY_BOX_ATTRIBUTES) &&
            m->path2.len > 0)
                c->valid = false;
}

static void open_head(struct codec *c, struct cay_box_open *m)
{
        u16(c, &m->kind, CAY_BOX_NONE + 1, CAY_BOX_KIND_COUNT - 1);
        u32(c, &m->window, CAY_BOX_WINDOW_MIN, CAY_BOX_WINDOW_MAX);
        if (!is_good(c))
                return;
        switch (m->kind) {
        case CAY_BOX_EXEC:
                exec_fixed(c, &m->exec);
                break;
        case CAY_BOX_CONNECT:
        case CAY_BOX_ACCEPT:
                u16(c, &m->connect.port, 1, UINT16_MAX);
                break;
        default:
                file(c, m->kind, &m->file);
                break;
        }
}

static uint32_t count_strings(const char *const *strings)
{
        uint32_t n = 0;

        while (strings && n <= CAY_BOX_ARGS_MAX && strings[n])
                n++;
        return n;
}

int cay_box_open_encode(const struct cay_box_open *m, const char *const *argv, const char *const *env,
                        void *mem, size_t size)
{
        struct cay_box_open copy = *m;
        struct codec c;

        if (m->kind == CAY_BOX_EXEC) {
                copy.exec.argc = count_strings(argv);
                copy.exec.envc = count_strings(env);
        }
        codec_write(&c, mem, size < CAY_FRAME_MAX ? size : CAY_FRAME_MAX);
        open_head(&c, &copy);
        if (is_good(&c) && m->kind == CAY_BOX_EXEC) {
                strings_write(&c, argv, copy.exec.argc);
                strings_write(&c, env, copy.exec.envc);
        }
        return wrote(&c, mem);
}

int cay_box_open_decode(const void *mem, size_t len, struct cay_box_open *ret)
{
        struct codec c;

        *ret = (struct cay_box_open){ 0 };
        if (len > CAY_FRAME_MAX)
                return -EPROTO;
        codec_read(&c, mem, len);
        open_head(&c, ret);
        if (is_good(&c) && ret->kind == CAY_BOX_EXEC)
                strings_read(&c, &ret->exec);
        ret->raw = (struct cay_view){ .ptr = mem, .len = (uint32_t)len };
        return was_read(&c);
}

struct cay_view cay_box_next_string(struct cay_view *strings)
{
        struct cay_bytes_reader r;
        struct cay_view v;

        cay_reader_init(&r, strings->ptr, strings->len);
        v = cay_get_str(&r, CAY_FRAME_MAX);
        if (!r.ok)
                return (struct cay_view){ .ptr = "", .len = 0 };
        strings->ptr = (const char *)r.at;
        strings->len = (uint32_t)(r.end - r.at);
        return v;
}

static void exec_end(struct codec *c, struct cay_box_exec_end *m)
{
        i32(c, &m->exit_code, -1, 255);
        i32(c, &m->signal, 0, CAY_BOX_SIGNAL_MAX);
        if (m->exit_code >= 0 && m->signal > 0)
                c->valid = false;
        u32(c, &m->killed, 0, CAY_KILLED_COUNT - 1);
        half(c, &m->wall_us);
        half(c, &m->user_us);
        half(c, &m->sys_us);
        half(c, &m->cpu_us);
        half(c, &m->out_bytes);
        half(c, &m->err_bytes);
        half(c, &m->cut_bytes);
        u32(c, &m->disk_full, 0, 0x7ff);
        half(c, &m->memory_peak_bytes);
        u32(c, &m->pids_hits, 0, UINT32_MAX);
        u32(c, &m->left, 0, INT32_MAX);
        i32(c, &m->last_denied, -1, INT32_MAX);
        u32(c, &m->denied_count, 0, CAY_BOX_DENIED_MAX);
        for (uint32_t i = 0; is_good(c) && i < m->denied_count; i++) {
                u32(c, &m->denied[i].nr, 0, INT32_MAX);
                u32(c, &m->denied[i].count, 1, UINT32_MAX);
        }
}

static void stat_fields(struct codec *c, struct cay_box_stat *m, bool named)
{
        u32(c, &m->type, 0, CAY_FILE_DEVICE);
        u32(c, &m->mode, 0, 07777);
        u32(c, &m->uid, 0, UINT32_MAX);
        u32(c, &m->gid, 0, UINT32_MAX);
        half(c, &m->size);
        i64(c, &m->mtime_ns);
        path(c, &m->name, named);
        path(c, &m->target, false);
}

static void end(struct codec *c, struct cay_box_end *m)
{
        u16(c, &m->kind, CAY_BOX_NONE + 1, CAY_BOX_KIND_COUNT - 1);
        u8(c, &m->code, CAY_CODE_COUNT - 1);
        i32(c, &m->sys, 0, 4095);
        str(c, &m->msg, 0, CAY_BOX_MSG_MAX);
        if (!is_good(c))
                return;
        if (m->kind == CAY_BOX_EXEC) {
                exec_end(c, &m->exec);
                return;
        }
        stat_fields(c, &m->file.stat, false);
        half(c, &m->file.bytes);
        half(c, &m->file.entries);
}

int cay_box_end_encode(const struct cay_box_end *m, void *mem, size_t size)
{
        struct cay_box_end copy = *m;
        struct codec c;

        codec_write(&c, mem, size < CAY_FRAME_END_MAX ? size : CAY_FRAME_END_MAX);
        end(&c, &copy);
        return wrote(&c, mem);
}

int cay_box_end_decode(const void *mem, size_t len, struct cay_box_end *ret)
{
        struct codec c;

        *ret = (struct cay_box_end){ 0 };
        codec_read(&c, mem, len);
        end(&c, ret);
        return was_read(&c);
}

int cay_box_entry_encode(const struct cay_box_stat *m, void *mem, size_t size)
{
        struct cay_bytes_writer head;
        struct cay_box_stat copy = *m;
        struct codec c;
        int len;

        if (size < 2)
                return -EMSGSIZE;
        codec_write(&c, (uint8_t *)mem + 2, size - 2);
        stat_fields(&c, &copy, true);
        len = wrote(&c, (uint8_t *)mem + 2);
        if (len < 0)
                return len;
        cay_writer_init(&head, mem, 2);
        cay_put_u16(&head, (uint16_t)len);
        return len + 2;
}

int cay_box_entry_decode(const void *mem, size_t len, struct cay_box_stat *ret)
{
        struct cay_bytes_reader head;
        struct codec c;
        uint16_t body;

        cay_reader_init(&head, mem, len);
        body = cay_get_u16(&head);
        if (!head.ok)
                return 0;
        if (body + 2u > CAY_BOX_ENTRY_MAX)
                return -EPROTO;
        if (len - 2 < body)
                return 0;
        codec_read(&c, (const uint8_t *)mem + 2, body);
        stat_fields(&c, ret, true);
        return was_read(&c) < 0 ? -EPROTO : body + 2;
}
