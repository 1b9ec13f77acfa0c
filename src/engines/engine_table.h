/* SPDX-License-Identifier: Apache-2.0 */
/* The code of every engine of engines.def, as it runs in the caller's own process. */
#pragma once

#include "domain/model/port_engine.h"
#include "engines/engine_list.h"

const struct cay_engine_ops *cay_engine_ops(enum cay_engine_nr nr);
const struct cay_engine_ops *cay_engine_ops_find(const char *name); /* NULL: none */
