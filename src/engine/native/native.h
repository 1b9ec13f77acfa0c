/* SPDX-License-Identifier: Apache-2.0 */
/* The native engine: boxes on the host's own kernel, made by a warden that this engine starts. */
#pragma once

#include "core/port_engine.h"

extern const struct cay_engine_ops cay_engine_native_ops;
