/* SPDX-License-Identifier: Apache-2.0 */
/* What of a viewer's words gets to the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/desktop/viewer.h"

static struct cay_rfb_viewer viewer;
static bool others_act; /* has the seat */
static unsigned acts;
static struct cay_viewer_input last;

static bool may_act(struct cay_rfb_viewer *v)
{
        (void)v;
        return !others_act;
}

static void on_act(struct cay_rfb_viewer *v, const struct cay_viewer_input *input)
{
        (void)v;
        acts++;
        last = *input;
}

static int say_bytes(const void *bytes, size_t len)
{
        struct cay_error err = { 0 };
        size_t taken = 0;

        return cay_viewer_feed(&viewer, bytes, len, &taken, &err) == 0 && taken == len ? 0 : -1;
}

#define SAY(...) say_bytes((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Exactly this was passed on since the last call. */
static void expect_bytes(const void *bytes, size_t len)
{
        assert_int_equal(viewer.out.len, len);
        assert_memory_equal(cay_buf_data(&viewer.out), bytes, len);
        cay_buf_clear(&viewer.out);
}

#define EXPECT(...) expect_bytes((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static int begin(void **state)
{
        (void)state;
        cay_viewer_init(&viewer);
        viewer.may_act = may_act;
        viewer.on_act = on_act;
        others_act = false;
        acts = 0;
        assert_int_equal(say_bytes("RFB 003.008\n", 12), 0);
        assert_int_equal(SAY(1, 0), 0); /* None; not shared */
        assert_int_equal(viewer.out.len, 14);
        assert_memory_equal(cay_buf_data(&viewer.out), "RFB 003.008\n\1\1", 14); /* shared all the same */
        cay_buf_clear(&viewer.out);
        return 0;
}

static int end(void **state)
{
        (void)state;
        cay_viewer_done(&viewer);
        return 0;
}

static void refuses(const void *bytes, size_t len)
{
        struct cay_error err = { 0 };
        struct cay_rfb_viewer v;
        size_t taken;

        cay_viewer_init(&v);
        assert_int_equal(cay_viewer_feed(&v, bytes, len, &taken, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        cay_viewer_done(&v);
}

static void other_protocols_are_refused(void **state)
{
        (void)state;
        refuses("RFB 003.003\n", 12);
        refuses("GET / HTTP/1.1\r\n", 16);
        refuses("RFB 003.008\n\2", 13); /* a password */
        refuses("RFB 003.008\n\1\1\7", 15);
        refuses("RFB 003.008\n\1\1\xff\1\0\0\0\0\0\0\0\0\0\0", 26); /* sound, of QEMU */
        refuses("RFB 003.008\n\1\1\xf8\0\0\0\0\0\0\0\x41", 23);
        refuses("RFB 003.008\n\1\1\2\0\1\1", 18);
}

static void what_only_shows_is_passed_on(void **state)
{
        (void)state;
        viewer.only_looks = true;
        assert_int_equal(SAY(3, 1, 0, 0, 0, 0, 5, 0, 3, 32, 0, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255,
                             16, 8, 0, 0, 0, 0),
                         0);
        EXPECT(3, 1, 0, 0, 0, 0, 5, 0, 3, 32, 0, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0,
               0, 0);
        assert_int_equal(SAY(150, 1, 0, 0, 0, 0, 5, 0, 3, 32, 248, 0, 0, 0, 0, 0, 0, 1, 2, 9, 8), 0);
        EXPECT(150, 1, 0, 0, 0, 0, 5, 0, 3, 32, 248, 0, 0, 0, 0, 0, 0, 1, 2, 9, 8);
}

static void extensions_that_are_unknown_are_not_offered(void **state)
{
        (void)state;
        /* tight, extended pointer events (-316), shutting down (-309), the size of the desktop */
        assert_int_equal(SAY(2, 0, 0, 4, 0, 0, 0, 7, 0xff, 0xff, 0xfe, 0xc4, 0xff, 0xff, 0xfe, 0xcb, 0xff,
                             0xff, 0xff, 0x21),
                         0);
        EXPECT(2, 0, 0, 2, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0x21);
        assert_int_equal(SAY(2, 0, 0, 0), 0);
        EXPECT(2, 0, 0, 0);
}

static void who_only_looks_changes_nothing(void **state)
{
        (void)state;
        viewer.only_looks = true;
        assert_int_equal(SAY(4, 1, 0, 0, 0, 0, 0, 97), 0);
        assert_int_equal(SAY(255, 0, 0, 1, 0, 0, 0, 97, 0, 0, 0, 30), 0);
        assert_int_equal(SAY(5, 1, 0, 3, 0, 4), 0);
        assert_int_equal(SAY(6, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c'), 0);
        assert_int_equal(viewer.out.len, 0);
        assert_int_equal(viewer.refused, 4);
        assert_int_equal(acts, 0);
        assert_false(viewer.holds);
        /* It is told that the size can't be changed: no server has a screen without screens. */
        assert_int_equal(SAY(251, 0, 4, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0, 0, 0, 0, 0), 0);
        EXPECT(251, 0, 4, 0, 3, 0, 0, 0);
        assert_int_equal(SAY(3, 1, 0, 0, 0, 0, 0, 1, 0, 1), 0);
        EXPECT(3, 1, 0, 0, 0, 0, 0, 1, 0, 1);
}

static void input_is_passed_on(void **state)
{
        (void)state;
        assert_int_equal(SAY(4, 1, 0, 0, 0, 0, 0, 97), 0);
        EXPECT(4, 1, 0, 0, 0, 0, 0, 97);
        assert_true(viewer.holds);
        assert_int_equal(SAY(255, 0, 0, 0, 0, 0, 0, 97, 0, 0, 0, 30), 0);
        EXPECT(255, 0, 0, 0, 0, 0, 0, 97, 0, 0, 0, 30);
        assert_false(viewer.holds);
        assert_int_equal(SAY(5, 1, 1, 2, 3, 4), 0);
        EXPECT(5, 1, 1, 2, 3, 4);
        assert_true(viewer.holds && last.is_pointer && last.buttons == 1 && last.x == 258 && last.y == 772);
        assert_int_equal(SAY(6, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c'), 0);
        EXPECT(6, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c');
        assert_int_equal(SAY(6, 0, 0, 0, 0xff, 0xff, 0xff, 0xfc, 1, 0, 0, 1), 0);
        EXPECT(6, 0, 0, 0, 0xff, 0xff, 0xff, 0xfc, 1, 0, 0, 1);
        assert_int_equal(SAY(251, 0, 4, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0, 0, 0, 0, 0), 0);
        EXPECT(251, 0, 4, 0, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0, 0, 0, 0, 0);
        assert_int_equal(acts, 6);
}

static void others_are_not_disturbed(void **state)
{
        (void)state;
        others_act = true;
        assert_int_equal(SAY(5, 1, 0, 1, 0, 1), 0); /* pressed in vain */
        others_act = false;
        assert_int_equal(SAY(5, 1, 0, 9, 0, 9), 0); /* or it would begin a drag in the middle */
        assert_int_equal(viewer.out.len, 0);
        assert_int_equal(SAY(5, 0, 0, 9, 0, 9), 0);
        EXPECT(5, 0, 0, 9, 0, 9);
        /* What is down can go up. */
        assert_int_equal(SAY(5, 1, 0, 9, 0, 9, 4, 1, 0, 0, 0, 0, 0xff, 0xe1), 0);
        EXPECT(5, 1, 0, 9, 0, 9, 4, 1, 0, 0, 0, 0, 0xff, 0xe1);
        others_act = true;
        assert_int_equal(SAY(4, 1, 0, 0, 0, 0, 0, 97, 4, 0, 0, 0, 0, 0, 0, 97), 0);
        assert_int_equal(SAY(5, 1, 0, 7, 0, 7), 0);
        assert_int_equal(viewer.out.len, 0);
        assert_int_equal(SAY(4, 0, 0, 0, 0, 0, 0xff, 0xe1, 5, 0, 0, 7, 0, 7), 0);
        EXPECT(4, 0, 0, 0, 0, 0, 0xff, 0xe1, 5, 0, 0, 7, 0, 7);
        assert_false(viewer.holds);
}

static void who_goes_lets_buttons_up(void **state)
{
        (void)state;
        assert_false(cay_viewer_leave(&viewer));
        assert_int_equal(SAY(5, 4, 0, 9, 0, 8, 6, 0, 0, 0, 0, 0, 0, 3, 'a'), 0);
        cay_buf_clear(&viewer.out);
        assert_false(cay_viewer_leave(&viewer)); /* in a text */
        assert_int_equal(SAY('b', 'c', 5, 5), 0);
        cay_buf_clear(&viewer.out);
        assert_true(cay_viewer_leave(&viewer));
        EXPECT(5, 0, 0, 9, 0, 8);
        assert_false(cay_viewer_leave(&viewer));
}

static void what_is_too_large_is_left_out(void **state)
{
        static uint8_t text[8 + CAY_VIEWER_TEXT_MAX + 1] = { 6, 0, 0, 0, 0, 0x10, 0, 1 };
        uint8_t *at = text;
        size_t len = sizeof(text);
        struct cay_error err = { 0 };

        (void)state;
        assert_int_equal(say_bytes(text, sizeof(text)), 0);
        assert_int_equal(viewer.out.len, 0);
        assert_int_equal(SAY(251, 0, 0x20, 0, 0x20, 0, 0, 0), 0); /* 8192 × 8192 */
        EXPECT(251, 0, 0x20, 0, 0x20, 0, 0, 0);
        assert_int_equal(acts, 0);
        /* One of the largest size passes, in pieces. */
        text[7] = 0;
        len--;
        for (size_t rounds = 0; len > 0; rounds++) {
                size_t taken = 0;

                assert_true(rounds < 100);
                assert_int_equal(cay_viewer_feed(&viewer, at, len, &taken, &err), 0);
                assert_in_range(viewer.out.len, 1, CAY_VIEWER_OUT_MAX);
                cay_buf_clear(&viewer.out);
                at += taken;
                len -= taken;
        }
        assert_int_equal(SAY(5, 0, 0, 0, 0, 0), 0);
        EXPECT(5, 0, 0, 0, 0, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(other_protocols_are_refused),
                cmocka_unit_test_setup_teardown(what_only_shows_is_passed_on, begin, end),
                cmocka_unit_test_setup_teardown(extensions_that_are_unknown_are_not_offered, begin, end),
                cmocka_unit_test_setup_teardown(who_only_looks_changes_nothing, begin, end),
                cmocka_unit_test_setup_teardown(input_is_passed_on, begin, end),
                cmocka_unit_test_setup_teardown(others_are_not_disturbed, begin, end),
                cmocka_unit_test_setup_teardown(who_goes_lets_buttons_up, begin, end),
                cmocka_unit_test_setup_teardown(what_is_too_large_is_left_out, begin, end),
        };

        return cmocka_run_group_tests_name("desktop/viewer", tests, NULL, NULL);
}
