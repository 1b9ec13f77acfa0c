/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what happens into recordings. See recording.h for the theory. */
#include "domain/sandboxes/recording_priv.h"
#include "foundation/base/str.h"

#define ITEM_MAX CAY_SEALED_LOG_ENTRY_MAX
#define PIECE (128u * 1024)

/*
 * Parts of names of variables that hold secrets, most of the time; and beginnings of values that are some,
 * whatever their names.
 */
static const char *const secret_names[] = { "TOKEN",  "SECRET", "PASS",    "CREDENTIAL", "AUTH",
                                            "KEY",    "COOKIE", "_PWD",    "_DSN",       "SESSION",
                                            "BEARER", "JWT",    "PRIVATE", "SIGNATURE" };
static const char *const secret_values[] = { "-----BEGIN ", "Bearer ", "Basic ", "sk-",     "ghp_", "gho_",
                                             "github_pat_", "glpat-",  "xox",    "AKIA",    "eyJ",  "e2b_",
                                             "bb_live_",    "cayk_",   "AIza",   "sk_live_" };

/* "scheme://user:password@host…", anywhere in it. */
static bool has_password(const char *value)
{
        for (const char *at = strstr(value, "://"); at != NULL; at = strstr(at + 3, "://")) {
                size_t user = strcspn(at + 3, ":/@ \t\n");
                const char *colon = at + 3 + user;

                if (*colon == ':' && colon[1 + strcspn(colon + 1, "/@ \t\n")] == '@' && colon[1] != '@')
                        return true;
        }
        return false;
}

static bool is_secret(const char *name, const char *value)
{
        for (unsigned i = 0; i < CAY_COUNT(secret_names); i++)
                if (strcasestr(name, secret_names[i]) != NULL)
                        return true;
        for (unsigned i = 0; i < CAY_COUNT(secret_values); i++)
                if (cay_str_starts(value, secret_values[i]))
                        return true;
        return has_password(value);
}

static void begin(struct cay_buf *item, const struct cay_sandbox *sb, struct cay_recording *r,
                  enum cay_item_kind kind, const uint64_t *numbers, unsigned count)
{
        cay_buf_init(item, ITEM_MAX);
        cay_item_begin(item, kind, cay_recording_at(sb->service, r), numbers, count);
}

/* Commands */

static void put_env(const struct cay_exec *x, struct cay_buf *item, bool secrets)
{
        for (unsigned i = 0; i < x->env.count; i++) {
                if (is_secret(x->env.pairs[i].name, x->env.pairs[i].value) != secrets)
                        continue;
                cay_item_put_word(item, x->env.pairs[i].name);
                if (!secrets)
                        cay_item_put_word(item, x->env.pairs[i].value);
        }
}

void cay_recording_exec(struct cay_exec *x)
{
        struct cay_recording *r = cay_recording_of(x->sandbox);
        cay_auto_buf struct cay_buf item = { 0 };
        uint64_t words = 0, hidden = 0;

        if (r == NULL)
                return;
        while (x->argv[words] != NULL)
                words++;
        for (unsigned i = 0; i < x->env.count; i++)
                hidden += is_secret(x->env.pairs[i].name, x->env.pairs[i].value);
        begin(&item, x->sandbox, r, CAY_ITEM_EXEC,
              (const uint64_t[]){
                      (x->is_line ? CAY_RECORDING_LINE : 0u) | (x->has_stdin ? CAY_RECORDING_STDIN : 0u) |
                              (x->tty ? CAY_RECORDING_TTY : 0u) | (x->output_cut ? CAY_RECORDING_CUT : 0u),
                      x->rows, x->cols, x->timeout_ms, x->cpu_time_ms, x->output_bytes, words,
                      x->env.count - hidden, hidden },
              9);
        cay_item_put_count(&item, (uint32_t)(6 + words + 2 * (x->env.count - hidden) + hidden));
        cay_item_put_word(&item, x->id);
        cay_item_put_word(&item, x->cwd);
        cay_item_put_word(&item, x->user_text);
        cay_item_put_word(&item, x->term);
        cay_item_put_word(&item, x->context);
        cay_item_put_word(&item, x->language);
        for (unsigned i = 0; i < words; i++)
                cay_item_put_word(&item, x->argv[i]);
        put_env(x, &item, false);
        put_env(x, &item, true);
        cay_recording_add(x->sandbox, r, &item);
}

static void put_bytes(struct cay_exec *x, enum cay_item_kind kind, bool is_last, const void *bytes,
                      size_t len)
{
        struct cay_recording *r = cay_recording_of(x->sandbox);
        const uint64_t eof = is_last;
        size_t at = 0;

        if (r == NULL)
                return;
        do {
                cay_auto_buf struct cay_buf item = { 0 };
                size_t part = len - at < PIECE ? len - at : PIECE;

                begin(&item, x->sandbox, r, kind, &eof, kind == CAY_ITEM_INPUT);
                cay_item_put_count(&item, 2);
                cay_item_put_word(&item, x->id);
                cay_item_put_text(&item, (const char *)bytes + at, part);
                cay_recording_add(x->sandbox, r, &item);
                at += part;
        } while (at < len && r->stopped[0] == '\0');
}

void cay_recording_input(struct cay_exec *x, const void *bytes, size_t len)
{
        if (len > 0)
                put_bytes(x, CAY_ITEM_INPUT, false, bytes, len);
}

void cay_recording_input_end(struct cay_exec *x)
{
        put_bytes(x, CAY_ITEM_INPUT, true, "", 0);
}

void cay_recording_output(struct cay_exec *x, const void *bytes, size_t len)
{
        if (x->tty && len > 0)
                put_bytes(x, CAY_ITEM_OUTPUT, false, bytes, len);
}

static void put_numbers(struct cay_exec *x, enum cay_item_kind kind, const uint64_t *numbers, unsigned count)
{
        struct cay_recording *r = cay_recording_of(x->sandbox);
        cay_auto_buf struct cay_buf item = { 0 };

        if (r == NULL)
                return;
        begin(&item, x->sandbox, r, kind, numbers, count);
        cay_item_put_count(&item, 1);
        cay_item_put_word(&item, x->id);
        cay_recording_add(x->sandbox, r, &item);
}

void cay_recording_resize(struct cay_exec *x, unsigned rows, unsigned cols)
{
        put_numbers(x, CAY_ITEM_RESIZE, (const uint64_t[]){ rows, cols }, 2);
}

void cay_recording_signal(struct cay_exec *x, int signo)
{
        const uint64_t number = (uint64_t)signo;

        put_numbers(x, CAY_ITEM_SIGNAL, &number, 1);
}

void cay_recording_exec_end(struct cay_exec *x)
{
        struct cay_recording *r = cay_recording_of(x->sandbox);
        char out[CAY_EXEC_DIGEST_TEXT], err[CAY_EXEC_DIGEST_TEXT];
        cay_auto_buf struct cay_buf item = { 0 };

        if (r == NULL)
                return;
        cay_exec_digest_end(x, 0, out);
        cay_exec_digest_end(x, 1, err);
        begin(&item, x->sandbox, r, CAY_ITEM_END,
              (const uint64_t[]){ (uint64_t)(x->exit_code + 1), (uint64_t)x->signal, x->out_bytes,
                                  x->err_bytes },
              4);
        cay_item_put_count(&item, 4);
        cay_item_put_word(&item, x->id);
        cay_item_put_word(&item, cay_cause_word(x->cause));
        cay_item_put_word(&item, out);
        cay_item_put_word(&item, err);
        cay_recording_add(x->sandbox, r, &item);
}

/* Files */

uint64_t cay_recording_file(struct cay_sandbox *sb, const struct cay_box_open *open)
{
        struct cay_recording *r = cay_recording_of(sb);
        const struct cay_box_file *f = &open->file;
        cay_auto_buf struct cay_buf item = { 0 };

        if (r == NULL)
                return 0;
        r->files++;
        begin(&item, sb, r, CAY_ITEM_FILE,
              (const uint64_t[]){ r->files, open->kind, f->uid, f->gid, f->mode, f->flags, f->offset }, 7);
        cay_item_put_count(&item, 2);
        cay_item_put_text(&item, f->path.ptr, f->path.len);
        cay_item_put_text(&item, f->path2.ptr, f->path2.len);
        cay_recording_add(sb, r, &item);
        return r->files;
}

void cay_recording_file_data(struct cay_sandbox *sb, uint64_t number, const void *bytes, size_t len)
{
        struct cay_recording *r = cay_recording_of(sb);

        for (size_t at = 0; r != NULL && at < len && r->stopped[0] == '\0';) {
                cay_auto_buf struct cay_buf item = { 0 };
                size_t part = len - at < PIECE ? len - at : PIECE;

                begin(&item, sb, r, CAY_ITEM_FILE_DATA, &number, 1);
                cay_item_put_count(&item, 1);
                cay_item_put_text(&item, (const char *)bytes + at, part);
                cay_recording_add(sb, r, &item);
                at += part;
        }
}

void cay_recording_file_end(struct cay_sandbox *sb, uint64_t number, unsigned code, uint64_t bytes,
                            const char *digest)
{
        struct cay_recording *r = cay_recording_of(sb);
        cay_auto_buf struct cay_buf item = { 0 };

        if (r == NULL)
                return;
        begin(&item, sb, r, CAY_ITEM_FILE_END, (const uint64_t[]){ number, code, bytes }, 3);
        cay_item_put_count(&item, 1);
        cay_item_put_word(&item, digest);
        cay_recording_add(sb, r, &item);
}
