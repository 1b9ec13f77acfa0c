/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON object: its members, as programs rely on them. That it is JSON the writer itself vouches for, and
 * the integration test asks Python.
 */
#include "doctor_test.h"

#include "foundation/base/cleanup.h"
#include "cay/doctor/doctor.h"
#include "machines.h"

static char *render(const struct cay_doctor_facts *f)
{
        struct cay_doctor_report report;
        struct cay_buf out;
        char *text;

        cay_doctor_judge(f, &report);
        cay_buf_init(&out, 1u << 20);
        assert_int_equal(cay_doctor_render_json(f, &report, &out), 0);
        text = strdup(cay_buf_data(&out));
        cay_buf_done(&out);
        return text;
}

static void test_members(void **state)
{
        struct cay_doctor_facts f = machine_user();
        cay_auto_free char *text = NULL;

        f.limits_missing = CAY_LIMIT_BIT(pids);
        text = render(&f);
        assert_ptr_equal(strstr(text, "{\"works\":true,\"checks\":[{\"id\":\"versions\",\"group\":\"here\","),
                         text);
        assert_has(text, "{\"id\":\"landlock\",\"group\":\"confinement\",\"status\":\"ok\",\"found\":\"ABI "
                         "2\",\"remedy\":null}");
        assert_has(text, "{\"id\":\"docker\",\"group\":\"docker\",\"status\":\"note\",");
        assert_has(text, "\"limits\":{\"memory\":{\"held\":true,\"watched\":false},");
        assert_has(text, "\"pids\":{\"held\":false,\"watched\":false}");
        assert_has(text, "\"versions\":{\"cay\":\"" CAY_VERSION
                         "\",\"kernel\":\"6.1.0-18-amd64\",\"machine\":\"x86_64\","
                         "\"distribution\":\"Debian GNU/Linux 12 (bookworm)\",\"docker\":\"20.10.24\"}}\n");
        for (unsigned i = 0; i < CAY_CHECK_COUNT; i++) {
                char id[64];

                snprintf(id, sizeof(id), "{\"id\":\"%s\",", cay_doctor_id(i));
                assert_has(text, id);
        }
}

static void test_unknown(void **state)
{
        struct cay_doctor_facts f = machine_without_userns(-EPERM);
        cay_auto_free char *text = NULL;

        f.distribution[0] = f.docker.version[0] = '\0';
        snprintf(f.run.msg, sizeof(f.run.msg), "odd \"bytes\" \xff\x01");
        text = render(&f);
        assert_has(text, "{\"works\":false,");
        assert_has(text, "\"memory\":{\"held\":null,\"watched\":false}");
        assert_has(text, "\"distribution\":null,\"docker\":null");
        assert_has(text, "odd \\\"bytes\\\" ");
        assert_null(strchr(text, '\xff'));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_members), cmocka_unit_test(test_unknown) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
