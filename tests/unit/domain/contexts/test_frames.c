/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel prints, cut at every place, and what code prints that looks like it. */
#include "domain/contexts/frames.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

struct seen {
        struct cay_frames frames;
        char text[4096]; /* "1:out;", "r:{...};" in order; pieces of one stream are put together */
        char last;
};

static void note(struct seen *s, char what, const char *bytes, size_t len)
{
        size_t at = strlen(s->text);

        if (s->last != what || what == 'r' || what == 'e')
                at += (size_t)snprintf(s->text + at, sizeof(s->text) - at, "%s%c:", at > 0 ? ";" : "", what);
        snprintf(s->text + at, sizeof(s->text) - at, "%.*s", (int)len, bytes);
        s->last = what;
}

static void on_output(struct cay_frames *f, unsigned stream, const char *bytes, size_t len)
{
        note(cay_container_of(f, struct seen, frames), (char)('0' + stream), bytes, len);
}

static void on_message(struct cay_frames *f, char kind, const char *bytes, size_t len, bool was_cut)
{
        note(cay_container_of(f, struct seen, frames), kind, was_cut ? "CUT" : bytes, was_cut ? 3 : len);
}

static const struct cay_frames_events events = { on_output, on_message };
static const uint8_t random_bytes[16] = { 0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
#define MARK "ab0102030405060708090a0b0c0d0e0f"

static struct seen *begin(struct seen *s)
{
        memset(s, 0, sizeof(*s));
        cay_frames_init(&s->frames, &events, random_bytes);
        return s;
}

static void feed(struct seen *s, unsigned stream, const char *text, size_t step)
{
        size_t len = strlen(text);

        for (size_t at = 0; at < len; at += step)
                cay_frames_feed(&s->frames, stream, text + at, len - at < step ? len - at : step);
}

#define F(kind, len, text) "\x1e" MARK kind len text

static void test_a_run(void **state)
{
        static const char out[] = "old\n" F("B", "0000", "") "one\x1e" F("r", "0003", "{\"t")
                F("R", "0005", "\":1}\n") "two" F("E", "0002", "{}")
                        F("D", "0015", "{\"execution_count\":7}") "after";
        static const char errors[] = "old" F("B", "0000", "") "bad" F("X", "0000", "") "after";
        struct seen s;

        (void)state;
        for (size_t step = 1; step < sizeof(out); step++) {
                begin(&s);
                feed(&s, 2, errors, step);
                assert_false(cay_frames_is_over(&s.frames));
                feed(&s, 1, out, step);
                assert_true(cay_frames_is_over(&s.frames));
                assert_string_equal(s.text, "2:bad;1:one\x1e;r:{\"t\":1}\n;1:two;e:{}");
                assert_int_equal(s.frames.count, 7);
                cay_frames_done(&s.frames);
        }
}

static void test_what_looks_alike(void **state)
{
        static const char *const rows[] = {
                "\x1e",
                "\x1e" MARK,
                "\x1e" MARK "Z0000",
                "\x1e" MARK "R00g0",
                "\x1e" MARK "R000G",
                "\x1e\x1e\x1e",
                "\x1e"
                "ab0102030405060708090a0b0c0d0e00D0000",
        };
        char out[256], wanted[256];
        struct seen s;

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                begin(&s);
                snprintf(out, sizeof(out), "%s%s.%s", F("B", "0000", ""), rows[i], F("D", "0000", ""));
                snprintf(wanted, sizeof(wanted), "1:%s.", rows[i]);
                feed(&s, 1, out, 7);
                assert_string_equal(s.text, wanted);
                cay_frames_done(&s.frames);
        }
}

/* A frame on the wrong stream, before the beginning, or twice says nothing. */
static void test_out_of_place(void **state)
{
        struct seen s;

        (void)state;
        begin(&s);
        feed(&s, 1, F("R", "0002", "{}") F("D", "0000", "") F("X", "0000", ""), 100);
        feed(&s, 2, F("X", "0000", "") F("B", "0000", "") F("D", "0000", "") F("R", "0002", "{}"), 100);
        assert_string_equal(s.text, "");
        assert_false(cay_frames_is_over(&s.frames));
        feed(&s, 1, F("B", "0000", "") F("D", "0002", "[]"), 100);
        feed(&s, 2, F("X", "0000", ""), 100);
        assert_true(cay_frames_is_over(&s.frames));
        assert_int_equal(s.frames.count, 0);
        cay_frames_done(&s.frames);
}

static void test_too_long(void **state)
{
        char piece[1 + CAY_FRAME_MARK + 5 + 0xffff + 1];
        struct seen s;

        (void)state;
        begin(&s);
        feed(&s, 1, F("B", "0000", ""), 100);
        memset(piece, 'x', sizeof(piece));
        memcpy(piece, "\x1e" MARK "rffff", CAY_FRAME_HEAD);
        for (size_t sent = 0; sent <= CAY_FRAME_MESSAGE_MAX; sent += 0xffff)
                cay_frames_feed(&s.frames, 1, piece, CAY_FRAME_HEAD + 0xffff);
        feed(&s, 1, F("R", "0001", "x") F("R", "0002", "{}"), 100);
        assert_string_equal(s.text, "r:CUT;r:{}");
        cay_frames_done(&s.frames);
}

static void test_request(void **state)
{
        char head[80];
        struct seen s;

        (void)state;
        begin(&s);
        assert_int_equal(cay_frames_request(&s.frames, 12, 0, head, sizeof(head)), 4 + 32 + 4);
        assert_string_equal(head, "run " MARK " 12\n");
        assert_int_equal(cay_frames_request(&s.frames, 12, 3, head, sizeof(head)), 4 + 32 + 6);
        assert_string_equal(head, "run " MARK " 12 3\n");
        cay_frames_done(&s.frames);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_run),        cmocka_unit_test(test_what_looks_alike),
                cmocka_unit_test(test_out_of_place), cmocka_unit_test(test_too_long),
                cmocka_unit_test(test_request),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
