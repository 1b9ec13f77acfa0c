/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kill points, and dying at one of them. */
#include "domain/sandboxes/kill_points.h"

#include <fcntl.h>
#include <signal.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/parse.h"

static const char *const names[] = {
#define CAY_KILL_POINT(name, doc) #name,
#include "domain/sandboxes/kill_points.def"
#undef CAY_KILL_POINT
};
_Static_assert(CAY_COUNT(names) == CAY_KILL_POINT_COUNT, "a name for every step");

const char *cay_kill_point_name(enum cay_kill_point step)
{
        return step < CAY_KILL_POINT_COUNT ? names[step] : "?";
}

#ifdef CAY_TEST_HOOKS

static enum cay_kill_point kill_step = CAY_KILL_POINT_COUNT; /* of the process: it dies once */
static uint64_t passes;
static const char *once; /* NULL: every time */

void cay_kill_point_arm(void)
{
        static const char who[] = "front@";
        const char *spec = getenv("CAY_TEST_KILL"), *after = getenv("CAY_TEST_KILL_AFTER");

        kill_step = CAY_KILL_POINT_COUNT;
        passes = 0;
        once = getenv("CAY_TEST_KILL_ONCE");
        if (spec == NULL || strncmp(spec, who, strlen(who)) != 0 || (once != NULL && access(once, F_OK) == 0))
                return;
        for (unsigned i = 0; i < CAY_KILL_POINT_COUNT; i++)
                if (strcmp(names[i], spec + strlen(who)) == 0)
                        kill_step = (enum cay_kill_point)i;
        if (after != NULL)
                cay_parse_u64(after, &passes);
}

void cay_kill_point_reached(enum cay_kill_point step)
{
        if (step != kill_step)
                return;
        if (passes > 0) {
                passes--;
                return;
        }
        if (once != NULL)
                close(open(once, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        kill(getpid(), SIGKILL);
        for (;;)
                pause();
}

#endif
