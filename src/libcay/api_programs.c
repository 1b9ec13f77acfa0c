/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an installed libcay has its programs: compiled in, so that nothing in the caller's surroundings leads
 * astray.
 */
#include <errno.h>

#include "libcay/api_priv.h"

int cay_program_dir_find(char *ret, size_t size, struct cay_error *err)
{
        const char *named = secure_getenv("CAY_LIBEXEC"), *dir = named != NULL ? named : CAY_PROGRAM_DIR;
        int n;

        if (dir[0] != '/')
                return cay_fail(err, CAY_INVALID, "CAY_LIBEXEC: '%.80s' is not an absolute path", dir);
        n = snprintf(ret, size, "%s/cay-warden", dir);
        if (n < 0 || (size_t)n >= size)
                return cay_fail(err, CAY_INVALID, "CAY_LIBEXEC: the path is too long");
        if (access(ret, X_OK) < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, -errno,
                                    "%.120s (install Cay, or name the folder with CAY_LIBEXEC)", ret);
        ret[n - (int)strlen("/cay-warden")] = '\0';
        return 0;
}
