/* SPDX-License-Identifier: Apache-2.0 */
/* Registry texts: what is filled, and every error with its place. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "domain/templates/registry.h"
#include "foundation/sys/fd.h"

static struct cay_notes notes;
static struct cay_registry *registry;

static int teardown(void **state)
{
        cay_registry_free(cay_take(registry));
        return 0;
}

static int parse(const char *text)
{
        cay_registry_free(cay_take(registry));
        notes = (struct cay_notes){ 0 };
        return cay_registry_parse("f", text, strlen(text), &notes, &registry);
}

static const struct cay_template_set *accepts(const char *text)
{
        if (parse(text) < 0)
                fail_msg("%u:%u: %s", notes.items[0].line, notes.items[0].column, notes.items[0].text);
        return cay_registry_set(registry);
}

static void notes_are(const char *const *lines)
{
        char line[CAY_NOTE_TEXT + 64];
        unsigned count = 0;

        for (; lines[count]; count++) {
                assert_true(count < notes.count);
                assert_string_equal(cay_note_line(&notes.items[count], "f", line, sizeof(line)),
                                    lines[count]);
        }
        assert_int_equal(notes.count, count);
}

#define REFUSES(text, ...)                                                                                   \
        do {                                                                                                 \
                assert_int_equal(parse(text), -1);                                                           \
                assert_null(registry);                                                                       \
                notes_are((const char *const[]){ __VA_ARGS__, NULL });                                       \
        } while (0)

#define WARNS(text, ...)                                                                                     \
        do {                                                                                                 \
                accepts(text);                                                                               \
                notes_are((const char *const[]){ __VA_ARGS__, NULL });                                       \
        } while (0)

/* The file of document 001, byte for byte. */
static void the_documents_file(void **state)
{
        const char *folder = getenv("CAY_SOURCE_DIR");
        const struct cay_template_set *set;
        const struct cay_template *t;
        char path[4096], text[4096];

        assert_non_null(folder);
        snprintf(path, sizeof(path), "%s/tests/unit/domain/templates/document_001.yaml", folder);
        assert_true(sys_read_file(AT_FDCWD, path, text, sizeof(text)) > 400);
        set = accepts(text);
        assert_int_equal(notes.count, 0);
        assert_int_equal(set->count, 1);
        assert_int_equal(set->max_concurrent, 3);
        assert_true(set->auto_cleanup);
        t = cay_template_find(set, "code-sandbox");
        assert_non_null(t);
        assert_string_equal(t->description, "Python code execution environment");
        assert_int_equal(t->root, CAY_TEMPLATE_ROOT_DOCKERFILE);
        assert_string_equal(t->root_text, "code-sandbox/Dockerfile");
        assert_string_equal(t->system_path, "code-sandbox/SYSTEM.md");
        assert_string_equal(t->engine, "docker");
        assert_int_equal(t->triggers.count, 3);
        assert_string_equal(t->triggers.items[1], "run python");
        assert_string_equal(t->network, "none");
        assert_false(t->options.read_only || t->needs_confirm);
        assert_true(t->auto_cleanup);
        assert_int_equal(t->limits.memory_bytes, 256 << 20);
        assert_int_equal(t->limits.cpu_milli, 500);
        assert_int_equal(t->limits.wall_ms, 60000);
        assert_int_equal(t->max_concurrent, 0);
        assert_string_equal(t->interpret.items[0], "python3");
}

static void an_engine_follows_from_the_root(void **state)
{
        static const struct {
                const char *keys, *engine;
        } rows[] = {
                { "host: true, engine: auto", "auto" },
                { "host: true, engine: native", "native" },
                { "rootfs: r", "native" },
                { "rootfs: r, engine: auto", "native" },
                { "image: i", "docker" },
                { "dockerfile: d/Dockerfile, engine: auto", "docker" },
                { "host: true, engine: docker", "docker" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                char text[128];

                snprintf(text, sizeof(text), "containers: {x: {%s}}", rows[i].keys);
                assert_string_equal(accepts(text)->rows[0].engine, rows[i].engine);
        }
}

static void defaults_are_the_documents(void **state)
{
        const struct cay_template_set *set = accepts("containers: {x: {host: true}}");
        const struct cay_template *t = &set->rows[0];

        assert_int_equal(notes.count, 0);
        assert_int_equal(t->root, CAY_TEMPLATE_ROOT_HOST);
        assert_string_equal(t->engine, "auto");
        assert_string_equal(t->network, "none");
        assert_string_equal(t->description, "");
        assert_string_equal(t->system_path, "x/SYSTEM.md");
        assert_int_equal(t->limits.memory_bytes, 256 << 20);
        assert_int_equal(t->limits.cpu_milli, 500);
        assert_int_equal(t->limits.pids, 50);
        assert_int_equal(t->limits.wall_ms, 60000);
        assert_true(t->auto_cleanup);
        assert_int_equal(t->idle_ms, CAY_REGISTRY_AUTO_IDLE_MS);
        assert_int_equal(t->root_fd, -1);
        assert_int_equal(set->max_concurrent, 0);
        assert_int_equal(set->queue, 256);
        assert_int_equal(set->queue_ms, 10000);
        assert_string_equal(set->origin, "f");
}

static void networks(void **state)
{
        const struct cay_template_set *set = accepts(
                "containers:\n"
                "  a:\n"
                "    host: true\n"
                "    security:\n"
                "      network:\n"
                "        allow: [pypi.org, \"*.pythonhosted.org:443\", preset:git]\n"
                "        limits: {up: 1m, down: 2m, total: 1g, connections: 8, connects: 9, queries: 10}\n"
                "  b:\n"
                "    host: true\n"
                "    security: {network: {mode: bridge, deny: [evil.example]}}\n"
                "  c:\n"
                "    host: true\n"
                "    security: {network: {mode: learn}}\n");
        const struct cay_template *a = cay_template_find(set, "a"), *b = cay_template_find(set, "b"),
                                  *c = cay_template_find(set, "c");

        assert_string_equal(a->network, "list");
        assert_int_equal(a->allow.count, 3);
        assert_string_equal(a->allow.items[1], "*.pythonhosted.org:443");
        assert_true(a->limits.network_up == 1 << 20 && a->limits.network_down == 2 << 20);
        assert_true(a->limits.network_total == 1 << 30 && a->limits.network_connections == 8);
        assert_true(a->limits.network_connects == 9 && a->limits.network_queries == 10);
        assert_string_equal(b->network, "bridge");
        assert_string_equal(b->deny.items[0], "evil.example");
        assert_string_equal(c->network, "learn");
        assert_int_equal(notes.count, 0);
}

static void all_keys(void **state)
{
        const struct cay_template_set *set =
                accepts("settings:\n"
                        "  auto_cleanup: false\n"
                        "  queue: 2\n"
                        "  queue_timeout: 500ms\n"
                        "containers:\n"
                        "  a:\n"
                        "    rootfs: ././sub/root\n"
                        "    command: [\"echo\", hi]\n"
                        "  b-2:\n"
                        "    image: python:3.11-slim\n"
                        "    engine: process\n"
                        "    security: {network_mode: bridge, read_only: true, needs_confirm: true}\n"
                        "    resources: {memory: 1g, swap: 64m, cpus: 2, pids: 7, disk: 2g, inodes: 99,\n"
                        "                files: 64, output: 1m, wall_time: 5m, cpu_time: 30,\n"
                        "                life_time: 2h, idle_time: 90}\n"
                        "    env: {A: 1, B: \"\", C: x y}\n"
                        "    command: echo \"$A\"\n"
                        "    interpreter: [ruby, '-']\n"
                        "    requires: [/usr/bin/ruby]\n"
                        "    system: docs/b.md\n"
                        "    pool: 2\n"
                        "    max_concurrent: 4\n"
                        "    auto_cleanup: true\n");
        const struct cay_template *a = cay_template_find(set, "a"), *b = cay_template_find(set, "b-2");

        assert_int_equal(notes.count, 0);
        assert_true(set->queue == 2 && set->queue_ms == 500 && !set->auto_cleanup);
        assert_int_equal(a->root, CAY_TEMPLATE_ROOT_ROOTFS);
        assert_string_equal(a->root_text, "sub/root");
        assert_string_equal(a->system_path, "sub/SYSTEM.md");
        assert_true(a->command.count == 2 && a->command.line == NULL);
        assert_false(a->auto_cleanup);
        assert_int_equal(a->idle_ms, 0);
        assert_int_equal(b->root, CAY_TEMPLATE_ROOT_IMAGE);
        assert_string_equal(b->engine, "process");
        assert_string_equal(b->network, "bridge");
        assert_true(b->options.read_only && b->needs_confirm && b->auto_cleanup);
        assert_int_equal(b->limits.memory_bytes, 1 << 30);
        assert_int_equal(b->limits.swap_bytes, 64 << 20);
        assert_true(b->limits.cpu_milli == 2000 && b->limits.pids == 7 && b->limits.inodes == 99);
        assert_true(b->limits.files == 64 && b->limits.output_bytes == 1 << 20);
        assert_true(b->limits.wall_ms == 300000 && b->limits.cpu_time_ms == 30000);
        assert_true(b->life_ms == 7200000 && b->idle_ms == 90000);
        assert_int_equal(b->env.count, 3);
        assert_string_equal(b->env.pairs[0].value, "1");
        assert_string_equal(b->env.pairs[1].value, "");
        assert_string_equal(b->command.line, "echo \"$A\"");
        assert_string_equal(b->interpret.items[0], "ruby");
        assert_string_equal(b->requires.items[0], "/usr/bin/ruby");
        assert_string_equal(b->system_path, "docs/b.md");
        assert_true(b->pool == 2 && b->max_concurrent == 4);
}

static void unknown_keys_that_weaken_are_errors(void **state)
{
        REFUSES("containers:\n  x:\n    host: true\n    resources:\n      memroy: 1g\n    trigers: []\n    "
                "zzzzzz: 1\n"
                "setings: {}\nversion: '3'\n",
                "f:5:7: containers.x.resources.memroy: is not known; did you mean memory?",
                "f:6:5: containers.x.trigers: is not known; did you mean triggers?",
                "f:7:5: warning: containers.x.zzzzzz: is not known and does nothing; take it out",
                "f:8:1: setings: is not known; did you mean settings?",
                "f:9:1: warning: version: is not known and does nothing; take it out");
        REFUSES("containers:\n  x:\n    host: true\n    privileged: true\n    cap_add: [ALL]\n",
                "f:4:5: containers.x.privileged: is not known; take it out",
                "f:5:5: containers.x.cap_add: is not known; take it out");
        REFUSES("containers: {x: {host: true, security: {Network-Mode: none}}}",
                "f:1:41: containers.x.security.Network-Mode: is not known; did you mean network_mode?");
        REFUSES("containers: {x: {host: true, security: {needs_comfirm: true}}}",
                "f:1:41: containers.x.security.needs_comfirm: is not known; did you mean needs_confirm?");
        REFUSES("containers: {x: {host: true, secruity: {needs_confirm: true}}}",
                "f:1:30: containers.x.secruity: is not known; did you mean security?");
        REFUSES("containers: {x: {host: true, security: {ask_first: true}}}",
                "f:1:41: containers.x.security.ask_first: is not known; take it out");
        REFUSES("containers: {x: {host: true, build: {cpus: 1}}}",
                "f:1:38: containers.x.build.cpus: is not known; take it out");
        REFUSES("containers: {x: {host: true}}\nsettings: {at_once: 3}",
                "f:2:12: settings.at_once: is not known; take it out");
}

static void triggers_that_do_nothing(void **state)
{
        REFUSES("containers: {x: {host: true, triggers: [a, ' ', \"\\t\"]}}",
                "f:1:44: containers.x.triggers: an entry is empty; take it out",
                "f:1:49: containers.x.triggers: an entry is empty; take it out");
        WARNS("containers: {x: {host: true, triggers: [run it, run python, 'Run  It ']}}",
              "f:1:40: warning: containers.x.triggers: 'Run  It ' comes twice; take one out");
        WARNS("containers:\n  x: {host: true, triggers: [run it]}\n  y: {host: true, triggers: [a, RUN IT]}",
              "f:3:29: warning: containers.y.triggers: 'RUN IT' is also a trigger of 'x', which comes first "
              "and is "
              "chosen; take one out");
}

static void the_outline(void **state)
{
        REFUSES("settings: {}\n", "f:1:1: there is no 'containers:'; add it, with a template below");
        REFUSES("- a\n", "f:1:1: the registry is a list; it begins with 'containers:'");
        REFUSES("hello\n", "f:1:1: the registry is one value; it begins with 'containers:'");
        REFUSES("containers:\n", "f:1:12: containers: names no template; write 'name:' below it, indented");
        REFUSES("containers: []\n",
                "f:1:13: containers: names no template; write 'name:' below it, indented");
        REFUSES("containers:\n  Bad_Name: {host: true}\n",
                "f:2:3: containers: 'Bad_Name' is no name; write 1 to 63 of a-z, 0-9 and -, with no - at the "
                "ends");
        REFUSES("containers:\n  ../x: {host: true}\n", "f:2:3: containers: '../x' is no name; write 1 to 63 "
                                                       "of a-z, 0-9 and -, with no - at the ends");
        REFUSES("containers:\n  x:\n",
                "f:2:5: containers.x: is empty; write keys with their values, indented below it, "
                "or leave the key out");
        REFUSES("containers: {x: {host: true}}\nsettings: [1]\n",
                "f:2:11: settings: is a list; write keys with their values, indented below it");
        REFUSES("containers:\n  x: {host: true}\n  x: {host: true}\n",
                "f:3:3: 'x' stands in line 2 already; keep one of them");
}

static void keys_that_come_twice_are_read_and_refused(void **state)
{
        REFUSES("containers:\n  x:\n    host: true\n    requires: [/usr/a, /usr/b]\n    requires: [/usr/c]\n"
                "    env: {A: b, C: d}\n    env: {E: f}\n",
                "f:5:5: 'requires' stands in line 4 already; keep one of them",
                "f:7:5: 'env' stands in line 6 already; keep one of them");
}

static void roots(void **state)
{
        REFUSES("containers:\n  x: {description: d}\n",
                "f:2:3: containers.x: has no root; add one of dockerfile, rootfs, image or 'host: true'");
        REFUSES("containers:\n  x: {host: true, rootfs: r}\n",
                "f:2:3: containers.x: has 2 roots; keep one of dockerfile, rootfs, image and host");
        REFUSES("containers:\n  x: {host: false}\n",
                "f:2:3: containers.x: has no root; add one of dockerfile, rootfs, image or 'host: true'");
        REFUSES("containers: {x: {rootfs: /etc}}", "f:1:26: containers.x.rootfs: '/etc' leaves the "
                                                   "registry's folder; name a path below it, without '..'");
        REFUSES("containers: {x: {rootfs: a/../../b}}", "f:1:26: containers.x.rootfs: 'a/../../b' leaves the "
                                                        "registry's folder; name a path below it, without "
                                                        "'..'");
        REFUSES("containers: {x: {dockerfile: ../Dockerfile}}",
                "f:1:30: containers.x.dockerfile: '../Dockerfile' leaves the registry's folder; name a path "
                "below it, "
                "without '..'");
        REFUSES("containers: {x: {host: true, system: /etc/shadow}}",
                "f:1:38: containers.x.system: '/etc/shadow' leaves the registry's folder; name a path below "
                "it, "
                "without '..'");
        REFUSES("containers: {x: {image: '--privileged'}}",
                "f:1:25: containers.x.image: '--privileged' is no image "
                "reference; write it like python:3.11-slim");
}

static void values(void **state)
{
        REFUSES("containers: {x: {host: yes}}",
                "f:1:24: containers.x.host: 'yes' is not true or false; write one of them, without quotes");
        REFUSES("containers: {x: {host: true, security: {read_only: \"true\"}}}",
                "f:1:52: containers.x.security.read_only: 'true' is not true or false; write one of them, "
                "without "
                "quotes");
        REFUSES("containers: {x: {host: true, security: {network_mode: brigde}}}",
                "f:1:55: containers.x.security.network_mode: 'brigde' is none of none, bridge; did you mean "
                "bridge?");
        REFUSES("containers: {x: {host: true, security: {network_mode: host}}}",
                "f:1:55: containers.x.security.network_mode: 'host' is not known; write one of none, bridge");
        REFUSES("containers: {x: {host: true, engine: runc}}",
                "f:1:38: containers.x.engine: 'runc' is not known; write one of auto, native, docker, "
                "process");
        REFUSES("containers: {x: {host: true, engine: remote}}",
                "f:1:38: containers.x.engine: 'remote' is not known; write one of auto, native, docker, "
                "process");
        REFUSES("containers: {x: {host: true, engine: Dokcer}}",
                "f:1:38: containers.x.engine: 'Dokcer' is none of auto, native, docker, process; did you "
                "mean "
                "docker?");
        REFUSES("containers: {x: {host: true, resources: {memory: 1x}}}",
                "f:1:50: containers.x.resources.memory: '1x' is not a size (like 256m, 1.5g or 1048576)");
        REFUSES("containers: {x: {host: true, resources: {memory: -5}}}",
                "f:1:50: containers.x.resources.memory: '-5' is not a size (like 256m, 1.5g or 1048576)");
        REFUSES("containers: {x: {host: true, resources: {cpus: .inf}}}",
                "f:1:48: containers.x.resources.cpus: '.inf' is not a number of processors (like 0.5 or 2, "
                "with at "
                "most three decimals)");
        REFUSES("containers: {x: {host: true, pool: 99999999999999999999999}}",
                "f:1:36: containers.x.pool: '99999999999999999999999' is too big");
        REFUSES("containers: {x: {host: true, pool: 0x10}}",
                "f:1:36: containers.x.pool: '0x10' is not a whole number");
        REFUSES("containers: {x: {host: true, pool: 2000}}",
                "f:1:36: containers.x.pool: 2000 is too big: at most 1024");
        REFUSES("containers: {x: {host: true, max_concurrent: 0}}",
                "f:1:46: containers.x.max_concurrent: 0 is too small: at least 1");
        REFUSES("containers: {x: {host: true, pool: 3, max_concurrent: 2}}",
                "f:1:14: containers.x: pool 3 is more than max_concurrent 2; lower the pool");
        REFUSES("containers: {x: {host: true, resources: {timeout: 5, wall_time: 6}}}",
                "f:1:54: containers.x.resources.wall_time: says the same as timeout in line 1; keep one of "
                "them");
        REFUSES("containers: {x: {host: true, security: {network: {allow: [a.example, 'http://b']}}}}",
                "f:1:58: containers.x.security.network.allow: network rule 'http://b': '//b' is not a port: "
                "use 1 to 65535, a range such as 5000-5010, or *");
        REFUSES("containers: {x: {host: true, security: {network: {mode: list}}}}",
                "f:1:50: containers.x.security.network: has the mode list, and allow names nothing; add "
                "rules, or write mode: none");
        REFUSES("containers: {x: {host: true, security: {network: {deny: [a.example]}}}}",
                "f:1:50: containers.x.security.network: has rules and no network; write mode: list or "
                "mode: bridge");
        REFUSES("containers: {x: {host: true, security: {network_mode: none, network: {mode: none}}}}",
                "f:1:70: containers.x.security.network: says the same as network_mode; keep one of them");
        REFUSES("containers: {x: {host: true, security: {network: {alow: [a.example]}}}}",
                "f:1:51: containers.x.security.network.alow: is not known; did you mean allow?");
        REFUSES("containers: {x: {host: true, security: {network: {mode: open}}}}",
                "f:1:57: containers.x.security.network.mode: 'open' is not known; write one of none, list, "
                "bridge, learn");
        REFUSES("containers: {x: {host: true, security: {network: {mode: bridge, limits: {up: 3}}}}}",
                "f:1:78: containers.x.security.network.limits.up: '3' is too small: at least 1 KiB");
        REFUSES("containers: {x: {host: true, description: [a]}}",
                "f:1:43: containers.x.description: is a list; write a text");
        REFUSES("containers: {x: {host: true, description: }}",
                "f:1:43: containers.x.description: is empty; write a text, or leave the key out");
        REFUSES("containers: {x: {host: true, triggers: a}}",
                "f:1:40: containers.x.triggers: is one value; write a list of texts");
        REFUSES("containers: {x: {host: true, triggers: [a, {b: c}, '']}}",
                "f:1:44: containers.x.triggers: is a mapping; write a text (in quotes when it is to be "
                "empty)",
                "f:1:52: containers.x.triggers: an entry is empty; take it out");
        REFUSES("containers: {x: {host: true, interpreter: []}}",
                "f:1:14: containers.x.interpreter: names no program; write one, or leave the key out");
        REFUSES("containers: {x: {host: true, requires: [/opt/x]}}",
                "f:1:40: containers.x.requires: '/opt/x' is not "
                "below /usr; name it like /usr/bin/python3");
        REFUSES("containers: {x: {host: true, env: [a]}}",
                "f:1:35: containers.x.env: is a list; write names with a text each");
        REFUSES("containers: {x: {host: true, env: {a=b: c}}}",
                "f:1:36: containers.x.env.a=b: is no name of a variable; write 1 to 255 characters without "
                "'='");
}

static void modules_imported_ahead(void **state)
{
        static const char *const no_modules[] = { "9a", "a-b", "a b", "a.", ".a", "a..b", "a,b", "a=b", "é" };
        const struct cay_template_set *set = accepts(
                "containers: {x: {host: true, warm_modules: [json, os.path, _a9.B_]}, y: {host: true}}");
        char text[512], why[192];

        assert_string_equal(cay_template_find(set, "x")->options.warm_modules, "json,os.path,_a9.B_");
        assert_null(cay_template_find(set, "y")->options.warm_modules);
        for (unsigned i = 0; i < CAY_COUNT(no_modules); i++) {
                snprintf(text, sizeof(text), "containers: {x: {host: true, warm_modules: [json, '%s']}}",
                         no_modules[i]);
                snprintf(
                        why, sizeof(why),
                        "f:1:14: containers.x.warm_modules: '%s' is not the name of a module; write it as in "
                        "`import`, for instance numpy or os.path",
                        no_modules[i]);
                REFUSES(text, why);
        }
        REFUSES("containers: {x: {host: true, warm: [python, ruby]}}",
                "f:1:14: containers.x.warm: 'ruby' is not a language that can wait; only python is");
        REFUSES("containers: {x: {host: true, warm: [], warm_modules: [json]}}",
                "f:1:14: containers.x: no interpreter waits (warm: []), so warm_modules has no use; take one "
                "of "
                "them out");
        /* 4 * 64 - 1 bytes fit, 4 * 64 do not */
        for (int more = 0; more < 2; more++) {
                snprintf(text, sizeof(text),
                         "containers: {x: {host: true, warm_modules: [a%062d, a%062d, a%062d, a%0*d]}}", 0, 0,
                         0, 62 + more, 0);
                if (more == 0)
                        accepts(text);
                else
                        REFUSES(text, "f:1:14: containers.x.warm_modules: the names have more than 255 bytes "
                                      "together; name packages that import the others");
        }
}

static void out_of_range(void **state)
{
        assert_int_equal(
                parse("containers: {x: {host: true, resources: {memory: 1k, cpus: 9999, timeout: 0, pids: "
                      "123456789012345678901234567890}}}"),
                -1);
        assert_int_equal(notes.errors, 4);
        assert_true(strstr(notes.items[0].text, "containers.x.resources.memory: ") == notes.items[0].text);
        assert_int_equal(notes.items[0].column, 50);
        assert_true(strstr(notes.items[1].text, "containers.x.resources.cpus: ") == notes.items[1].text);
        assert_true(strstr(notes.items[2].text, "containers.x.resources.timeout: ") == notes.items[2].text);
        assert_true(strstr(notes.items[3].text, "containers.x.resources.pids: ") == notes.items[3].text);
}

static void all_errors_up_to_a_bound(void **state)
{
        char text[32 * 1024] = "containers:\n";
        size_t len = strlen(text);

        for (unsigned i = 0; i < 100; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len,
                                        "  t%u:\n    host: maybe\n    zzzzzz: x\n", i);
        assert_int_equal(parse(text), -1);
        assert_int_equal(notes.count, CAY_NOTES_MAX);
        assert_int_equal(notes.errors, 100);
        assert_int_equal(notes.warnings, 100);
        for (unsigned i = 1; i < notes.count; i++)
                assert_true(notes.items[i].line >= notes.items[i - 1].line);
}

static void too_big(void **state)
{
        size_t len = CAY_REGISTRY_FILE_MAX + 1;
        char *text = calloc(1, len);
        char many[32 * 1024] = "containers:\n";

        assert_non_null(text);
        memset(text, '#', len);
        assert_int_equal(cay_registry_parse("f", text, len, &notes, &registry), -1);
        free(text);
        for (unsigned i = 0, at = (unsigned)strlen(many); i < 257; i++)
                at += (unsigned)snprintf(many + at, sizeof(many) - at, "  t%u: {host: true}\n", i);
        REFUSES(many, "f:2:3: containers: has 257 templates; at most 256 are taken");
}

static void the_built_in_one(void **state)
{
        static const char *const names[] = { "host", "python", "node", "shell", "browser", "desktop" };
        const struct cay_template_set *set = accepts(cay_registry_builtin);

        assert_int_equal(notes.count, 0);
        assert_int_equal(set->count, CAY_COUNT(names));
        for (unsigned i = 0; i < set->count; i++) {
                const struct cay_template *t = &set->rows[i];

                assert_string_equal(t->name, names[i]);
                assert_int_equal(t->root, CAY_TEMPLATE_ROOT_HOST);
                assert_string_equal(t->engine, "auto");
                assert_string_equal(t->network, "none");
                /* What `host` leaves out is the daemon's: it is what requests without a template get. */
                assert_int_equal(t->limits.memory_bytes, i == 0 ? 0 : i >= 4 ? 1u << 30 : 256u << 20);
                assert_int_equal(t->limits.cpu_milli, i == 0 ? 0 : i >= 4 ? 2000 : 500);
                assert_int_equal(t->limits.wall_ms, i == 0 ? 0 : 60000);
                assert_int_equal(t->idle_ms, i == 0 ? 0 : CAY_REGISTRY_AUTO_IDLE_MS);
                assert_true(t->auto_cleanup);
                assert_int_equal(t->requires.count, i == 5 ? 2 : 1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_documents_file),
                cmocka_unit_test(an_engine_follows_from_the_root),
                cmocka_unit_test(defaults_are_the_documents),
                cmocka_unit_test(all_keys),
                cmocka_unit_test(networks),
                cmocka_unit_test(unknown_keys_that_weaken_are_errors),
                cmocka_unit_test(triggers_that_do_nothing),
                cmocka_unit_test(the_outline),
                cmocka_unit_test(keys_that_come_twice_are_read_and_refused),
                cmocka_unit_test(roots),
                cmocka_unit_test(values),
                cmocka_unit_test(modules_imported_ahead),
                cmocka_unit_test(out_of_range),
                cmocka_unit_test(all_errors_up_to_a_bound),
                cmocka_unit_test(too_big),
                cmocka_unit_test(the_built_in_one),
        };

        return cmocka_run_group_tests(tests, NULL, teardown);
}
