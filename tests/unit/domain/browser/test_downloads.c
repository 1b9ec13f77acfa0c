/* SPDX-License-Identifier: Apache-2.0 */
/* Downloads, as events tell of them; names come from pages. */
#include "domain/browser/downloads.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define GUID "01234567-89ab-cdef-0123-456789abcd%02x"

static struct cay_downloads list;

static void hear(const char *text)
{
        struct cay_cdp_message m;

        assert_int_equal(cay_cdp_message_read(text, strlen(text), &m), 0);
        cay_downloads_hear(&list, &m, 5);
}

static void begin(unsigned nr, const char *name)
{
        char text[512];

        snprintf(text, sizeof(text),
                 "{\"method\":\"Browser.downloadWillBegin\",\"params\":{\"guid\":\"" GUID
                 "\",\"url\":\"http://a/b\","
                 "\"suggestedFilename\":\"%s\"}}",
                 nr, name);
        hear(text);
}

static void progress(unsigned nr, unsigned bytes, const char *how)
{
        char text[512];

        snprintf(text, sizeof(text),
                 "{\"method\":\"Browser.downloadProgress\",\"params\":{\"guid\":\"" GUID
                 "\",\"receivedBytes\":%u,\"state\":\"%s\"}}",
                 nr, bytes, how);
        hear(text);
}

static void test_list(void **state)
{
        (void)state;
        begin(1, "a.txt");
        begin(1, "a.txt"); /* told by a second client */
        begin(2, "../../.ssh/x");
        begin(3, "..");
        progress(1, 7, "inProgress");
        progress(2, 9, "completed");
        progress(9, 9, "completed");
        assert_int_equal(list.count, 3);
        assert_string_equal(list.items[0].name, "a.txt");
        assert_int_equal(list.items[0].bytes, 7);
        assert_int_equal(list.items[0].wall_ms, 5);
        assert_int_equal(list.items[0].state, CAY_DOWNLOAD_RUNNING);
        assert_string_equal(list.items[1].name, "x");
        assert_int_equal(list.items[1].state, CAY_DOWNLOAD_COMPLETED);
        assert_string_equal(list.items[2].name, "download");
        progress(1, 7, "canceled");
        assert_string_equal(cay_download_state_word(list.items[0].state), "canceled");
        cay_downloads_done(&list);
}

/* The id becomes the name of a file. */
static void test_ids(void **state)
{
        (void)state;
        hear("{\"method\":\"Browser.downloadWillBegin\",\"params\":{\"guid\":\"../../etc/"
             "passwd\",\"suggestedFilename\":\"a\"}}");
        hear("{\"method\":\"Browser.downloadWillBegin\",\"params\":{}}");
        hear("{\"method\":\"Page.x\"}");
        assert_int_equal(list.count, 0);
}

/* A browser in somebody's power says any name: it is put into archives, and shown. */
static void test_names(void **state)
{
        static const struct {
                const char *said, *kept;
        } rows[] = { { "a/b/c.txt", "c.txt" },   { "/etc/passwd", "passwd" },
                     { "..", "download" },       { "x/..", "download" },
                     { "a/", "download" },       { "..\\\\..\\\\run.exe", "run.exe" },
                     { "c:\\\\a/..\\\\b", "b" }, { "a\\u001b]0;b\\u0007\\n.txt", "a_]0;b__.txt" } };

        (void)state;
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                begin(i, rows[i].said);
                assert_string_equal(list.items[i].name, rows[i].kept);
        }
        cay_downloads_done(&list);
}

static void test_many(void **state)
{
        (void)state;
        for (unsigned i = 0; i < 256; i++)
                begin(i, "f");
        hear("{\"method\":\"Browser.downloadWillBegin\",\"params\":{\"guid\":\"ffffffff-89ab-cdef-0123-"
             "456789abcdef\","
             "\"suggestedFilename\":\"last\"}}");
        assert_int_equal(list.count, CAY_DOWNLOADS_MAX);
        assert_string_equal(list.items[CAY_DOWNLOADS_MAX - 1].name, "last");
        cay_downloads_done(&list);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_ids),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_many),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
