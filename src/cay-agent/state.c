/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/auth/digest.h"
#include "foundation/base/base64.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/str.h"

#define PATH_SIZE 4096
#define OWN_NAME 40
#define PIN_SIZE (CAY_BASE64URL_LEN(CAY_PROOF_KEY) + 2)

static int usual_folder(char ret[PATH_SIZE], struct cay_error *err)
{
        const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        int n;

        if (xdg && xdg[0] == '/')
                n = snprintf(ret, PATH_SIZE, "%s/cay/agent", xdg);
        else if (home && home[0] == '/')
                n = snprintf(ret, PATH_SIZE, "%s/.local/state/cay/agent", home);
        else
                return cay_fail(err, CAY_INVALID,
                                "HOME is not set: name the folder for the agent's key with --state DIR");
        return n < PATH_SIZE ? 0 : cay_fail(err, CAY_INVALID, "the path of the home folder is too long");
}

/* The folder and all above it. */
static int make_folder(char *path, struct cay_error *err)
{
        for (char *at = path + 1;; at++) {
                char was = *at;

                if (was != '/' && was != '\0')
                        continue;
                *at = '\0';
                if (mkdir(path, 0700) < 0 && errno != EEXIST)
                        return cay_fail_sys(err, CAY_DENIED, -errno, "make the folder %.150s", path);
                *at = was;
                if (was == '\0')
                        return 0;
        }
}

static int load_key(struct agent_state *s, int dir, struct cay_error *err)
{
        cay_auto_secret struct cay_secret text = { 0 };
        uint8_t seed[CAY_PROOF_KEY];
        bool made;
        int r;

        if (cay_secret_load(dir, "key", &text, &made, err) < 0)
                return cay_wrap(err, "the agent's key");
        r = cay_digest_sha256(text.bytes, text.len, seed);
        if (r == 0)
                r = cay_proof_pair_from_seed(seed, &s->pair);
        explicit_bzero(seed, sizeof(seed));
        return r < 0 ? cay_fail(err, CAY_INTERNAL, "use the agent's key") : 0;
}

int agent_state_reload(struct agent_state *s, struct cay_error *err)
{
        char text[PIN_SIZE];
        ssize_t n = pread(s->pin, text, sizeof(text), 0);

        if (n == 0)
                return 0;
        if (n != (ssize_t)sizeof(text) - 1 ||
            cay_base64url_decode(text, (size_t)n - 1, s->daemon, sizeof(s->daemon)) != CAY_PROOF_KEY)
                return cay_fail(err, CAY_DAMAGED,
                                "the daemon's key in the agent's folder cannot be read: remove the file and "
                                "pair again");
        s->is_paired = true;
        return 0;
}

/* A file of its own for each address, named by its digest. */
static int open_own(int dir, const char *what, const char *address, char name[OWN_NAME],
                    struct cay_error *err)
{
        uint8_t digest[CAY_DIGEST_SIZE] = { 0 };
        int fd;

        cay_digest_sha256(address, strlen(address), digest);
        snprintf(name, OWN_NAME, "%s-%02x%02x%02x%02x%02x%02x%02x%02x", what, digest[0], digest[1], digest[2],
                 digest[3], digest[4], digest[5], digest[6], digest[7]);
        fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        return fd >= 0 ? fd : cay_fail_sys(err, CAY_DENIED, -errno, "open %s in the agent's folder", name);
}

static int open_pin(struct agent_state *s, int dir, const char *address, struct cay_error *err)
{
        char name[OWN_NAME];

        s->pin = open_own(dir, "daemon", address, name, err);
        if (s->pin < 0)
                return -1;
        if (flock(s->pin, LOCK_EX | LOCK_NB) <
            0) /* two would take the daemon's connection from each other again and again */
                return errno == EWOULDBLOCK
                               ? cay_fail(err, CAY_CONFLICT,
                                          "an agent for %.200s runs already on this machine with the folder "
                                          "of its key: end it first, or name another folder with --state",
                                          address)
                               : cay_fail_sys(err, CAY_INTERNAL, -errno, "lock %s in the agent's folder",
                                              name);
        return agent_state_reload(s, err) < 0 ? cay_wrap(err, "%s", name) : 0;
}

static int load_rules(struct agent_rules *rules, int dir, const struct agent_options *o,
                      struct cay_error *err)
{
        char name[OWN_NAME];
        int store = open_own(dir, "answers", o->text, name, err);

        return store < 0 ? -1 : agent_rules_load(rules, dir, o->rules, store, err);
}

int agent_state_open(struct agent_state *s, struct agent_options *o, struct agent_rules *rules,
                     struct cay_error *err)
{
        const char *folder = o->state;
        cay_auto_close int dir = -1;
        char path[PATH_SIZE];

        *s = (struct agent_state){ .pin = -1 };
        if (!folder && usual_folder(path, err) < 0)
                return -1;
        if (folder && (!folder[0] || snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path)))
                return cay_fail(err, CAY_INVALID, "--state: the folder's path must have 1 to %d bytes",
                                PATH_SIZE - 1);
        if (make_folder(path, err) < 0)
                return -1;
        dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return cay_fail_sys(err, CAY_DENIED, -errno, "open the folder %.150s", path);
        cay_str_copy(o->folder, sizeof(o->folder), path);
        return load_key(s, dir, err) < 0 || open_pin(s, dir, o->text, err) < 0
                       ? -1
                       : load_rules(rules, dir, o, err);
}

int agent_state_pin(struct agent_state *s, const uint8_t daemon[CAY_PROOF_KEY], struct cay_error *err)
{
        char text[PIN_SIZE + 1];
        ssize_t n = cay_base64url_encode(daemon, CAY_PROOF_KEY, text, sizeof(text));

        if (n > 0)
                text[n++] = '\n';
        if (n < 0 || ftruncate(s->pin, 0) < 0 || pwrite(s->pin, text, (size_t)n, 0) != n || fsync(s->pin) < 0)
                return cay_fail_sys(err, CAY_NO_SPACE, -errno, "store the daemon's key");
        memcpy(s->daemon, daemon, CAY_PROOF_KEY);
        s->is_paired = true;
        return 0;
}

void agent_state_close(struct agent_state *s)
{
        if (s->pin >= 0)
                close(s->pin);
        explicit_bzero(s, sizeof(*s));
        s->pin = -1;
}
