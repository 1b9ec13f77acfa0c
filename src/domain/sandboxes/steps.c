/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kill points, and dying at one of them. */
#include "domain/sandboxes/steps.h"

#include <fcntl.h>
#include <signal.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/parse.h"

static const char *const names[] = {
#define CAY_SERVICE_STEP(name, doc) #name,
#include "domain/sandboxes/steps.def"
#undef CAY_SERVICE_STEP
};
_Static_assert(CAY_COUNT(names) == CAY_SERVICE_STEP_COUNT, "a name for every step");

const char *cay_service_step_name(enum cay_service_step step)
{
        return step < CAY_SERVICE_STEP_COUNT ? names[step] : "?";
}

#ifdef CAY_TEST_HOOKS

static enum cay_service_step kill_step = CAY_SERVICE_STEP_COUNT; /* of the process: it dies once */
static uint64_t passes;
static const char *once; /* NULL: every time */

void cay_service_step_arm(void)
{
        static const char who[] = "front@";
        const char *spec = getenv("CAY_TEST_KILL"), *after = getenv("CAY_TEST_KILL_AFTER");

        kill_step = CAY_SERVICE_STEP_COUNT;
        passes = 0;
        once = getenv("CAY_TEST_KILL_ONCE");
        if (spec == NULL || strncmp(spec, who, strlen(who)) != 0 || (once != NULL && access(once, F_OK) == 0))
                return;
        for (unsigned i = 0; i < CAY_SERVICE_STEP_COUNT; i++)
                if (strcmp(names[i], spec + strlen(who)) == 0)
                        kill_step = (enum cay_service_step)i;
        if (after != NULL)
                cay_parse_u64(after, &passes);
}

void cay_service_step_reached(enum cay_service_step step)
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
