/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of engines (engines.def), without their code: for code that selects engines and for the engines
 * themselves. Between programs an engine is identified by its name, within one program by its number.
 */
#pragma once

#include <stddef.h>

#include "domain/model/engine_caps.h"
#include "links/helper/helpers.h"

enum cay_engine_nr {
#define CAY_ENGINE(name, lacks, caps, helper, start, doc) CAY_ENGINE_##name,
#include "engines/engines.def"
#undef CAY_ENGINE
        CAY_ENGINE_COUNT
};

enum { /* what an engine's own table of ops says, from its row */
#define CAY_ENGINE(name, lacks, caps, helper, start, doc)                                                    \
        CAY_ENGINE_##name##_LACKS = (lacks), CAY_ENGINE_##name##_CAPS = (caps),
#include "engines/engines.def"
#undef CAY_ENGINE
};

enum cay_engine_start {
        CAY_ENGINE_START_AUTO,    /* `engine: auto` selects it where this machine has what it needs */
        CAY_ENGINE_START_BY_NAME, /* only if the operator enabled it: never a fallback */
        CAY_ENGINE_START_ALWAYS,  /* a part of every front, for requests that name it: never a fallback */
};

struct cay_engine_info {
        const char *name, *doc;
        unsigned lacks, caps; /* caps: the most it can, on any host */
        enum cay_helper_nr
                helper; /* makes its boxes for a daemon; CAY_HELPER_none: the front has it by itself */
        enum cay_engine_start start;
};

extern const struct cay_engine_info cay_engine_infos[CAY_ENGINE_COUNT];
int cay_engine_list_find(const char *name);                /* its number; -1: unknown */
const char *cay_engine_list_names(char *buf, size_t size); /* "native, docker, process"; returns buf */
