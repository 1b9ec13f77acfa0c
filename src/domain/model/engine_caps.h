/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What engines can do beyond the common minimum (engine_caps.def), and the common error text for missing
 * capabilities.
 */
#pragma once

#include "foundation/base/error.h"

enum cay_engine_cap_nr {
#define CAY_ENGINE_CAP(bit, name, asked) CAY_ENGINE_CAP_NR_##bit,
#include "domain/model/engine_caps.def"
#undef CAY_ENGINE_CAP
        CAY_ENGINE_CAP_COUNT
};

enum { /* cay_engine.caps */
#define CAY_ENGINE_CAP(bit, name, asked) CAY_ENGINE_CAN_##bit = 1 << CAY_ENGINE_CAP_NR_##bit,
#include "domain/model/engine_caps.def"
#undef CAY_ENGINE_CAP
};

/* Either: a network that leads out. */
#define CAY_ENGINE_CAN_REACH_OUT (CAY_ENGINE_CAN_NETWORK_BRIDGE | CAY_ENGINE_CAN_EGRESS)

/* What a policy needs of an engine with these capabilities: by a proxy alone, if that is how it has one. */
static inline unsigned cay_engine_policy_cap(unsigned caps)
{
        return caps & CAY_ENGINE_CAN_PROXY && !(caps & CAY_ENGINE_CAN_EGRESS) ? CAY_ENGINE_CAN_PROXY
                                                                              : CAY_ENGINE_CAN_EGRESS;
}

enum {                             /* cay_engine_ops.lacks: what every isolating engine has */
       CAY_ENGINE_LACKS_USERS = 1, /* commands run as the caller; no other user can be asked for */
       CAY_ENGINE_LACKS_ISOLATION =
               2, /* code can do whatever the caller can: used only when selected by name */
       /*
        * `stats` has no count of kills and refused forks, and may take a second: init reports them at each
        * end
        */
       CAY_ENGINE_LACKS_COUNTS = 4,
       CAY_ENGINE_LACKS_FREEZER = 8,   /* freeze and thaw are always refused */
       CAY_ENGINE_LACKS_NEARNESS = 16, /* its boxes are behind a network: more is on its way at a time */
};

/* 0, or CAY_UNSUPPORTED with the first capability of `wanted` that the engine of this name does not have. */
int cay_engine_caps_check(const char *engine, unsigned caps, unsigned wanted, struct cay_error *err);
