/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon ends: containers are not left to run without anybody who holds them to their time. Over an
 * upgrade they go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/error.h"
#include "unit/cay-docker/fake_docker.h"
#include "unit/cay-docker/fake_front.h"
#include "links/helper/message.h"

static struct fake_docker docker;
static struct fake_front front;

#define BOX(id, container, state, keep)                                                                      \
        "{\"Id\":\"" container "\",\"State\":\"" state "\",\"Labels\":{\"cay.id\":\"" id                     \
        "\",\"cay.instance\":\"unit\",\"cay.keep\":\"" keep "\"}}"

static const struct fake_docker_row answers[] = {
        FAKE_DOCKER_VERSION,
        { "GET /v1.41/info",
          FAKE_DOCKER_OK "{\"NCPU\":2,\"MemTotal\":1000000000,\"MemoryLimit\":true,"
                         "\"SwapLimit\":true,\"CpuCfsQuota\":true,\"PidsLimit\":true,\"OSType\":\"linux\","
                         "\"SystemTime\":\"2026-11-16T05:00:00.5Z\"}" },
        { "GET /v1.41/containers/json?",
          FAKE_DOCKER_OK "[" BOX("kept", "aaaa", "running", "yes") "," BOX(
                  "rests", "bbbb", "exited", "yes") "," BOX("brief", "cccc", "running", "no") "]" },
        { "GET /v1.41/networks", FAKE_DOCKER_OK "[]" },
        { "DELETE /v1.41/containers/cccc", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/aaaa/stop", "204 No Content\r\n\r\n" },
        { 0 },
};

static bool fails; /* to stop them */

static void answer(int fd, const char *bytes, size_t len, int log)
{
        if (strncmp(bytes, "FAIL", 4) == 0) {
                fails = true;
                close(fd);
                return;
        }
        if (strncmp(bytes, "GET ", 4) != 0)
                dprintf(log, "%s\n", bytes);
        if (fails && strstr(bytes, "/stop"))
                fake_docker_say_take(fd, "500 Oh\r\nA: b\r\n\r\n{\"message\":\"cannot stop\"}");
        else
                fake_docker_look_up_take(fd, bytes, answers);
}

static int set_up(void **state)
{
        fake_docker_open(&docker, "keeper");
        fake_docker_start(&docker, answer);
        fake_front_start_kept(&front, &docker);
        assert_int_equal(fake_front_greet(&front), CAY_OK);
        return 0;
}

static int tear_down(void **state)
{
        fake_front_stop(&front);
        return fake_docker_close(&docker);
}

static void what_runs_is_stopped(void **state)
{
        const char *text;

        assert_int_equal(fake_front_end_keeper(&front), 0);
        text = fake_docker_log(&docker);
        assert_non_null(strstr(text, "POST /v1.41/containers/aaaa/stop?t=0 "));
        assert_non_null(strstr(text, "DELETE /v1.41/containers/cccc?force=1&v=1 "));
        assert_null(strstr(text, "DELETE /v1.41/containers/aaaa")); /* what is in it is kept */
        assert_null(strstr(text, "bbbb"));
}

static void what_cannot_be_stopped_is_told(void **state)
{
        fake_docker_tell(&docker, "FAIL");
        assert_int_equal(fake_front_end_keeper(&front), 1);
        assert_non_null(strstr(fake_docker_log(&docker), "POST /v1.41/containers/aaaa/stop?t=0 "));
}

static void over_an_upgrade_they_go_on(void **state)
{
        const struct wire_keeper say = { .magic = WIRE_KEEPER_MAGIC,
                                         .size = sizeof(say),
                                         .type = WIRE_KEEPER_UPGRADE };

        assert_int_equal(send(front.keeper, &say, sizeof(say), MSG_NOSIGNAL), sizeof(say));
        assert_int_equal(fake_front_end_keeper(&front), 0);
        assert_string_equal(fake_docker_log(&docker), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_runs_is_stopped, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_cannot_be_stopped_is_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(over_an_upgrade_they_go_on, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
