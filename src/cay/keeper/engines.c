/* SPDX-License-Identifier: Apache-2.0 */
/* Probes the engines and decides which of them run. */
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
#define PROBE_MS 20000 /* an answer that a busy machine gives late still counts */
#define FALLS_MAX 3u

/* Probing */

/*
 * Does what every box begins with. Some systems allow the namespace but refuse everything that it is made
 * for, so the probe uses it too.
 */
static int try_namespaces(void)
{
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("cay", "/", "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
                return errno;
        return 0;
}

static void look_at_native(const struct cay_config *config, struct cay_keep_facts *ret)
{
        pid_t pid = fork();
        int r;

        if (pid == 0)
                _exit(try_namespaces());
        r = pid < 0 ? -errno : sys_child_status(pid, PROBE_MS);
        if (r != 0)
                sys_userns_why(r > 0 ? -r : r, ret->rows[CAY_ENGINE_native].why, CAY_KEEP_WHY);
        snprintf(ret->rows[CAY_ENGINE_native].where, CAY_KEEP_WHY, "this machine can");
}

static void look_at_docker(const struct cay_config *config, struct cay_keep_facts *ret)
{
        char *why = ret->rows[CAY_ENGINE_docker].why, *where = ret->rows[CAY_ENGINE_docker].where;

        if (config->docker_host
                    [0]) /* the path is for the log only: readers of /api/engines need not know it */
                snprintf(where, CAY_KEEP_WHY, "docker_host names one");
        else if (access(USUAL_SOCKET, R_OK | W_OK) == 0)
                snprintf(where, CAY_KEEP_WHY, "%s is there", USUAL_SOCKET);
        else if (errno == EACCES)
                snprintf(why, CAY_KEEP_WHY, "this user may not use %s", USUAL_SOCKET);
        else
                snprintf(why, CAY_KEEP_WHY, "none is named (docker_host), and there is no %s", USUAL_SOCKET);
}

/* Engines that the operator has to switch on. */
static void look_at_settings(const struct cay_config *config, struct cay_keep_facts *ret)
{
        *ret = (struct cay_keep_facts){ .rows[CAY_ENGINE_process].on = config->process_engine };
}

/* For `auto`: whether this machine has what an engine needs. */
static void (*const looks[CAY_ENGINE_COUNT])(const struct cay_config *config, struct cay_keep_facts *ret) = {
        [CAY_ENGINE_native] = look_at_native,
        [CAY_ENGINE_docker] = look_at_docker,
};

void cay_keep_look(const struct cay_config *config, struct cay_keep_facts *ret)
{
        look_at_settings(config, ret);
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (looks[i])
                        looks[i](config, ret);
}

/* Deciding */

static void say(struct cay_keep_row *row, bool runs, const char *why, const char *more)
{
        row->runs = runs;
        snprintf(row->why, sizeof(row->why), "%.223s%.223s", why, more);
}

static bool is_by_name(unsigned engine)
{
        return cay_engine_infos[engine].start == CAY_ENGINE_START_BY_NAME;
}

static bool is_always(unsigned engine)
{
        return cay_engine_infos[engine].start == CAY_ENGINE_START_ALWAYS;
}

static void decide_by_name(unsigned chosen, struct cay_keep_plan *ret)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (i == chosen || !(is_by_name(i) || is_always(i)))
                        say(&ret->rows[i], i == chosen, "the setting engine is ",
                            cay_engine_infos[chosen].name);
}

/* Runs beside the other engines. */
static void decide_switched(unsigned engine, const struct cay_keep_facts *f, struct cay_keep_plan *ret)
{
        const char *name = cay_engine_infos[engine].name;
        char why[CAY_KEEP_WHY];
        bool on = f->rows[engine].on;

        if (on)
                snprintf(why, sizeof(why), "the setting %s_engine is true, for those who name it", name);
        else
                snprintf(why, sizeof(why),
                         "it has no isolation, so it is off: %s_engine: true lets requests and templates "
                         "name it",
                         name);
        say(&ret->rows[engine], on, why, "");
}

static int decide_auto(const struct cay_keep_facts *f, struct cay_keep_plan *ret, struct cay_error *err)
{
        bool found = false;
        char why[256] = "";

        ret->is_auto = true;
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++) {
                bool here = f->rows[i].why[0] == '\0';
                size_t len = strlen(why);

                if (is_by_name(i) || is_always(i))
                        continue;
                say(&ret->rows[i], here, here ? "the setting engine is auto, and " : f->rows[i].why,
                    here ? f->rows[i].where : "");
                found |= here;
                snprintf(why + len, sizeof(why) - len, " %s: %.100s.", cay_engine_infos[i].name,
                         f->rows[i].why);
        }
        return found ? 0 : cay_fail(err, CAY_UNSUPPORTED, "engine: auto found no engine.%s", why);
}

int cay_keep_decide(const char *setting, const struct cay_keep_facts *facts, struct cay_keep_plan *ret,
                    struct cay_error *err)
{
        int nr = cay_engine_list_find(setting);
        char names[128];

        *ret = (struct cay_keep_plan){ 0 };
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (is_by_name(i))
                        decide_switched(i, facts, ret);
                else if (is_always(i))
                        say(&ret->rows[i], true, "it needs nothing of this machine, for those who name it",
                            "");
        if (strcmp(setting, "auto") == 0)
                return decide_auto(facts, ret, err);
        if (nr < 0)
                return cay_fail(err, CAY_INVALID, "engine: '%.40s' is unknown; choose auto, or one of %s",
                                setting, cay_engine_list_names(names, sizeof(names)));
        decide_by_name((unsigned)nr, ret);
        return 0;
}

static void tell_rows(const struct cay_keep_plan *plan)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT && plan->rows[i].why[0]; i++)
                cay_log_info(plan->rows[i].runs ? "engine runs" : "engine does not run", "engine=%s why=%s",
                             cay_engine_infos[i].name, plan->rows[i].why);
}

void cay_keep_plan_tell(const struct cay_config *config, const struct cay_keep_plan *plan)
{
        tell_rows(plan);
        if (plan->rows[CAY_ENGINE_docker].runs)
                cay_log_info("Docker's socket is held by cay-docker", "host=%s",
                             config->docker_host[0] ? config->docker_host : USUAL_SOCKET);
        if (plan->rows[CAY_ENGINE_process].runs)
                cay_log_warn("commands of the process engine are not isolated: they can do on this machine "
                             "what their user can",
                             "user=%s", geteuid() == 0 ? "an id of each sandbox's own" : "the daemon's own");
}

int cay_keep_plan_make(const struct cay_config *config, struct cay_keep_plan *ret, struct cay_error *err)
{
        struct cay_keep_facts facts;
        int r;

        look_at_settings(config, &facts);
        if (strcmp(config->engine, "auto") == 0)
                cay_keep_look(config, &facts);
        r = cay_keep_decide(config->engine, &facts, ret, err);
        if (r < 0)
                tell_rows(ret); /* one reason per engine, with its error */
        return r;
}

bool cay_keep_fell(struct cay_keep_plan *p, enum cay_engine_nr e, unsigned falls, bool was_ready)
{
        bool others = false;

        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                others |= i != e && !is_by_name(i) && !is_always(i) && p->rows[i].runs;
        if (!(p->is_auto || is_by_name(e)) || !others || (was_ready && falls < FALLS_MAX))
                return false;
        say(&p->rows[e], false, "its helper keeps exiting; the daemon's log says why", "");
        cay_log_error("engine given up", "engine=%s ends=%u", cay_engine_infos[e].name, falls);
        return true;
}

uint32_t cay_keep_mask(const struct cay_keep_plan *p)
{
        uint32_t mask = 0;

        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                mask |= p->rows[i].runs ? 1u << i : 0;
        return mask;
}

void cay_keep_apply_mask(struct cay_keep_plan *p, uint32_t mask)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (!p->rows[i].runs && (mask >> i & 1))
                        say(&p->rows[i], true, "it ran before the upgrade", "");
}
