/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of changes/ share: a scratch folder, and change sets made by hand, right and wrong ones. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cay/changes/change_set.h"
#include "cay/changes/folder.h"
#include "foundation/sys/fd.h"

#define UNUSED __attribute__((unused))

static char scratch[256];

/* The working directory is a new folder; "f" in it is the host's folder of the run. */
UNUSED static int scratch_setup(void **state)
{
        const char *tmp = getenv("TMPDIR");

        (void)state;
        if (!tmp || !*tmp)
                tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(scratch, sizeof(scratch), "%s/cay-changes.XXXXXX", tmp);
        umask(022);
        return mkdtemp(scratch) && chdir(scratch) == 0 && mkdir("f", 0755) == 0 ? 0 : -1;
}

UNUSED static int scratch_teardown(void **state)
{
        char command[1024];

        (void)state;
        if (chdir("/") < 0)
                return -1;
        snprintf(command, sizeof(command), "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", scratch, scratch);
        return system(command) == 0 ? 0 : -1;
}

UNUSED static void shell(const char *line)
{
        int status = system(line);

        if (status != 0)
                print_message("failed: %s\n", line);
        assert_int_equal(status, 0);
}

UNUSED static void put(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(sys_write_all(fd, text, strlen(text)), 0);
        close(fd);
}

UNUSED static const char *get(const char *path)
{
        static char text[8192];
        ssize_t n = sys_read_file(AT_FDCWD, path, text, sizeof(text));

        return n < 0 ? "(missing)" : text;
}

UNUSED static bool is_there(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

UNUSED static unsigned mode_of(const char *path)
{
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st.st_mode & 07777;
}

UNUSED static const char *link_of(const char *path)
{
        static char text[4096];
        ssize_t n = readlink(path, text, sizeof(text) - 1);

        text[n > 0 ? n : 0] = '\0';
        return text;
}

/* --- Sets --- */

static int set_fd = -1;

UNUSED static void set_begin(void)
{
        if (set_fd >= 0)
                close(set_fd);
        set_fd = memfd_create("set", MFD_CLOEXEC);
        assert_true(set_fd >= 0);
}

UNUSED static void set_raw(const void *bytes, size_t len)
{
        assert_int_equal(sys_write_all(set_fd, bytes, len), 0);
}

UNUSED static void set_data(const void *bytes, size_t len)
{
        static const char zeros[CAY_TAR_BLOCK];

        set_raw(bytes, len);
        set_raw(zeros, cay_tar_padding(len));
}

UNUSED static void set_member(const struct cay_tar_member *m)
{
        static uint8_t mem[CAY_TAR_HEADERS_MAX];
        struct cay_tar_member copy = *m;
        int n;

        copy.link = m->link ? m->link : "";
        n = cay_tar_member_format(&copy, mem, sizeof(mem));
        assert_true(n > 0);
        set_raw(mem, (size_t)n);
}

/* What the folder has at path now, as the record that cay-init would write. NULL: nothing. */
UNUSED static const char *base_of(const char *path)
{
        static char text[8][CAY_TAR_BASE_MAX + 1];
        static unsigned turn;
        struct cay_change_base base;
        struct stat st;
        char full[5000];

        snprintf(full, sizeof(full), "f/%s", path);
        if (lstat(full, &st) < 0)
                return NULL;
        cay_change_base_of(&st, &base);
        turn = (turn + 1) % 8;
        cay_change_base_format(&base, text[turn]);
        return text[turn];
}

UNUSED static void set_file_of(const char *path, const void *bytes, size_t len, unsigned mode,
                               const char *base)
{
        set_member(&(struct cay_tar_member){
                .type = CAY_TAR_FILE, .name = path, .size = len, .mode = mode, .base = base });
        set_data(bytes, len);
}

/* These take the folder as it is now for the base. */
UNUSED static void set_file(const char *path, const char *text, unsigned mode)
{
        set_file_of(path, text, strlen(text), mode, base_of(path));
}

UNUSED static void set_dir(const char *path, unsigned mode)
{
        char name[5000];

        snprintf(name, sizeof(name), "%s/", path);
        set_member(&(struct cay_tar_member){
                .type = CAY_TAR_DIRECTORY, .name = name, .mode = mode, .base = base_of(path) });
}

UNUSED static void set_link(const char *path, const char *target)
{
        set_member(&(struct cay_tar_member){
                .type = CAY_TAR_SYMLINK, .name = path, .link = target, .mode = 0777, .base = base_of(path) });
}

UNUSED static void set_list(const void *bytes, size_t len)
{
        set_member(&(struct cay_tar_member){
                .type = CAY_TAR_FILE, .name = "removed", .size = len, .kind = CAY_CHANGE_REMOVED });
        set_data(bytes, len);
}

UNUSED static void set_removed_as(const char *path, const char *base)
{
        char list[6000];
        int n = snprintf(list, sizeof(list), "%s%c%s", base, 0, path);

        set_list(list, (size_t)n + 1);
}

UNUSED static void set_removed(const char *path)
{
        assert_non_null(base_of(path));
        set_removed_as(path, base_of(path));
}

UNUSED static void set_end(void)
{
        static const char zeros[2 * CAY_TAR_BLOCK];

        set_raw(zeros, sizeof(zeros));
}

UNUSED static struct cay_change_set *set_open(void)
{
        struct cay_change_set *set = NULL;
        struct cay_error err = { .code = CAY_OK };

        set_end();
        if (cay_change_set_open(set_fd, &set, &err) < 0)
                print_message("%s\n", err.msg);
        assert_non_null(set);
        return set;
}

UNUSED static void set_reopen(struct cay_change_set **set)
{
        if (*set)
                cay_change_set_free(*set);
        *set = set_open();
}

UNUSED static void folder_open(struct cay_folder *f)
{
        assert_int_equal(cay_folder_init_take(f, open("f", O_PATH | O_DIRECTORY | O_CLOEXEC)), 0);
}

#define CHANGES_TEST(fn) cmocka_unit_test_setup_teardown(fn, scratch_setup, scratch_teardown)
