/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds as a front that was taken over would ask for them: it can say the name of a template that the
 * registry has, and that is all. The Docker is a child of this test that writes down what it is asked; what
 * it is sent to build is looked into.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/error.h"
#include "unit/cay-docker/fake_docker.h"
#include "unit/cay-docker/fake_front.h"

#define ID "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define SECRET "this stands outside of every folder"

static struct fake_docker docker;
static struct fake_front front;

static const struct fake_docker_row answers[] = {
        FAKE_DOCKER_VERSION,
        { "GET /v1.41/info", FAKE_DOCKER_OK
          "{\"NCPU\":2,\"MemTotal\":1000000000,\"MemoryLimit\":true,\"SwapLimit\":true,\"CpuCfsQuota\":true,"
          "\"PidsLimit\":true,\"OSType\":\"linux\",\"SystemTime\":\"2026-11-16T05:00:00.5Z\"}" },
        { "GET /v1.41/containers/json", FAKE_DOCKER_OK "[]" },
        { "GET /v1.41/networks", FAKE_DOCKER_OK "[]" },
        { "GET /v1.41/images/json", FAKE_DOCKER_OK "[]" },
        { "GET /v1.41/images/", FAKE_DOCKER_OK "{}" },
        { 0 },
};

/* A build goes on when the file is no more. */
static void hold(int fd)
{
        char path[64];

        snprintf(path, sizeof(path), "%s/hold", docker.folder);
        if (access(path, F_OK) != 0)
                return;
        dprintf(fd, "{\"stream\":\"held\\n\"}\n");
        for (unsigned i = 0; i < WAIT_MS / 10 && access(path, F_OK) == 0; i++)
                usleep(10000);
}

static void answer(int fd, const char *bytes, size_t len, int log)
{
        if (strncmp(bytes, "GET ", 4) != 0)
                assert_true(write(log, bytes, len) == (ssize_t)len);
        if (strncmp(bytes, "POST /v1.41/build", 17) == 0) {
                dprintf(fd, "HTTP/1.1 " FAKE_DOCKER_OK);
                hold(fd);
                dprintf(fd, "{\"stream\":\"Step 1/1 : FROM x\\n\"}\n{\"aux\":{\"ID\":\"" ID "\"}}\n");
                close(fd);
                return;
        }
        fake_docker_look_up_take(fd, bytes, answers);
}

static void put(const char *name, const char *text)
{
        char path[128];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", docker.folder, name);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        close(fd);
}

static void make_folders(void)
{
        char path[128];

        snprintf(path, sizeof(path), "%s/reg", docker.folder);
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(path, sizeof(path), "%s/reg/box", docker.folder);
        assert_int_equal(mkdir(path, 0755), 0);
        put("secret", SECRET);
        put("reg/registry.yaml",
            "containers:\n  box: {dockerfile: box/Dockerfile}\n  bad: {dockerfile: bad/Dockerfile}\n"
            "  plain: {host: true}\n");
        put("reg/box/Dockerfile", "FROM img\n");
        snprintf(path, sizeof(path), "%s/reg/bad", docker.folder); /* a way out, for whoever follows links */
        assert_int_equal(symlink("..", path), 0);
        put("Dockerfile", "FROM img\n");
        snprintf(path, sizeof(path), "%s/reg/box/link", docker.folder);
        assert_int_equal(symlink("../../secret", path), 0);
}

static int set_up(void **state)
{
        char registry[64];
        const char *const more[] = { "--registry", registry, NULL };

        (void)state;
        fake_docker_open(&docker, "build");
        snprintf(registry, sizeof(registry), "%s/reg/registry.yaml", docker.folder);
        make_folders();
        fake_docker_start(&docker, answer);
        fake_front_start(&front, &docker, more);
        return 0;
}

static int tear_down(void **state)
{
        char command[80];

        (void)state;
        fake_front_stop(&front);
        fake_docker_stop(&docker);
        snprintf(command, sizeof(command), "rm -rf %s", docker.folder);
        return system(command); /* NOLINT: a name of our own */
}

/* What was asked of the Docker besides questions; bytes of a body are in it. */
static bool was_asked(const char *text)
{
        return fake_docker_times(&docker, text) > 0;
}

/* Each time under a new number. */
static void say(struct docker_request *req, const int *fds, unsigned count)
{
        req->seq = 0;
        fake_front_say(&front, req, fds, count);
}

static bool hear(struct docker_answer *a)
{
        return fake_front_hear(&front, a);
}

static void greet(void)
{
        assert_int_equal(fake_front_greet(&front), CAY_OK);
}

/* A build; its lines are left in `lines`. */
static struct docker_answer build(const void *name, size_t len, unsigned flags, char *lines, size_t size)
{
        struct docker_request req = { .type = DOCKER_image_build, .image.flags = flags };
        struct docker_answer a;
        size_t at = 0;
        int socks[2];
        ssize_t n;

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        memcpy(req.image.name, name, len);
        say(&req, &socks[1], 1);
        close(socks[1]);
        assert_true(hear(&a));
        while (size > 0 && at + 1 < size && (n = recv(socks[0], lines + at, size - 1 - at, MSG_DONTWAIT)) > 0)
                at += (size_t)n;
        if (size > 0)
                lines[at] = '\0';
        close(socks[0]);
        return a;
}

static void test_names(void **state)
{
        static const struct {
                const char *name;
                unsigned flags, code;
        } rows[] = {
                { "../box", 0, CAY_INVALID },
                { "box/Dockerfile", 0, CAY_INVALID },
                { "", 0, CAY_INVALID },
                { "/etc", 0, CAY_INVALID },
                { "box&privileged=1", 0, CAY_INVALID },
                { "Box", 0, CAY_INVALID },
                { "box", 4, CAY_INVALID },
                { "none", 0, CAY_NOT_FOUND },
                { "plain", 0, CAY_CONFLICT },
        };
        char endless[DOCKER_WORD];

        (void)state;
        greet();
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                assert_int_equal(build(rows[i].name, strlen(rows[i].name), rows[i].flags, NULL, 0).code,
                                 rows[i].code);
        memset(endless, 'a', sizeof(endless));
        assert_int_equal(build(endless, sizeof(endless), 0, NULL, 0).code, CAY_INVALID);
        assert_false(was_asked("/build"));
}

static void test_a_folder_that_leads_out(void **state)
{
        struct docker_answer a;

        (void)state;
        greet();
        a = build("bad", 3, 0, NULL, 0);
        assert_int_equal(a.code, CAY_OK);
        assert_int_equal(a.image.state, DOCKER_IMAGE_FAILED);
        assert_true(a.image.error[0] != '\0');
        assert_false(was_asked("/build"));
}

static void test_what_docker_is_asked(void **state)
{
        struct docker_answer a;
        char lines[1000];

        (void)state;
        greet();
        a = build("box", 3, 0, lines, sizeof(lines));
        assert_int_equal(a.code, CAY_OK);
        assert_string_equal(lines, "Step 1/1 : FROM x\n");
        assert_true(was_asked("POST /v1.41/build?t=cay/box:"));
        assert_true(was_asked("&pull=0&nocache=0&networkmode=none&memory="));
        assert_true(was_asked("cay.instance%22:%22unit%22"));
        assert_true(was_asked("FROM img\n"));
        assert_true(was_asked("../../secret")); /* the link, as a link */
        assert_false(was_asked(SECRET));
        assert_false(was_asked("registry.yaml"));
}

/* A drop touches nothing that is not ours; a plan cannot name what was built by anything but its template. */
static void test_others(void **state)
{
        struct docker_request req = { .type = DOCKER_image_drop };
        struct docker_answer a;
        int fd = open("/dev/null", O_RDONLY);

        (void)state;
        greet();
        snprintf(req.image.name, sizeof(req.image.name), "box");
        say(&req, NULL, 0);
        assert_true(hear(&a));
        assert_int_equal(a.code, CAY_NOT_FOUND);
        assert_false(was_asked("DELETE"));
        req = (struct docker_request){ .type = DOCKER_box_make, .plan.flags = DOCKER_PLAN_BUILT };
        snprintf(req.plan.id, sizeof(req.plan.id), "x");
        snprintf(req.plan.template_name, sizeof(req.plan.template_name), "../../x");
        say(&req, &fd, 1);
        assert_true(hear(&a));
        assert_int_equal(a.code, CAY_INVALID);
        snprintf(req.plan.template_name, sizeof(req.plan.template_name), "box");
        say(&req, &fd, 1);
        assert_true(hear(&a));
        assert_int_equal(a.code, CAY_CONFLICT); /* not built */
        assert_non_null(strstr(a.text, "cay template build box"));
        snprintf(req.plan.image, sizeof(req.plan.image), "alien");
        say(&req, &fd, 1);
        assert_true(hear(&a));
        assert_int_equal(a.code, CAY_INVALID);
        assert_false(was_asked("create"));
        req = (struct docker_request){ .type = DOCKER_image_build };
        say(&req, NULL, 0); /* without a descriptor */
        assert_false(hear(&a));
        close(fd);
}

/* Begun, or joined; the end where its lines come. */
static int follow(unsigned flags)
{
        struct docker_request req = { .type = DOCKER_image_build,
                                      .image = { .name = "box", .flags = flags } };
        int socks[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        say(&req, &socks[1], 1);
        close(socks[1]);
        return socks[0];
}

static void expect_line(int fd, const char *line)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char got[DOCKER_LINE_MAX + 1];
        ssize_t n;

        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        n = recv(fd, got, sizeof(got) - 1, 0);
        assert_true(n >= 0);
        got[n] = '\0';
        assert_string_equal(got, line);
}

static void let_docker_go_on(void)
{
        char path[64];

        snprintf(path, sizeof(path), "%s/hold", docker.folder);
        assert_int_equal(unlink(path), 0);
}

/* A build that does not go on, and another that joins it. */
static void two_follow(int *ret_first, int *ret_second)
{
        put("hold", "");
        greet();
        *ret_first = follow(DOCKER_BUILD_CANCEL);
        expect_line(*ret_first, "held\n");
        *ret_second = follow(DOCKER_BUILD_CANCEL);
        expect_line(*ret_second, "… this build runs already; from its beginning:\n");
}

static void test_one_that_runs_is_joined(void **state)
{
        struct docker_request drop = { .type = DOCKER_image_drop, .image.name = "box" };
        struct docker_answer a;
        int first, second, third;

        (void)state;
        two_follow(&first, &second);
        expect_line(second, "held\n");
        third = follow(DOCKER_BUILD_NO_CACHE);
        assert_true(hear(&a));
        assert_int_equal(a.seq, front.seq);
        assert_int_equal(a.code, CAY_CONFLICT);
        expect_line(third, ""); /* hung up */
        say(&drop, NULL, 0);
        assert_true(hear(&a));
        assert_int_equal(a.code, CAY_CONFLICT);
        close(first); /* who began it; another still reads */
        assert_true(hear(&a));
        assert_int_equal(a.seq, 2);
        assert_int_equal(a.image.state, DOCKER_IMAGE_BUILDING);
        let_docker_go_on();
        expect_line(second, "Step 1/1 : FROM x\n");
        expect_line(second, "");
        assert_true(hear(&a));
        assert_int_equal(a.seq, 3);
        assert_int_equal(a.code, CAY_OK);
        assert_string_equal(a.image.error, "");
        close(second);
        close(third);
}

/* The last one ends it, if all of them wanted that. */
static void test_all_leave(void **state)
{
        struct docker_request list = { .type = DOCKER_image_list };
        struct docker_answer a;
        int first, second;

        (void)state;
        two_follow(&first, &second);
        close(first);
        close(second);
        for (unsigned i = 0; i < 2; i++)
                assert_true(hear(&a));
        let_docker_go_on();
        say(&list, NULL, 0);
        assert_true(hear(&a));
        assert_string_equal(a.image.name, "box");
        assert_int_equal(a.image.state, DOCKER_IMAGE_FAILED);
        assert_non_null(strstr(a.image.error, "cancelled"));
}

static void test_list(void **state)
{
        struct docker_request req = { .type = DOCKER_image_list };
        struct docker_answer a;

        (void)state;
        greet();
        say(&req, NULL, 0);
        assert_true(hear(&a));
        assert_string_equal(a.image.name, "box");
        assert_int_equal(a.image.state, DOCKER_IMAGE_NONE);
        req.list.from = 1;
        say(&req, NULL, 0);
        assert_true(hear(&a));
        assert_string_equal(a.image.name, "bad");
        assert_int_equal(a.image.state, DOCKER_IMAGE_FAILED);
        req.list.from = UINT32_MAX;
        say(&req, NULL, 0);
        assert_true(hear(&a));
        assert_string_equal(a.image.name, "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_folder_that_leads_out, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_docker_is_asked, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_one_that_runs_is_joined, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_all_leave, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
