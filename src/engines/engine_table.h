/* SPDX-License-Identifier: Apache-2.0 */
/* Every engine there is, from engines.def. */
#pragma once

#include "domain/model/port_engine.h"

const struct cay_engine_ops *cay_engine_find(const char *name); /* NULL: none */
const struct cay_engine_ops *cay_engine_at(
        unsigned index);                              /* in the order of engines.def; NULL behind the last */
const char *cay_engine_names(char *buf, size_t size); /* "native, process"; returns buf */
