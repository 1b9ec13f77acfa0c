/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process engine: cay-init as a plain child, no isolation at all, no privileges needed. For trusted commands and for tests;
 * used only when asked for by name. It holds what init itself can hold and refuses the rest unless it may be skipped.
 */
#pragma once

#include "core/port_engine.h"

extern const struct cay_engine_ops cay_engine_process_ops;
