/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a front's request to cay-docker: through the policy table, and as a plan into what Docker is
 * asked for. Whatever was said, what comes out is held as order.h promises. Input: state and descriptors,
 * what Docker can hold, what it is like; then the message, or as much of one as there is (the rest is zeros).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/must.h"
#include "foundation/base/json_out.h"
#include "cay-docker/extras.h"
#include "cay-docker/order.h"
#include "foundation/json/json_in.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4 };

#define ROOT "/usr"

static const struct docker_options options = { .host_text = "unix:///x",
                                               .instance = "unit",
                                               .images = { "one", "two" },
                                               .image_count = 2,
                                               .roots = { ROOT },
                                               .root_count = 1 };

static const struct cay_json_value *find(const struct cay_json_value *v, const char *name)
{
        return cay_json_value_find(v, name);
}

static bool says(const struct cay_json_value *v, const char *name, const char *text)
{
        const char *said = cay_json_value_text(find(v, name));

        return said && strcmp(said, text) == 0;
}

static void check_error(const struct cay_error *err)
{
        must(err->code != CAY_OK && err->code < CAY_CODE_COUNT);
        must(err->msg[0] && memchr(err->msg, 0, sizeof(err->msg)));
}

/* As Docker reads it: "." and empty parts are nothing. */
static bool leads_below(const char *path, const char *top)
{
        size_t top_len = strlen(top);
        char clean[512] = "";
        size_t len = 0;

        while (*path) {
                size_t part = strcspn(path, "/");

                must(!(part == 2 && path[0] == '.' && path[1] == '.'));
                if (part > 0 && !(part == 1 && path[0] == '.')) {
                        must(len + part + 2 < sizeof(clean));
                        clean[len++] = '/';
                        memcpy(clean + len, path, part);
                        len += part;
                        clean[len] = '\0';
                }
                path += part + (path[part] == '/');
        }
        return strncmp(clean, top, top_len) == 0 && (clean[top_len] == '\0' || clean[top_len] == '/');
}

static void check_mount(const struct cay_json_value *m)
{
        static const char *const never[] = { "/.cay", "/proc", "/sys", "/dev", "/etc" };
        const char *source = cay_json_value_text(find(m, "Source")),
                   *target = cay_json_value_text(find(m, "Target"));

        must(source && target && target[0] == '/');
        for (unsigned i = 0; i < CAY_COUNT(never); i++)
                must(!leads_below(target, never[i]));
        if (says(m, "Type", "bind")) {
                must(strcmp(target, "/workspace") == 0 && leads_below(source, ROOT));
        } else {
                must(says(m, "Type", "volume"));
                must(strncmp(source, DOCKER_NAME_PREFIX, strlen(DOCKER_NAME_PREFIX)) == 0 &&
                     !strchr(source, '/'));
        }
}

static bool check_binding(void *ctx, const char *name, const struct cay_json_value *bindings)
{
        must(cay_json_value_count(bindings) == 1);
        must(says(cay_json_value_at(bindings, 0), "HostIp", "127.0.0.1"));
        return true;
}

/* Members that would take a wall away are not there, whatever their value. */
static bool check_member(void *ctx, const char *name, const struct cay_json_value *v)
{
        static const char *const known[] = {
                "NetworkMode",  "PortBindings", "IpcMode",       "CapDrop",     "SecurityOpt",
                "Privileged",   "AutoRemove",   "Init",          "OomScoreAdj", "ReadonlyRootfs",
                "ShmSize",      "LogConfig",    "RestartPolicy", "Memory",      "MemorySwap",
                "NanoCpus",     "PidsLimit",    "Ulimits",       "Tmpfs",       "Mounts",
                "CgroupnsMode", "Dns",          "DnsSearch"
        };
        bool is_known = false;

        for (unsigned i = 0; i < CAY_COUNT(known); i++)
                is_known = is_known || strcmp(name, known[i]) == 0;
        must(is_known);
        return true;
}

static void check_host(const struct cay_json_value *host, const struct docker_order *order, bool has_seccomp)
{
        const struct cay_json_value *drop = find(host, "CapDrop"), *opt = find(host, "SecurityOpt"),
                                    *mounts = find(host, "Mounts");
        char network[sizeof(DOCKER_NAME_PREFIX) + CAY_NAME_MAX];

        cay_json_value_each(host, check_member, NULL);
        snprintf(network, sizeof(network), DOCKER_NAME_PREFIX "%s", order->plan.id);
        must(says(host, "NetworkMode", order->plan.network == DOCKER_NETWORK_BRIDGE ? network : "none"));
        must(says(host, "IpcMode", "private") && says(host, "CgroupnsMode", "private") &&
             !cay_json_value_is_true(find(host, "Privileged")));
        must(cay_json_value_count(drop) == 1 &&
             strcmp(cay_json_value_text(cay_json_value_at(drop, 0)), "ALL") == 0);
        must(cay_json_value_count(opt) == 1u + has_seccomp);
        must(strcmp(cay_json_value_text(cay_json_value_at(opt, 0)), "no-new-privileges") == 0);
        must(!has_seccomp || strncmp(cay_json_value_text(cay_json_value_at(opt, 1)), "seccomp={", 9) == 0);
        must(cay_json_value_count(mounts) <= DOCKER_VOLUMES_MAX + 1);
        for (size_t i = 0; i < cay_json_value_count(mounts); i++)
                check_mount(cay_json_value_at(mounts, i));
        cay_json_value_each(find(host, "PortBindings"), check_binding, NULL);
}

static void one_plan(const struct docker_plan *plan, const struct docker_facts *facts,
                     enum docker_port_wish ports)
{
        static struct docker_order order;
        const struct cay_json_in_limits limits = { .bytes = 1 << 20, .values = 100000 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        cay_auto_buf struct cay_buf text = { 0 };
        const struct cay_json_value *root;
        struct cay_error err = { 0 };

        if (docker_order_check(plan, &options, facts, &order, &err) < 0) {
                check_error(&err);
                return;
        }
        must(err.code == CAY_OK && cay_id_is_valid(order.plan.id));
        must(!(order.skipped & ~plan->may_skip) && !(order.skipped & facts->can_hold));
        must(!order.image || strcmp(order.image, options.images[0]) == 0 ||
             strcmp(order.image, options.images[1]) == 0);
        order.ports = ports;
        cay_buf_init(&text, 1 << 20);
        must(docker_order_put_json(&order, &options, facts, &text) == 0);
        if (cay_json_in_parse(cay_buf_data(&text), text.len, &limits, &doc, &err) < 0) {
                must(strstr(err.msg, "duplicate")); /* two of the caller's labels: neither is ours */
                return;
        }
        root = cay_json_in_root(doc);
        must(says(root, "User", "1001:1001") && says(root, "Hostname", "sandbox"));
        must(says(find(root, "Labels"), "cay.id", order.plan.id));
        must(says(find(root, "Labels"), "cay.instance", options.instance));
        check_host(find(root, "HostConfig"), &order, facts->has_seccomp);
        for (unsigned i = 0; i < order.plan.volume_count; i++) {
                cay_buf_clear(&text);
                must(docker_volume_put_create(&order.plan, i, &options, &text) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct docker_request padded;
        struct docker_facts facts = { .machine = "amd64", .cpus = 2, .memory_bytes = 1 << 30 };
        unsigned state, fds;
        enum docker_port_wish ports;
        void *exact;

        if (size < HEAD)
                return 0;
        state = data[0] & 3;
        fds = data[0] >> 2 & 3;
        facts.can_hold = data[1];
        facts.has_seccomp = data[2] & 1;
        ports = (enum docker_port_wish)((data[2] >> 1) % 3);
        data += HEAD;
        size -= HEAD;
        exact = malloc(size ? size : 1); /* one byte too far is seen */
        must(exact);
        memcpy(exact, data, size);
        if (helper_request_check(&docker_protocol, exact, (int64_t)size, fds, state) == 0) {
                const struct docker_request *req = exact;

                must(size == sizeof(*req) && req->seq != 0 && fds <= 1 && state != 0);
                must(req->type > DOCKER_NONE && req->type < DOCKER_TYPE_COUNT);
                must(strcmp(helper_request_name(&docker_protocol, req->type), "?") != 0);
        }
        free(exact);
        memset(&padded, 0, sizeof(padded));
        memcpy(&padded, data, size < sizeof(padded) ? size : sizeof(padded));
        one_plan(&padded.plan, &facts, ports);
        return 0;
}
