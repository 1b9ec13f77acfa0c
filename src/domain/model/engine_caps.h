/* SPDX-License-Identifier: Apache-2.0 */
/* What engines can do beyond the least that all can (engine_caps.def), and the one text for what an engine cannot. */
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

const char *cay_engine_cap_name(unsigned nr); /* below CAY_ENGINE_CAP_COUNT */
/* 0, or CAY_UNSUPPORTED with the first capability of `wanted` that the engine of this name does not have. */
int cay_engine_caps_check(const char *engine, unsigned caps, unsigned wanted, struct cay_error *err);
