/* SPDX-License-Identifier: Apache-2.0 */
/* The shared secret: made once, kept to its owner, refused when others could have read it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/auth/secret.h"

static char folder[64];
static int dirfd_;

static int setup(void **state)
{
        snprintf(folder, sizeof(folder), "/tmp/cay-secret-XXXXXX");
        assert_non_null(mkdtemp(folder));
        dirfd_ = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(dirfd_ >= 0);
        return 0;
}

static int teardown(void **state)
{
        unlinkat(dirfd_, CAY_SECRET_FILE, 0);
        unlinkat(dirfd_, "other", 0);
        close(dirfd_);
        assert_int_equal(rmdir(folder), 0); /* so nothing else was left in it */
        return 0;
}

static int load(struct cay_secret *s, bool *made, struct cay_error *err)
{
        *err = (struct cay_error){ 0 };
        return cay_secret_load(dirfd_, CAY_SECRET_FILE, s, made, err);
}

static void put_file(const char *text, mode_t mode)
{
        int fd = openat(dirfd_, CAY_SECRET_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        assert_int_equal(fchmod(fd, mode), 0);
        close(fd);
}

static void made_once_then_read(void **state)
{
        struct cay_secret one = { 0 }, two = { 0 };
        struct cay_error err;
        struct stat st;
        bool made;
        mode_t before = umask(0);

        assert_int_equal(load(&one, &made, &err), 0);
        umask(before);
        assert_true(made);
        assert_int_equal(one.len, 64);
        assert_int_equal(strspn((char *)one.bytes, "0123456789abcdef"), 64);
        assert_int_equal(fstatat(dirfd_, CAY_SECRET_FILE, &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(load(&two, &made, &err), 0);
        assert_false(made);
        assert_memory_equal(&one, &two, sizeof(one));
        cay_secret_done(&one);
        assert_int_equal(one.len, 0);
        assert_int_equal(one.bytes[0], 0);
}

static void others_must_not_read_it(void **state)
{
        struct cay_secret s = { 0 };
        struct cay_error err;
        bool made;

        put_file("0123456789abcdef\n", 0640);
        assert_int_equal(load(&s, &made, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_non_null(strstr(err.msg, "chmod 600"));
        assert_null(strstr(err.msg, "0123456789"));
        put_file("0123456789abcdef", 0600);
        assert_int_equal(load(&s, &made, &err), 0);
        assert_string_equal((char *)s.bytes, "0123456789abcdef");
}

static void what_is_no_plain_file_is_refused(void **state)
{
        struct cay_secret s = { 0 };
        struct cay_error err;
        bool made;

        assert_int_equal(symlinkat("other", dirfd_, CAY_SECRET_FILE), 0);
        assert_int_equal(load(&s, &made, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_int_equal(unlinkat(dirfd_, CAY_SECRET_FILE, 0), 0);
        assert_int_equal(mkfifoat(dirfd_, CAY_SECRET_FILE, 0600), 0);
        assert_int_equal(load(&s, &made, &err), -1); /* and does not hang */
        assert_int_equal(err.code, CAY_DENIED);
}

static void a_foreign_owner_is_refused(void **state)
{
        struct cay_secret s = { 0 };
        struct cay_error err;
        bool made;

        if (geteuid() != 0)
                skip();
        put_file("0123456789abcdef", 0600);
        assert_int_equal(fchownat(dirfd_, CAY_SECRET_FILE, 4242, 4242, 0), 0);
        assert_int_equal(load(&s, &made, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_int_equal(fchown(dirfd_, 4242, 4242), 0); /* the folder's owner may own it */
        assert_int_equal(load(&s, &made, &err), 0);
        assert_int_equal(fchown(dirfd_, 0, 0), 0);
}

static void length_and_form_are_checked(void **state)
{
        char longest[CAY_SECRET_MAX + 2];
        struct cay_secret s = { 0 };
        struct cay_error err;
        bool made;

        memset(longest, 'x', sizeof(longest));
        longest[CAY_SECRET_MAX] = '\0';
        assert_int_equal(cay_secret_set(&s, longest, &err), 0);
        assert_int_equal(s.len, CAY_SECRET_MAX);
        longest[CAY_SECRET_MAX] = 'x';
        longest[CAY_SECRET_MAX + 1] = '\0';
        assert_int_equal(cay_secret_set(&s, longest, &err), -1);
        assert_int_equal(cay_secret_set(&s, "1234567", &err), -1);
        assert_int_equal(cay_secret_set(&s, "12345\n678", &err), -1);
        assert_int_equal(cay_secret_set(&s, "test-secret", &err), 0);
        put_file("", 0600);
        assert_int_equal(load(&s, &made, &err), -1);
        put_file("0123456789\nabcdef\n", 0600);
        assert_int_equal(load(&s, &made, &err), -1);
        put_file("0123456789\n\n", 0600);
        assert_int_equal(load(&s, &made, &err), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(made_once_then_read, setup, teardown),
                cmocka_unit_test_setup_teardown(others_must_not_read_it, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_no_plain_file_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_foreign_owner_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(length_and_form_are_checked, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
