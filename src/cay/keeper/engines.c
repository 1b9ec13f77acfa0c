/* SPDX-License-Identifier: Apache-2.0 */
/* Looking, deciding. */
#include "cay/keeper/engines.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "foundation/sys/child.h"
#include "foundation/sys/userns_why.h"

#define USUAL_SOCKET "/var/run/docker.sock"
#define PROBE_MS 20000 /* a busy machine's answer is an answer */
#define FALLS_MAX 3u
#define STEADY_MS 60000

static const char *const names[] = {
        [CAY_KEEP_NATIVE] = "native", [CAY_KEEP_DOCKER] = "docker", [CAY_KEEP_PROCESS] = "process"
};
_Static_assert(CAY_COUNT(names) == CAY_KEEP_ENGINES, "a name for every engine");

const char *cay_keep_engine_name(enum cay_keep_engine e)
{
        return names[e];
}

/* Looking */

/* What a box begins with. Some systems let the namespace be made and then refuse all that one makes it for, so it is used as well. */
static int try_namespaces(void)
{
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("cay", "/", "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
                return errno;
        return 0;
}

static void look_at_native(struct cay_keep_facts *ret)
{
        pid_t pid = fork();
        int r;

        if (pid == 0)
                _exit(try_namespaces());
        r = pid < 0 ? -errno : sys_child_status(pid, PROBE_MS);
        if (r != 0)
                sys_userns_why(r > 0 ? -r : r, ret->native_why, sizeof(ret->native_why));
}

static void look_at_docker(const struct cay_config *config, struct cay_keep_facts *ret)
{
        if (config->docker_host
                    [0]) { /* where it is, is for the log alone: who may read /api/engines need not know */
                snprintf(ret->docker_where, sizeof(ret->docker_where), "docker_host names one");
                return;
        }
        if (access(USUAL_SOCKET, R_OK | W_OK) == 0)
                snprintf(ret->docker_where, sizeof(ret->docker_where), "%s is there", USUAL_SOCKET);
        else if (errno == EACCES)
                snprintf(ret->docker_why, sizeof(ret->docker_why), "this user may not use %s", USUAL_SOCKET);
        else
                snprintf(ret->docker_why, sizeof(ret->docker_why),
                         "none is named (docker_host), and there is no %s", USUAL_SOCKET);
}

void cay_keep_look(const struct cay_config *config, struct cay_keep_facts *ret)
{
        *ret = (struct cay_keep_facts){ .process_on = config->process_engine };
        look_at_native(ret);
        look_at_docker(config, ret);
}

/* Deciding */

static void say(struct cay_keep_row *row, bool runs, const char *why, const char *more)
{
        row->runs = runs;
        snprintf(row->why, sizeof(row->why), "%.223s%.223s", why, more);
}

static void decide_by_name(enum cay_keep_engine chosen, struct cay_keep_plan *ret)
{
        for (unsigned i = 0; i < CAY_KEEP_ENGINES; i++)
                if (i == chosen || i != CAY_KEEP_PROCESS)
                        say(&ret->rows[i], i == chosen, "the setting engine is ", names[chosen]);
}

/* Beside whatever else runs. */
static void decide_process(const struct cay_keep_facts *f, struct cay_keep_plan *ret)
{
        say(&ret->rows[CAY_KEEP_PROCESS], f->process_on,
            f->process_on ? "the setting process_engine is true, for those who name it"
                          : "it has no isolation, so it is off: process_engine: true lets requests "
                            "and templates name it",
            "");
}

static int decide_auto(const struct cay_keep_facts *f, struct cay_keep_plan *ret, struct cay_error *err)
{
        struct cay_keep_row *native = &ret->rows[CAY_KEEP_NATIVE], *docker = &ret->rows[CAY_KEEP_DOCKER];
        bool holds = f->native_why[0] == '\0', found = f->docker_why[0] == '\0';

        ret->is_auto = true;
        say(native, holds, holds ? "the setting engine is auto, and this machine can" : f->native_why, "");
        say(docker, found, found ? "the setting engine is auto, and " : f->docker_why,
            found ? f->docker_where : "");
        if (!holds && !found)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "engine: auto finds none. native: %.130s. docker: %.70s", f->native_why,
                                f->docker_why);
        return 0;
}

int cay_keep_decide(const char *setting, const struct cay_keep_facts *facts, struct cay_keep_plan *ret,
                    struct cay_error *err)
{
        *ret = (struct cay_keep_plan){ 0 };
        decide_process(facts, ret);
        if (strcmp(setting, "auto") == 0)
                return decide_auto(facts, ret, err);
        for (unsigned i = 0; i < CAY_KEEP_ENGINES; i++) {
                if (strcmp(setting, names[i]) != 0)
                        continue;
                decide_by_name((enum cay_keep_engine)i, ret);
                return 0;
        }
        return cay_fail(err, CAY_INVALID,
                        "engine: there is no '%.40s'; choose auto, native, docker or process", setting);
}

static void tell_rows(const struct cay_keep_plan *plan)
{
        for (unsigned i = 0; i < CAY_KEEP_ENGINES && plan->rows[i].why[0]; i++)
                cay_log_info(plan->rows[i].runs ? "engine runs" : "engine does not run", "engine=%s why=%s",
                             names[i], plan->rows[i].why);
}

void cay_keep_plan_tell(const struct cay_config *config, const struct cay_keep_plan *plan)
{
        tell_rows(plan);
        if (plan->rows[CAY_KEEP_DOCKER].runs)
                cay_log_info("Docker's socket is held by cay-docker", "host=%s",
                             config->docker_host[0] ? config->docker_host : USUAL_SOCKET);
        if (plan->rows[CAY_KEEP_PROCESS].runs)
                cay_log_warn("commands of the process engine are not isolated: they can do on this machine "
                             "what their user can",
                             "user=%s", geteuid() == 0 ? "an id of each sandbox's own" : "the daemon's own");
}

int cay_keep_plan_make(const struct cay_config *config, struct cay_keep_plan *ret, struct cay_error *err)
{
        struct cay_keep_facts facts = { .process_on = config->process_engine };
        int r;

        if (strcmp(config->engine, "auto") == 0)
                cay_keep_look(config, &facts);
        r = cay_keep_decide(config->engine, &facts, ret, err);
        if (r < 0)
                tell_rows(ret); /* each reason, behind which stands the error */
        return r;
}

bool cay_keep_fell(struct cay_keep_plan *p, enum cay_keep_engine e, uint64_t lived_ms, bool was_ready)
{
        struct cay_keep_row *row = &p->rows[e];
        bool others = false;

        for (unsigned i = 0; i < CAY_KEEP_ENGINES; i++)
                others |= i != e && i != CAY_KEEP_PROCESS && p->rows[i].runs;
        row->falls = lived_ms < STEADY_MS ? row->falls + 1 : 1;
        if (!(p->is_auto || e == CAY_KEEP_PROCESS) || !others || (was_ready && row->falls < FALLS_MAX))
                return false;
        say(row, false, "its helper ended again and again; the daemon's log says how", "");
        cay_log_error("engine given up", "engine=%s ends=%u", names[e], row->falls);
        return true;
}

uint32_t cay_keep_mask(const struct cay_keep_plan *p)
{
        uint32_t mask = 0;

        for (unsigned i = 0; i < CAY_KEEP_ENGINES; i++)
                mask |= p->rows[i].runs ? 1u << i : 0;
        return mask;
}

void cay_keep_apply_mask(struct cay_keep_plan *p, uint32_t mask)
{
        for (unsigned i = 0; i < CAY_KEEP_ENGINES; i++)
                if (!p->rows[i].runs && (mask >> i & 1))
                        say(&p->rows[i], true, "it ran before the upgrade", "");
}
