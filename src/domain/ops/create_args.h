/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of sandbox_create, for ops that make a sandbox as one of their steps. */
#pragma once

#include "domain/model/limits.h"
#include "domain/model/spec.h"
#include "domain/ops/limit_fields.h"
#include "domain/ops/op.h"

struct cay_create_workspace {
        const char *path, *mode;
        bool given;
};

struct cay_create_args {
        const char *name, *project_name, *template_name, *engine, *network, *init, *execution_id, *confirm,
                *purpose;
        const char *
                /*
                 * set by code_run: why this needs a confirmation whatever the template says; NULL: not needed
                 */
                danger;
        struct cay_field_map labels, metadata, env;
        struct cay_limits limits;
        struct cay_field_texts may_skip, ports, volumes, allow, deny, secrets;
        struct cay_create_workspace workspace;
        uint64_t timeout_ms, idle_ms;
        bool has_timeout, has_idle, read_only, own_user_only;
        bool said_memory_limit, said_cpu_limit; /* by these names */
};

extern const struct cay_op cay_op_sandbox_create;
extern const struct cay_field cay_create_workspace_fields[];

struct cay_config;
/* Fills what was not requested with the configuration's defaults, as far as the engine can enforce them. */
void cay_op_fill_limits(struct cay_limits *l, const struct cay_config *config, unsigned held);

/*
 * Rows of the fields that mean the same wherever a sandbox is made; `m` is the struct cay_create_args in
 * `type`.
 */
/* clang-format off */
#define CAY_CREATE_FIELDS(type, m)                                                                                               \
        { "name", CAY_FIELD_TEXT, offsetof(type, m.name), 0,                                                                     \
          "name: 1 to 63 characters a-z, 0-9 or '-'; must not begin or end with '-'; unique per owner", .max = 63 },                      \
        { "labels", CAY_FIELD_MAP, offsetof(type, m.labels), 0, "labels for filters", .max = 255 },                            \
        { "metadata", CAY_FIELD_MAP, offsetof(type, m.metadata), 0, "data to store with it", .max = 255 },                 \
        { "env", CAY_FIELD_MAP, offsetof(type, m.env), 0, "variables of all its commands; never shown again",                  \
          .max = 256, .item_max = 128 * 1024 },                                                                                  \
        { "limits", CAY_FIELD_OBJECT, offsetof(type, m.limits), 0, "limits", .fields = cay_op_limit_fields },                    \
        { "memory_limit", CAY_FIELD_PARSED, offsetof(type, m.limits), 0, "the same as limits.memory (\"1g\")",                   \
          .parse = cay_op_parse_limit, .nr = CAY_LIMIT_NR_memory_bytes,                                                          \
          .given = CAY_FIELD_GIVEN(type, m.said_memory_limit) },                                                                 \
        { "cpu_limit", CAY_FIELD_PARSED, offsetof(type, m.limits), 0, "the same as limits.cpus (\"1.0\")",                       \
          .parse = cay_op_parse_limit, .nr = CAY_LIMIT_NR_cpu_milli,                                                             \
          .given = CAY_FIELD_GIVEN(type, m.said_cpu_limit) },                                                                    \
        { "may_skip", CAY_FIELD_TEXTS, offsetof(type, m.may_skip), 0,                                                            \
          "names of limits to skip if this machine cannot enforce them", .max = CAY_LIMIT_NR_COUNT },                  \
        { "engine", CAY_FIELD_TEXT, offsetof(type, m.engine), 0,                                                                 \
          "engine: native, docker or auto (default: the template's, else auto)", .max = 63 },                            \
        { "network", CAY_FIELD_TEXT, offsetof(type, m.network), 0,                                                               \
          "none (only loopback), list (what allow names), bridge (all public addresses), or learn (as bridge, then "            \
          "network_suggest lists the rules), if its template or an administrator allows it", .max = 63 },                        \
        { "network_mode", CAY_FIELD_TEXT, offsetof(type, m.network), 0, "the same as network", .max = 63 },                      \
        { "allow", CAY_FIELD_TEXTS, offsetof(type, m.allow), 0,                                                                  \
          "hosts that it may reach (native): pypi.org, *.example.org:443, 10.1.2.0/24:5432, preset:python",                      \
          .max = CAY_NETWORK_RULES_MAX, .item_max = 319 },                                                                       \
        { "deny", CAY_FIELD_TEXTS, offsetof(type, m.deny), 0, "hosts that it may not reach, whatever allow says",                \
          .max = CAY_NETWORK_RULES_MAX, .item_max = 319 },                                                                       \
        { "secrets", CAY_FIELD_TEXTS, offsetof(type, m.secrets), 0,                                                              \
          "names of your secrets that its requests may use; inside, each is a variable with a placeholder",                    \
          .max = 32, .item_max = 63 },                                                                                           \
        { "init", CAY_FIELD_TEXT, offsetof(type, m.init), 0,                                                                     \
          "cay, or none: copy nothing into it and run one command (docker; default: the template's, else cay)",         \
          .max = 63 },                                                                                                           \
        { "ports", CAY_FIELD_TEXTS, offsetof(type, m.ports), CAY_FIELD_NUMBERS,                                                  \
          "TCP ports to publish on the engine's loopback: PORT, or HOST:PORT with the one that is wished for (bridge; 18765 "    \
          "and 17681, its MCP and its terminal, on every engine)",                                                               \
          .max = CAY_SPEC_PORTS_MAX, .item_max = 16 },                                                                           \
        { "volumes", CAY_FIELD_TEXTS, offsetof(type, m.volumes), 0,                                                              \
          "volumes of the owner, which stay when sandboxes are destroyed: NAME:/PATH[:ro] (docker)", .max = CAY_SPEC_VOLUMES_MAX,               \
          .item_max = 256 },                                                                                                     \
        { "workspace", CAY_FIELD_OBJECT, offsetof(type, m.workspace), 0, "host folder to map as the workspace",                       \
          .fields = cay_create_workspace_fields, .given = CAY_FIELD_GIVEN(type, m.workspace.given) },                            \
        { "read_only", CAY_FIELD_BOOL, offsetof(type, m.read_only), 0, "make the root read-only" },                                       \
        { "confirm", CAY_FIELD_TEXT, offsetof(type, m.confirm), 0,                                                               \
          "confirmation token from the answer to the first request", .min = 1, .max = 128 }
/* clang-format on */
