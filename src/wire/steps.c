/* SPDX-License-Identifier: Apache-2.0 */
/* Step names, times, and the kill points of test builds. */
#include "wire/steps.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

static const struct {
        const char *name;
        enum cay_step_who who;
} rows[] = {
#define CAY_STEP(name, who, doc) { #name, CAY_WHO_##who },
#include "wire/steps.def"
#undef CAY_STEP
};

struct cay_steps *cay_steps_own(void)
{
        static struct cay_steps own;

        return &own;
}

const char *cay_step_name(enum cay_step step)
{
        return step < CAY_STEP_COUNT ? rows[step].name : "?";
}

enum cay_step_who cay_step_who(enum cay_step step)
{
        return rows[step].who;
}

#ifdef CAY_TEST_HOOKS

static enum cay_step kill_step = CAY_STEP_COUNT;
static int kill_pid; /* 0: whoever reaches the step */

void cay_step_arm(int cli_pid, int warden_pid)
{
        const char *spec = getenv("CAY_TEST_KILL");
        const char *at = spec ? strchr(spec, '@') : NULL;

        if (!at)
                return;
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++)
                if (strcmp(rows[i].name, at + 1) == 0)
                        kill_step = (enum cay_step)i;
        if (strncmp(spec, "cli@", 4) == 0)
                kill_pid = cli_pid;
        else if (strncmp(spec, "warden@", 7) == 0)
                kill_pid = warden_pid;
}

static void maybe_kill(enum cay_step step)
{
        if (step != kill_step)
                return;
        kill(kill_pid > 0 && rows[step].who != CAY_WHO_BOX ? kill_pid : getpid(), SIGKILL);
        if (kill_pid <= 0 || kill_pid == getpid())
                for (;;)
                        pause();
}

#else

void cay_step_arm(int cli_pid, int warden_pid)
{
        (void)cli_pid;
        (void)warden_pid;
}

static void maybe_kill(enum cay_step step)
{
        (void)step;
}

#endif

void cay_step_reached(struct cay_steps *steps, enum cay_step step)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        steps->at_ns[step] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        maybe_kill(step);
}
