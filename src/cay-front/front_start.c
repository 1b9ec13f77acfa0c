/* SPDX-License-Identifier: Apache-2.0 */
/* What the front does with the keeper's rights before it gives them up. Nothing here reads clients' bytes. */
#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "domain/auth/digest.h"
#include "foundation/base/log.h"
#include "cay-front/drop.h"
#include "cay-front/front_priv.h"
#include "cay-front/confine.h"
#include "foundation/json/json_in.h"
#include "cay/keeper/hand_over.h"
#include "daemon/store/store_sqlite.h"
#include "foundation/sys/fd.h"

#define FILES_WANTED 65536u
#define LARGE (512 * 1024)

int cay_front_read_config(struct front *f, struct cay_error *err)
{
        cay_auto_free char *text = malloc(CAY_CONFIG_FILE_MAX);
        ssize_t n;
        int r;

        if (!text || cay_config_init(&f->config, err) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for the settings");
        n = sys_read_fd(CAY_HAND_CONFIG, text, CAY_CONFIG_FILE_MAX);
        close(CAY_HAND_CONFIG);
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, (int)n, "read the settings");
        r = cay_config_read_written(&f->config, text, (size_t)n, err);
        explicit_bzero(text, (size_t)n);
        return r;
}

static int load_secret(struct front *f, struct cay_error *err)
{
        bool made = false;

        if (f->config.token_secret[0])
                return cay_secret_set(&f->secret, f->config.token_secret, err);
        if (cay_secret_load(CAY_HAND_DATA, CAY_SECRET_FILE, &f->secret, &made, err) < 0)
                return -1;
        if (made)
                cay_log_info("token secret made", "file=%s", CAY_SECRET_FILE);
        return 0;
}

/* Without it there are no secrets for sandboxes, and all else works. */
static void load_vault_key(struct front *f)
{
        struct cay_error err = { 0 };
        bool made = false;

        if (cay_secret_load(CAY_HAND_DATA, CAY_VAULT_KEY_FILE, &f->vault_key, &made, &err) < 0)
                cay_log_error("sandboxes have no secrets", "error=%s", err.msg);
        else if (made)
                cay_log_info("key of secrets made", "file=%s", CAY_VAULT_KEY_FILE);
}

static int load_tls(struct front *f, struct cay_error *err)
{
        if (!f->config.tls_cert[0])
                return 0;
        f->tls = cay_tls_context_new(f->config.tls_cert, f->config.tls_key, err);
        return f->tls ? 0 : -1;
}

/* Large blocks return to the kernel when freed, so that the memory in use is what was counted. */
static void set_up_memory(void)
{
        mallopt(M_MMAP_THRESHOLD, LARGE);
}

/* Libraries that read files of their own do so now: later the files are out of reach. */
static void warm_up(void)
{
        uint8_t digest[CAY_DIGEST_SIZE];
        struct cay_clock_reading now;
        uint32_t seed = 0;

        cay_digest_sha256("", 0, digest);
        cay_digest_random(&seed, sizeof(seed));
        cay_json_in_seed(seed);
        cay_store_system_clock.read(&cay_store_system_clock, &now);
}

static void raise_files(void)
{
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return;
        if (geteuid() == 0 && files.rlim_max < FILES_WANTED)
                files.rlim_max = FILES_WANTED;
        files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
        setrlimit(RLIMIT_NOFILE, &files); /* fewer is fine: then fewer clients can be served at once */
}

static int open_folder(struct front *f, const char *name, const char *what, int *ret, struct cay_error *err)
{
        if (mkdirat(f->state_fd, name, 0700) < 0 && errno != EEXIST)
                return cay_fail_sys(err, errno == ENOSPC ? CAY_NO_SPACE : CAY_INTERNAL, -errno,
                                    "make the folder for %s", what);
        *ret = sys_open_beneath(f->state_fd, name, O_RDONLY | O_DIRECTORY, 0);
        return *ret < 0 ? cay_fail_sys(err, CAY_INTERNAL, *ret, "open the folder for %s", what) : 0;
}

static int open_folders(struct front *f, struct cay_error *err)
{
        return open_folder(f, "spool", "output", &f->spool_fd, err) < 0 ||
                               open_folder(f, "recordings", "recordings", &f->screencasts_fd, err) < 0
                       ? -1
                       : 0;
}

/*
 * Not in the store's folder, which may be restored as a whole. Without it an older database goes unnoticed;
 * everything else works.
 */
static void open_newest(struct front *f)
{
        cay_auto_close int layers = sys_open_beneath(CAY_HAND_DATA, "layers", O_RDONLY | O_DIRECTORY, 0);

        f->newest_fd =
                layers < 0 ? -1
                           : sys_open_at(layers, ".newest", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (f->newest_fd < 0)
                cay_log_warn("an older database would not be noticed, ignoring",
                             "file=layers/.newest errno=%d", layers < 0 ? -layers : -f->newest_fd);
}

/* The folder of template files. The keeper hands over descriptors; landlock must know the folder. */
static int open_registry_folder(const char *registry)
{
        const char *slash = strrchr(registry, '/');
        cay_auto_free char *folder = NULL;

        if (!registry[0])
                return -1;
        folder = slash ? strndup(registry, slash == registry ? 1 : (size_t)(slash - registry)) : strdup(".");
        return folder ? sys_open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0) : -1;
}

static uid_t choose_id(int *ret_lock)
{
        uid_t id = geteuid();

        *ret_lock = -1;
        if (id != 0)
                return id;
        id = cay_front_id_take(CAY_HAND_RUN_FOLDER, CAY_HAND_DATA, CAY_FRONT_STATE, ret_lock);
        if (*ret_lock < 0)
                cay_log_warn(
                        "the front's id cannot be locked: another daemon on this machine may have the same",
                        "uid=%u folder=%s", (unsigned)id, CAY_HAND_RUN_FOLDER);
        return id;
}

int cay_front_prepare(struct front *f, struct cay_error *err)
{
        cay_auto_close int registry_fd = open_registry_folder(f->config.registry);
        uid_t id;

        f->own_uid = (unsigned)geteuid();
        load_vault_key(f);
        cay_front_open_trusted(f);
        if (load_secret(f, err) < 0 || load_tls(f, err) < 0)
                return -1;
        set_up_memory();
        warm_up();
        raise_files();
        open_newest(f);
        id = choose_id(&f->id_lock);
        if (cay_front_state_open(CAY_HAND_DATA, id, &f->state_fd, err) < 0 ||
            cay_front_drop(f->state_fd, id, &f->state_is_root, err) < 0)
                return -1;
        close(CAY_HAND_DATA);
        if (cay_front_landlock(f->state_fd, registry_fd, err) < 0)
                return -1;
        return open_folders(f, err);
}
