/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments, and Docker's own variables. */
#include "cay-docker/options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "foundation/base/str.h"

#define SOCKET_USUAL "/var/run/docker.sock"
#define PORT_PLAIN "2375"
#define PORT_TLS "2376"

static bool is_port(const char *text)
{
        unsigned long value = 0;

        if (text[0] == '\0' || strlen(text) > 5)
                return false;
        for (; *text; text++) {
                if (*text < '0' || *text > '9')
                        return false;
                value = value * 10 + (unsigned long)(*text - '0');
        }
        return value >= 1 && value <= 65535;
}

static int parse_tcp(const char *text, bool tls, struct docker_host *ret, struct cay_error *err)
{
        const char *port = tls ? PORT_TLS : PORT_PLAIN, *end = text + strlen(text), *colon;
        const char *from = text;

        if (end > text && end[-1] == '/')
                end--;
        if (*text == '[') {
                from = text + 1;
                colon = memchr(from, ']', (size_t)(end - from));
                if (!colon || (colon + 1 < end && colon[1] != ':'))
                        return cay_fail(err, CAY_INVALID, "docker host '%.100s': not a valid address", text);
                if (colon + 1 < end)
                        port = colon + 2;
                end = colon + 1 < end ? end : colon + 1;
        } else {
                colon = memchr(from, ':', (size_t)(end - from));
                if (colon)
                        port = colon + 1;
                else
                        colon = end;
        }
        if (colon == from || (size_t)(colon - from) >= sizeof(ret->host) ||
            memchr(from, '/', (size_t)(end - from)))
                return cay_fail(err, CAY_INVALID, "docker host '%.100s': must be tcp://HOST[:PORT]", text);
        memcpy(ret->host, from, (size_t)(colon - from));
        ret->host[colon - from] = '\0';
        if (port > text && port <= end) { /* of the text, which may end in a slash */
                size_t len = (size_t)(end - port);

                if (len >= sizeof(ret->port))
                        return cay_fail(err, CAY_INVALID, "docker host '%.100s': not a valid port", text);
                memcpy(ret->port, port, len);
                ret->port[len] = '\0';
        } else {
                cay_str_copy(ret->port, sizeof(ret->port), port);
        }
        if (!is_port(ret->port))
                return cay_fail(err, CAY_INVALID, "docker host '%.100s': not a valid port", text);
        ret->kind = tls ? DOCKER_HOST_TLS : DOCKER_HOST_TCP;
        return 0;
}

int docker_host_parse(const char *text, bool tls, struct docker_host *ret, struct cay_error *err)
{
        struct docker_host host = { .kind = DOCKER_HOST_UNIX };

        if (text[0] == '\0')
                text = "unix://" SOCKET_USUAL;
        if (cay_str_starts(text, "unix://")) {
                if (text[7] != '/' || !cay_str_copy(host.path, sizeof(host.path), text + 7))
                        return cay_fail(err, CAY_INVALID,
                                        "docker host '%.100s': must be unix:// and an absolute path of at "
                                        "most %zu bytes",
                                        text, sizeof(host.path) - 1);
        } else if (cay_str_starts(text, "tcp://")) {
                if (parse_tcp(text + 6, tls, &host, err) < 0)
                        return -1;
        } else {
                return cay_fail(err, CAY_INVALID,
                                "docker host '%.100s' is neither unix:///PATH nor tcp://HOST[:PORT]", text);
        }
        *ret = host;
        return 0;
}

static bool is_image(const char *text)
{
        static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@";

        return text[0] != '\0' && strlen(text) < DOCKER_IMAGE && text[0] != '-' && text[0] != '/' &&
               strspn(text, known) == strlen(text) && !strstr(text, "..") && !strstr(text, "//");
}

static int add_image(struct docker_options *o, const char *image, struct cay_error *err)
{
        if (!is_image(image))
                return cay_fail(err, CAY_INVALID, "'%.100s' is not a valid name of an image", image);
        if (o->image_count == DOCKER_IMAGES_MAX)
                return cay_fail(err, CAY_LIMIT, "at most %u images", DOCKER_IMAGES_MAX);
        o->images[o->image_count++] = image;
        return 0;
}

static int take(struct docker_options *o, const char *name, const char *value, struct cay_error *err)
{
        if (strcmp(name, "--host") == 0)
                o->host_text = value;
        else if (strcmp(name, "--certs") == 0)
                o->cert_dir = value;
        else if (strcmp(name, "--instance") == 0)
                o->instance = value;
        else if (strcmp(name, "--init") == 0)
                o->init_path = value;
        else if (strcmp(name, "--registry") == 0)
                o->registry = value;
        else if (strcmp(name, "--image") == 0)
                return add_image(o, value, err);
        else if (strcmp(name, "--root") == 0 && o->root_count < DOCKER_ROOTS_MAX && value[0] == '/')
                o->roots[o->root_count++] = value;
        else
                return cay_fail(err, CAY_INVALID, "unknown argument '%.100s %.100s'", name, value);
        return 0;
}

static const char *variable(const char *name)
{
        const char *value = getenv(name);

        return value ? value : "";
}

/* Without a keeper nobody comes after us: what is ours is nobody else's. */
static const char *name_run(void)
{
        static char name[64];
        uint64_t random = 0;

        if (getrandom(&random, sizeof(random), 0) < 0)
                random = (uint64_t)getpid();
        snprintf(name, sizeof(name), "run-%d-%016llx", (int)getpid(), (unsigned long long)random);
        return name;
}

int docker_options_read(int argc, char **argv, struct docker_options *ret, struct cay_error *err)
{
        struct docker_options o = { .cert_dir = "", .instance = "", .init_path = "", .registry = "" };
        const char *image = variable("CAY_DOCKER_IMAGE");

        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--keep") == 0) {
                        o.keep = true;
                        continue;
                }
                if (i + 1 == argc)
                        return cay_fail(err, CAY_INVALID, "%.100s needs a value", argv[i]);
                if (take(&o, argv[i], argv[i + 1], err) < 0)
                        return -1;
                i++;
        }
        if (!o.host_text)
                o.host_text = variable("DOCKER_HOST");
        if (o.cert_dir[0] == '\0' && variable("DOCKER_TLS_VERIFY")[0] != '\0')
                o.cert_dir = variable("DOCKER_CERT_PATH");
        if (o.image_count == 0 && image[0] != '\0' && add_image(&o, image, err) < 0)
                return -1;
        if (docker_host_parse(o.host_text, o.cert_dir[0] != '\0', &o.host, err) < 0)
                return -1;
        if (o.host_text[0] == '\0')
                o.host_text = "unix://" SOCKET_USUAL;
        if (!o.keep && o.instance[0] == '\0')
                o.instance = name_run();
        *ret = o;
        return 0;
}
