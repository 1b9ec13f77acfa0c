/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "domain/ops/port_table.h"

#define HEAD                                                                                                 \
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define LINE(port, state)                                                                                    \
        "   0: 0100007F:" port " 00000000:0000 " state " 00000000:00000000 00:00000000 00000000\n"

static void feed(struct cay_port_table *t, const char *text)
{
        cay_port_table_read(t, text, strlen(text));
}

static int setup(void **state)
{
        *state = calloc(1, sizeof(struct cay_port_table));
        return *state == NULL;
}

static int teardown(void **state)
{
        free(*state);
        return 0;
}

static void listening_ports_alone(void **state)
{
        struct cay_port_table *t = *state;

        feed(t, HEAD LINE("1F90", "0A") LINE("0050", "0A") LINE("1F91", "01") LINE("1F90", "0A"));
        /* no end */
        feed(t, "   0: 00000000000000000000000001000000:01BB 00000000000000000000000000000000:0000 0A");
        cay_port_table_end(t);
        assert_int_equal(t->count, 3);
        assert_int_equal(cay_port_table_next(t, 0), 80);
        assert_int_equal(cay_port_table_next(t, 80), 443);
        assert_int_equal(cay_port_table_next(t, 443), 8080);
        assert_int_equal(cay_port_table_next(t, 8080), 0);
        assert_int_equal(cay_port_table_next(t, 65535), 0);
        assert_false(t->cut);
}

static void however_it_is_cut(void **state)
{
        struct cay_port_table *t = *state;
        const char *text = HEAD LINE("FFFF", "0A") LINE("0001", "0A");

        for (const char *at = text; *at != '\0'; at++)
                cay_port_table_read(t, at, 1);
        cay_port_table_end(t);
        assert_int_equal(t->count, 2);
        assert_int_equal(cay_port_table_next(t, 0), 1);
        assert_int_equal(cay_port_table_next(t, 1), 65535);
}

static void what_is_no_table(void **state)
{
        struct cay_port_table *t = *state;
        char *x = malloc(3000);

        assert_non_null(x);
        memset(x, ' ', 3000);
        cay_port_table_read(t, x, 3000); /* a line too long: what follows in it is left out */
        feed(t, LINE("0016", "0A"));
        feed(t, LINE("0000", "0A") LINE("10000", "0A") LINE("00G1", "0A") "\n\n: : : 0A\nab:12\n");
        memset(x, 'x', 3000);
        cay_port_table_read(t, x, 3000);
        cay_port_table_end(t);
        assert_int_equal(t->count, 0);
        feed(t, LINE("0016", "0A"));
        assert_int_equal(t->count, 1);
        free(x);
}

static void every_port_and_a_text_without_end(void **state)
{
        struct cay_port_table *t = *state;
        char line[128];
        size_t size = 1u << 20;
        char *x = malloc(size);

        assert_non_null(x);
        for (unsigned port = 65535; port > 0; port--) {
                snprintf(line, sizeof(line), "  1: 00000000:%04X 00000000:0000 0A\n", port);
                feed(t, line);
        }
        assert_int_equal(t->count, 65535);
        assert_int_equal(cay_port_table_next(t, 65534), 65535);
        assert_false(t->cut);
        memset(x, '\n', size);
        for (unsigned i = 0; i < 70; i++)
                cay_port_table_read(t, x, size);
        assert_true(t->cut);
        assert_int_equal(t->read, CAY_PORT_TABLE_BYTES_MAX);
        free(x);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                TEST(listening_ports_alone),
                TEST(however_it_is_cut),
                TEST(what_is_no_table),
                TEST(every_port_and_a_text_without_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
