/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels send, checked and written for clients. A kernel shares its process with the code: nothing of
 * it is trusted.
 */
#pragma once

#include <stddef.h>

#include "foundation/base/json_out.h"

/*
 * Members of a result (text, html, png…), into an object that is open. -1: it is not JSON, and nothing was
 * written.
 */
int cay_context_put_result(struct cay_json *j, const char *bytes, size_t len);
/* The same for an error: name, value, traceback. All three are always written. */
void cay_context_put_error(struct cay_json *j, const char *bytes, size_t len);
