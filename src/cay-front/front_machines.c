/* SPDX-License-Identifier: Apache-2.0 */
/* Users' machines: read from the store, with the key by which their agents know this daemon. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cay-front/front_priv.h"
#include "daemon/store/store_sqlite.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define TRUSTED_DEFAULT "/etc/ssl/certs/ca-certificates.crt"

static bool add_machine(void *ctx, const void *record)
{
        const struct cay_store_value *v = record;
        struct cay_error err = { 0 };
        struct cay_machine machine;
        struct front *f = ctx;

        if (!cay_str_starts(v->name, CAY_MACHINE_PREFIX))
                return true;
        if (cay_machine_read(v->name, v->value, &machine, &err) < 0 ||
            cay_machines_put(f->machines, &machine, &err) < 0)
                cay_log_warn("a machine could not be read, ignoring", "error=%s", err.msg);
        explicit_bzero(&machine, sizeof(machine));
        return true;
}

/*
 * The key is derived from that of secrets, so a copy of the database alone cannot pretend to be this daemon.
 */
int cay_front_load_machines(struct front *f, struct cay_error *err)
{
        uint8_t seed[CAY_VAULT_SEED];
        int r;

        _Static_assert(CAY_VAULT_SEED == CAY_PROOF_KEY, "a seed is a key");
        if (!f->vault)
                return 0;
        r = cay_vault_agents_seed(f->vault, seed);
        if (r == 0)
                r = cay_proof_pair_from_seed(seed, &f->agent_pair);
        explicit_bzero(seed, sizeof(seed));
        if (r < 0)
                return cay_fail(err, CAY_INTERNAL, "derive the daemon's key for agents");
        f->machines = cay_machines_new();
        if (!f->machines)
                return cay_fail(err, CAY_INTERNAL, "no memory for machines");
        return f->store->ops->load(f->store, CAY_STORE_VALUE, add_machine, f, err);
}

int cay_front_open_agents(struct front *f, struct cay_error *err)
{
        const struct cay_front_agents_env env = {
                .loop = f->loop,
                .engine = f->machines ? f->engines.rows[CAY_ENGINE_remote].engine : NULL,
                .machines = f->machines,
                .store = f->store,
                .clock = &cay_store_system_clock,
                .pair = f->machines ? &f->agent_pair : NULL,
                .service = &f->service,
                .budgets = &f->budgets,
                .heartbeat_ms = (uint32_t)f->config.agent_heartbeat,
        };

        if (cay_front_agents_new(&env, &f->agents, err) < 0)
                return -1;
        f->dial = cay_front_dial_new(&(struct cay_front_dial_env){ .loop = f->loop,
                                                                   .network = &f->engines.network,
                                                                   .machines = f->machines,
                                                                   .agents = f->agents,
                                                                   .clock = &cay_store_system_clock,
                                                                   .trusted_fd = f->trusted_fd });
        return f->dial ? 0 : cay_fail(err, CAY_INTERNAL, "no memory for machines");
}

/*
 * Without it machines behind wss:// cannot be dialled, and everything else works: whoever adds one is told.
 */
void cay_front_open_trusted(struct front *f)
{
        const char *path = f->config.agent_ca[0] ? f->config.agent_ca : TRUSTED_DEFAULT;

        f->trusted_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (f->trusted_fd < 0 && f->config.agent_ca[0])
                cay_log_error("machines behind wss:// cannot be dialled: agent_ca cannot be opened",
                              "file=%s error=%s", path, strerror(errno));
}

/* For ops */

bool cay_front_machine_facts(void *ctx, const char *owner, const char *name, struct cay_machine_facts *ret)
{
        return cay_front_agents_facts(((struct front *)ctx)->agents, owner, name, ret);
}

void cay_front_machine_forget(void *ctx, const char *owner, const char *name)
{
        struct front *f = ctx;

        cay_front_dial_sync(f->dial);
        cay_front_agents_forget(f->agents, owner, name);
}

void cay_front_machine_changed(void *ctx, const char *owner, const char *name)
{
        struct front *f = ctx;
        const struct cay_machine *m = cay_machines_find(f->machines, owner, name);

        cay_front_dial_sync(f->dial);
        if (m && m->is_off)
                cay_front_agents_disconnect(f->agents, owner, name);
}
