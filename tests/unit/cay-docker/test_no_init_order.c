/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan without init, and its command, as what Docker is asked for: the same restrictions, the caller's
 * words in place of ours, and nothing copied in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cay-docker/order.h"
#include "foundation/json/json_in.h"

static struct docker_options options = {
        .host = { .kind = DOCKER_HOST_UNIX }, .instance = "unit", .images = { "image" }, .image_count = 1
};
static struct docker_facts facts = { .can_hold = HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP | HELPER_LIMIT_PIDS,
                                     .cpus = 4,
                                     .memory_bytes = 8ull << 30,
                                     .machine = "amd64",
                                     .has_seccomp = true };

static struct docker_plan plan(unsigned flags)
{
        struct docker_plan p = { .memory_bytes = 64 << 20, .pids = 20, .flags = DOCKER_PLAN_NO_INIT | flags };

        snprintf(p.id, sizeof(p.id), "once");
        return p;
}

static enum cay_code check(const struct docker_plan *p, struct docker_order *ret)
{
        struct cay_error err = { 0 };

        return docker_order_check(p, &options, &facts, ret, &err) == 0 ? CAY_OK : err.code;
}

static void what_cannot_be(void **state)
{
        struct docker_plan p = plan(DOCKER_PLAN_KEEP);
        struct docker_order order;

        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan(DOCKER_PLAN_KEEP | DOCKER_PLAN_GO_ON);
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan(1u << 30); /* a flag that there is not */
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan(0);
        p.network = DOCKER_NETWORK_BRIDGE;
        p.ports[0].inside = 80;
        p.port_count = 1;
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
        p = plan(0);
        p.pids = 15; /* Docker could not start it */
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
        p.flags = 0;
        assert_int_equal(check(&p, &order), CAY_OK);
}

/* Nobody else would filter its system calls. */
static void a_docker_without_seccomp(void **state)
{
        struct docker_plan p = plan(0);
        struct docker_order order;

        facts.has_seccomp = false;
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
        p.flags = 0;
        assert_int_equal(check(&p, &order), CAY_OK);
        facts.has_seccomp = true;
}

static const struct cay_json_value *at(const struct cay_json_value *v, const char *a, const char *b)
{
        v = cay_json_value_find(v, a);
        return b ? cay_json_value_find(v, b) : v;
}

static const char *word(const struct cay_json_value *list, size_t i)
{
        return cay_json_value_text(cay_json_value_at(list, i));
}

static struct cay_json_in *ask(const struct docker_order *order)
{
        const struct cay_json_in_limits limits = { .bytes = 1 << 20, .values = 100000 };
        struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        struct cay_buf text;

        cay_buf_init(&text, 1 << 20);
        assert_int_equal(docker_order_put_json(order, &options, &facts, &text), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&text), text.len, &limits, &doc, &err), 0);
        cay_buf_done(&text);
        return doc;
}

/* -1: none of that name. */
static int64_t ulimit(const struct cay_json_value *host, const char *name)
{
        const struct cay_json_value *list = at(host, "Ulimits", NULL);
        int64_t most = -1;

        for (size_t i = 0; i < cay_json_value_count(list); i++)
                if (strcmp(cay_json_value_text(at(cay_json_value_at(list, i), "Name", NULL)), name) == 0)
                        cay_json_value_i64(at(cay_json_value_at(list, i), "Hard", NULL), &most);
        return most;
}

static void a_command(void **state)
{
        const char *const argv[] = { "/busybox", "sh", "-c", "echo \"é\"", NULL }, *const env[] = { "A=b",
                                                                                                    NULL };
        struct cay_box_open open = {
                .kind = CAY_BOX_EXEC,
                .window = CAY_BOX_WINDOW,
                .exec = { .flags = CAY_BOX_STDIN, .files_max = 64, .file_max_bytes = 4096 }
        };
        struct docker_plan p = plan(DOCKER_PLAN_READ_ONLY);
        const struct cay_json_value *root, *host;
        struct docker_order order;
        struct cay_json_in *doc;
        uint8_t bytes[4096];
        int64_t number = 0;
        int len = cay_box_open_encode(&open, argv, env, bytes, sizeof(bytes));

        assert_true(len > 0);
        assert_int_equal(cay_box_open_decode(bytes, (size_t)len, &open), 0);
        assert_int_equal(check(&p, &order), CAY_OK);
        order.exec = &open.exec;
        doc = ask(&order);
        root = cay_json_in_root(doc);
        host = at(root, "HostConfig", NULL);
        assert_int_equal(cay_json_value_count(at(root, "Entrypoint", NULL)), 4);
        assert_string_equal(word(at(root, "Entrypoint", NULL), 3), "echo \"é\"");
        assert_int_equal(cay_json_value_count(at(root, "Cmd", NULL)), 0);
        assert_string_equal(word(at(root, "Env", NULL), 0), "A=b");
        assert_string_equal(cay_json_value_text(at(root, "WorkingDir", NULL)), "/workspace");
        assert_string_equal(cay_json_value_text(at(root, "User", NULL)), "1001:1001");
        assert_string_equal(cay_json_value_text(at(root, "Labels", "cay.init")), "none");
        assert_true(cay_json_value_is_true(at(root, "OpenStdin", NULL)) &&
                    cay_json_value_is_true(at(root, "StdinOnce", NULL)));
        assert_null(at(root, "Volumes", NULL)); /* where an init would be copied to */
        assert_string_equal(word(at(host, "CapDrop", NULL), 0), "ALL");
        assert_string_equal(cay_json_value_text(at(host, "NetworkMode", NULL)), "none");
        assert_true(cay_json_value_is_true(at(host, "ReadonlyRootfs", NULL)));
        assert_string_equal(word(at(host, "SecurityOpt", NULL), 0), "no-new-privileges");
        assert_non_null(strstr(word(at(host, "SecurityOpt", NULL), 1), "SCMP_CMP_MASKED_EQ"));
        assert_non_null(at(host, "Tmpfs", "/workspace"));
        assert_true(cay_json_value_i64(at(host, "PidsLimit", NULL), &number) && number == 20);
        assert_int_equal(cay_json_value_count(at(host, "Ulimits", NULL)), 8);
        assert_int_equal(ulimit(host, "nofile"), 64);
        assert_int_equal(ulimit(host, "memlock"), 65536);
        assert_int_equal(ulimit(host, "sigpending"), 1024);
        assert_int_equal(ulimit(host, "rtprio"), 0);
        cay_json_in_free(doc);
}

/* Every folder above it has to be the administrator's or our own. */
static void workspaces(void **state)
{
        char root[] = "/tmp/once-order-XXXXXX", way[64], path[80];
        struct docker_plan p = plan(DOCKER_PLAN_WORKSPACE);
        struct docker_order order;

        assert_non_null(mkdtemp(root));
        snprintf(way, sizeof(way), "%s/way", root);
        snprintf(path, sizeof(path), "%s/task", way);
        assert_int_equal(mkdir(way, 0755), 0);
        assert_int_equal(mkdir(path, 0777), 0);
        options.roots[0] = root;
        options.root_count = 1;
        snprintf(p.workspace_below, sizeof(p.workspace_below), "way/task");
        assert_int_equal(check(&p, &order), CAY_OK);
        assert_string_equal(order.bind, path);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(chmod(i ? root : way, 0775), 0);
                assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
                assert_int_equal(chmod(i ? root : way, 0755), 0);
        }
        if (geteuid() == 0) {
                assert_int_equal(chown(way, 1001, 1001), 0);
                assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
                p.flags &= ~(unsigned)DOCKER_PLAN_NO_INIT; /* an init would look */
                assert_int_equal(check(&p, &order), CAY_OK);
        }
        options.root_count = 0;
        rmdir(path);
        rmdir(way);
        rmdir(root);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_cannot_be),
                cmocka_unit_test(a_docker_without_seccomp),
                cmocka_unit_test(a_command),
                cmocka_unit_test(workspaces),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
