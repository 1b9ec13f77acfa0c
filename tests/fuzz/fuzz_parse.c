/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parsers and writers of base under any bytes: numbers, UTF-8, the flat reader, the JSON writer. Beyond
 * "does not crash" it checks what the headers promise: outputs only on success, whole characters, balanced
 * and valid output.
 */

#include <errno.h>
#include <stdint.h>

#include "foundation/base/base64.h"
#include "foundation/base/bytes.h"
#include "foundation/base/error.h"
#include "foundation/base/id.h"
#include "foundation/base/json_out.h"
#include "foundation/base/parse.h"
#include "foundation/base/path.h"
#include "foundation/base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void fuzz_numbers(const char *s)
{
        static int (*const parsers[])(const char *, uint64_t *) = {
                cay_parse_u64,
                cay_parse_size,
                cay_parse_duration,
                cay_parse_milli,
        };

        for (size_t i = 0; i < CAY_COUNT(parsers); i++) {
                const uint64_t untouched = UINT64_C(0xa5a5a5a5a5a5a5a5);
                uint64_t v = untouched, again;
                char text[32];
                int r = parsers[i](s, &v);

                HOLDS(r == 0 || r == -EINVAL || r == -ERANGE);
                HOLDS(r == 0 || v == untouched);
                if (r < 0)
                        continue;
                /* Whatever number came out is one that plain digits can say. */
                snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
                HOLDS(cay_parse_u64(text, &again) == 0 && again == v);
                HOLDS(s[0] >= '0' && s[0] <= '9');
        }
}

static void fuzz_utf8(const uint8_t *data, size_t size)
{
        size_t at = 0, cut = cay_utf8_cut(data, size);

        HOLDS(cut <= size && size - cut <= 3);
        while (at < size) {
                size_t n = cay_utf8_next(data + at, size - at);

                HOLDS(n <= 4 && n <= size - at);
                if (n == 0)
                        break;
                at += n;
        }
        HOLDS((at == size) == cay_utf8_valid(data, size));
        HOLDS(at < size || cut == size);
        if (at < size && at == cut)
                HOLDS(cay_utf8_valid(data, cut));
}

static void fuzz_error(const char *s)
{
        struct cay_error err = { 0 };

        cay_fail_sys(&err, CAY_INVALID, -ENOENT, "'%s'", s);
        cay_wrap(&err, "%s", s);
        HOLDS(strnlen(err.msg, sizeof(err.msg)) < sizeof(err.msg));
        if (cay_utf8_valid(s, strlen(s)))
                HOLDS(cay_utf8_valid(err.msg, strlen(err.msg)));
}

static void fuzz_names(const char *s)
{
        if (cay_id_is_made(s))
                HOLDS(cay_id_is_valid(s));
        if (cay_id_is_valid(s))
                HOLDS(cay_path_is_name(s) && cay_path_is_inside(s) && strlen(s) <= CAY_NAME_MAX);
        if (cay_path_is_name(s))
                HOLDS(cay_path_base(s) == s);
        HOLDS(!strchr(cay_path_base(s), '/'));
}

/* The first bytes say what to read; whatever comes out lies inside the input. */
static void fuzz_reader(const uint8_t *data, size_t size)
{
        struct cay_bytes_reader r;
        struct cay_view v;
        bool was_ok = true;

        cay_reader_init(&r, data, size);
        for (size_t i = 0; i < size && i < 64; i++) {
                const uint8_t *before = r.at, *raw;

                switch (data[i] % 6) {
                case 0:
                        cay_get_u8(&r);
                        break;
                case 1:
                        cay_get_u16(&r);
                        break;
                case 2:
                        cay_get_u32(&r);
                        break;
                case 3:
                        cay_get_u64(&r);
                        break;
                case 4:
                        v = cay_get_str(&r, data[i]);
                        HOLDS(v.len <= data[i] && v.ptr && !memchr(v.ptr, '\0', v.len));
                        break;
                default:
                        raw = cay_get_raw(&r, data[i]);
                        HOLDS(r.ok == (raw != NULL));
                        break;
                }
                HOLDS(was_ok || !r.ok); /* failure sticks */
                HOLDS(was_ok || r.at == before);
                HOLDS(r.at >= before && r.at <= r.end);
                was_ok = r.ok;
        }
        HOLDS(cay_reader_is_done(&r) == (r.ok && r.at == data + size));
}

/* A reader of JSON that only knows form: enough to see that the writer's output is one whole value. */
static const char *skip_json(const char *s, const char *end, unsigned depth)
{
        const char close = *s == '{' ? '}' : ']';
        bool in_object = *s == '{';

        HOLDS(s < end && depth <= CAY_JSON_DEPTH_MAX);
        if (*s == '"') {
                for (s++; s < end && *s != '"'; s++) {
                        HOLDS((uint8_t)*s >= 0x20);
                        if (*s == '\\') {
                                s++;
                                HOLDS(s < end && strchr("\"\\bfnrtu", *s));
                        }
                }
                HOLDS(s < end);
                return s + 1;
        }
        if (*s != '{' && *s != '[') {
                size_t n = strspn(s, "-0123456789truefalsn");

                HOLDS(n > 0);
                return s + n;
        }
        s++;
        if (*s == close)
                return s + 1;
        for (;;) {
                if (in_object) {
                        HOLDS(*s == '"');
                        s = skip_json(s, end, depth + 1);
                        HOLDS(*s == ':');
                        s++;
                }
                s = skip_json(s, end, depth + 1);
                if (*s == close)
                        return s + 1;
                HOLDS(*s == ',');
                s++;
        }
}

/* The input is a script of calls, right or wrong; text comes from the input too. */
static void fuzz_json(const uint8_t *data, size_t size, size_t max)
{
        cay_auto_buf struct cay_buf b;
        struct cay_json j;
        const char *s;
        char key[8];
        int r;

        cay_buf_init(&b, max);
        cay_json_init(&j, &b);
        for (size_t i = 0; i < size; i++) {
                size_t len = data[i] / 16 < size - i ? data[i] / 16 : size - i;

                switch (data[i] % 16) {
                case 0:
                case 1:
                        cay_json_begin_object(&j);
                        break;
                case 2:
                        cay_json_begin_array(&j);
                        break;
                case 3:
                case 4:
                        cay_json_end_object(&j);
                        break;
                case 5:
                        cay_json_end_array(&j);
                        break;
                case 6:
                case 7:
                case 8:
                        snprintf(key, sizeof(key), "%.*s", (int)(len < 7 ? len : 7), (const char *)data + i);
                        cay_json_key(&j, key);
                        break;
                case 9:
                        cay_json_u64(&j, (uint64_t)data[i] << 56 | i);
                        break;
                case 10:
                        cay_json_i64(&j, INT64_MIN + (int64_t)i);
                        break;
                case 11:
                        cay_json_bool(&j, i % 2);
                        break;
                case 12:
                        cay_json_null(&j);
                        break;
                default:
                        cay_json_string(&j, (const char *)data + i, len);
                        i += len;
                        break;
                }
        }
        /* Half of the inputs are brought to a proper end, so that whole documents are met often. */
        while (size % 2 == 0 && j.failed == 0 && j.depth > 0) {
                if (j.has_key)
                        cay_json_null(&j);
                else if (j.is_object & 1)
                        cay_json_end_object(&j);
                else
                        cay_json_end_array(&j);
        }
        r = cay_json_end(&j);
        s = cay_buf_data(&b);
        HOLDS(r == 0 || r == -EINVAL || r == -ENOSPC || r == -E2BIG);
        HOLDS(b.len <= max && cay_utf8_valid(s, b.len));
        HOLDS(!memchr(s, '\0', b.len) && !memchr(s, '\n', b.len));
        if (r == 0)
                HOLDS(skip_json(s, s + b.len, 0) == s + b.len);
}

/* One string, always taken as it is: this must succeed. */
static void fuzz_json_string(const uint8_t *data, size_t size)
{
        cay_auto_buf struct cay_buf b;
        struct cay_json j;
        const char *s;

        cay_buf_init(&b, size * 6 + 2);
        cay_json_init(&j, &b);
        cay_json_string(&j, (const char *)data, size);
        HOLDS(cay_json_end(&j) == 0);
        s = cay_buf_data(&b);
        HOLDS(cay_utf8_valid(s, b.len) && skip_json(s, s + b.len, 0) == s + b.len);

        cay_buf_clear(&b);
        if (cay_base64_encode(data, size, &b) == 0)
                HOLDS(b.len == (size + 2) / 3 * 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        cay_auto_free char *text = malloc(size + 1);

        if (!text)
                return 0;
        if (size > 0)
                memcpy(text, data, size);
        text[size] = '\0';
        fuzz_numbers(text);
        fuzz_error(text);
        fuzz_names(text);
        fuzz_utf8(data, size);
        fuzz_reader(data, size);
        fuzz_json(data, size, 100000);
        fuzz_json(data, size, size);
        fuzz_json_string(data, size);
        return 0;
}
