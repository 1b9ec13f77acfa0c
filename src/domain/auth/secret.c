/* SPDX-License-Identifier: Apache-2.0 */
/* The shared secret: from a text or from its file. The file is written under another name and then linked. */

#include "domain/auth/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/auth/digest.h"

enum { RANDOM_BYTES = 32 };

void cay_secret_done(struct cay_secret *s)
{
        cay_digest_wipe(s, sizeof(*s));
}

static int set_bytes(struct cay_secret *s, const char *bytes, size_t len, struct cay_error *err)
{
        if (len < CAY_SECRET_MIN || len > CAY_SECRET_MAX)
                return cay_fail(err, CAY_INVALID,
                                "the secret has %zu bytes: it needs %d to %d (32 or more are good)", len,
                                CAY_SECRET_MIN, CAY_SECRET_MAX);
        for (size_t i = 0; i < len; i++) {
                if ((uint8_t)bytes[i] < 0x20 || bytes[i] == 0x7f)
                        return cay_fail(err, CAY_INVALID, "the secret must be plain text in one line");
        }
        cay_secret_done(s);
        memcpy(s->bytes, bytes, len);
        s->len = len;
        return 0;
}

int cay_secret_set(struct cay_secret *s, const char *text, struct cay_error *err)
{
        return set_bytes(s, text, strnlen(text, CAY_SECRET_MAX + 1), err);
}

/*
 * Accepts only a plain file that its owner alone may read. The owner must be us, root or the folder's owner.
 */
static int check_file(int dirfd, int fd, const char *file, struct cay_error *err)
{
        struct stat st, dir;

        if (fstat(fd, &st) < 0 || fstat(dirfd, &dir) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "stat %s", file);
        if (!S_ISREG(st.st_mode))
                return cay_fail(err, CAY_DENIED, "%s is not a plain file", file);
        if (st.st_uid != geteuid() && st.st_uid != dir.st_uid && st.st_uid != 0)
                return cay_fail(err, CAY_DENIED, "%s belongs to uid %u: chown it", file, st.st_uid);
        if (st.st_mode & 077)
                return cay_fail(err, CAY_DENIED,
                                "%s can be read by others (mode %04o): chmod 600 it, and "
                                "replace the secret if somebody may have read it",
                                file, st.st_mode & 07777);
        return 0;
}

static int read_file(int dirfd, int fd, const char *file, struct cay_secret *ret, struct cay_error *err)
{
        char text[CAY_SECRET_MAX + 2];
        ssize_t n;
        int r;

        if (check_file(dirfd, fd, file, err) < 0)
                return -1;
        n = pread(fd, text, sizeof(text), 0);
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "read %s", file);
        if (n > 0 && text[n - 1] == '\n')
                n--;
        r = set_bytes(ret, text, (size_t)n, err);
        cay_digest_wipe(text, sizeof(text));
        return r < 0 ? cay_wrap(err, "%s", file) : 0;
}

static void to_hex(const uint8_t *bytes, size_t len, char *ret)
{
        static const char digits[] = "0123456789abcdef";

        for (size_t i = 0; i < len; i++) {
                ret[2 * i] = digits[bytes[i] >> 4];
                ret[2 * i + 1] = digits[bytes[i] & 15];
        }
        ret[2 * len] = '\0';
}

/* Links the file to its name after its bytes are on the disk. An existing file stays. */
static int write_new(int dirfd, int fd, const char *temp, const char *file)
{
        char text[2 * RANDOM_BYTES + 2];
        uint8_t random[RANDOM_BYTES];
        ssize_t n = -1;
        int r;

        r = cay_digest_random(random, sizeof(random));
        if (r < 0)
                return r;
        to_hex(random, sizeof(random), text);
        text[sizeof(text) - 2] = '\n';
        do
                n = pwrite(fd, text, sizeof(text) - 1, 0);
        while (n < 0 && errno == EINTR);
        r = n < 0 ? -errno : n < (ssize_t)sizeof(text) - 1 ? -ENOSPC : 0;
        cay_digest_wipe(text, sizeof(text));
        cay_digest_wipe(random, sizeof(random));
        if (r < 0)
                return r;
        if (fsync(fd) < 0)
                return -errno;
        if (linkat(dirfd, temp, dirfd, file, 0) < 0 && errno != EEXIST)
                return -errno;
        return fsync(dirfd) < 0 ? -errno : 0;
}

static int make_file(int dirfd, const char *file, struct cay_error *err)
{
        char temp[64];
        uint8_t random[8];
        char hex[2 * sizeof(random) + 1];
        cay_auto_close int fd = -1;
        int r = cay_digest_random(random, sizeof(random));

        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "random bytes");
        to_hex(random, sizeof(random), hex);
        snprintf(temp, sizeof(temp), ".%.30s.%s", file, hex);
        fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return cay_fail_sys(err, errno == ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, -errno, "make %s",
                                    file);
        r = fchmod(fd, 0600) < 0 ? -errno : write_new(dirfd, fd, temp, file); /* whatever the umask was */
        unlinkat(dirfd, temp, 0);
        return r < 0 ? cay_fail_sys(err, r == -ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, r, "make %s", file) : 0;
}

int cay_secret_load(int dirfd, const char *file, struct cay_secret *ret, bool *ret_made,
                    struct cay_error *err)
{
        const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        cay_auto_close int fd = openat(dirfd, file, flags);
        bool made = fd < 0 && errno == ENOENT;

        if (made) {
                if (make_file(dirfd, file, err) < 0)
                        return -1;
                fd = openat(dirfd, file, flags);
        }
        if (fd < 0)
                return cay_fail_sys(err, errno == ELOOP ? CAY_DENIED : CAY_INTERNAL, -errno, "open %s", file);
        if (read_file(dirfd, fd, file, ret, err) < 0)
                return -1;
        *ret_made = made;
        return 0;
}
