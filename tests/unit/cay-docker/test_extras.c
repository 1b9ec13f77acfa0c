/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks, ports, volumes and labels of a plan: what a front that was taken over would ask for is refused,
 * or means nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cay-docker/extras.h"

static const struct docker_options options = {
        .host = { .kind = DOCKER_HOST_UNIX }, .instance = "unit", .images = { "first" }, .image_count = 1
};
static const struct docker_facts facts = { .cpus = 4, .memory_bytes = 8ull << 30, .machine = "amd64" };

static struct {
        struct docker_plan plan;
        struct docker_order order;
        struct cay_json_in *doc;
        struct cay_buf json;
} t;

static int set_up(void **state)
{
        memset(&t, 0, sizeof(t));
        snprintf(t.plan.id, sizeof(t.plan.id), "box");
        snprintf(t.plan.owner, sizeof(t.plan.owner), "alice");
        cay_buf_init(&t.json, 65536);
        return 0;
}

static int tear_down(void **state)
{
        cay_json_in_free(t.doc);
        cay_buf_done(&t.json);
        return 0;
}

static enum cay_code check(void)
{
        struct cay_error err = { 0 };

        return docker_order_check(&t.plan, &options, &facts, &t.order, &err) == 0 ? CAY_OK : err.code;
}

static const struct cay_json_value *parse(void)
{
        struct cay_error err = { 0 };

        cay_json_in_free(t.doc);
        t.doc = NULL;
        assert_int_equal(cay_json_in_parse(cay_buf_data(&t.json), t.json.len, NULL, &t.doc, &err), 0);
        cay_buf_clear(&t.json);
        return cay_json_in_root(t.doc);
}

static const struct cay_json_value *created(void)
{
        assert_int_equal(check(), CAY_OK);
        assert_int_equal(docker_order_put_json(&t.order, &options, &facts, &t.json), 0);
        return parse();
}

static const struct cay_json_value *find(const struct cay_json_value *v, const char *a, const char *b)
{
        v = cay_json_value_find(v, a);
        return b ? cay_json_value_find(v, b) : v;
}

static const char *binding(const struct cay_json_value *root, const char *port, const char *what)
{
        const struct cay_json_value *all = find(find(root, "HostConfig", "PortBindings"), port, NULL);

        assert_int_equal(cay_json_value_count(all), 1);
        return cay_json_value_text(find(cay_json_value_at(all, 0), what, NULL));
}

static void none_is_the_default(void **state)
{
        const struct cay_json_value *root = created();

        assert_string_equal(cay_json_value_text(find(root, "HostConfig", "NetworkMode")), "none");
        /*
         * With true Docker writes no /etc/hosts, so that localhost is no name; and none of the host's servers
         * is told.
         */
        assert_false(cay_json_value_is_true(find(root, "NetworkDisabled", NULL)));
        assert_string_equal(cay_json_value_text(cay_json_value_at(find(root, "HostConfig", "Dns"), 0)),
                            "127.0.0.1");
        assert_null(find(root, "HostConfig", "PortBindings"));
}

static void ports_are_on_loopback(void **state)
{
        const struct cay_json_value *root;

        t.plan.network = DOCKER_NETWORK_BRIDGE;
        t.plan.port_count = 3;
        t.plan.ports[0] = (struct docker_port){ .inside = 80, .host = 8080 };
        t.plan.ports[1] = (struct docker_port){ .inside = 81 };
        t.plan.ports[2] = (struct docker_port){ .inside = 65535, .host = 65500 };
        root = created();
        assert_string_equal(cay_json_value_text(find(root, "HostConfig", "NetworkMode")), "cay-box");
        assert_false(cay_json_value_is_true(find(root, "NetworkDisabled", NULL)));
        assert_int_equal(cay_json_value_count(find(root, "ExposedPorts", NULL)), 3);
        assert_string_equal(binding(root, "80/tcp", "HostIp"), "127.0.0.1");
        assert_string_equal(binding(root, "80/tcp", "HostPort"), "8080");
        assert_string_equal(binding(root, "81/tcp", "HostIp"), "127.0.0.1");
        assert_string_equal(binding(root, "81/tcp", "HostPort"), "");
        assert_string_equal(binding(root, "65535/tcp", "HostPort"), "65500");
        t.order.ports = DOCKER_PORT_NEAR;
        assert_int_equal(docker_order_put_json(&t.order, &options, &facts, &t.json), 0);
        root = parse();
        assert_string_equal(binding(root, "80/tcp", "HostPort"), "8080-8179");
        assert_string_equal(binding(root, "65535/tcp", "HostPort"), "65500-65535");
        t.order.ports = DOCKER_PORT_ANY;
        assert_int_equal(docker_order_put_json(&t.order, &options, &facts, &t.json), 0);
        assert_string_equal(binding(parse(), "80/tcp", "HostPort"), "");
}

static void hostile_networks_and_ports(void **state)
{
        t.plan.network = DOCKER_NETWORK_COUNT;
        assert_int_equal(check(), CAY_INVALID);
        t.plan.network = DOCKER_NETWORK_NONE;
        t.plan.port_count = 1;
        t.plan.ports[0].inside = 80;
        assert_int_equal(check(), CAY_INVALID); /* without a network */
        t.plan.network = DOCKER_NETWORK_BRIDGE;
        assert_int_equal(check(), CAY_OK);
        t.plan.port_count = DOCKER_PORTS_MAX + 1;
        assert_int_equal(check(), CAY_INVALID);
        t.plan.port_count = UINT32_MAX;
        assert_int_equal(check(), CAY_INVALID);
        t.plan.port_count = 2;
        t.plan.ports[1].inside = 80;
        assert_int_equal(check(), CAY_INVALID); /* twice */
        t.plan.ports[1].inside = 0;
        assert_int_equal(check(), CAY_INVALID);
        t.plan.ports[1] = (struct docker_port){ .inside = 81, .host = 1023 }; /* a service's of the host */
        assert_int_equal(check(), CAY_INVALID);
        t.plan.ports[1].host = 1024;
        assert_int_equal(check(), CAY_OK);
}

static void the_network_says_whose_it_is(void **state)
{
        const struct cay_json_value *root;

        assert_int_equal(docker_network_put_create(&t.plan, &options, &t.json), 0);
        root = parse();
        assert_string_equal(cay_json_value_text(find(root, "Name", NULL)), "cay-box");
        assert_string_equal(cay_json_value_text(find(root, "Driver", NULL)), "bridge");
        assert_string_equal(cay_json_value_text(find(root, "Labels", "cay.id")), "box");
        assert_string_equal(cay_json_value_text(find(root, "Labels", "cay.instance")), "unit");
        assert_null(find(root, "Options", NULL));
}

static void ports_are_read_back(void **state)
{
        static const char text[] =
                "{\"NetworkSettings\":{\"Ports\":{\"80/tcp\":[{\"HostIp\":\"127.0.0.1\","
                "\"HostPort\":\"8081\"}],\"81/tcp\":null,\"82/tcp\":[{\"HostPort\":\"x\"}],"
                "\"83/tcp\":[{\"HostPort\":\"99999\"}]}}}";
        struct docker_port got[DOCKER_PORTS_MAX];

        t.plan.port_count = 4;
        for (unsigned i = 0; i < 4; i++)
                t.plan.ports[i].inside = (uint16_t)(80 + i);
        cay_buf_put(&t.json, text, sizeof(text) - 1);
        assert_int_equal(docker_ports_read(parse(), &t.plan, got), 1);
        assert_int_equal(got[0].inside, 80);
        assert_int_equal(got[0].host, 8081);
}

static void put_volume(const char *name, const char *target)
{
        t.plan.volume_count = 1;
        snprintf(t.plan.volumes[0].name, sizeof(t.plan.volumes[0].name), "%s", name);
        snprintf(t.plan.volumes[0].target, sizeof(t.plan.volumes[0].target), "%s", target);
}

static void hostile_volumes(void **state)
{
        static const char *const names[] = { "", "../x", "/etc", "a/b", "A", "a:b", "-" };
        static const char *const targets[] = { "",       "data",     "/",         "/../etc",
                                               "/.cay",  "/.cay/in", "/proc/1",   "/sys",
                                               "/dev",   "/a//b",    "/etc/cron", "/a/../.cay/x",
                                               "/./etc", "/./.cay",  "/a/.",      "/." };

        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                put_volume(names[i], "/data");
                assert_int_equal(check(), CAY_INVALID);
        }
        for (unsigned i = 0; i < CAY_COUNT(targets); i++) {
                put_volume("data", targets[i]);
                assert_int_equal(check(), CAY_INVALID);
        }
        put_volume("data", "/data");
        assert_int_equal(check(), CAY_OK);
        memset(t.plan.volumes[0].name, 'a', sizeof(t.plan.volumes[0].name));
        assert_int_equal(check(), CAY_INVALID);
        put_volume("data", "/data");
        memset(t.plan.volumes[0].target, '/', sizeof(t.plan.volumes[0].target));
        assert_int_equal(check(), CAY_INVALID);
        put_volume("data", "/data");
        t.plan.volume_count = DOCKER_VOLUMES_MAX + 1;
        assert_int_equal(check(), CAY_INVALID);
        t.plan.volume_count = 2;
        t.plan.volumes[1] = t.plan.volumes[0];
        assert_int_equal(check(), CAY_INVALID); /* two in one place */
        t.plan.volume_count = 1;
        t.plan.flags = DOCKER_PLAN_READ_ONLY;
        assert_int_equal(check(), CAY_UNSUPPORTED);
        t.plan.volumes[0].read_only = 1;
        assert_int_equal(check(), CAY_OK);
        t.plan.owner[0] = '\0';
        assert_int_equal(check(), CAY_INVALID);
}

static char *name_of(const char *owner, char *ret, size_t size)
{
        snprintf(t.plan.owner, sizeof(t.plan.owner), "%s", owner);
        put_volume("data", "/data");
        assert_int_equal(docker_volume_put_create(&t.plan, 0, &options, &t.json), 0);
        snprintf(ret, size, "%s", cay_json_value_text(find(parse(), "Name", NULL)));
        return ret;
}

static bool is_owners(const char *name, const char *owner, const char *instance, const char *more)
{
        char text[512];
        int n = snprintf(text, sizeof(text),
                         "{\"Name\":\"%s\",\"Driver\":\"local\",\"Options\":%s,\"Labels\":{\"cay.volume\":"
                         "\"data\",\"cay.owner\":\"%s\",\"cay.instance\":\"%s\"}}",
                         name, more, owner, instance);

        cay_buf_put(&t.json, text, (size_t)n);
        return docker_volume_is_owners(&t.plan, 0, &options, parse());
}

static void a_volume_is_its_owners(void **state)
{
        char alices[DOCKER_VOLUME_NAME], bobs[DOCKER_VOLUME_NAME];
        const struct cay_json_value *mount;

        name_of("bob", bobs, sizeof(bobs));
        name_of("alice", alices, sizeof(alices));
        assert_string_not_equal(alices, bobs);
        assert_true(is_owners(alices, "alice", "unit", "null"));
        assert_true(is_owners(alices, "alice", "unit", "{}"));
        assert_false(is_owners(alices, "bob", "unit", "null"));
        assert_false(is_owners(alices, "alice", "other", "null"));
        assert_false(is_owners(bobs, "alice", "unit", "null"));
        assert_false(is_owners(alices, "alice", "unit", "{\"device\":\"/etc\",\"o\":\"bind\"}"));
        mount = cay_json_value_at(find(created(), "HostConfig", "Mounts"), 0);
        assert_string_equal(cay_json_value_text(find(mount, "Type", NULL)), "volume");
        assert_string_equal(cay_json_value_text(find(mount, "Source", NULL)), alices);
        assert_string_equal(cay_json_value_text(find(mount, "Target", NULL)), "/data");
}

static void labels_forge_nothing(void **state)
{
        static const char pairs[] = "cay.id\0other\0cay.instance\0x\0\"}\0,\"Privileged\":true\0empty\0\0";
        const struct cay_json_value *labels, *root;

        memcpy(t.plan.labels, pairs, sizeof(pairs));
        root = created();
        labels = find(root, "Labels", NULL);
        assert_string_equal(cay_json_value_text(find(labels, "cay.id", NULL)), "box");
        assert_string_equal(cay_json_value_text(find(labels, "cay.instance", NULL)), "unit");
        assert_string_equal(cay_json_value_text(find(labels, "cay.label.cay.id", NULL)), "other");
        assert_string_equal(cay_json_value_text(find(labels, "cay.label.empty", NULL)), "");
        assert_false(cay_json_value_is_true(find(root, "HostConfig", "Privileged")));
        memset(t.plan.labels, 'a', sizeof(t.plan.labels));
        assert_int_equal(check(), CAY_INVALID); /* no end */
        t.plan.labels[sizeof(t.plan.labels) - 1] = '\0';
        assert_int_equal(check(), CAY_INVALID); /* a name, and no value */
        t.plan.labels[100] = '\0';
        assert_int_equal(check(), CAY_INVALID); /* nothing ends the list */
        t.plan.labels[sizeof(t.plan.labels) - 2] = '\0';
        assert_int_equal(check(), CAY_OK);
        memset(t.plan.labels, 0, sizeof(t.plan.labels));
        memcpy(t.plan.labels, "a\0\xff\0", 4);
        assert_int_equal(check(), CAY_INVALID);
        for (unsigned i = 0; i <= DOCKER_LABELS_MAX; i++)
                memcpy(t.plan.labels + i * 4, "a\0b\0", 4);
        assert_int_equal(check(), CAY_INVALID);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
                TEST(none_is_the_default),        TEST(ports_are_on_loopback),
                TEST(hostile_networks_and_ports), TEST(the_network_says_whose_it_is),
                TEST(ports_are_read_back),        TEST(hostile_volumes),
                TEST(a_volume_is_its_owners),     TEST(labels_forge_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
