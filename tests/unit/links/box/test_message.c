/* SPDX-License-Identifier: Apache-2.0 */
/* Payload codecs: round trips, every cut and every surplus byte, every range from both sides. */
#include "unit/links/box/box_test.h"

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/error.h"
#include "links/box/message.h"

static uint8_t mem[CAY_FRAME_MAX + 16];

static struct cay_view view(const char *s)
{
        return (struct cay_view){ .ptr = s, .len = (uint32_t)strlen(s) };
}

static void assert_view(struct cay_view v, const char *s)
{
        assert_int_equal(v.len, strlen(s));
        assert_memory_equal(v.ptr, s, v.len);
}

static void put_u32(size_t at, uint32_t v)
{
        for (int i = 0; i < 4; i++)
                mem[at + (size_t)i] = (uint8_t)(v >> 8 * i);
}

static void put_u64(size_t at, uint64_t v)
{
        put_u32(at, (uint32_t)v);
        put_u32(at + 4, (uint32_t)(v >> 32));
}

/* Decodes from an exact-size heap block, so that the sanitizer sees one byte too far. */
#define DECODE(name, len, ret)                                                                               \
        ({                                                                                                   \
                uint8_t *exact_ = malloc((len) ? (len) : 1);                                                 \
                memcpy(exact_, mem, len);                                                                    \
                int r_ = cay_box_##name##_decode(exact_, len, ret);                                          \
                free(exact_);                                                                                \
                r_;                                                                                          \
        })

/* Every prefix and one byte more is refused; every buffer that is too small, too. */
#define CUTS(name, m, len)                                                                                   \
        do {                                                                                                 \
                struct cay_box_##name cut_;                                                                  \
                for (int i_ = 0; i_ < (len); i_++)                                                           \
                        assert_int_equal(DECODE(name, (size_t)i_, &cut_), -EPROTO);                          \
                mem[len] = 0;                                                                                \
                assert_int_equal(DECODE(name, (size_t)(len) + 1, &cut_), -EPROTO);                           \
        } while (0)

static void hello_and_welcome(void **state)
{
        struct cay_box_hello h = { .version = 1 }, h2;
        struct cay_box_welcome w = { .version = 1, .count = 3, .channels = { 9, 2, 7 } }, w2;
        int len;

        memset(h.secret, 0xa5, sizeof(h.secret));
        len = cay_box_hello_encode(&h, mem, sizeof(mem));
        assert_int_equal(len, 36);
        assert_int_equal(cay_box_hello_encode(&h, mem, 35), -EMSGSIZE);
        assert_int_equal(DECODE(hello, 36, &h2), 0);
        assert_memory_equal(&h, &h2, sizeof(h));
        CUTS(hello, &h, len);
        put_u32(0, 0);
        assert_int_equal(DECODE(hello, 36, &h2), -EPROTO);

        len = cay_box_welcome_encode(&w, mem, sizeof(mem));
        assert_int_equal(len, 20);
        assert_int_equal(DECODE(welcome, 20, &w2), 0);
        assert_int_equal(w2.count, 3);
        assert_int_equal(w2.channels[1], 2);
        CUTS(welcome, &w, len);
        put_u32(8, 7); /* twice */
        assert_int_equal(DECODE(welcome, 20, &w2), -EPROTO);
        put_u32(8, 0);
        assert_int_equal(DECODE(welcome, 20, &w2), -EPROTO);
        put_u32(8, 9);
        put_u32(4, UINT32_MAX);
        assert_int_equal(DECODE(welcome, 20, &w2), -EPROTO);
        w.channels[0] = 7;
        assert_int_equal(cay_box_welcome_encode(&w, mem, sizeof(mem)), -EINVAL);
        w.count = CAY_BOX_CHANNELS_MAX + 1;
        assert_int_equal(cay_box_welcome_encode(&w, mem, sizeof(mem)), -EINVAL);
        w.count = CAY_BOX_CHANNELS_MAX;
        for (uint32_t i = 0; i < w.count; i++)
                w.channels[i] = UINT32_MAX - i;
        len = cay_box_welcome_encode(&w, mem, sizeof(mem));
        assert_int_equal(len, 8 + 4 * 512);
        assert_int_equal(DECODE(welcome, (size_t)len, &w2), 0);
}

static void opened_resume_and_small_ones(void **state)
{
        struct cay_box_opened o = { .pid = 17, .in_got = 1ull << 40 }, o2;
        struct cay_box_resume s = { .out_got = 5, .err_got = INT64_MAX }, s2;
        struct cay_box_resize z = { .rows = 24, .cols = 65535 }, z2;
        enum cay_box_killed why;
        int signo;

        assert_int_equal(cay_box_opened_encode(&o, mem, sizeof(mem)), 16);
        assert_int_equal(DECODE(opened, 16, &o2), 0);
        assert_int_equal(o2.pid, 17);
        assert_int_equal(o2.in_got, 1ull << 40);
        CUTS(opened, &o, 16);
        put_u32(4, 1); /* reserved */
        assert_int_equal(DECODE(opened, 16, &o2), -EPROTO);
        put_u32(4, 0);
        put_u64(8, 1ull << 63);
        assert_int_equal(DECODE(opened, 16, &o2), -EPROTO);
        o.reserved = 1;
        assert_int_equal(cay_box_opened_encode(&o, mem, sizeof(mem)), -EINVAL);

        assert_int_equal(cay_box_resume_encode(&s, mem, sizeof(mem)), 16);
        assert_int_equal(DECODE(resume, 16, &s2), 0);
        assert_int_equal(s2.err_got, INT64_MAX);
        CUTS(resume, &s, 16);
        put_u64(0, UINT64_MAX);
        assert_int_equal(DECODE(resume, 16, &s2), -EPROTO);

        assert_int_equal(cay_box_resize_encode(&z, mem, sizeof(mem)), 4);
        assert_int_equal(DECODE(resize, 4, &z2), 0);
        assert_int_equal(z2.cols, 65535);
        CUTS(resize, &z, 4);

        assert_int_equal(cay_box_signal_encode(15, mem, sizeof(mem)), 4);
        assert_int_equal(DECODE(signal, 4, &signo), 0);
        assert_int_equal(signo, 15);
        assert_int_equal(cay_box_signal_encode(0, mem, sizeof(mem)), -EINVAL);
        assert_int_equal(cay_box_signal_encode(65, mem, sizeof(mem)), -EINVAL);
        assert_int_equal(cay_box_signal_encode(-9, mem, sizeof(mem)), -EINVAL);
        for (uint32_t v = 60; v < 70; v++) {
                put_u32(0, v);
                assert_int_equal(DECODE(signal, 4, &signo), v <= 64 ? 0 : -EPROTO);
        }
        assert_int_equal(DECODE(signal, 3, &signo), -EPROTO);
        assert_int_equal(DECODE(signal, 5, &signo), -EPROTO);

        assert_int_equal(cay_box_kill_encode(CAY_KILLED_ASKED, mem, sizeof(mem)), 4);
        assert_int_equal(DECODE(kill, 4, &why), 0);
        assert_int_equal(why, CAY_KILLED_ASKED);
        assert_int_equal(cay_box_kill_encode(CAY_KILLED_NOT, mem, sizeof(mem)), -EINVAL);
        assert_int_equal(cay_box_kill_encode(CAY_KILLED_COUNT, mem, sizeof(mem)), -EINVAL);
        put_u32(0, CAY_KILLED_COUNT);
        assert_int_equal(DECODE(kill, 4, &why), -EPROTO);
        put_u32(0, 0);
        assert_int_equal(DECODE(kill, 4, &why), -EPROTO);
}

static const char *const argv_hi[] = { "echo", "", "hi", NULL };
static const char *const env_hi[] = { "A=1", "B=", NULL };

static struct cay_box_open good_exec(void)
{
        return (struct cay_box_open){
                .kind = CAY_BOX_EXEC,
                .window = CAY_BOX_WINDOW,
                .exec = { .flags = CAY_BOX_TTY | CAY_BOX_CUT,
                          .uid = CAY_BOX_ID_DEFAULT,
                          .gid = 5,
                          .rows = 24,
                          .cols = 80,
                          .wall_ms = 60000,
                          .cpu_ms = CAY_BOX_TIME_MAX_MS,
                          .output_max_bytes = 1,
                          .file_max_bytes = INT64_MAX,
                          .files_max = 4096,
                          .cwd = view("/workspace") },
        };
}

static void exec_round_trip(void **state)
{
        struct cay_box_open m = good_exec(), back;
        struct cay_view strings;
        int len = cay_box_open_encode(&m, argv_hi, env_hi, mem, sizeof(mem));

        assert_true(len > 0);
        assert_int_equal(cay_box_open_decode(mem, (size_t)len, &back), 0);
        assert_int_equal(back.kind, CAY_BOX_EXEC);
        assert_int_equal(back.window, CAY_BOX_WINDOW);
        assert_int_equal(back.exec.flags, m.exec.flags);
        assert_int_equal(back.exec.uid, UINT32_MAX);
        assert_int_equal(back.exec.gid, 5);
        assert_int_equal(back.exec.rows, 24);
        assert_int_equal(back.exec.cols, 80);
        assert_int_equal(back.exec.wall_ms, 60000);
        assert_int_equal(back.exec.cpu_ms, CAY_BOX_TIME_MAX_MS);
        assert_int_equal(back.exec.file_max_bytes, INT64_MAX);
        assert_int_equal(back.exec.files_max, 4096);
        assert_view(back.exec.cwd, "/workspace");
        assert_int_equal(back.exec.argc, 3);
        assert_int_equal(back.exec.envc, 2);
        strings = back.exec.args;
        assert_view(cay_box_next_string(&strings), "echo");
        assert_view(cay_box_next_string(&strings), "");
        assert_view(cay_box_next_string(&strings), "hi");
        assert_view(cay_box_next_string(&strings), "A=1");
        assert_view(cay_box_next_string(&strings), "B=");
        assert_int_equal(strings.len, 0);
        assert_view(cay_box_next_string(&strings), ""); /* none left */

        for (int i = 0; i < len; i++)
                assert_int_equal(cay_box_open_encode(&m, argv_hi, env_hi, mem, (size_t)i), -EMSGSIZE);
        assert_int_equal(cay_box_open_encode(&m, argv_hi, env_hi, mem, (size_t)len), len);
        CUTS(open, &m, len);
}

/* Changes one field, expects both sides to refuse it. `at` is the field's place in the payload. */
#define REFUSED_EXEC(field, bad, at, put)                                                                    \
        do {                                                                                                 \
                struct cay_box_open m_ = good_exec(), back_;                                                 \
                int len_ = cay_box_open_encode(&m_, argv_hi, env_hi, mem, sizeof(mem));                      \
                put(at, bad);                                                                                \
                assert_int_equal(DECODE(open, (size_t)len_, &back_), -EPROTO);                               \
                m_.field = bad;                                                                              \
                assert_int_equal(cay_box_open_encode(&m_, argv_hi, env_hi, mem, sizeof(mem)), -EINVAL);      \
        } while (0)

static void exec_refusals(void **state)
{
        static const char *const none[] = { NULL };
        static const char *many[CAY_BOX_ARGS_MAX + 2];
        struct cay_box_open m = good_exec(), back;
        char long_path[CAY_BOX_PATH_MAX + 1];
        char *huge;
        int len;

        REFUSED_EXEC(window, CAY_BOX_WINDOW_MIN - 1, 2, put_u32);
        REFUSED_EXEC(window, CAY_BOX_WINDOW_MAX + 1, 2, put_u32);
        REFUSED_EXEC(exec.flags, 32u, 6, put_u32);
        REFUSED_EXEC(exec.flags, 1u << 31, 6, put_u32);
        REFUSED_EXEC(exec.wall_ms, CAY_BOX_TIME_MAX_MS + 1, 22, put_u64);
        REFUSED_EXEC(exec.cpu_ms, UINT64_MAX, 30, put_u64);
        REFUSED_EXEC(exec.output_max_bytes, 1ull << 63, 38, put_u64);
        REFUSED_EXEC(exec.file_max_bytes, 1ull << 63, 46, put_u64);
        REFUSED_EXEC(exec.files_max, 1u << 31, 54, put_u32);

        /* cwd: NUL inside, too long */
        len = cay_box_open_encode(&m, argv_hi, env_hi, mem, sizeof(mem));
        mem[62 + 3] = 0;
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        m.exec.cwd = (struct cay_view){ .ptr = "a\0b", .len = 3 };
        assert_int_equal(cay_box_open_encode(&m, argv_hi, env_hi, mem, sizeof(mem)), -EINVAL);
        memset(long_path, 'p', sizeof(long_path));
        m.exec.cwd = (struct cay_view){ .ptr = long_path, .len = CAY_BOX_PATH_MAX };
        assert_int_equal(cay_box_open_encode(&m, argv_hi, env_hi, mem, sizeof(mem)), -EINVAL);
        m.exec.cwd.len--;
        len = cay_box_open_encode(&m, argv_hi, env_hi, mem, sizeof(mem));
        assert_int_equal(cay_box_open_decode(mem, (size_t)len, &back), 0);
        put_u32(58, CAY_BOX_PATH_MAX);
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);

        /* counts: none, more than are there, too many */
        m = good_exec();
        assert_int_equal(cay_box_open_encode(&m, none, env_hi, mem, sizeof(mem)), -EINVAL);
        assert_int_equal(cay_box_open_encode(&m, NULL, env_hi, mem, sizeof(mem)), -EINVAL);
        assert_true(cay_box_open_encode(&m, argv_hi, NULL, mem, sizeof(mem)) > 0);
        len = cay_box_open_encode(&m, argv_hi, env_hi, mem, sizeof(mem));
        put_u32(72, 0);
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        put_u32(72, 4);
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        put_u32(72, 2);
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        put_u32(72, UINT32_MAX);
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        put_u32(72, 3);
        put_u32(76, UINT32_MAX - 2); /* the sum would wrap */
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        for (size_t i = 0; i <= CAY_BOX_ARGS_MAX; i++)
                many[i] = "x";
        assert_int_equal(cay_box_open_encode(&m, many, NULL, mem, sizeof(mem)), -EINVAL);
        assert_int_equal(cay_box_open_encode(&m, argv_hi, many, mem, sizeof(mem)), -EINVAL);
        many[CAY_BOX_ARGS_MAX] = NULL;
        len = cay_box_open_encode(&m, many, many, mem, sizeof(mem));
        assert_int_equal(cay_box_open_decode(mem, (size_t)len, &back), 0);

        /* a string that fits no frame, however large the memory */
        huge = malloc(CAY_FRAME_MAX);
        memset(huge, 'h', CAY_FRAME_MAX);
        huge[CAY_FRAME_MAX - 1] = '\0';
        assert_int_equal(cay_box_open_encode(&m, (const char *const[]){ huge, NULL }, NULL, mem, sizeof(mem)),
                         -EMSGSIZE);
        free(huge);
        assert_int_equal(DECODE(open, CAY_FRAME_MAX + 1, &back), -EPROTO);
}

static struct cay_box_open good_file(uint16_t kind)
{
        struct cay_box_open m = { .kind = kind, .window = CAY_BOX_WINDOW_MIN };

        if (cay_box_has_port(kind)) {
                m.connect.port = 3000;
                return m;
        }
        m.file = (struct cay_box_file){ .flags = CAY_BOX_PARENTS | CAY_BOX_APPEND,
                                        .uid = 1,
                                        .gid = 2,
                                        .mode = 07777,
                                        .offset = 3,
                                        .max_bytes = 4,
                                        .max_entries = 5,
                                        .path = view("/tmp/a") };
        if (kind == CAY_BOX_MOVE || kind == CAY_BOX_SYMLINK || kind == CAY_BOX_SEARCH ||
            kind == CAY_BOX_LIST || kind == CAY_BOX_COMPARE)
                m.file.path2 = view("b");
        return m;
}

static void every_kind_round_trips(void **state)
{
        for (uint16_t kind = CAY_BOX_EXEC + 1; kind < CAY_BOX_KIND_COUNT; kind++) {
                struct cay_box_open m = good_file(kind), back;
                int len = cay_box_open_encode(&m, NULL, NULL, mem, sizeof(mem));

                assert_true(len > 0);
                assert_int_equal(cay_box_open_decode(mem, (size_t)len, &back), 0);
                assert_int_equal(back.kind, kind);
                if (cay_box_has_port(kind)) {
                        assert_int_equal(back.connect.port, 3000);
                } else {
                        assert_int_equal(back.file.mode, 07777);
                        assert_int_equal(back.file.offset, 3);
                        assert_int_equal(back.file.max_entries, 5);
                        assert_view(back.file.path, "/tmp/a");
                        assert_int_equal(back.file.path2.len, m.file.path2.len);
                }
                CUTS(open, &m, len);
        }
}

#define REFUSED_FILE(of_kind, field, bad)                                                                    \
        do {                                                                                                 \
                struct cay_box_open m_ = good_file(of_kind);                                                 \
                m_.field = bad;                                                                              \
                assert_int_equal(cay_box_open_encode(&m_, NULL, NULL, mem, sizeof(mem)), -EINVAL);           \
        } while (0)

static void attributes(void **state)
{
        struct cay_box_open m = good_file(CAY_BOX_WRITE), back;
        int len;

        (void)state;
        m.file.flags = CAY_BOX_ATTRIBUTES | CAY_BOX_TRUNCATE;
        m.file.path2 = view("name\tvalue\n");
        len = cay_box_open_encode(&m, NULL, NULL, mem, sizeof(mem));
        assert_true(len > 0);
        assert_int_equal(DECODE(open, (size_t)len, &back), 0);
        assert_int_equal(back.file.path2.len, strlen("name\tvalue\n"));
        m.file.path2 = view(""); /* none */
        assert_true(cay_box_open_encode(&m, NULL, NULL, mem, sizeof(mem)) > 0);
}

static void file_refusals(void **state)
{
        struct cay_box_open m = good_file(CAY_BOX_WRITE), back;
        int len;

        REFUSED_FILE(CAY_BOX_WRITE, file.flags, 512);
        REFUSED_FILE(CAY_BOX_WRITE, file.mode, 010000);
        REFUSED_FILE(CAY_BOX_WRITE, file.offset, 1ull << 63);
        REFUSED_FILE(CAY_BOX_WRITE, file.max_bytes, UINT64_MAX);
        REFUSED_FILE(CAY_BOX_LIST, file.max_entries, UINT64_MAX);
        REFUSED_FILE(CAY_BOX_STAT, file.path, view(""));
        REFUSED_FILE(CAY_BOX_STAT, file.path2, view("x"));
        REFUSED_FILE(CAY_BOX_WRITE, file.path2, view("name\tvalue\n"));
        REFUSED_FILE(CAY_BOX_MOVE, file.path2, view(""));
        REFUSED_FILE(CAY_BOX_SYMLINK, file.path2, view(""));
        REFUSED_FILE(CAY_BOX_SEARCH, file.path2, view(""));
        REFUSED_FILE(CAY_BOX_COMPARE, file.path2, view(""));
        REFUSED_FILE(CAY_BOX_CONNECT, connect.port, 0);
        REFUSED_FILE(CAY_BOX_READ, kind, CAY_BOX_NONE);
        REFUSED_FILE(CAY_BOX_READ, kind, CAY_BOX_KIND_COUNT);

        len = cay_box_open_encode(&m, NULL, NULL, mem, sizeof(mem));
        put_u32(6, 512); /* flags */
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        put_u32(6, 0);
        put_u32(18, 010000); /* mode */
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        put_u32(18, 0);
        for (size_t at = 22; at <= 38; at += 8) { /* offset, max_bytes, max_entries */
                put_u64(at, 1ull << 63);
                assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
                put_u64(at, 0);
        }
        assert_int_equal(DECODE(open, (size_t)len, &back), 0);
        mem[0] = CAY_BOX_MOVE; /* now path2 is missing */
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
        mem[0] = CAY_BOX_KIND_COUNT;
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);

        m = good_file(CAY_BOX_CHANGES);
        m.file.path = view("");
        len = cay_box_open_encode(&m, NULL, NULL, mem, sizeof(mem));
        assert_int_equal(cay_box_open_decode(mem, (size_t)len, &back), 0);
        m = good_file(CAY_BOX_PROCESSES);
        m.file.path = view("");
        len = cay_box_open_encode(&m, NULL, NULL, mem, sizeof(mem));
        assert_int_equal(cay_box_open_decode(mem, (size_t)len, &back), 0);
        mem[0] = CAY_BOX_STAT; /* and here path */
        assert_int_equal(DECODE(open, (size_t)len, &back), -EPROTO);
}

static struct cay_box_end good_end(void)
{
        struct cay_box_end m = { .kind = CAY_BOX_EXEC,
                                 .msg = view("no such program"),
                                 .sys = 2,
                                 .code = CAY_NOT_FOUND,
                                 .exec = { .exit_code = 255,
                                           .killed = CAY_KILLED_OUTPUT,
                                           .wall_us = 1,
                                           .user_us = 2,
                                           .sys_us = 3,
                                           .cpu_us = 4,
                                           .out_bytes = 5,
                                           .err_bytes = 6,
                                           .cut_bytes = 7,
                                           .disk_full = 3,
                                           .left = 8,
                                           .last_denied = -1,
                                           .denied_count = CAY_BOX_DENIED_MAX } };

        for (uint32_t i = 0; i < CAY_BOX_DENIED_MAX; i++)
                m.exec.denied[i] = (struct cay_box_denied){ .nr = i, .count = i + 1 };
        return m;
}

static void exec_end_round_trip(void **state)
{
        struct cay_box_end m = good_end(), back;
        uint8_t again[512];
        int len = cay_box_end_encode(&m, mem, sizeof(mem));

        assert_true(len > 0);
        assert_int_equal(cay_box_end_decode(mem, (size_t)len, &back), 0);
        assert_view(back.msg, "no such program");
        assert_int_equal(back.code, CAY_NOT_FOUND);
        assert_int_equal(back.sys, 2);
        assert_int_equal(back.exec.exit_code, 255);
        assert_int_equal(back.exec.killed, CAY_KILLED_OUTPUT);
        assert_int_equal(back.exec.cpu_us, 4);
        assert_int_equal(back.exec.cut_bytes, 7);
        assert_int_equal(back.exec.disk_full, 3);
        assert_int_equal(back.exec.left, 8);
        assert_int_equal(back.exec.last_denied, -1);
        assert_int_equal(back.exec.denied[15].nr, 15);
        assert_int_equal(back.exec.denied[15].count, 16);
        assert_int_equal(cay_box_end_encode(&back, again, sizeof(again)), len);
        assert_memory_equal(again, mem, (size_t)len);
        CUTS(end, &m, len);
        m.exec.exit_code = -1;
        m.exec.signal = 9;
        len = cay_box_end_encode(&m, mem, sizeof(mem));
        assert_int_equal(cay_box_end_decode(mem, (size_t)len, &back), 0);
        assert_int_equal(back.exec.exit_code, -1);
        assert_int_equal(back.exec.signal, 9);
}

/* The message is 15 bytes: exec's fields begin at 26. */
#define REFUSED_END(field, bad, at, put)                                                                     \
        do {                                                                                                 \
                struct cay_box_end m_ = good_end(), back_;                                                   \
                int len_ = cay_box_end_encode(&m_, mem, sizeof(mem));                                        \
                put(at, (uint64_t)(bad));                                                                    \
                assert_int_equal(DECODE(end, (size_t)len_, &back_), -EPROTO);                                \
                m_.field = bad;                                                                              \
                assert_int_equal(cay_box_end_encode(&m_, mem, sizeof(mem)), -EINVAL);                        \
        } while (0)

static void put_u8(size_t at, uint64_t v)
{
        mem[at] = (uint8_t)v;
}

static void put_i32(size_t at, uint64_t v)
{
        put_u32(at, (uint32_t)v);
}

static void end_refusals(void **state)
{
        static char text[CAY_BOX_MSG_MAX + 1];
        struct cay_box_end m = good_end(), back;
        int len;

        REFUSED_END(kind, 0, 0, put_u8);
        REFUSED_END(kind, CAY_BOX_KIND_COUNT, 0, put_u8);
        REFUSED_END(code, CAY_CODE_COUNT, 2, put_u8);
        REFUSED_END(sys, -1, 3, put_i32);
        REFUSED_END(sys, 4096, 3, put_i32);
        REFUSED_END(exec.exit_code, -2, 26, put_i32);
        REFUSED_END(exec.exit_code, 256, 26, put_i32);
        REFUSED_END(exec.signal, 9, 30, put_i32); /* with an exit code */
        REFUSED_END(exec.signal, -1, 30, put_i32);
        REFUSED_END(exec.killed, CAY_KILLED_COUNT, 34, put_i32);
        REFUSED_END(exec.wall_us, 1ull << 63, 38, put_u64);
        REFUSED_END(exec.user_us, 1ull << 63, 46, put_u64);
        REFUSED_END(exec.sys_us, 1ull << 63, 54, put_u64);
        REFUSED_END(exec.cpu_us, 1ull << 63, 62, put_u64);
        REFUSED_END(exec.out_bytes, 1ull << 63, 70, put_u64);
        REFUSED_END(exec.err_bytes, 1ull << 63, 78, put_u64);
        REFUSED_END(exec.cut_bytes, 1ull << 63, 86, put_u64);
        REFUSED_END(exec.disk_full, 0x800, 94, put_i32);
        REFUSED_END(exec.memory_peak_bytes, 1ull << 63, 98, put_u64);
        REFUSED_END(exec.left, 1u << 31, 110, put_i32);
        REFUSED_END(exec.last_denied, -2, 114, put_i32);
        REFUSED_END(exec.denied_count, CAY_BOX_DENIED_MAX + 1, 118, put_i32);
        REFUSED_END(exec.denied[0].nr, 1u << 31, 122, put_i32);
        REFUSED_END(exec.denied[15].count, 0, 122 + 15 * 8 + 4, put_i32);

        m.exec.exit_code = -1;
        m.exec.signal = 65;
        assert_int_equal(cay_box_end_encode(&m, mem, sizeof(mem)), -EINVAL);
        m = good_end();
        memset(text, 't', sizeof(text));
        m.msg = (struct cay_view){ .ptr = text, .len = CAY_BOX_MSG_MAX + 1 };
        assert_int_equal(cay_box_end_encode(&m, mem, sizeof(mem)), -EINVAL);
        m.msg.len--;
        len = cay_box_end_encode(&m, mem, sizeof(mem));
        assert_int_equal(cay_box_end_decode(mem, (size_t)len, &back), 0);
        put_u32(7, CAY_BOX_MSG_MAX + 1);
        assert_int_equal(DECODE(end, (size_t)len, &back), -EPROTO);
}

static struct cay_box_stat good_stat(void)
{
        return (struct cay_box_stat){ .type = CAY_FILE_SYMLINK,
                                      .mode = 0777,
                                      .uid = 1001,
                                      .gid = UINT32_MAX,
                                      .size = 9,
                                      .mtime_ns = -5,
                                      .name = view("link"),
                                      .target = view("../elsewhere") };
}

static void file_end_round_trip(void **state)
{
        static char path[CAY_BOX_PATH_MAX], text[CAY_BOX_MSG_MAX];
        struct cay_box_end m = { .kind = CAY_BOX_STAT }, back;
        int len;

        m.file.stat = good_stat();
        m.file.bytes = 10;
        m.file.entries = 11;
        len = cay_box_end_encode(&m, mem, sizeof(mem));
        assert_int_equal(cay_box_end_decode(mem, (size_t)len, &back), 0);
        assert_int_equal(back.file.stat.mtime_ns, -5);
        assert_view(back.file.stat.name, "link");
        assert_view(back.file.stat.target, "../elsewhere");
        assert_int_equal(back.file.bytes, 10);
        assert_int_equal(back.file.entries, 11);
        CUTS(end, &m, len);

        m.file.stat.type = CAY_FILE_DEVICE + 1;
        assert_int_equal(cay_box_end_encode(&m, mem, sizeof(mem)), -EINVAL);
        m.file.stat.type = 0;
        m.file.stat.mode = 0100644;
        assert_int_equal(cay_box_end_encode(&m, mem, sizeof(mem)), -EINVAL);
        m.file.stat.mode = 0;
        m.file.bytes = UINT64_MAX;
        assert_int_equal(cay_box_end_encode(&m, mem, sizeof(mem)), -EINVAL);
        m.file.bytes = 0;
        m.file.stat.name = view(""); /* not needed here */
        assert_true(cay_box_end_encode(&m, mem, sizeof(mem)) > 0);

        /* The longest there is fits the frame. */
        memset(path, 'p', sizeof(path));
        memset(text, 't', sizeof(text));
        m.msg = (struct cay_view){ .ptr = text, .len = sizeof(text) };
        m.file.stat.name = m.file.stat.target = (struct cay_view){ .ptr = path, .len = CAY_BOX_PATH_MAX - 1 };
        len = cay_box_end_encode(&m, mem, sizeof(mem));
        assert_true(len > 0 && len <= (int)CAY_FRAME_END_MAX);
        assert_int_equal(DECODE(end, (size_t)len, &back), 0);
}

static void entries_of_a_list(void **state)
{
        static char path[CAY_BOX_PATH_MAX];
        struct cay_box_stat m = good_stat(), back;
        int len = cay_box_entry_encode(&m, mem, sizeof(mem)), second;

        assert_true(len > 2);
        assert_int_equal(mem[0] + 2, len);
        for (int i = 0; i < len; i++) {
                uint8_t *exact = malloc((size_t)i + 1);

                memcpy(exact, mem, (size_t)i);
                assert_int_equal(cay_box_entry_decode(exact, (size_t)i, &back), 0);
                free(exact);
                assert_true(cay_box_entry_encode(&m, mem, (size_t)i) == -EMSGSIZE);
        }
        cay_box_entry_encode(&m, mem, sizeof(mem));
        m.name = view("second");
        second = cay_box_entry_encode(&m, mem + len, sizeof(mem) - (size_t)len);
        assert_int_equal(cay_box_entry_decode(mem, (size_t)(len + second), &back), len);
        assert_view(back.name, "link");
        assert_int_equal(cay_box_entry_decode(mem + len, (size_t)second, &back), second);
        assert_view(back.name, "second");

        m.name = view("");
        assert_int_equal(cay_box_entry_encode(&m, mem, sizeof(mem)), -EINVAL);
        m.name = (struct cay_view){ .ptr = "a\0b", .len = 3 };
        assert_int_equal(cay_box_entry_encode(&m, mem, sizeof(mem)), -EINVAL);
        memset(path, 'p', sizeof(path));
        m.name = m.target = (struct cay_view){ .ptr = path, .len = CAY_BOX_PATH_MAX - 1 };
        len = cay_box_entry_encode(&m, mem, sizeof(mem));
        assert_true(len > 0 && len <= (int)CAY_BOX_ENTRY_MAX);
        assert_int_equal(cay_box_entry_decode(mem, (size_t)len, &back), len);

        mem[0]--; /* shorter than what is inside */
        assert_int_equal(cay_box_entry_decode(mem, (size_t)len, &back), -EPROTO);
        mem[0] += 2; /* longer */
        assert_int_equal(cay_box_entry_decode(mem, (size_t)len + 1, &back), -EPROTO);
        mem[0] = mem[1] = 0xff; /* more than any entry: no waiting for it */
        assert_int_equal(cay_box_entry_decode(mem, 2, &back), -EPROTO);
        mem[0] = mem[1] = 0;
        assert_int_equal(cay_box_entry_decode(mem, 2, &back), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(hello_and_welcome),      cmocka_unit_test(opened_resume_and_small_ones),
                cmocka_unit_test(exec_round_trip),        cmocka_unit_test(exec_refusals),
                cmocka_unit_test(every_kind_round_trips), cmocka_unit_test(attributes),
                cmocka_unit_test(file_refusals),          cmocka_unit_test(exec_end_round_trip),
                cmocka_unit_test(end_refusals),           cmocka_unit_test(file_end_round_trip),
                cmocka_unit_test(entries_of_a_list),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
