/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"
#include "links/agent/agent_message.h"

static int read_address(const char *text, struct agent_options *ret, struct cay_error *err)
{
        char http[sizeof(ret->text) + 8];
        bool is_tls = cay_str_starts(text, "wss://");

        if (!is_tls && !cay_str_starts(text, "ws://"))
                return cay_fail(err, CAY_INVALID,
                                "--connect: '%.80s' does not begin with wss:// or ws://: give the daemon's "
                                "address like "
                                "wss://HOST/agent",
                                text);
        if (!cay_str_copy(ret->text, sizeof(ret->text), text))
                return cay_fail(err, CAY_INVALID, "--connect: the address is longer than %zu bytes",
                                sizeof(ret->text) - 1);
        snprintf(http, sizeof(http), "http%s://%s", is_tls ? "s" : "", text + (is_tls ? 6 : 5));
        if (cay_url_parse(http, &ret->url, err) < 0)
                return cay_wrap(err, "--connect");
        if (!ret->url.base[0])
                cay_str_copy(ret->url.base, sizeof(ret->url.base), AGENT_PATH);
        return 0;
}

static int read_listen(const char *text, struct agent_options *ret, struct cay_error *err)
{
        const char *colon = strrchr(text, ':'), *host = text;
        size_t len = colon ? (size_t)(colon - text) : 0;
        uint64_t port = 0;

        if (len > 1 && host[0] == '[' && host[len - 1] == ']') {
                host++;
                len -= 2;
        } else if (len > 0 && memchr(host, ':', len)) {
                len = 0;
        }
        if (len == 0 || len >= sizeof(ret->listen_host) || cay_parse_u64(colon + 1, &port) < 0 ||
            port > UINT16_MAX || !cay_str_copy(ret->text, sizeof(ret->text), text))
                return cay_fail(err, CAY_INVALID, "--listen: '%.80s' is not HOST:PORT, like 127.0.0.1:8765",
                                text);
        memcpy(ret->listen_host, host, len);
        ret->listen_host[len] = '\0';
        ret->listen_port = (uint16_t)port;
        ret->is_loopback = cay_str_starts(ret->listen_host, "127.") || strcmp(ret->listen_host, "::1") == 0 ||
                           strcmp(ret->listen_host, "localhost") == 0;
        ret->is_listening = true;
        return 0;
}

static int find_programs(struct agent_options *ret, struct cay_error *err)
{
        ssize_t n = readlink("/proc/self/exe", ret->programs, sizeof(ret->programs) - 1);
        char *slash;

        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "find this program");
        ret->programs[n] = '\0';
        slash = strrchr(ret->programs, '/');
        if (slash)
                *slash = '\0';
        return 0;
}

int agent_options_read(int argc, char **argv, struct agent_options *ret, struct cay_error *err)
{
        static const struct option words[] = { { "connect", required_argument, NULL, 'c' },
                                               { "name", required_argument, NULL, 'n' },
                                               { "state", required_argument, NULL, 's' },
                                               { "ca", required_argument, NULL, 'a' },
                                               { "rules", required_argument, NULL, 'r' },
                                               { "listen", required_argument, NULL, 'l' },
                                               { "install", no_argument, NULL, 'i' },
                                               { "uninstall", no_argument, NULL, 'u' },
                                               { 0 } };
        const char *connect = NULL, *listen = NULL;
        int c;

        *ret = (struct agent_options){ 0 };
        opterr = 0;
        while ((c = getopt_long(argc, argv, "", words, NULL)) != -1) {
                if (c == 'c')
                        connect = optarg;
                else if (c == 'l')
                        listen = optarg;
                else if (c == 's')
                        ret->state = optarg;
                else if (c == 'a')
                        ret->ca = optarg;
                else if (c == 'r')
                        ret->rules = optarg;
                else if (c == 'i')
                        ret->installs = true;
                else if (c == 'u')
                        ret->uninstalls = true;
                else if (c != 'n')
                        return cay_fail(err, CAY_INVALID,
                                        "'%.60s' is unknown; `cay help agent` lists the options",
                                        argv[optind - 1]);
                else if (!cay_id_is_valid(optarg) || !cay_str_copy(ret->name, sizeof(ret->name), optarg))
                        return cay_fail(
                                err, CAY_INVALID,
                                "--name: 1 to 63 characters a-z, 0-9 or '-'; must not begin or end with '-'");
        }
        if (optind < argc)
                return cay_fail(err, CAY_INVALID, "'%.60s' is one word too many", argv[optind]);
        if (connect && listen)
                return cay_fail(err, CAY_INVALID, "--connect and --listen: give one of them");
        if (ret->installs && ret->uninstalls)
                return cay_fail(err, CAY_INVALID, "--install and --uninstall: give one of them");
        if (listen && ret->ca)
                return cay_fail(err, CAY_INVALID, "--ca is for --connect: TLS of --listen is the tunnel's");
        if (!connect && !listen)
                return cay_fail(
                        err, CAY_INVALID,
                        "--connect is missing: the daemon's address, like wss://HOST/agent (or --listen, "
                        "for a daemon that dials)");
        if ((listen ? read_listen(listen, ret, err) : read_address(connect, ret, err)) < 0)
                return -1;
        return find_programs(ret, err);
}
