# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate from sdk/openapi.json: do not edit.
from __future__ import annotations

from typing import Dict, NamedTuple, Tuple


class Op(NamedTuple):
    name: str
    method: str
    route: str
    path: Tuple[str, ...]
    query: Tuple[str, ...]
    body: Tuple[str, ...]
    takes_bytes: bool
    scope: str


OPS: Dict[str, Op] = {
    "sandbox_create": Op("sandbox_create", "POST", "/api/sandboxes", (), (), ('name', 'labels', 'metadata', 'env', 'limits', 'memory_limit', 'cpu_limit', 'may_skip', 'engine', 'network', 'network_mode', 'allow', 'deny', 'init', 'ports', 'volumes', 'workspace', 'read_only', 'confirm', 'project_name', 'template', 'timeout', 'idle_timeout', 'own_user_only', 'purpose', 'execution_id'), False, "exec"),
    "sandbox_list": Op("sandbox_list", "GET", "/api/sandboxes", (), ('name', 'template', 'label', 'state', 'older_than', 'idle_for', 'cursor', 'limit', 'newest_first'), (), False, "read"),
    "sandbox_get": Op("sandbox_get", "GET", "/api/sandboxes/{id}", ('id',), (), (), False, "read"),
    "sandbox_destroy": Op("sandbox_destroy", "DELETE", "/api/sandboxes/{id}", ('id',), (), (), False, "exec"),
    "sandbox_start": Op("sandbox_start", "POST", "/api/sandboxes/{id}/start", ('id',), (), (), False, "exec"),
    "sandbox_stop": Op("sandbox_stop", "POST", "/api/sandboxes/{id}/stop", ('id',), (), (), False, "exec"),
    "sandbox_pause": Op("sandbox_pause", "POST", "/api/sandboxes/{id}/pause", ('id',), (), (), False, "exec"),
    "sandbox_resume": Op("sandbox_resume", "POST", "/api/sandboxes/{id}/resume", ('id',), (), (), False, "exec"),
    "sandbox_extend": Op("sandbox_extend", "POST", "/api/sandboxes/{id}/extend", ('id',), (), ('timeout', 'idle_timeout'), False, "exec"),
    "sandbox_cleanup": Op("sandbox_cleanup", "POST", "/api/sandboxes/cleanup", (), (), ('name', 'template', 'label', 'state', 'older_than', 'idle_for', 'dry_run'), False, "exec"),
    "sandbox_stats": Op("sandbox_stats", "GET", "/api/sandboxes/{id}/stats", ('id',), ('history',), (), False, "read"),
    "sandbox_events": Op("sandbox_events", "GET", "/api/sandboxes/{id}/events", ('id',), ('after', 'before', 'kind', 'limit', 'newest_first', 'follow', 'new_only'), (), False, "read"),
    "event_list": Op("event_list", "GET", "/api/events", (), ('after', 'before', 'kind', 'limit', 'newest_first', 'follow', 'new_only'), (), False, "read"),
    "template_list": Op("template_list", "GET", "/api/templates", (), ('task',), (), False, "read"),
    "template_get": Op("template_get", "GET", "/api/templates/{name}", ('name',), (), (), False, "read"),
    "template_build": Op("template_build", "POST", "/api/templates/{name}/build", ('name',), (), ('anew', 'cancel', 'stream'), False, "admin"),
    "template_remove": Op("template_remove", "DELETE", "/api/templates/{name}/image", ('name',), (), (), False, "admin"),
    "intent_detect": Op("intent_detect", "POST", "/api/intent", (), (), ('message',), False, "read"),
    "code_run": Op("code_run", "POST", "/api/run", (), (), ('code', 'language', 'command', 'template', 'task', 'trigger', 'files', 'keep', 'idle_timeout', 'from_message', 'workdir', 'cwd', 'user', 'stdin', 'open_stdin', 'timeout', 'cpu_time', 'output_limit', 'output_cut', 'stream', 'max_output', 'name', 'labels', 'metadata', 'env', 'limits', 'memory_limit', 'cpu_limit', 'may_skip', 'engine', 'network', 'network_mode', 'allow', 'deny', 'init', 'ports', 'volumes', 'workspace', 'read_only', 'confirm', 'execution_id'), False, "exec"),
    "exec_run": Op("exec_run", "POST", "/api/sandboxes/{id}/execute", ('id',), (), ('command', 'workdir', 'cwd', 'user', 'stdin', 'open_stdin', 'timeout', 'cpu_time', 'output_limit', 'output_cut', 'stream', 'max_output', 'env', 'tty', 'rows', 'cols', 'term', 'background', 'execution_id'), False, "exec"),
    "exec_list": Op("exec_list", "GET", "/api/sandboxes/{id}/execs", ('id',), (), (), False, "read"),
    "exec_get": Op("exec_get", "GET", "/api/sandboxes/{id}/execs/{exec}", ('id', 'exec'), (), (), False, "read"),
    "exec_kill": Op("exec_kill", "DELETE", "/api/sandboxes/{id}/execs/{exec}", ('id', 'exec'), (), (), False, "exec"),
    "exec_attach": Op("exec_attach", "GET", "/api/sandboxes/{id}/execs/{exec}/output", ('id', 'exec'), ('from', 'raw', 'stream'), (), False, "read"),
    "exec_screen": Op("exec_screen", "GET", "/api/sandboxes/{id}/execs/{exec}/screen", ('id', 'exec'), (), (), False, "read"),
    "exec_input": Op("exec_input", "POST", "/api/sandboxes/{id}/execs/{exec}/input", ('id', 'exec'), ('eof', 'offset'), (), True, "exec"),
    "exec_resize": Op("exec_resize", "POST", "/api/sandboxes/{id}/execs/{exec}/resize", ('id', 'exec'), (), ('rows', 'cols'), False, "exec"),
    "exec_signal": Op("exec_signal", "POST", "/api/sandboxes/{id}/execs/{exec}/signal", ('id', 'exec'), (), ('signal',), False, "exec"),
    "context_create": Op("context_create", "POST", "/api/sandboxes/{id}/contexts", ('id',), (), ('name', 'language', 'cwd', 'env'), False, "exec"),
    "context_list": Op("context_list", "GET", "/api/sandboxes/{id}/contexts", ('id',), (), (), False, "read"),
    "context_run": Op("context_run", "POST", "/api/sandboxes/{id}/contexts/{context}/run", ('id', 'context'), (), ('code', 'timeout', 'stream', 'max_output'), False, "exec"),
    "context_interrupt": Op("context_interrupt", "POST", "/api/sandboxes/{id}/contexts/{context}/interrupt", ('id', 'context'), (), (), False, "exec"),
    "context_restart": Op("context_restart", "POST", "/api/sandboxes/{id}/contexts/{context}/restart", ('id', 'context'), (), ('env',), False, "exec"),
    "context_remove": Op("context_remove", "DELETE", "/api/sandboxes/{id}/contexts/{context}", ('id', 'context'), (), (), False, "exec"),
    "file_read": Op("file_read", "GET", "/api/sandboxes/{id}/files", ('id',), ('path', 'offset', 'length', 'tail', 'as_root'), (), False, "read"),
    "file_write": Op("file_write", "PUT", "/api/sandboxes/{id}/files", ('id',), ('path', 'mode', 'offset', 'append', 'exclusive', 'parents', 'if_tag', 'as_root'), (), True, "exec"),
    "file_remove": Op("file_remove", "DELETE", "/api/sandboxes/{id}/files", ('id',), (), ('path', 'recursive', 'as_root'), False, "exec"),
    "file_list": Op("file_list", "GET", "/api/sandboxes/{id}/files/list", ('id',), ('path', 'recursive', 'offset', 'limit', 'sorted', 'as_root'), (), False, "read"),
    "file_find": Op("file_find", "GET", "/api/sandboxes/{id}/files/find", ('id',), ('pattern', 'path', 'offset', 'limit', 'as_root'), (), False, "read"),
    "file_search": Op("file_search", "GET", "/api/sandboxes/{id}/files/search", ('id',), ('pattern', 'path', 'glob', 'ignore_case', 'literal', 'limit', 'max_bytes', 'as_root'), (), False, "read"),
    "file_stat": Op("file_stat", "GET", "/api/sandboxes/{id}/files/stat", ('id',), ('path', 'follow', 'as_root'), (), False, "read"),
    "file_mkdir": Op("file_mkdir", "POST", "/api/sandboxes/{id}/files/mkdir", ('id',), (), ('path', 'parents', 'mode', 'as_root'), False, "exec"),
    "file_move": Op("file_move", "POST", "/api/sandboxes/{id}/files/move", ('id',), (), ('path', 'to', 'no_replace', 'as_root'), False, "exec"),
    "file_watch": Op("file_watch", "GET", "/api/sandboxes/{id}/files/watch", ('id',), ('path', 'recursive', 'max_folders', 'as_root'), (), False, "read"),
    "archive_get": Op("archive_get", "GET", "/api/sandboxes/{id}/archive", ('id',), ('path', 'format', 'as_root'), (), False, "read"),
    "archive_put": Op("archive_put", "PUT", "/api/sandboxes/{id}/archive", ('id',), ('path', 'format', 'parents', 'as_root'), (), True, "exec"),
    "process_list": Op("process_list", "GET", "/api/sandboxes/{id}/processes", ('id',), (), (), False, "read"),
    "port_list": Op("port_list", "GET", "/api/sandboxes/{id}/ports", ('id',), (), (), False, "read"),
    "port_link": Op("port_link", "POST", "/api/sandboxes/{id}/links", ('id',), (), ('port',), False, "exec"),
    "mcp_link": Op("mcp_link", "POST", "/api/mcp/links", (), (), ('id',), False, "exec"),
    "health_live": Op("health_live", "GET", "/api/health/live", (), (), (), False, "anybody"),
    "health_ready": Op("health_ready", "GET", "/api/health/ready", (), (), (), False, "anybody"),
    "metrics_get": Op("metrics_get", "GET", "/api/metrics", (), (), (), False, "read"),
    "metrics_text": Op("metrics_text", "GET", "/metrics", (), (), (), False, "read"),
    "version_get": Op("version_get", "GET", "/api/version", (), (), (), False, "read"),
    "engine_list": Op("engine_list", "GET", "/api/engines", (), (), (), False, "read"),
    "network_get": Op("network_get", "GET", "/api/sandboxes/{id}/network", ('id',), (), (), False, "read"),
    "network_update": Op("network_update", "PATCH", "/api/sandboxes/{id}/network", ('id',), (), ('network', 'allow', 'deny', 'add_allow', 'remove_allow', 'add_deny', 'remove_deny', 'limits'), False, "exec"),
    "network_log": Op("network_log", "GET", "/api/sandboxes/{id}/network/log", ('id',), ('from', 'limit'), (), False, "read"),
    "network_presets": Op("network_presets", "GET", "/api/network/presets", (), (), (), False, "read"),
    "config_get": Op("config_get", "GET", "/api/config", (), (), (), False, "admin"),
    "recover_list": Op("recover_list", "GET", "/api/recover", (), (), (), False, "admin"),
    "recover_adopt": Op("recover_adopt", "POST", "/api/recover/{files}", ('files',), (), ('owner', 'name', 'template', 'limits'), False, "admin"),
    "recover_remove": Op("recover_remove", "DELETE", "/api/recover/{files}", ('files',), (), (), False, "admin"),
    "whoami": Op("whoami", "GET", "/api/whoami", (), (), (), False, "read"),
    "login_make": Op("login_make", "POST", "/api/logins", (), (), ('owner', 'scope'), False, "admin"),
    "login_use": Op("login_use", "POST", "/api/login", (), (), ('login',), False, "anybody"),
    "logout": Op("logout", "POST", "/api/logout", (), (), (), False, "read"),
    "token_make": Op("token_make", "POST", "/api/tokens", (), (), ('owner', 'scope', 'lifetime'), False, "admin"),
    "key_make": Op("key_make", "POST", "/api/keys", (), (), ('owner', 'scope', 'label'), False, "admin"),
    "key_list": Op("key_list", "GET", "/api/keys", (), (), (), False, "admin"),
    "key_revoke": Op("key_revoke", "DELETE", "/api/keys/{key}", ('key',), (), (), False, "admin"),
    "containers_list": Op("containers_list", "GET", "/containers", (), (), (), False, "read"),
    "containers_start": Op("containers_start", "POST", "/containers/start", (), (), ('container', 'name', 'template', 'trigger', 'task', 'code', 'language', 'command', 'timeout', 'env', 'workdir', 'stdin', 'keep', 'stream', 'confirm', 'execution_id'), False, "exec"),
    "containers_exec": Op("containers_exec", "POST", "/containers/exec", (), (), ('command', 'container_id', 'container', 'name', 'timeout', 'env', 'workdir', 'stdin', 'stream', 'execution_id'), False, "exec"),
    "containers_stop": Op("containers_stop", "POST", "/containers/stop", (), (), ('container_id', 'container', 'name'), False, "exec"),
    "containers_status": Op("containers_status", "GET", "/containers/status", (), ('cursor',), (), False, "read"),
    "containers_cleanup": Op("containers_cleanup", "POST", "/containers/cleanup", (), (), (), False, "exec"),
    "service_health": Op("service_health", "GET", "/health", (), (), (), False, "anybody"),
    "service_healthz": Op("service_healthz", "GET", "/healthz", (), (), (), False, "anybody"),
    "service_sandbox_health": Op("service_sandbox_health", "GET", "/sandbox/health", (), (), (), False, "anybody"),
    "service_execute": Op("service_execute", "POST", "/sandbox/execute", (), (), ('sandbox_type', 'action', 'code', 'url', 'language', 'timeout', 'read_only', 'metadata', 'execution_id', 'confirm'), False, "exec"),
    "service_metrics": Op("service_metrics", "GET", "/sandbox/metrics", (), (), (), False, "read"),
    "service_cleanup": Op("service_cleanup", "POST", "/sandbox/cleanup", (), (), ('idle_for',), False, "exec"),
}
