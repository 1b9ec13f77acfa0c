/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an image is built from: the folder of a template's Dockerfile, as an archive and as a hash.
 *
 * Theory of operation. Where a template's files are is read from the registry here, by the program that holds
 * Docker: a front says a name and nothing else. Everything is opened below the registry's folder, no link is
 * followed, and names come sorted, so that the same files give the same hash wherever they lie. The hash is
 * over names, kinds, modes and contents, and over what the registry says of the build (arguments, the
 * Dockerfile's name); times do not count. It reads files for as long as that takes: build_child.h runs it in
 * a process of its own.
 */
#pragma once

#include "foundation/base/error.h"
#include "links/helper/docker_message.h"

#define DOCKER_CONTEXT_BYTES (256ull << 20) /* of all files of one */
#define DOCKER_CONTEXT_ENTRIES 50000u
#define DOCKER_CONTEXT_DEPTH 64u
#define DOCKER_CONTEXT_ARGS 1500u /* bytes of the build arguments as JSON */
#define DOCKER_BUILD_MS (30ull * 60 * 1000)
#define DOCKER_BUILD_MEMORY (2ull << 30)

struct docker_context { /* plain: comes through a pipe */
        char name[DOCKER_WORD];
        uint32_t code; /* enum cay_code: what follows is good with CAY_OK alone */
        char text[HELPER_TEXT];
        char hash[DOCKER_CONTEXT];
        char dockerfile[256]; /* in the folder */
        uint32_t bridge;      /* its commands have a network */
        uint64_t memory_bytes, build_ms;
        uint64_t bytes, entries;
        char args[DOCKER_CONTEXT_ARGS + 1]; /* JSON object */
};

struct docker_context_sink {
        void (*tell)(struct docker_context_sink *sink, const struct docker_context *c);
};

/*
 * registry: the file's text, of the folder. name: the one template that is meant (tar_fd takes its archive;
 * -1: the hash alone), or NULL: every template with a Dockerfile is told. -1: the registry cannot be read, or
 * has no such template.
 */
int docker_context_read(int folder_fd, const char *registry, size_t len, const char *name, int tar_fd,
                        struct docker_context_sink *sink, struct cay_error *err);
