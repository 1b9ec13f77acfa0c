/* SPDX-License-Identifier: Apache-2.0 */
/* How many files may be open (files_limit.h). */
#include "foundation/sys/files_limit.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit given;
static bool was_raised;

uint64_t sys_files_limit(void)
{
        struct rlimit now;

        return getrlimit(RLIMIT_NOFILE, &now) < 0 ? 0 : now.rlim_cur;
}

uint64_t sys_files_raise(uint64_t most)
{
        struct rlimit now;

        if (getrlimit(RLIMIT_NOFILE, &now) < 0)
                return 0;
        if (!was_raised)
                given = now;
        now.rlim_cur = now.rlim_max < most ? now.rlim_max : most;
        if (now.rlim_cur > given.rlim_cur && setrlimit(RLIMIT_NOFILE, &now) == 0)
                was_raised = true;
        return sys_files_limit();
}

void sys_files_restore(void)
{
        if (was_raised)
                setrlimit(RLIMIT_NOFILE, &given); /* lowering the limit cannot fail */
}
