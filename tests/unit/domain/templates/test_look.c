/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine has: folders and files beside a registry, engines, networks, programs. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/templates/registry.h"
#include "foundation/sys/fd.h"

static char folder[] = "/tmp/cay-look-XXXXXX";
static int folder_fd = -1;
static struct cay_notes notes;
static struct cay_registry *registry;

static const char *const files[] = { "root/SYSTEM.md", "web/SYSTEM.md",  "big/SYSTEM.md",
                                     "odd/SYSTEM.md",  "usr/bin/tool",   "usr/bin/text",
                                     "usr/bin/alt",    "usr/bin/broken", "link/SYSTEM.md" };
static const char *const folders[] = { "root/fs", "root", "web", "big", "odd", "usr/bin", "usr", "link" };

static void put(const char *path, mode_t mode, const char *text, size_t len)
{
        assert_int_equal(sys_make_file(folder_fd, path, mode, text, len), 0);
}

static int setup(void **state)
{
        char *big = calloc(1, CAY_REGISTRY_SYSTEM_MAX + 1);

        if (!mkdtemp(folder))
                return -1;
        folder_fd = sys_open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
        for (unsigned i = CAY_COUNT(folders); i-- > 0;)
                assert_int_equal(mkdirat(folder_fd, folders[i], 0755), 0);
        put("root/SYSTEM.md", 0644, "use the root\n", 13);
        put("web/SYSTEM.md", 0644, "", 0);
        memset(big, 'x', CAY_REGISTRY_SYSTEM_MAX + 1);
        put("big/SYSTEM.md", 0644, big, CAY_REGISTRY_SYSTEM_MAX + 1);
        put("odd/SYSTEM.md", 0644, "\xff", 1);
        put("usr/bin/tool", 0755, "x", 1);
        put("usr/bin/text", 0644, "x", 1);
        assert_int_equal(symlinkat("/etc/alternatives/x", folder_fd, "usr/bin/alt"), 0);
        assert_int_equal(symlinkat("gone", folder_fd, "usr/bin/broken"), 0);
        assert_int_equal(symlinkat("/etc/hostname", folder_fd, "link/SYSTEM.md"), 0);
        free(big);
        return 0;
}

static int teardown(void **state)
{
        cay_registry_free(registry);
        for (unsigned i = 0; i < CAY_COUNT(files); i++)
                unlinkat(folder_fd, files[i], 0);
        for (unsigned i = 0; i < CAY_COUNT(folders); i++)
                unlinkat(folder_fd, folders[i], AT_REMOVEDIR);
        close(folder_fd);
        return rmdir(folder);
}

static struct cay_registry_place here; /* what there is of engines; the rest is filled in */

static const char *why_not(void *ctx, const char *engine)
{
        return strcmp(engine, "docker") == 0 ? ctx : NULL;
}

static const struct cay_template *look(const char *keys)
{
        cay_auto_close int usr = sys_open_at(folder_fd, "usr", O_PATH | O_DIRECTORY, 0);
        struct cay_registry_place place = here;
        char text[512];
        int n = snprintf(text, sizeof(text), "containers: {web: {%s}}", keys);

        place.folder_fd = folder_fd;
        place.usr_fd = usr;
        if (!place.engines)
                place.engines = "native process";
        cay_registry_free(cay_take(registry));
        notes = (struct cay_notes){ 0 };
        if (cay_registry_parse("f", text, (size_t)n, &notes, &registry) < 0)
                fail_msg("%s", notes.items[0].text);
        cay_registry_look(registry, &place, &notes);
        return &cay_registry_set(registry)->rows[0];
}

static void lacks(const char *keys, const char *why)
{
        const struct cay_template *t = look(keys);

        assert_false(t->available);
        assert_string_equal(t->why, why);
}

static void what_is_there_is_available(void **state)
{
        const struct cay_template *t = look("host: true, requires: [/usr/bin/tool, /usr/bin/alt]");

        assert_true(t->available);
        assert_string_equal(t->why, "");
        assert_string_equal(t->system_text, ""); /* web/SYSTEM.md */
        t = look("rootfs: root/fs");
        assert_true(t->available && t->root_fd >= 0);
        assert_string_equal(t->system_text, "use the root\n");
        assert_int_equal(notes.count, 0);
}

static void networks_are_an_engines(void **state)
{
        here.engines = "native docker";
        here.bridge_engines = here.no_init_engine = "docker";
        assert_true(look("host: true, security: {network_mode: bridge}")->available);
        assert_true(look("host: true, engine: docker, security: {network_mode: bridge}")->available);
        lacks("host: true, engine: native, security: {network_mode: bridge}",
              "it needs the network 'bridge', which the engine 'docker' has, not 'native'");
        assert_true(look("host: true, init: none")->available);
        lacks("host: true, engine: native, init: none",
              "it has no init (init: none), which takes the engine 'docker'; it is for native");
        /* What docker makes of it has an image's programs, not this machine's. */
        assert_true(
                look("host: true, requires: [/usr/bin/none], security: {network_mode: bridge}")->available);
        assert_false(look("host: true, requires: [/usr/bin/none]")->available);
        here = (struct cay_registry_place){ 0 };
}

static void what_is_not_says_why(void **state)
{
        lacks("dockerfile: d/Dockerfile", "it needs the engine 'docker'; this daemon has native process");
        lacks("image: x, engine: native",
              "the engine 'native' cannot make a root from image; give it a rootfs");
        lacks("host: true, security: {network_mode: bridge}",
              "it needs the network 'bridge'; this daemon has none");
        lacks("rootfs: nowhere", "its rootfs 'nowhere' cannot be opened: No such file or directory");
        lacks("rootfs: root/SYSTEM.md", "its rootfs 'root/SYSTEM.md' cannot be opened: Not a directory");
        lacks("host: true, requires: [/usr/bin/none]",
              "it needs /usr/bin/none, which this machine does not have");
        lacks("host: true, requires: [/usr/bin/text]",
              "it needs /usr/bin/text, which this machine does not have");
        lacks("host: true, requires: [/usr/bin/broken]",
              "it needs /usr/bin/broken, which this machine does not have");
}

/* On Docker an image stands for the machine, so what the machine has does not count. */
static void engines_decide(void **state)
{
        here = (struct cay_registry_place){ .engines = "docker", .why_not = why_not };
        assert_true(look("host: true, requires: [/usr/bin/none]")->available);
        lacks("host: true, engine: native", "it needs the engine 'native'; this daemon has docker");
        assert_true(look("image: x")->available);
        lacks("rootfs: root/fs", "it needs the engine 'native'; this daemon has docker");
        lacks("dockerfile: root/Dockerfile", "its dockerfile 'root/Dockerfile' is not there; write it");
        assert_true(look("dockerfile: root/SYSTEM.md")->available); /* a file */
        lacks("rootfs: root/fs, engine: docker",
              "the engine 'docker' cannot make a root from a folder; give it an image");
        here = (struct cay_registry_place){ .engines = "native docker", .default_engine = "native" };
        lacks("host: true, requires: [/usr/bin/none]",
              "it needs /usr/bin/none, which this machine does not have");
        assert_true(look("host: true, engine: docker, requires: [/usr/bin/none]")->available);
        assert_true(look("image: x")->available);
        assert_true(look("rootfs: root/fs")->available);
        here.default_engine = "docker";
        assert_true(look("host: true, requires: [/usr/bin/none]")->available);
        here = (struct cay_registry_place){ .engines = "native",
                                            .why_not = why_not,
                                            .ctx = (void *)(uintptr_t) "nobody asked" };
        lacks("image: x", "it needs the engine 'docker', which is not available: nobody asked");
        lacks("host: true, engine: process", "it needs the engine 'process'; this daemon has native");
        here = (struct cay_registry_place){ 0 };
}

static void warns(const char *keys, const char *text)
{
        const struct cay_template *t = look(keys);

        assert_true(t->available);
        assert_null(t->system_text);
        assert_int_equal(notes.count, 1);
        assert_false(notes.items[0].is_error);
        assert_int_equal(notes.items[0].column, 14);
        assert_string_equal(notes.items[0].text, text);
}

static void instructions_that_cannot_be_had_are_warnings(void **state)
{
        assert_null(look("host: true, system: none.md")->system_text);
        assert_int_equal(notes.count, 0);
        warns("host: true, system: big/SYSTEM.md",
              "containers.web: 'big/SYSTEM.md' has more than 65536 bytes and is left out; shorten it");
        warns("host: true, system: odd/SYSTEM.md",
              "containers.web: 'odd/SYSTEM.md' is not plain UTF-8 text and is left out");
        warns("host: true, system: link/SYSTEM.md",
              "containers.web: 'link/SYSTEM.md' cannot be read: Too many levels "
              "of symbolic links; let the daemon's user read it");
        warns("host: true, system: odd",
              "containers.web: 'odd' cannot be read: Is a directory; let the daemon's user read it");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_there_is_available),
                cmocka_unit_test(what_is_not_says_why),
                cmocka_unit_test(networks_are_an_engines),
                cmocka_unit_test(engines_decide),
                cmocka_unit_test(instructions_that_cannot_be_had_are_warnings),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
