/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures beside the queue: a Docker that holds them back holds up nothing else, and is asked once for
 * everybody.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/error.h"
#include "cay-docker/measure.h"
#include "unit/cay-docker/fake_docker.h"
#include "unit/cay-docker/fake_front.h"

#define OURS "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct fake_docker docker;
static struct fake_front front;

/* The Docker */

static const struct fake_docker_row answers[] = {
        FAKE_DOCKER_VERSION,
        { "GET /v1.41/info",
          FAKE_DOCKER_OK "{\"NCPU\":2,\"MemTotal\":1000000000,\"MemoryLimit\":true,"
                         "\"SwapLimit\":true,\"CpuCfsQuota\":true,\"PidsLimit\":true,\"OSType\":\"linux\","
                         "\"SystemTime\":\"2026-11-16T05:00:00.5Z\"}" },
        { "GET /v1.41/containers/json?",
          FAKE_DOCKER_OK "[{\"Id\":\"" OURS
                         "\",\"State\":\"running\",\"Labels\":{\"cay.id\":\"mine\",\"cay.instance\":\"unit\","
                         "\"cay.keep\":\"yes\"}}]" },
        { "GET /v1.41/networks", FAKE_DOCKER_OK "[]" },
        { "DELETE /v1.41/containers/", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/" OURS "/pause", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/" OURS "/stop", "204 No Content\r\n\r\n" },
        { 0 },
};

static int held = -1; /* a question for figures */

static void answer(int fd, const char *bytes, size_t len, int log)
{
        if (strncmp(bytes, "RELEASE", 7) == 0) {
                fake_docker_say_take(held,
                                     FAKE_DOCKER_OK "{\"memory_stats\":{\"usage\":77,\"max_usage\":99},"
                                                    "\"pids_stats\":{\"current\":3},"
                                                    "\"cpu_stats\":{\"cpu_usage\":{\"total_usage\":5000}},"
                                                    "\"networks\":{\"a\":{\"rx_bytes\":1,\"tx_bytes\":2},"
                                                    "\"b\":{\"rx_bytes\":10,\"tx_bytes\":20}}}");
                close(fd);
        } else if (strncmp(bytes, "NONSENSE", 8) == 0) {
                fake_docker_say_take(held, FAKE_DOCKER_OK "not JSON");
                close(fd);
        } else if (strstr(bytes, "/stats?")) {
                dprintf(log, "stats\n");
                held = fd;
        } else {
                fake_docker_look_up_take(fd, bytes, answers);
        }
}

/* The program */

static int set_up(void **state)
{
        const char *const more[] = { NULL };

        fake_docker_open(&docker, "measure");
        fake_docker_start(&docker, answer);
        fake_front_start(&front, &docker, more);
        return 0;
}

static int tear_down(void **state)
{
        fake_front_stop(&front);
        return fake_docker_close(&docker);
}

static struct docker_request say(uint32_t type)
{
        struct docker_request req = { .type = type };

        snprintf(req.box.id, sizeof(req.box.id), "mine");
        fake_front_say(&front, &req, NULL, 0);
        return req;
}

static uint32_t ask(uint32_t type)
{
        struct docker_request req = say(type);

        return fake_front_hear_code(&front, &req);
}

/* Asks as often as that, and waits until Docker was. */
static void ask_for_figures(unsigned times)
{
        unsigned before = fake_docker_times(&docker, "stats\n");

        for (unsigned i = 0; i < times; i++)
                say(DOCKER_box_stat);
        fake_docker_wait_for(&docker, "stats\n", before + 1);
}

static void hear_figures(unsigned times, uint32_t code)
{
        struct docker_answer a;

        for (unsigned i = 0; i < times; i++) {
                assert_true(fake_front_hear(&front, &a));
                assert_int_equal(a.type, DOCKER_box_stat);
                assert_int_equal(a.code, code);
                if (code == CAY_OK) {
                        assert_int_equal(a.box.stats.memory_bytes, 77);
                        assert_int_equal(a.box.stats.memory_peak_bytes, 99);
                        assert_int_equal(a.box.stats.pids, 3);
                        assert_int_equal(a.box.stats.cpu_us, 5);
                        assert_int_equal(a.box.stats.rx_bytes, 11);
                        assert_int_equal(a.box.stats.tx_bytes, 22);
                }
        }
}

static void one_call_serves_all_who_ask(void **state)
{
        assert_int_equal(fake_front_greet(&front), CAY_OK);
        ask_for_figures(40);
        fake_docker_tell(&docker, "RELEASE");
        hear_figures(40, CAY_OK);
        assert_int_equal(fake_docker_times(&docker, "stats\n"), 1);
        ask_for_figures(1); /* later ones get later figures */
        fake_docker_tell(&docker, "RELEASE");
        hear_figures(1, CAY_OK);
        assert_int_equal(fake_docker_times(&docker, "stats\n"), 2);
}

/* Figures that never come: each of these is answered all the same, and so are those who waited. */
static void let_go_for(uint32_t type)
{
        struct docker_request req;

        ask_for_figures(40);
        req = say(type);
        hear_figures(40, CAY_CONFLICT);
        assert_int_equal(fake_front_hear_code(&front, &req), CAY_OK);
}

static void nothing_waits_for_figures(void **state)
{
        assert_int_equal(fake_front_greet(&front), CAY_OK);
        let_go_for(DOCKER_box_freeze);
        let_go_for(DOCKER_box_stop);
        let_go_for(DOCKER_box_drop);
        assert_int_equal(fake_docker_times(&docker, "stats\n"), 3);
        assert_int_equal(ask(DOCKER_box_stat), CAY_NOT_FOUND);
}

static void so_many_may_wait(void **state)
{
        struct docker_request one_more;

        assert_int_equal(fake_front_greet(&front), CAY_OK);
        ask_for_figures(DOCKER_MEASURE_ASKERS_MAX);
        one_more = say(DOCKER_box_stat);
        assert_int_equal(fake_front_hear_code(&front, &one_more), CAY_LIMIT);
        fake_docker_tell(&docker, "RELEASE");
        hear_figures(DOCKER_MEASURE_ASKERS_MAX, CAY_OK);
}

static void what_is_no_answer_is_told(void **state)
{
        assert_int_equal(fake_front_greet(&front), CAY_OK);
        ask_for_figures(2);
        fake_docker_tell(&docker, "NONSENSE");
        hear_figures(2, CAY_INTERNAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(one_call_serves_all_who_ask, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nothing_waits_for_figures, set_up, tear_down),
                cmocka_unit_test_setup_teardown(so_many_may_wait, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_no_answer_is_told, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
