/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's settings. config_keys.def has one row per key; from it come the struct, the parsing and range
 * checks, the file, the environment, the flags, `cay config` and the reference page.
 *
 * A later source overrides the earlier ones: default, file, .env (of a daemon, in its working folder),
 * environment, flags. The file has lines of "key = value". A value may be in double quotes (\" and \\
 * inside), items of a list are separated by commas, # starts a comment, and a key occurs once. Errors name
 * the file and line, the variable or the flag, and what is allowed. A value that another source overrides
 * must still be valid.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_CONFIG_FILE_MAX (256u * 1024)
#define CAY_CONFIG_VALUE_MAX 8192
#define CAY_CONFIG_ITEMS_MAX 256

enum cay_config_kind {                      /* the member's type */
                       CAY_CONFIG_TEXT,     /* char *, "" when not set */
                       CAY_CONFIG_PATH,     /* char *, absolute or "" */
                       CAY_CONFIG_REGEX,    /* char *, extended regular expression or "" */
                       CAY_CONFIG_LIST,     /* struct cay_config_list */
                       CAY_CONFIG_PATHS,    /* the same, each absolute */
                       CAY_CONFIG_BOOL,     /* bool */
                       CAY_CONFIG_U64,      /* uint64_t */
                       CAY_CONFIG_SIZE,     /* uint64_t, bytes */
                       CAY_CONFIG_MEBI,     /* uint64_t, bytes; a plain number means MiB */
                       CAY_CONFIG_DURATION, /* uint64_t, ms */
                       CAY_CONFIG_MILLI,    /* uint64_t, thousandths */
                       CAY_CONFIG_PERCENT,  /* uint64_t, thousandths of one; "50.0" is 500 */
                       CAY_CONFIG_LEVEL,    /* enum cay_log_level as uint64_t */
                       CAY_CONFIG_LISTEN,   /* no member of its own: "HOST:PORT" fills host and port */
                       CAY_CONFIG_KIND_COUNT
};

enum cay_config_source {
        CAY_CONFIG_DEFAULT,
        CAY_CONFIG_FILE,
        CAY_CONFIG_ENV,
        CAY_CONFIG_FLAG,
        CAY_CONFIG_SOURCE_COUNT
};

enum { CAY_CONFIG_SECRET = 1 }; /* never shown, and no flag (argv is public) */

struct cay_config_list {
        char **items; /* owned, NULL-terminated */
        unsigned count;
};

/* The member's type by kind. */
#define CAY_CONFIG_TYPE_TEXT char *
#define CAY_CONFIG_TYPE_PATH char *
#define CAY_CONFIG_TYPE_REGEX char *
#define CAY_CONFIG_TYPE_LIST struct cay_config_list
#define CAY_CONFIG_TYPE_PATHS struct cay_config_list
#define CAY_CONFIG_TYPE_BOOL bool
#define CAY_CONFIG_TYPE_U64 uint64_t
#define CAY_CONFIG_TYPE_SIZE uint64_t
#define CAY_CONFIG_TYPE_MEBI uint64_t
#define CAY_CONFIG_TYPE_DURATION uint64_t
#define CAY_CONFIG_TYPE_MILLI uint64_t
#define CAY_CONFIG_TYPE_PERCENT uint64_t
#define CAY_CONFIG_TYPE_LEVEL uint64_t
#define CAY_CONFIG_TYPE_LISTEN struct cay_config_nothing

struct cay_config_nothing {
};

enum cay_config_key {
#define CAY_CONFIG(field, kind, def, min, max, env, flags, doc) CAY_CONFIG_KEY_##field,
#include "domain/settings/config_keys.def"
#undef CAY_CONFIG
        CAY_CONFIG_KEY_COUNT
};

struct cay_config {
#define CAY_CONFIG(field, kind, def, min, max, env, flags, doc) CAY_CONFIG_TYPE_##kind field;
#include "domain/settings/config_keys.def"
#undef CAY_CONFIG
        enum cay_config_source source[CAY_CONFIG_KEY_COUNT];
        /* owned: "cay.conf:12", "SANDBOX_MODE", "--data"; NULL for defaults */
        char *where[CAY_CONFIG_KEY_COUNT];
};

struct cay_config_row { /* arrays, not pointers: pointers would need relocation at every start of `cay` */
        char name[24];  /* as in the file; the variable is CAY_NAME, the flag --name with dashes */
        enum cay_config_kind kind;
        unsigned flags;
        char def[24];
        uint64_t min, max; /* of numbers; bytes of texts; items of lists */
        char env[48];      /* further variables, separated by spaces */
        char doc[160];
        size_t offset;
};

extern const struct cay_config_row cay_config_rows[CAY_CONFIG_KEY_COUNT];
const char *cay_config_source_word(enum cay_config_source source);

int cay_config_init(struct cay_config *c, struct cay_error *err); /* sets all defaults; -1: no memory */
void cay_config_done(struct cay_config *c);                       /* wipes secrets; safe on a zeroed struct */
#define cay_auto_config cay_auto(cay_config_done)

/*
 * Reads all sources: the file (--config, else CAY_CONFIG, else CAY_CONFIG_FILE_PATH if it exists), the
 * environment, the flags. Then checks the rules between keys. *ret_rest: the first word of argv that is not a
 * flag. Returns 1 for --help.
 */
#define CAY_CONFIG_FILE_PATH "/etc/cay/cay.conf"
int cay_config_load(struct cay_config *c, int argc, char **argv, char **env, int *ret_rest,
                    struct cay_error *err);
/*
 * The same for a daemon started in this folder: also reads a file .env in it, between the file and the
 * environment.
 */
int cay_config_load_here(struct cay_config *c, int argc, char **argv, char **env, int *ret_rest,
                         struct cay_error *err);

/* Sets one value; `where` names its origin in errors and in `cay config`. On failure the old value stays. */
int cay_config_set(struct cay_config *c, enum cay_config_key key, enum cay_config_source source,
                   const char *where, const char *value, struct cay_error *err);
int cay_config_find(const char *name, size_t len); /* key or -1; dashes and underscores are equal */
/*
 * Parses a text in the format of the file; errors show `name`. Values of lines before a failed line stay set.
 */
int cay_config_read_text(struct cay_config *c, const char *name, const char *text, size_t len,
                         struct cay_error *err);
int cay_config_read_file(struct cay_config *c, const char *path, struct cay_error *err); /* CAY_NOT_FOUND */
/*
 * Reads the variables of the table; an empty one counts as not set. Values of secrets are overwritten in
 * place, so that neither /proc nor a child shows them.
 */
int cay_config_read_env(struct cay_config *c, char **env, struct cay_error *err);
/*
 * argv[1…]: "--flag value", "--flag=value", or "--flag" for a boolean. Stops at the first other word:
 * *ret_rest. 1: --help.
 */
int cay_config_read_args(struct cay_config *c, int argc, char **argv, int *ret_rest, struct cay_error *err);

/* Checks the rules between keys. The error says how to fix it. */
int cay_config_check(const struct cay_config *c, struct cay_error *err);

/* "http://127.0.0.1:8888", without a trailing slash; port: the one that is really listened on. */
#define CAY_CONFIG_URL_MAX 300
void cay_config_url(const struct cay_config *c, unsigned port, char ret[CAY_CONFIG_URL_MAX]);

/*
 * Lines of "key = value  # origin" in table order, secrets as (set); `docs`: with each key's description. 0
 * or -errno.
 */
int cay_config_print(const struct cay_config *c, bool docs, struct cay_buf *out);
/*
 * In the format of the file, with secrets and origins, without defaults: `cay serve` hands this to its
 * programs. Wipe it.
 */
int cay_config_write(const struct cay_config *c, struct cay_buf *out);
/* Reads that again: every value keeps its origin. */
int cay_config_read_written(struct cay_config *c, const char *text, size_t len, struct cay_error *err);
/* Appends one value in the format of the file, without quotes. */
int cay_config_value_text(const struct cay_config *c, enum cay_config_key key, struct cay_buf *out);
