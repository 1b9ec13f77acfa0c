/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. */
#pragma once

#include "domain/settings/config.h"

#define CAY_CONFIG_ORIGIN "#@ " /* in the text for child programs: the origin of the value in the next line */

/* The member of a key. */
static inline void *cay_config_at(const struct cay_config *c, enum cay_config_key key)
{
        return (char *)(uintptr_t)c + cay_config_rows[key].offset;
}

/* Fails with "where: unknown key 'x' (did you mean 'y'?)". */
int cay_config_unknown(const char *where, const char *what, const char *name, size_t len, const char *dash,
                       struct cay_error *err);
/* The key that a variable of the environment is for ("CAY_PORT", "SANDBOX_MODE"), or -1. */
int cay_config_find_variable(const char *name);
/* Reads .env in the working folder, if it exists. */
int cay_config_read_dotenv(struct cay_config *c, struct cay_error *err);
/* Parses its text, which is changed. Public for tests and the fuzzer. */
int cay_config_read_dotenv_text(struct cay_config *c, char *text, struct cay_error *err);
/* Appends a number of that kind in the format of the file; 0 or -errno. */
int cay_config_number_text(enum cay_config_kind kind, uint64_t v, struct cay_buf *out);
