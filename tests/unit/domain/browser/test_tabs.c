/* SPDX-License-Identifier: Apache-2.0 */
/* Tabs, as Target events tell of them. */
#include "domain/browser/tabs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static struct cay_tabs tabs;

static void hear(const char *method, unsigned id, const char *type, const char *url)
{
        char text[512];
        struct cay_cdp_message m;

        snprintf(text, sizeof(text),
                 "{\"method\":\"Target.%s\",\"params\":{\"targetId\":\"T%u\",\"targetInfo\":{\"targetId\":"
                 "\"T%u\",\"type\":\"%s\","
                 "\"url\":\"%s\",\"title\":\"t\"}}}",
                 method, id, id, type, url);
        assert_int_equal(cay_cdp_message_read(text, strlen(text), &m), 0);
        cay_tabs_hear(&tabs, &m);
}

static void hear_all(const char *text)
{
        cay_tabs_hear_all(&tabs, (struct cay_json_view){ text, strlen(text) });
}

static void test_tabs(void **state)
{
        (void)state;
        hear("targetCreated", 1, "page", "about:blank");
        hear("targetCreated", 2, "service_worker", "x");
        hear("targetCreated", 3, "page", "http://a/");
        hear("targetInfoChanged", 1, "page", "http://b/");
        hear("targetInfoChanged", 9, "page", "http://c/");
        assert_int_equal(tabs.count, 2);
        assert_string_equal(tabs.items[0].url, "http://b/");
        assert_int_equal(tabs.items[1].number, 2);
        hear("targetDestroyed", 1, "", "");
        hear("targetDestroyed", 1, "", "");
        hear("targetCreated", 4, "page", "http://d/");
        assert_int_equal(tabs.count, 2);
        assert_string_equal(tabs.items[0].id, "T3");
        assert_int_equal(tabs.items[1].number, 3);
        hear_all("{\"targetInfos\":[{\"targetId\":\"T4\",\"type\":\"page\",\"url\":\"http://e/"
                 "\"},{\"targetId\":\"W\",\"type\":"
                 "\"worker\"},{\"targetId\":\"T5\",\"type\":\"page\",\"url\":\"about:blank\"}]}");
        assert_int_equal(tabs.count, 3);
        assert_string_equal(tabs.items[1].url, "http://e/");
        hear("targetCreated", 5, "page", "about:blank"); /* told a second time */
        assert_int_equal(tabs.count, 3);
        assert_int_equal(tabs.items[2].number, 4);
        hear_all("{\"targetInfos\":{}}");
        hear_all("{}");
        for (unsigned i = 10; i < 10 + 2 * CAY_TABS_MAX; i++)
                hear("targetCreated", i, "page", "x");
        assert_int_equal(tabs.count, CAY_TABS_MAX);
        cay_tabs_done(&tabs);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_tabs) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
