/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames and payloads as init and the front decode them. The first byte says which side sends; the rest is a
 * stream of frames, each decoded header and payload. Whatever is accepted must encode to the very bytes that
 * it came from.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/must.h"
#include "links/box/message.h"

static uint8_t again[CAY_FRAME_MAX];

static void same(int len, const uint8_t *payload, size_t payload_len)
{
        must(len >= 0 && (size_t)len == payload_len && memcmp(again, payload, payload_len) == 0);
}

/* Views must lie in the payload and hold no NUL. */
static void check_view(struct cay_view v, const uint8_t *payload, size_t len, size_t max)
{
        must(v.len <= max);
        if (v.len > 0) {
                must((const uint8_t *)v.ptr >= payload && (const uint8_t *)v.ptr + v.len <= payload + len);
                must(!memchr(v.ptr, 0, v.len));
        }
}

static void open_again(const struct cay_box_open *m, const uint8_t *payload, size_t len)
{
        size_t count = m->kind == CAY_BOX_EXEC ? (size_t)m->exec.argc + m->exec.envc : 0;
        const char **strings = calloc(count + 2, sizeof(*strings)), **argv = strings, **env;
        struct cay_view left = m->exec.args;

        must(strings);
        env = strings + m->exec.argc + 1;
        if (m->kind != CAY_BOX_EXEC) {
                same(cay_box_open_encode(m, NULL, NULL, again, sizeof(again)), payload, len);
                free(strings);
                return;
        }
        must(m->exec.argc >= 1 && m->exec.argc <= CAY_BOX_ARGS_MAX && m->exec.envc <= CAY_BOX_ARGS_MAX);
        check_view(m->exec.cwd, payload, len, CAY_BOX_PATH_MAX - 1);
        for (size_t i = 0; i < count; i++) {
                struct cay_view v = cay_box_next_string(&left);

                check_view(v, payload, len, len);
                *(i < m->exec.argc ? &argv[i] : &env[i - m->exec.argc]) = strndup(v.ptr, v.len);
        }
        must(left.len == 0);
        same(cay_box_open_encode(m, argv, env, again, sizeof(again)), payload, len);
        for (size_t i = 0; i < count + 1; i++)
                free((char *)strings[i]);
        free(strings);
}

static void on_open(const uint8_t *payload, size_t len)
{
        struct cay_box_open m;

        if (cay_box_open_decode(payload, len, &m) < 0)
                return;
        must(m.kind > CAY_BOX_NONE && m.kind < CAY_BOX_KIND_COUNT);
        must(m.window >= CAY_BOX_WINDOW_MIN && m.window <= CAY_BOX_WINDOW_MAX);
        if (m.kind != CAY_BOX_EXEC && !cay_box_has_port(m.kind)) {
                check_view(m.file.path, payload, len, CAY_BOX_PATH_MAX - 1);
                check_view(m.file.path2, payload, len, CAY_BOX_PATH_MAX - 1);
        }
        open_again(&m, payload, len);
}

static void on_end(const uint8_t *payload, size_t len)
{
        struct cay_box_end m;

        if (cay_box_end_decode(payload, len, &m) < 0)
                return;
        check_view(m.msg, payload, len, CAY_BOX_MSG_MAX);
        if (m.kind == CAY_BOX_EXEC) {
                must(m.exec.denied_count <= CAY_BOX_DENIED_MAX);
        } else {
                check_view(m.file.stat.name, payload, len, CAY_BOX_PATH_MAX - 1);
                check_view(m.file.stat.target, payload, len, CAY_BOX_PATH_MAX - 1);
        }
        same(cay_box_end_encode(&m, again, sizeof(again)), payload, len);
}

/* The OUT stream of a LIST, as its reader takes it apart. */
static void on_entries(const uint8_t *bytes, size_t len)
{
        while (len > 0) {
                struct cay_box_stat m;
                int used = cay_box_entry_decode(bytes, len, &m);

                if (used <= 0) {
                        must(used == 0 || used == -EPROTO);
                        return;
                }
                must((size_t)used <= len && used <= (int)CAY_BOX_ENTRY_MAX && m.name.len > 0);
                same(cay_box_entry_encode(&m, again, sizeof(again)), bytes, (size_t)used);
                bytes += used;
                len -= (size_t)used;
        }
}

#define ROUND(name)                                                                                          \
        do {                                                                                                 \
                struct cay_box_##name m_;                                                                    \
                if (cay_box_##name##_decode(payload, len, &m_) == 0)                                         \
                        same(cay_box_##name##_encode(&m_, again, sizeof(again)), payload, len);              \
        } while (0)

static void on_payload(const struct cay_frame *f, const uint8_t *payload)
{
        enum cay_box_killed why;
        size_t len = f->len;
        int signo;

        switch (f->type) {
        case CAY_FRAME_HELLO:
                ROUND(hello);
                break;
        case CAY_FRAME_WELCOME:
                ROUND(welcome);
                break;
        case CAY_FRAME_OPEN:
                on_open(payload, len);
                break;
        case CAY_FRAME_OPENED:
                ROUND(opened);
                break;
        case CAY_FRAME_RESUME:
                ROUND(resume);
                break;
        case CAY_FRAME_END:
                on_end(payload, len);
                break;
        case CAY_FRAME_SIGNAL:
                if (cay_box_signal_decode(payload, len, &signo) == 0)
                        same(cay_box_signal_encode(signo, again, sizeof(again)), payload, len);
                break;
        case CAY_FRAME_KILL:
                if (cay_box_kill_decode(payload, len, &why) == 0)
                        same(cay_box_kill_encode(why, again, sizeof(again)), payload, len);
                break;
        case CAY_FRAME_RESIZE:
                ROUND(resize);
                break;
        case CAY_FRAME_DATA:
                on_entries(payload, len);
                break;
        default:
                must(f->type > CAY_FRAME_NONE && f->type < CAY_FRAME_TYPE_COUNT);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        enum cay_frame_side from;

        if (size == 0)
                return 0;
        from = data[0] & 1 ? CAY_SIDE_INIT : CAY_SIDE_FRONT;
        data++;
        size--;
        while (size >= CAY_FRAME_HEADER) {
                uint8_t header[CAY_FRAME_HEADER], *payload;
                struct cay_frame f;

                if (cay_frame_decode(data, from, &f) < 0)
                        return 0;
                must(f.len <= CAY_FRAME_MAX);
                cay_frame_encode(&f, header);
                must(memcmp(header, data, sizeof(header)) == 0);
                data += CAY_FRAME_HEADER;
                size -= CAY_FRAME_HEADER;
                if (size < f.len)
                        return 0;
                /* Of exact size, so that the sanitizer sees one byte too far. */
                payload = malloc(f.len ? f.len : 1);
                must(payload);
                memcpy(payload, data, f.len);
                on_payload(&f, payload);
                free(payload);
                data += f.len;
                size -= f.len;
        }
        return 0;
}
