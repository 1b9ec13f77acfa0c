/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's row for programs without a daemon, which cannot have it. */
#include "domain/model/port_engine.h"
#include "engines/engine_list.h"

extern const struct cay_engine_ops cay_engine_remote_ops;

static int row_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        (void)env;
        (void)ret;
        return cay_fail(
                err, CAY_UNSUPPORTED,
                "the remote engine needs a daemon, to which the machine's agent connects (cay agent)");
}

const struct cay_engine_ops cay_engine_remote_ops = {
        .name = "remote",
        .lacks = CAY_ENGINE_remote_LACKS,
        .open = row_open,
};
