/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a plan to what Docker is asked for: whatever a front says, the container is a hardened one of ours, or
 * none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cay-docker/order.h"
#include "cay-docker/seccomp.h"
#include "foundation/json/json_in.h"
#include "foundation/tar/tar.h"
#include "links/helper/init_config.h"

static struct docker_options options = { .host = { .kind = DOCKER_HOST_UNIX },
                                         .instance = "unit",
                                         .images = { "first", "second:1" },
                                         .image_count = 2 };
static const struct docker_facts facts = { .can_hold = HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP |
                                                       HELPER_LIMIT_CPUS | HELPER_LIMIT_PIDS,
                                           .cpus = 4,
                                           .memory_bytes = 8ull << 30,
                                           .machine = "amd64" };

static struct docker_plan plan_of(const char *id)
{
        struct docker_plan p = { .memory_bytes = 64 << 20, .pids = 20, .cpu_milli = 500 };

        snprintf(p.id, sizeof(p.id), "%s", id);
        return p;
}

static enum cay_code check(const struct docker_plan *p, struct docker_order *ret)
{
        struct cay_error err = { 0 };

        return docker_order_check(p, &options, &facts, ret, &err) == 0 ? CAY_OK : err.code;
}

static const struct cay_json_value *find(const struct cay_json_value *v, const char *a, const char *b)
{
        v = cay_json_value_find(v, a);
        return b ? cay_json_value_find(v, b) : v;
}

static int64_t number(const struct cay_json_value *v)
{
        int64_t n = -1;

        assert_true(cay_json_value_i64(v, &n));
        return n;
}

static void assert_hardened(const struct docker_order *order)
{
        struct cay_error err = { 0 };
        struct cay_json_in *doc = NULL;
        const struct cay_json_value *root, *host;
        struct cay_buf json;

        cay_buf_init(&json, 65536);
        assert_int_equal(docker_order_put_json(order, &options, &facts, &json), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&json), json.len, NULL, &doc, &err), 0);
        root = cay_json_in_root(doc);
        host = find(root, "HostConfig", NULL);
        assert_string_equal(cay_json_value_text(find(root, "User", NULL)), "1001:1001");
        assert_string_equal(cay_json_value_text(cay_json_value_at(find(root, "Entrypoint", NULL), 0)),
                            "/.cay/init");
        assert_string_equal(cay_json_value_text(find(root, "Labels", "cay.id")), order->plan.id);
        assert_string_equal(cay_json_value_text(find(root, "Labels", "cay.instance")), "unit");
        assert_string_equal(cay_json_value_text(find(host, "NetworkMode", NULL)), "none");
        assert_string_equal(cay_json_value_text(cay_json_value_at(find(host, "CapDrop", NULL), 0)), "ALL");
        assert_string_equal(cay_json_value_text(cay_json_value_at(find(host, "SecurityOpt", NULL), 0)),
                            "no-new-privileges");
        assert_int_equal(cay_json_value_type(find(host, "Privileged", NULL)), CAY_JSON_BOOL);
        assert_false(cay_json_value_is_true(find(host, "Privileged", NULL)));
        assert_null(find(host, "CapAdd", NULL));
        assert_null(find(host, "Devices", NULL));
        assert_null(find(host, "Binds", NULL));
        assert_null(find(host, "PidMode", NULL));
        assert_int_equal(cay_json_value_count(find(host, "Mounts", NULL)), order->bind[0] ? 1 : 0);
        cay_json_in_free(doc);
        cay_buf_done(&json);
}

static void a_plain_plan(void **state)
{
        struct docker_plan p = plan_of("plain");
        struct docker_order order;
        struct cay_error err = { 0 };
        struct cay_json_in *doc = NULL;
        const struct cay_json_value *host;
        struct cay_buf json;

        assert_int_equal(check(&p, &order), CAY_OK);
        assert_string_equal(order.image, "first");
        assert_int_equal(order.skipped, 0);
        assert_hardened(&order);
        cay_buf_init(&json, 65536);
        assert_int_equal(docker_order_put_json(&order, &options, &facts, &json), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&json), json.len, NULL, &doc, &err), 0);
        host = find(cay_json_in_root(doc), "HostConfig", NULL);
        assert_int_equal(number(find(host, "Memory", NULL)), 64 << 20);
        assert_int_equal(number(find(host, "MemorySwap", NULL)), 64 << 20); /* none on top */
        assert_int_equal(number(find(host, "NanoCpus", NULL)), 500000000);
        assert_int_equal(number(find(host, "PidsLimit", NULL)), 20 + DOCKER_PIDS_SPARE);
        cay_json_in_free(doc);
        cay_buf_done(&json);
}

static void limits_are_held_refused_or_skipped(void **state)
{
        struct docker_plan p = plan_of("limits");
        struct docker_order order;

        p.disk_bytes = 1 << 20;
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
        p.may_skip = HELPER_LIMIT_DISK;
        assert_int_equal(check(&p, &order), CAY_OK);
        assert_int_equal(order.skipped, HELPER_LIMIT_DISK);
        p.memory_bytes = 5 << 20; /* Docker holds none so small: it is not raised in silence */
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
        p.memory_bytes = UINT64_MAX;
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan_of("limits");
        p.pids = UINT64_MAX;
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan_of("limits");
        p.cpu_milli = 1;
        assert_int_equal(check(&p, &order), CAY_INVALID);
}

/* What a front that was taken over would say. */
static void hostile_plans(void **state)
{
        struct docker_plan p = plan_of("../../containers/other");
        struct docker_order order;

        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan_of("ok");
        memset(p.id, 'a', sizeof(p.id)); /* no end */
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan_of("ok");
        memset(p.owner, 'a', sizeof(p.owner));
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan_of("ok");
        snprintf(p.image, sizeof(p.image), "third");
        assert_int_equal(check(&p, &order), CAY_DENIED);
        snprintf(p.image, sizeof(p.image), "second:1");
        assert_int_equal(check(&p, &order), CAY_OK);
        assert_string_equal(order.image, "second:1");
        snprintf(p.owner, sizeof(p.owner), "\",\"HostConfig\":{\"Privileged\":true},\"x\":\"");
        snprintf(p.template_name, sizeof(p.template_name), "\"}},\"Privileged\":true");
        assert_int_equal(check(&p, &order), CAY_OK); /* odd, and nothing but a label */
        assert_hardened(&order);
        p = plan_of("ok");
        p.flags = 1u << 30;
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p.flags = DOCKER_PLAN_GO_ON;
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p = plan_of("ok");
        p.flags = DOCKER_PLAN_CA;
        memset(p.ca, 'a', sizeof(p.ca));
        assert_int_equal(check(&p, &order), CAY_INVALID);
        p.ca[1] = '\0';
        assert_int_equal(check(&p, &order), CAY_OK);
        p.flags |= DOCKER_PLAN_READ_ONLY; /* no file would get in */
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
        p.flags = DOCKER_PLAN_CA | DOCKER_PLAN_NO_INIT;
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
}

static void folders(void **state)
{
        char root[] = "/tmp/docker-order-XXXXXX", path[64], link[64];
        struct stat st;
        struct docker_plan p = plan_of("folder");
        struct docker_order order;

        assert_non_null(mkdtemp(root));
        snprintf(path, sizeof(path), "%s/in", root);
        snprintf(link, sizeof(link), "%s/link", root);
        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(symlink("/etc", link), 0);
        options.roots[0] = root;
        options.root_count = 1;
        p.flags = DOCKER_PLAN_WORKSPACE;
        snprintf(p.workspace_below, sizeof(p.workspace_below), "in");
        assert_int_equal(check(&p, &order), CAY_OK);
        assert_string_equal(order.bind, path);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(order.bind_ino, st.st_ino);
        assert_hardened(&order);
        p.workspace_root = 1;
        assert_int_equal(check(&p, &order), CAY_DENIED);
        p.workspace_root = 0;
        for (unsigned i = 0; i < 5; i++) {
                static const char *const bad[] = { "../etc", "/etc", "link", "in/../..", "" };

                snprintf(p.workspace_below, sizeof(p.workspace_below), "%s", bad[i]);
                assert_int_equal(check(&p, &order), CAY_DENIED);
        }
        snprintf(p.workspace_below, sizeof(p.workspace_below), "absent");
        assert_int_equal(check(&p, &order), CAY_NOT_FOUND);
        snprintf(p.workspace_below, sizeof(p.workspace_below), "in");
        p.flags |= DOCKER_PLAN_WORKSPACE_RW;
        if (geteuid() != DOCKER_USER)
                assert_int_equal(check(&p, &order), CAY_UNSUPPORTED); /* another's folder, writable */
        if (geteuid() == 0) {
                assert_int_equal(chown(path, DOCKER_USER, DOCKER_USER), 0);
                assert_int_equal(check(&p, &order), CAY_OK);
        }
        options.host.kind = DOCKER_HOST_TCP;
        assert_int_equal(check(&p, &order), CAY_UNSUPPORTED);
        options.host.kind = DOCKER_HOST_UNIX;
        options.root_count = 0;
        unlink(link);
        rmdir(path);
        rmdir(root);
}

static bool has_name(const struct cay_json_value *rule, const char *name)
{
        const struct cay_json_value *names = find(rule, "names", NULL);

        for (size_t i = 0; i < cay_json_value_count(names); i++)
                if (strcmp(cay_json_value_text(cay_json_value_at(names, i)), name) == 0)
                        return true;
        return false;
}

/*
 * The same rows as on native: what those allow passes here, and nothing that they refuse but what cay-init
 * itself needs.
 */
static void the_filter(void **state)
{
        static const char *const refused[] = { "mount",  "unshare",    "setns",          "bpf",
                                               "keyctl", "pivot_root", "io_uring_setup", "userfaultfd" };
        const struct cay_json_value *rules, *allowed;
        struct cay_error err = { 0 };
        struct cay_json_in *doc = NULL;
        struct cay_buf text;

        cay_buf_init(&text, 65536);
        assert_int_equal(docker_seccomp_put(&text, true), 0);
        assert_memory_equal(cay_buf_data(&text), "seccomp=", 8);
        cay_buf_drop(&text, 8);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&text), text.len, NULL, &doc, &err), 0);
        assert_string_equal(cay_json_value_text(find(cay_json_in_root(doc), "defaultAction", NULL)),
                            "SCMP_ACT_ERRNO");
        rules = find(cay_json_in_root(doc), "syscalls", NULL);
        assert_int_equal(cay_json_value_count(rules), 3);
        allowed = cay_json_value_at(rules, 0);
        assert_string_equal(cay_json_value_text(find(allowed, "action", NULL)), "SCMP_ACT_ALLOW");
        assert_true(has_name(allowed, "read") && has_name(allowed, "execve") && has_name(allowed, "socket"));
        assert_true(
                has_name(allowed, "landlock_restrict_self")); /* init's own: the inner filter refuses it */
        for (unsigned i = 0; i < CAY_COUNT(refused); i++)
                assert_false(has_name(allowed, refused[i]));
        assert_true(has_name(cay_json_value_at(rules, 1), "clone3"));
        assert_int_equal(number(find(cay_json_value_at(rules, 1), "errnoRet", NULL)), ENOSYS);
        assert_false(has_name(cay_json_value_at(rules, 1), "openat2"));
        cay_json_in_free(doc);
        cay_buf_done(&text);
}

static unsigned octal(const uint8_t *at)
{
        return (unsigned)strtoul((const char *)at, NULL, 8);
}

static void the_archive(void **state)
{
        struct docker_plan p = plan_of("archive");
        struct docker_order order;
        const uint8_t *at;
        struct cay_buf tar, accounts[DOCKER_ACCOUNT_COUNT] = { 0 }, certificates;
        unsigned members = 0;

        cay_buf_init(&accounts[DOCKER_ACCOUNT_GROUP], 64);
        assert_int_equal(cay_buf_puts(&accounts[DOCKER_ACCOUNT_GROUP], "a:x:1001:\n"), 0);
        cay_buf_init(&certificates, 64);
        assert_int_equal(cay_buf_puts(&certificates, "the host's\n"), 0);
        memset(p.secret, 7, sizeof(p.secret));
        p.flags |= DOCKER_PLAN_CA;
        snprintf(p.ca, sizeof(p.ca), "the daemon's\n");
        assert_int_equal(check(&p, &order), CAY_OK);
        cay_buf_init(&tar, 1 << 20);
        assert_int_equal(
                docker_order_put_archive(&order, &facts, "program", 7, accounts, &certificates, &tar), 0);
        assert_string_equal(docker_order_archive_path(&order), "/");
        for (at = (const uint8_t *)cay_buf_data(&tar);; members++) {
                struct cay_tar_header h;
                int r = cay_tar_header_parse(at, &h);

                assert_true(r >= 0); /* the sum is right, too */
                if (r == 0)
                        break;
                if (strcmp(h.name, ".cay/init") == 0) {
                        assert_int_equal(h.mode, 0111); /* run, not read: undumpable from the start */
                        assert_int_equal(octal(at + 108), 0);
                } else if (strcmp(h.name, ".cay/in/config") == 0) {
                        struct cay_init_config c;

                        assert_int_equal(h.mode, 0400);
                        assert_int_equal(octal(at + 108), 1001);
                        assert_int_equal(h.size, sizeof(c));
                        memcpy(&c, at + CAY_TAR_BLOCK, sizeof(c));
                        assert_memory_equal(c.secret, p.secret, sizeof(c.secret));
                        assert_int_equal(c.flags, CAY_INIT_ISOLATED | CAY_INIT_ONE_ID | CAY_INIT_OOM_SET |
                                                          CAY_INIT_DOCKER);
                }
                if (strcmp(h.name, "etc/group") == 0) { /* root's: the sandbox reads it */
                        assert_int_equal(h.mode, 0644);
                        assert_int_equal(octal(at + 108), 0);
                        assert_memory_equal(at + CAY_TAR_BLOCK, "a:x:1001:\n", 10);
                }
                if (strcmp(h.name, "etc/cay-ca.pem") == 0) {
                        assert_int_equal(h.mode, 0644);
                        assert_int_equal(octal(at + 108), 0);
                        assert_int_equal(h.size, strlen("the host's\nthe daemon's\n"));
                        assert_memory_equal(at + CAY_TAR_BLOCK, "the host's\nthe daemon's\n", h.size);
                }
                assert_string_not_equal(h.name, "etc/passwd"); /* an empty one is left as it is */
                at += CAY_TAR_BLOCK + h.size + cay_tar_padding(h.size);
        }
        assert_int_equal(members, 8);
        cay_buf_done(&tar);
        cay_buf_done(&certificates);
        cay_buf_done(&accounts[DOCKER_ACCOUNT_GROUP]);
}

/* With a read-only root /workspace outlives a stop: it is a volume, which goes with its container. */
static void a_read_only_root(void **state)
{
        struct docker_plan p = plan_of("read-only");
        struct docker_order order;
        struct cay_error err = { 0 };
        struct cay_json_in *doc = NULL;
        const struct cay_json_value *root;
        struct cay_tar_header h;
        struct cay_buf out;

        p.flags = DOCKER_PLAN_READ_ONLY | DOCKER_PLAN_KEEP;
        assert_int_equal(check(&p, &order), CAY_OK);
        cay_buf_init(&out, 65536);
        assert_int_equal(docker_order_put_json(&order, &options, &facts, &out), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&out), out.len, NULL, &doc, &err), 0);
        root = cay_json_in_root(doc);
        assert_non_null(find(root, "Volumes", "/workspace"));
        assert_non_null(find(root, "Volumes", "/.cay"));
        assert_null(find(find(root, "HostConfig", "Tmpfs"), "/workspace", NULL));
        assert_non_null(find(find(root, "HostConfig", "Tmpfs"), "/tmp", NULL));
        cay_json_in_free(doc);
        assert_true(docker_order_has_workspace_volume(&order));
        cay_buf_clear(&out);
        assert_int_equal(docker_order_put_workspace(&out), 0);
        assert_int_equal(cay_tar_header_parse((const uint8_t *)cay_buf_data(&out), &h), 1);
        assert_string_equal(h.name, "../workspace/");
        assert_int_equal(octal((const uint8_t *)cay_buf_data(&out) + 108), 1001);
        p.volume_count = 1;
        p.volumes[0].read_only = 1;
        snprintf(p.volumes[0].name, sizeof(p.volumes[0].name), "data");
        snprintf(p.volumes[0].target, sizeof(p.volumes[0].target), "/workspace");
        snprintf(p.owner, sizeof(p.owner), "me");
        assert_int_equal(check(&p, &order), CAY_OK);
        assert_false(docker_order_has_workspace_volume(&order));
        cay_buf_done(&out);
}

/*
 * The image's environment is Docker's to add: only a language is given, where the image says nothing of it.
 */
static void the_environment(void **state)
{
        struct docker_plan p = plan_of("env");
        struct docker_order order;

        assert_int_equal(check(&p, &order), CAY_OK);
        for (unsigned i = 0; i < 2; i++) {
                struct cay_error err = { 0 };
                struct cay_json_in *doc = NULL;
                const struct cay_json_value *env, *host;
                struct cay_buf out;

                order.lacks_lang = i == 1;
                cay_buf_init(&out, 65536);
                assert_int_equal(docker_order_put_json(&order, &options, &facts, &out), 0);
                assert_int_equal(cay_json_in_parse(cay_buf_data(&out), out.len, NULL, &doc, &err), 0);
                env = find(cay_json_in_root(doc), "Env", NULL);
                host = find(cay_json_in_root(doc), "HostConfig", NULL);
                assert_int_equal(cay_json_value_count(env), i);
                if (i == 1)
                        assert_string_equal(cay_json_value_text(cay_json_value_at(env, 0)), "LANG=C.UTF-8");
                assert_string_equal(cay_json_value_text(find(host, "CgroupnsMode", NULL)), "private");
                cay_json_in_free(doc);
                cay_buf_done(&out);
        }
}

static void folders_of_a_caller(void **state)
{
        struct docker_plan p = plan_of("caller");
        struct docker_order order;

        p.flags = DOCKER_PLAN_WORKSPACE;
        p.workspace_root = DOCKER_ROOT_CALLER;
        snprintf(p.workspace_below, sizeof(p.workspace_below), "usr/bin");
        assert_int_equal(check(&p, &order), CAY_OK);
        assert_string_equal(order.bind, "/usr/bin");
        options.keep = true; /* a daemon's front is no such caller */
        assert_int_equal(check(&p, &order), CAY_DENIED);
        options.keep = false;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plain_plan),        cmocka_unit_test(limits_are_held_refused_or_skipped),
                cmocka_unit_test(hostile_plans),       cmocka_unit_test(folders),
                cmocka_unit_test(the_archive),         cmocka_unit_test(the_filter),
                cmocka_unit_test(a_read_only_root),    cmocka_unit_test(the_environment),
                cmocka_unit_test(folders_of_a_caller),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
