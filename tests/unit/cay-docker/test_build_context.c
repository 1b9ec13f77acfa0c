/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a build is given: what counts for the hash, what goes along, and that nothing comes from anywhere
 * else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cay-docker/build_context.h"
#include "foundation/tar/tar_reader.h"

static const char registry[] =
        "containers:\n"
        "  box:\n    dockerfile: ./box/Dockerfile\n    build:\n      args: {BASE: \"b:1\"}\n"
        "  out:\n    dockerfile: link/Dockerfile\n"
        "  plain:\n    host: true\n"
        "  net:\n    dockerfile: box/Other\n    build: {network_mode: bridge, memory: 64m, timeout: 90}\n";

static struct {
        char folder[40];
        int fd;
        struct docker_context_sink sink;
        struct docker_context got[8];
        unsigned count;
        char names[4096];
} t;

static void tell(struct docker_context_sink *sink, const struct docker_context *c)
{
        (void)sink;
        assert_true(t.count < 8);
        t.got[t.count++] = *c;
}

static void put(const char *name, const char *text, mode_t mode)
{
        int fd = openat(t.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        assert_int_equal(fchmod(fd, mode), 0);
        close(fd);
}

static int set_up(void **state)
{
        (void)state;
        memset(&t, 0, sizeof(t));
        t.sink.tell = tell;
        snprintf(t.folder, sizeof(t.folder), "/tmp/docker-context-XXXXXX");
        assert_non_null(mkdtemp(t.folder));
        t.fd = open(t.folder, O_PATH | O_DIRECTORY);
        assert_int_equal(mkdirat(t.fd, "box", 0755), 0);
        assert_int_equal(mkdirat(t.fd, "box/sub", 0755), 0);
        assert_int_equal(fchmodat(t.fd, "box/sub", 0755, 0), 0); /* whatever our mask is */
        put("box/Dockerfile", "FROM x\n", 0644);
        put("box/Other", "FROM y\n", 0644);
        put("box/sub/tool", "#!/bin/sh\n", 0755);
        assert_int_equal(symlinkat("/etc/passwd", t.fd, "box/sub/link"), 0);
        assert_int_equal(symlinkat("box", t.fd, "link"), 0);
        return 0;
}

static int tear_down(void **state)
{
        char command[80];

        (void)state;
        close(t.fd);
        snprintf(command, sizeof(command), "rm -rf %s", t.folder);
        return system(command); /* NOLINT: a name of our own */
}

static const struct docker_context *read_one(const char *name, int tar_fd)
{
        struct cay_error err = { 0 };

        t.count = 0;
        assert_int_equal(
                docker_context_read(t.fd, registry, sizeof(registry) - 1, name, tar_fd, &t.sink, &err), 0);
        assert_int_equal(t.count, 1);
        return &t.got[0];
}

static const char *hash(void)
{
        static char text[DOCKER_CONTEXT];
        const struct docker_context *c = read_one("box", -1);

        assert_int_equal(c->code, CAY_OK);
        memcpy(text, c->hash, sizeof(text));
        return text;
}

static void test_what_counts(void **state)
{
        const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
        char first[DOCKER_CONTEXT];

        (void)state;
        memcpy(first, hash(), sizeof(first));
        assert_int_equal(strspn(first, "0123456789abcdef"), 64);
        assert_int_equal(utimensat(t.fd, "box/sub/tool", old, 0), 0);
        assert_string_equal(hash(), first); /* times do not */
        put("box/sub/tool", "#!/bin/sh\n#\n", 0755);
        assert_string_not_equal(hash(), first);
        put("box/sub/tool", "#!/bin/sh\n", 0644);
        assert_string_not_equal(hash(), first);
        put("box/sub/tool", "#!/bin/sh\n", 0755);
        assert_string_equal(hash(), first);
        assert_int_equal(renameat(t.fd, "box/sub/tool", t.fd, "box/sub/took"), 0);
        assert_string_not_equal(hash(), first);
        assert_int_equal(renameat(t.fd, "box/sub/took", t.fd, "box/sub/tool"), 0);
        put("box/.dockerignore", "more\n.dockerignore\n", 0644);
        assert_string_equal(hash(), first); /* what is left out counts for nothing */
        put("box/more", "more", 0644);
        assert_string_equal(hash(), first);
        put("box/.dockerignore", ".dockerignore\n", 0644);
        assert_string_not_equal(hash(), first);
}

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        size_t len = strlen(t.names);

        (void)sink;
        (void)err;
        snprintf(t.names + len, sizeof(t.names) - len, "%s %o %d %s|", m->name, m->mode, (int)m->size,
                 m->link);
        return 0;
}

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        (void)sink;
        (void)bytes;
        (void)len;
        (void)err;
        return 0;
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        (void)sink;
        (void)err;
        return 0;
}

static void test_archive(void **state)
{
        static const struct cay_tar_sink_ops ops = { on_member, on_data, on_end };
        static struct cay_tar_reader reader;
        static char bytes[65536];
        struct cay_tar_sink sink = { &ops };
        struct cay_error err = { 0 };
        int fd = memfd_create("tar", MFD_CLOEXEC);
        ssize_t n;

        (void)state;
        put("box/.dockerignore", "sub/*\n!sub/tool\nDockerfile\n", 0644);
        assert_int_equal(mkfifoat(t.fd, "box/pipe", 0600), 0);
        assert_int_equal(read_one("box", fd)->code, CAY_OK);
        assert_string_equal(t.got[0].args, "{\"BASE\":\"b:1\"}");
        n = pread(fd, bytes, sizeof(bytes), 0);
        close(fd);
        cay_tar_reader_init(&reader, &sink);
        assert_int_equal(cay_tar_reader_feed(&reader, bytes, (size_t)n, &err), 0);
        assert_int_equal(cay_tar_reader_finish(&reader, &err), 0);
        assert_string_equal(
                t.names, ".dockerignore 644 27 |Dockerfile 644 7 |Other 644 7 |sub 755 0 |sub/tool 755 10 |");
        put("box/.dockerignore", "Other\n", 0644);
        assert_int_equal(read_one("box", -1)->code, CAY_OK);
        assert_int_equal(t.got[0].entries, 5); /* links go as links, and are not followed */
}

static void test_refused(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        assert_int_equal(docker_context_read(t.fd, registry, sizeof(registry) - 1, "none", -1, &t.sink, &err),
                         -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(
                docker_context_read(t.fd, registry, sizeof(registry) - 1, "plain", -1, &t.sink, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(docker_context_read(t.fd, "containers: [", 13, NULL, -1, &t.sink, &err), -1);
        assert_int_equal(read_one("out", -1)->code, CAY_CONFLICT); /* its folder is a link */
        assert_int_equal(unlinkat(t.fd, "box/Dockerfile", 0), 0);
        assert_int_equal(symlinkat("/etc/passwd", t.fd, "box/Dockerfile"), 0);
        assert_int_equal(read_one("box", -1)->code, CAY_CONFLICT);
        assert_int_equal(t.got[0].hash[0], '\0');
}

static void test_all(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        assert_int_equal(docker_context_read(t.fd, registry, sizeof(registry) - 1, NULL, -1, &t.sink, &err),
                         0);
        assert_int_equal(t.count, 3);
        assert_string_equal(t.got[2].name, "net");
        assert_string_equal(t.got[2].dockerfile, "Other");
        assert_int_equal(t.got[2].bridge, 1);
        assert_int_equal(t.got[2].memory_bytes, 64 << 20);
        assert_int_equal(t.got[2].build_ms, 90000);
        assert_int_equal(t.got[0].bridge, 0);
        assert_int_equal(t.got[0].memory_bytes, DOCKER_BUILD_MEMORY);
        assert_string_not_equal(t.got[0].hash, t.got[2].hash);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_what_counts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_archive, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_all, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
