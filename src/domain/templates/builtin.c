/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry that is used when none is given, in the same format. Limits are the defaults of every
 * template.
 */
#include "domain/templates/registry.h"

const char cay_registry_builtin[] =
        "containers:\n"
        "  host:\n"
        "    description: \"The programs of this machine, read-only\"\n"
        "    host: true\n"
        "    interpreter: [/bin/sh, -s]\n"
        "    requires: [/usr/bin/sh]\n"
        "\n"
        "  python:\n"
        "    description: \"Python code execution environment\"\n"
        "    host: true\n"
        "    triggers: [\"run python\", \"execute python\", \"execute code\", \"test this\"]\n"
        "    interpreter: [python3, \"-\"]\n"
        "    requires: [/usr/bin/python3]\n"
        "\n"
        "  node:\n"
        "    description: \"JavaScript code execution environment\"\n"
        "    host: true\n"
        "    triggers: [\"run javascript\", \"run node\", \"execute javascript\"]\n"
        "    interpreter: [node, \"-\"]\n"
        "    requires: [/usr/bin/node]\n"
        "\n"
        "  shell:\n"
        "    description: \"Shell scripts and commands\"\n"
        "    host: true\n"
        "    triggers: [\"run shell\", \"run bash\", \"execute script\", \"run command\"]\n"
        "    interpreter: [bash, -s]\n"
        "    requires: [/usr/bin/bash]\n"
        "\n"
        "settings:\n"
        "  auto_cleanup: true\n";
