# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate from sdk/openapi.json: do not edit.
"""One method for each operation that answers with JSON. Streams and bytes are in the classes made by hand."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Union, cast

from .._generated.types import (
    ArchivePutResult,
    Browser,
    BrowserAct,
    BrowserClickResult,
    BrowserConsoleResult,
    BrowserCookiesResult,
    BrowserDomResult,
    BrowserDownloadsResult,
    BrowserEvaluateResult,
    BrowserHistoryResult,
    BrowserLinkResult,
    BrowserListResult,
    BrowserLiveLinkResult,
    BrowserLogsResult,
    BrowserNavigateResult,
    BrowserOutlineResult,
    BrowserPage,
    BrowserRecordListResult,
    BrowserRecordRemoveResult,
    BrowserRecording,
    BrowserRequestResult,
    BrowserRequestsResult,
    BrowserRunLimits,
    BrowserSelectResult,
    BrowserStopResult,
    BrowserTabCloseResult,
    BrowserTabOpenResult,
    BrowserTabsResult,
    BrowserTextResult,
    CodeRunLimits,
    CodeRunWorkspace,
    ComputerPosition,
    ComputerWaitResult,
    ContainerRun,
    ContainerStart,
    ContainersCleanupResult,
    ContainersListResult,
    ContainersStatusResult,
    ContainersStopResult,
    Context,
    ContextListResult,
    ContextRemoveResult,
    ContextRun,
    CreatedSandbox,
    Desktop,
    DesktopLinkResult,
    EngineListResult,
    EventListResult,
    Exec,
    ExecInputResult,
    ExecListResult,
    ExecResult,
    ExecScreenResult,
    File,
    FileFindResult,
    FileListResult,
    FileMkdirResult,
    FileMoveResult,
    FileRemoveResult,
    FileSearchResult,
    FileWriteResult,
    HealthLiveResult,
    HealthReadyResult,
    Image,
    Intent,
    JournalCheck,
    Key,
    KeyListResult,
    KeyMakeResult,
    LoginMakeResult,
    LoginUseResult,
    LogoutResult,
    Machine,
    MachineAdded,
    McpLinkResult,
    Metrics,
    Network,
    NetworkLogResult,
    NetworkPresetsResult,
    NetworkSuggestion,
    NetworkUpdateLimits,
    PortLinkResult,
    PortListResult,
    ProcessListResult,
    Recording,
    RecoverAdoptLimits,
    RecoverListResult,
    RecoverRemoveResult,
    RemoteListResult,
    Replay,
    RunResult,
    Sandbox,
    SandboxCleanupResult,
    SandboxCreateLimits,
    SandboxCreateWorkspace,
    SandboxDestroyResult,
    SandboxEventsResult,
    SandboxForkLimits,
    SandboxForkResult,
    SandboxListResult,
    SandboxStatsResult,
    SandboxUndoResult,
    Secret,
    SecretListResult,
    ServiceCleanupResult,
    ServiceHealth,
    ServiceMetrics,
    ServiceRun,
    Setting,
    Snapshot,
    SnapshotListResult,
    SnapshotRemoveResult,
    StepDiffResult,
    StepListResult,
    TemplateBuildResult,
    TemplateGetResult,
    TemplateListResult,
    TemplateRemoveResult,
    TestResults,
    TokenMakeResult,
    VersionGetResult,
    VolumeListResult,
    VolumeRemoveResult,
    WhoamiResult,
)
from .._requests import Body


class AsyncOps:
    """The API as it is."""

    async def _call(self, op: str, args: Mapping[str, Any], content: Optional[Body] = None) -> Any:
        raise NotImplementedError

    async def sandbox_create(
        self,
        *,
        name: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None,
        limits: Optional[SandboxCreateLimits] = None,
        memory_limit: Union[int, float, str, None] = None,
        cpu_limit: Union[int, float, str, None] = None,
        may_skip: Optional[Sequence[str]] = None,
        engine: Optional[str] = None,
        network: Optional[str] = None,
        network_mode: Optional[str] = None,
        allow: Optional[Sequence[str]] = None,
        deny: Optional[Sequence[str]] = None,
        private_network: Optional[str] = None,
        private_name: Optional[str] = None,
        secrets: Optional[Sequence[str]] = None,
        init: Optional[str] = None,
        ports: Optional[Sequence[Union[str, int]]] = None,
        volumes: Optional[Sequence[str]] = None,
        workspace: Optional[SandboxCreateWorkspace] = None,
        read_only: Optional[bool] = None,
        on_timeout: Optional[str] = None,
        sleep_after_s: Optional[int] = None,
        checkpoint: Optional[bool] = None,
        font_cache: Optional[bool] = None,
        record: Optional[bool] = None,
        machine: Optional[str] = None,
        browser_seconds: Optional[int] = None,
        browser_follows: Optional[bool] = None,
        confirm: Optional[str] = None,
        project_name: Optional[str] = None,
        template: Optional[str] = None,
        snapshot: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
        idle_timeout: Union[int, float, str, None] = None,
        own_user_only: Optional[bool] = None,
        purpose: Optional[str] = None,
        execution_id: Optional[str] = None,
    ) -> CreatedSandbox:
        """Creates a sandbox and answers when it is ready

        name: name: 1 to 63 characters a-z, 0-9 or '-'; must not begin or end with '-'; unique per owner
        labels: labels for filters
        metadata: data to store with it
        env: variables of all its commands; never shown again
        limits: limits
        memory_limit: the same as limits.memory ("1g")
        cpu_limit: the same as limits.cpus ("1.0")
        may_skip: names of limits to skip if this machine cannot enforce them
        engine: engine: native, docker, remote or auto (default: the template's, else auto)
        network: none (only loopback), list (what allow names), bridge (all public addresses), or learn (as bridge, then
            network_suggest lists the rules), if its template or an administrator allows it
        network_mode: the same as network
        allow: hosts that it may reach (native): pypi.org, *.example.org:443, 10.1.2.0/24:5432, preset:python
        deny: hosts that it may not reach, whatever allow says
        private_network: private network in which your sandboxes reach each other by name (native): in team, db is
            db.team.internal
        private_name: its name in the private network; default: its name
        secrets: names of your secrets that its requests may use; inside, each is a variable with a placeholder
        init: cay, or none: copy nothing into it and run one command (docker; default: the template's, else cay)
        ports: TCP ports to publish on the engine's loopback: PORT, or HOST:PORT with the one that is wished for (bridge; 18765,
            17681 and 16080, its MCP, terminal and desktop, on every engine)
        volumes: volumes of the owner, which stay when sandboxes are destroyed: NAME:/PATH[:ro]
        workspace: host folder to map as the workspace
        read_only: make the root read-only; /workspace, /tmp and /dev/shm stay writable
        on_timeout: what the end of its time to live does: destroy (default), pause, or stop; a paused or stopped one stays
            until it is destroyed
        sleep_after_s: let it sleep when it was not used for so many seconds: all in it is frozen and its memory given back; the
            next request wakes it
        checkpoint: make a step before each command, so that it can be undone (`cay log`, `cay undo`)
        font_cache: show the machine's cache of fonts in it, so that browsers and desktops start sooner (template `host`, engine
            native)
        record: keep what is asked of it, encrypted, so that it can be run again (`cay replay`) and its terminals shown (`cay
            cast`)
        machine: make it on this machine of yours, which `cay agent` connects (engine: remote)
        browser_seconds: let its browser start once and live at most so many seconds; five minutes after the browser's end the
            sandbox is destroyed
        browser_follows: with browser_seconds: close the browser when its last client has left, or when none came for five
            minutes
        confirm: confirmation token from the answer to the first request
        project_name: stored as the label project_name
        template: template, or name of a snapshot; default: host
        snapshot: id or name of a snapshot whose files it gets; its template, disk and variables are the default
        timeout: time to live ("90s", "2h", seconds); 0: until destroyed
        idle_timeout: idle time after which it is destroyed
        own_user_only: never run commands as another user; makes creation faster
        purpose: purpose (the code, the task); a confirmation applies only to it
        execution_id: single-use id: a second request with it creates nothing (409)
        """
        return cast(CreatedSandbox, await self._call("sandbox_create", {
            "name": name,
            "labels": labels,
            "metadata": metadata,
            "env": env,
            "limits": limits,
            "memory_limit": memory_limit,
            "cpu_limit": cpu_limit,
            "may_skip": may_skip,
            "engine": engine,
            "network": network,
            "network_mode": network_mode,
            "allow": allow,
            "deny": deny,
            "private_network": private_network,
            "private_name": private_name,
            "secrets": secrets,
            "init": init,
            "ports": ports,
            "volumes": volumes,
            "workspace": workspace,
            "read_only": read_only,
            "on_timeout": on_timeout,
            "sleep_after_s": sleep_after_s,
            "checkpoint": checkpoint,
            "font_cache": font_cache,
            "record": record,
            "machine": machine,
            "browser_seconds": browser_seconds,
            "browser_follows": browser_follows,
            "confirm": confirm,
            "project_name": project_name,
            "template": template,
            "snapshot": snapshot,
            "timeout": timeout,
            "idle_timeout": idle_timeout,
            "own_user_only": own_user_only,
            "purpose": purpose,
            "execution_id": execution_id,
        }))

    async def sandbox_list(
        self,
        *,
        name: Optional[str] = None,
        template: Optional[str] = None,
        label: Optional[str] = None,
        metadata: Optional[str] = None,
        created_after: Optional[str] = None,
        state: Optional[str] = None,
        older_than: Optional[Union[int, float, str]] = None,
        idle_for: Optional[Union[int, float, str]] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        newest_first: Optional[bool] = None,
    ) -> SandboxListResult:
        """Lists sandboxes, page by page

        name: only the one with this name
        template: only those made from this template
        label: only those with these labels: key=value, or key for any value; separated by commas
        metadata: only those with this metadata: key=value pairs with & between them, encoded (%20)
        created_after: only those created at or after this time (2026-11-18T16:00:00Z)
        state: only those in these states, separated by commas
        older_than: only those created at least this long ago
        idle_for: only those idle for at least this long
        cursor: start of the page: the `next` of the page before
        limit: at most this many; default 100
        newest_first: newest first
        """
        return cast(SandboxListResult, await self._call("sandbox_list", {
            "name": name,
            "template": template,
            "label": label,
            "metadata": metadata,
            "created_after": created_after,
            "state": state,
            "older_than": older_than,
            "idle_for": idle_for,
            "cursor": cursor,
            "limit": limit,
            "newest_first": newest_first,
        }))

    async def sandbox_get(self, *, id: str) -> Sandbox:
        """Shows a sandbox

        id: id or name of the sandbox
        """
        return cast(Sandbox, await self._call("sandbox_get", {"id": id}))

    async def sandbox_destroy(self, *, id: str, wait: Optional[bool] = None) -> SandboxDestroyResult:
        """Destroys a sandbox and everything that belongs to it

        id: id or name of the sandbox
        wait: false: answer as soon as it is stored that the sandbox is gone; it is killed and removed right after
        """
        return cast(SandboxDestroyResult, await self._call("sandbox_destroy", {"id": id, "wait": wait}))

    async def sandbox_start(self, *, id: str) -> Sandbox:
        """Starts a sandbox that is stopped or failed

        id: id or name of the sandbox
        """
        return cast(Sandbox, await self._call("sandbox_start", {"id": id}))

    async def sandbox_stop(self, *, id: str) -> Sandbox:
        """Ends all processes in a sandbox and keeps its files

        id: id or name of the sandbox
        """
        return cast(Sandbox, await self._call("sandbox_stop", {"id": id}))

    async def sandbox_pause(self, *, id: str) -> Sandbox:
        """Freezes all processes in a sandbox

        id: id or name of the sandbox
        """
        return cast(Sandbox, await self._call("sandbox_pause", {"id": id}))

    async def sandbox_resume(self, *, id: str) -> Sandbox:
        """Continues a paused sandbox

        id: id or name of the sandbox
        """
        return cast(Sandbox, await self._call("sandbox_resume", {"id": id}))

    async def sandbox_extend(
        self,
        *,
        id: str,
        timeout: Union[int, float, str, None] = None,
        idle_timeout: Union[int, float, str, None] = None,
    ) -> Sandbox:
        """Changes how long a sandbox lives, and how long it may be idle

        id: id or name of the sandbox
        timeout: time to live from now; 0: until destroyed
        idle_timeout: new idle limit; 0: none
        """
        return cast(Sandbox, await self._call("sandbox_extend", {"id": id, "timeout": timeout, "idle_timeout": idle_timeout}))

    async def sandbox_cleanup(
        self,
        *,
        name: Optional[str] = None,
        template: Optional[str] = None,
        label: Optional[str] = None,
        metadata: Optional[str] = None,
        created_after: Optional[str] = None,
        state: Optional[str] = None,
        older_than: Union[int, float, str, None] = None,
        idle_for: Union[int, float, str, None] = None,
        dry_run: Optional[bool] = None,
    ) -> SandboxCleanupResult:
        """Destroys all of the caller's sandboxes that match the filter

        name: only the one with this name
        template: only those made from this template
        label: only those with these labels: key=value, or key for any value; separated by commas
        metadata: only those with this metadata: key=value pairs with & between them, encoded (%20)
        created_after: only those created at or after this time (2026-11-18T16:00:00Z)
        state: only those in these states, separated by commas
        older_than: only those created at least this long ago
        idle_for: only those idle for at least this long
        dry_run: only list what would be destroyed
        """
        return cast(SandboxCleanupResult, await self._call("sandbox_cleanup", {
            "name": name,
            "template": template,
            "label": label,
            "metadata": metadata,
            "created_after": created_after,
            "state": state,
            "older_than": older_than,
            "idle_for": idle_for,
            "dry_run": dry_run,
        }))

    async def sandbox_stats(self, *, id: str, history: Optional[bool] = None) -> SandboxStatsResult:
        """What a sandbox uses now

        id: the sandbox
        history: also what it used in the last half hour, as far as this daemon has seen it: a point every 15 seconds, every
            minute while no command runs
        """
        return cast(SandboxStatsResult, await self._call("sandbox_stats", {"id": id, "history": history}))

    async def sandbox_events(
        self,
        *,
        id: str,
        after: Optional[int] = None,
        before: Optional[int] = None,
        kind: Optional[str] = None,
        limit: Optional[int] = None,
        newest_first: Optional[bool] = None,
        follow: Optional[bool] = None,
        new_only: Optional[bool] = None,
    ) -> SandboxEventsResult:
        """What happened to a sandbox, or what happens to it from now on

        id: the sandbox; also one that is gone
        after: later than this number
        before: earlier than this number
        kind: of this kind alone
        limit: at most this many; default 100
        newest_first: newest first
        follow: a stream: those that there are, then each as it happens
        new_only: following: leave out those that there are, unless `after` is given
        """
        return cast(SandboxEventsResult, await self._call("sandbox_events", {
            "id": id,
            "after": after,
            "before": before,
            "kind": kind,
            "limit": limit,
            "newest_first": newest_first,
            "follow": follow,
            "new_only": new_only,
        }))

    async def event_list(
        self,
        *,
        after: Optional[int] = None,
        before: Optional[int] = None,
        kind: Optional[str] = None,
        limit: Optional[int] = None,
        newest_first: Optional[bool] = None,
        follow: Optional[bool] = None,
        new_only: Optional[bool] = None,
    ) -> EventListResult:
        """What happened to all sandboxes that one may see, or what happens from now on

        after: later than this number
        before: earlier than this number
        kind: of this kind alone
        limit: at most this many; default 100
        newest_first: newest first
        follow: a stream: those that there are, then each as it happens
        new_only: following: leave out those that there are, unless `after` is given
        """
        return cast(EventListResult, await self._call("event_list", {
            "after": after,
            "before": before,
            "kind": kind,
            "limit": limit,
            "newest_first": newest_first,
            "follow": follow,
            "new_only": new_only,
        }))

    async def journal_verify(self, *, id: str, head: Optional[str] = None) -> JournalCheck:
        """Checks that the journal of a sandbox is what was written: each event's hash covers the event and the hash before it. What was changed is an error (damaged). The answer's head, kept elsewhere, also shows later that the end was not cut off

        id: id or name of the sandbox; the id of one that was destroyed
        head: a hash that an earlier check gave: it must be in the journal
        """
        return cast(JournalCheck, await self._call("journal_verify", {"id": id, "head": head}))

    async def sandbox_fork(
        self,
        *,
        id: str,
        count: Optional[int] = None,
        labels: Optional[Mapping[str, str]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None,
        limits: Optional[SandboxForkLimits] = None,
        timeout: Union[int, float, str, None] = None,
        idle_timeout: Union[int, float, str, None] = None,
        network: Optional[str] = None,
        allow: Optional[Sequence[str]] = None,
        deny: Optional[Sequence[str]] = None,
        secrets: Optional[Sequence[str]] = None,
    ) -> SandboxForkResult:
        """Makes new sandboxes with the files of a sandbox, running or stopped, or of a snapshot: as many as were asked for, or none. Processes are not in them; limits and variables are the sandbox's, unless given

        id: id or name of the sandbox, or of a snapshot
        count: how many; default 1
        labels: labels of each
        metadata: data to store with each
        env: variables, beside those of the sandbox; never shown again
        limits: limits; default: those of the sandbox
        timeout: time to live; 0: until destroyed
        idle_timeout: idle time after which each is destroyed
        network: network of each, as when one is created: none, list, bridge or learn; default: the template's
        allow: hosts that each may reach
        deny: hosts that none may reach
        secrets: names of your secrets that their requests may use; none of the sandbox's are taken over
        """
        return cast(SandboxForkResult, await self._call("sandbox_fork", {
            "id": id,
            "count": count,
            "labels": labels,
            "metadata": metadata,
            "env": env,
            "limits": limits,
            "timeout": timeout,
            "idle_timeout": idle_timeout,
            "network": network,
            "allow": allow,
            "deny": deny,
            "secrets": secrets,
        }))

    async def snapshot_create(self, *, id: str, name: Optional[str] = None, timeout: Union[int, float, str, None] = None) -> Snapshot:
        """Copies the files of a sandbox, running or stopped, to make others of. Processes, memory and a mapped folder are not in it; a running sandbox stands still meanwhile (frozen_ms)

        id: id or name of the sandbox
        name: name: 1 to 63 characters a-z, 0-9 or '-'; unique per owner, and no template's
        timeout: time after which it is removed ("2h", seconds); default: never
        """
        return cast(Snapshot, await self._call("snapshot_create", {"id": id, "name": name, "timeout": timeout}))

    async def snapshot_list(
        self,
        *,
        sandbox: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> SnapshotListResult:
        """Lists snapshots, the newest first

        sandbox: id of the sandbox that they are of
        limit: at most this many; default 100
        cursor: next_cursor of the page before
        """
        return cast(SnapshotListResult, await self._call("snapshot_list", {"sandbox": sandbox, "limit": limit, "cursor": cursor}))

    async def snapshot_get(self, *, snapshot: str) -> Snapshot:
        """Shows a snapshot

        snapshot: id or name of the snapshot
        """
        return cast(Snapshot, await self._call("snapshot_get", {"snapshot": snapshot}))

    async def snapshot_remove(self, *, snapshot: str) -> SnapshotRemoveResult:
        """Removes a snapshot; sandboxes that were made of it keep their files

        snapshot: id or name of the snapshot
        """
        return cast(SnapshotRemoveResult, await self._call("snapshot_remove", {"snapshot": snapshot}))

    async def step_list(self, *, id: str) -> StepListResult:
        """Lists the steps of a sandbox, the newest first: its files as they were before each command. A sandbox can be made of one by its snapshot_id

        id: id or name of the sandbox
        """
        return cast(StepListResult, await self._call("step_list", {"id": id}))

    async def step_diff(
        self,
        *,
        id: str,
        from_: Optional[int] = None,
        to: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> StepDiffResult:
        """Lists the files that differ between two steps of a sandbox, or between one and now. A sandbox of its own compares them

        id: id or name of the sandbox
        from_: number of the step to compare with; default: the newest
        to: number of the later step; default: the files as they are now
        limit: at most this many; default 1000
        """
        return cast(StepDiffResult, await self._call("step_diff", {"id": id, "from": from_, "to": to, "limit": limit}))

    async def sandbox_undo(self, *, id: str, step: Optional[int] = None) -> SandboxUndoResult:
        """Gives a sandbox the files of one of its steps again. What runs in it is ended (commands_ended). The files that it has now become a step, kept_as, so that the undo can be undone

        id: id or name of the sandbox
        step: number of the step (step_list); default: the newest
        """
        return cast(SandboxUndoResult, await self._call("sandbox_undo", {"id": id, "step": step}))

    async def recording_get(self, *, id: str) -> Recording:
        """Shows what is recorded of a sandbox: since when, how much, whether it ended (stopped: limit, disk, undone), and its terminals

        id: id or name of the sandbox
        """
        return cast(Recording, await self._call("recording_get", {"id": id}))

    async def sandbox_replay(self, *, id: str, timeout: Union[int, float, str, None] = None, keep: Optional[bool] = None) -> Replay:
        """Runs what was recorded of a sandbox again, in a new one with the files with which the recording began, and tells where exit codes, causes or output differ, the first first

        id: id or name of the sandbox
        timeout: time for all of it; default 10 minutes
        keep: keep the sandbox in which it was run again (replay_id); it expires 2 minutes after that time
        """
        return cast(Replay, await self._call("sandbox_replay", {"id": id, "timeout": timeout, "keep": keep}))

    async def volume_list(self, *, owner: Optional[str] = None, engine: Optional[str] = None) -> VolumeListResult:
        """Lists named volumes, with how many sandboxes have each, running or stopped. Of the native engine also how much of the disk each may take and takes. count says how many there are, more that some are left out, unavailable which engines did not answer

        owner: whose; for admins: default of a list is everybody's
        engine: engine that keeps it: native or docker; default: any
        """
        return cast(VolumeListResult, await self._call("volume_list", {"owner": owner, "engine": engine}))

    async def volume_remove(self, *, name: str, owner: Optional[str] = None, engine: Optional[str] = None) -> VolumeRemoveResult:
        """Removes a named volume and what is in it; refused while a sandbox has it, running or stopped

        name: the volume
        owner: whose; for admins: default of a list is everybody's
        engine: engine that keeps it: native or docker; default: any
        """
        return cast(VolumeRemoveResult, await self._call("volume_remove", {"name": name, "owner": owner, "engine": engine}))

    async def template_list(self, *, task: Optional[str] = None) -> TemplateListResult:
        """Lists the templates, and whether each works on this machine

        task: only the template that this text selects by its triggers
        """
        return cast(TemplateListResult, await self._call("template_list", {"task": task}))

    async def template_get(self, *, name: str) -> TemplateGetResult:
        """Shows a template, with its instructions for models (SYSTEM.md)

        name: its name
        """
        return cast(TemplateGetResult, await self._call("template_get", {"name": name}))

    async def template_build(
        self,
        *,
        name: str,
        no_cache: Optional[bool] = None,
        cancel: Optional[bool] = None,
        stream: Optional[bool] = None,
    ) -> TemplateBuildResult:
        """Builds a template's image from its Dockerfile, unless its files have not changed, or follows the build that runs; answers when it is done, or streams the output

        name: the template
        no_cache: build every step, even if nothing has changed
        cancel: end the build if this client disconnects, unless others follow it
        stream: answer with a stream of events
        """
        return cast(TemplateBuildResult, await self._call("template_build", {"name": name, "no_cache": no_cache, "cancel": cancel, "stream": stream}))

    async def template_remove(self, *, name: str) -> TemplateRemoveResult:
        """Removes the image that was built for a template; the template stays

        name: the template
        """
        return cast(TemplateRemoveResult, await self._call("template_remove", {"name": name}))

    async def intent_detect(self, *, message: str) -> Intent:
        """What a chat message asks for: whether its code is to be run, in which template, and why; runs nothing

        message: what was written, with its code in fenced blocks (```), between backticks or as it is
        """
        return cast(Intent, await self._call("intent_detect", {"message": message}))

    async def code_run(
        self,
        *,
        code: Optional[str] = None,
        language: Optional[str] = None,
        command: Union[str, Sequence[str], None] = None,
        template: Optional[str] = None,
        task: Optional[str] = None,
        trigger: Optional[str] = None,
        files: Optional[Mapping[str, str]] = None,
        keep: Optional[bool] = None,
        idle_timeout: Union[int, float, str, None] = None,
        from_message: Optional[str] = None,
        workdir: Optional[str] = None,
        cwd: Optional[str] = None,
        user: Optional[str] = None,
        stdin: Optional[str] = None,
        open_stdin: Optional[bool] = None,
        timeout: Union[int, float, str, None] = None,
        cpu_time: Union[int, float, str, None] = None,
        output_limit: Union[int, float, str, None] = None,
        output_cut: Optional[bool] = None,
        stream: Optional[bool] = None,
        max_output: Union[int, float, str, None] = None,
        name: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        metadata: Optional[Mapping[str, str]] = None,
        env: Optional[Mapping[str, str]] = None,
        limits: Optional[CodeRunLimits] = None,
        memory_limit: Union[int, float, str, None] = None,
        cpu_limit: Union[int, float, str, None] = None,
        may_skip: Optional[Sequence[str]] = None,
        engine: Optional[str] = None,
        network: Optional[str] = None,
        network_mode: Optional[str] = None,
        allow: Optional[Sequence[str]] = None,
        deny: Optional[Sequence[str]] = None,
        private_network: Optional[str] = None,
        private_name: Optional[str] = None,
        secrets: Optional[Sequence[str]] = None,
        init: Optional[str] = None,
        ports: Optional[Sequence[Union[str, int]]] = None,
        volumes: Optional[Sequence[str]] = None,
        workspace: Optional[CodeRunWorkspace] = None,
        read_only: Optional[bool] = None,
        on_timeout: Optional[str] = None,
        sleep_after_s: Optional[int] = None,
        checkpoint: Optional[bool] = None,
        font_cache: Optional[bool] = None,
        record: Optional[bool] = None,
        machine: Optional[str] = None,
        browser_seconds: Optional[int] = None,
        browser_follows: Optional[bool] = None,
        confirm: Optional[str] = None,
        execution_id: Optional[str] = None,
    ) -> RunResult:
        """Runs code or a command in a new sandbox, which is destroyed afterwards

        code: code for the template's interpreter, on its standard input
        language: language of the code: python (default), javascript, shell, bash, or a template's name
        command: instead of code: program and arguments as a list, or a line for /bin/sh; default: the template's command
        template: template of the sandbox; default: by task, by language, then host
        task: text that selects the template by its triggers
        trigger: the same as task
        files: text files to create: path (below the workspace unless it starts with /) to text
        keep: keep the sandbox afterwards; default: as the template's auto_cleanup says
        idle_timeout: idle time after which a kept sandbox is destroyed
        from_message: the chat message that the code was taken from: what destroys, overwrites or sends data away, or is for
            production, then needs a confirmation
        workdir: working directory; default: the workspace
        cwd: the same as workdir
        user: user: a name, a uid, or uid:gid
        stdin: input of the command
        open_stdin: input follows later (exec_input, a WebSocket); without this and stdin there is no input
        timeout: end it after this time
        cpu_time: end it after this much processor time
        output_limit: limit of its output in bytes
        output_cut: at the output limit, drop the rest instead of ending the command
        stream: answer with a stream of events
        max_output: most bytes of stdout and of stderr in the answer (default 1m); read the rest by cursor
        name: name: 1 to 63 characters a-z, 0-9 or '-'; must not begin or end with '-'; unique per owner
        labels: labels for filters
        metadata: data to store with it
        env: variables of all its commands; never shown again
        limits: limits
        memory_limit: the same as limits.memory ("1g")
        cpu_limit: the same as limits.cpus ("1.0")
        may_skip: names of limits to skip if this machine cannot enforce them
        engine: engine: native, docker, remote or auto (default: the template's, else auto)
        network: none (only loopback), list (what allow names), bridge (all public addresses), or learn (as bridge, then
            network_suggest lists the rules), if its template or an administrator allows it
        network_mode: the same as network
        allow: hosts that it may reach (native): pypi.org, *.example.org:443, 10.1.2.0/24:5432, preset:python
        deny: hosts that it may not reach, whatever allow says
        private_network: private network in which your sandboxes reach each other by name (native): in team, db is
            db.team.internal
        private_name: its name in the private network; default: its name
        secrets: names of your secrets that its requests may use; inside, each is a variable with a placeholder
        init: cay, or none: copy nothing into it and run one command (docker; default: the template's, else cay)
        ports: TCP ports to publish on the engine's loopback: PORT, or HOST:PORT with the one that is wished for (bridge; 18765,
            17681 and 16080, its MCP, terminal and desktop, on every engine)
        volumes: volumes of the owner, which stay when sandboxes are destroyed: NAME:/PATH[:ro]
        workspace: host folder to map as the workspace
        read_only: make the root read-only; /workspace, /tmp and /dev/shm stay writable
        on_timeout: what the end of its time to live does: destroy (default), pause, or stop; a paused or stopped one stays
            until it is destroyed
        sleep_after_s: let it sleep when it was not used for so many seconds: all in it is frozen and its memory given back; the
            next request wakes it
        checkpoint: make a step before each command, so that it can be undone (`cay log`, `cay undo`)
        font_cache: show the machine's cache of fonts in it, so that browsers and desktops start sooner (template `host`, engine
            native)
        record: keep what is asked of it, encrypted, so that it can be run again (`cay replay`) and its terminals shown (`cay
            cast`)
        machine: make it on this machine of yours, which `cay agent` connects (engine: remote)
        browser_seconds: let its browser start once and live at most so many seconds; five minutes after the browser's end the
            sandbox is destroyed
        browser_follows: with browser_seconds: close the browser when its last client has left, or when none came for five
            minutes
        confirm: confirmation token from the answer to the first request
        execution_id: single-use id: a second request with it runs nothing (409)
        """
        return cast(RunResult, await self._call("code_run", {
            "code": code,
            "language": language,
            "command": command,
            "template": template,
            "task": task,
            "trigger": trigger,
            "files": files,
            "keep": keep,
            "idle_timeout": idle_timeout,
            "from_message": from_message,
            "workdir": workdir,
            "cwd": cwd,
            "user": user,
            "stdin": stdin,
            "open_stdin": open_stdin,
            "timeout": timeout,
            "cpu_time": cpu_time,
            "output_limit": output_limit,
            "output_cut": output_cut,
            "stream": stream,
            "max_output": max_output,
            "name": name,
            "labels": labels,
            "metadata": metadata,
            "env": env,
            "limits": limits,
            "memory_limit": memory_limit,
            "cpu_limit": cpu_limit,
            "may_skip": may_skip,
            "engine": engine,
            "network": network,
            "network_mode": network_mode,
            "allow": allow,
            "deny": deny,
            "private_network": private_network,
            "private_name": private_name,
            "secrets": secrets,
            "init": init,
            "ports": ports,
            "volumes": volumes,
            "workspace": workspace,
            "read_only": read_only,
            "on_timeout": on_timeout,
            "sleep_after_s": sleep_after_s,
            "checkpoint": checkpoint,
            "font_cache": font_cache,
            "record": record,
            "machine": machine,
            "browser_seconds": browser_seconds,
            "browser_follows": browser_follows,
            "confirm": confirm,
            "execution_id": execution_id,
        }))

    async def exec_run(
        self,
        *,
        id: str,
        command: Union[str, Sequence[str]],
        workdir: Optional[str] = None,
        cwd: Optional[str] = None,
        user: Optional[str] = None,
        stdin: Optional[str] = None,
        open_stdin: Optional[bool] = None,
        timeout: Union[int, float, str, None] = None,
        cpu_time: Union[int, float, str, None] = None,
        output_limit: Union[int, float, str, None] = None,
        output_cut: Optional[bool] = None,
        stream: Optional[bool] = None,
        max_output: Union[int, float, str, None] = None,
        env: Optional[Mapping[str, str]] = None,
        tty: Optional[bool] = None,
        rows: Optional[int] = None,
        cols: Optional[int] = None,
        term: Optional[str] = None,
        background: Optional[bool] = None,
        checkpoint: Optional[bool] = None,
        execution_id: Optional[str] = None,
    ) -> ExecResult:
        """Runs a command: waits for its end, streams its output, or runs it in the background

        id: the sandbox
        command: program and arguments as a list, or a line for /bin/sh
        workdir: working directory; default: the workspace
        cwd: the same as workdir
        user: user: a name, a uid, or uid:gid
        stdin: input of the command
        open_stdin: input follows later (exec_input, a WebSocket); without this and stdin there is no input
        timeout: end it after this time
        cpu_time: end it after this much processor time
        output_limit: limit of its output in bytes
        output_cut: at the output limit, drop the rest instead of ending the command
        stream: answer with a stream of events
        max_output: most bytes of stdout and of stderr in the answer (default 1m); read the rest by cursor
        env: variables, in addition to the sandbox's own
        tty: give the command a terminal
        rows: of the terminal
        cols: of the terminal
        term: TERM of the terminal
        background: answer as soon as the command runs
        checkpoint: make a step before it, to go back to (sandbox_undo)
        execution_id: single-use id: a second request with it runs nothing (409)
        """
        return cast(ExecResult, await self._call("exec_run", {
            "id": id,
            "command": command,
            "workdir": workdir,
            "cwd": cwd,
            "user": user,
            "stdin": stdin,
            "open_stdin": open_stdin,
            "timeout": timeout,
            "cpu_time": cpu_time,
            "output_limit": output_limit,
            "output_cut": output_cut,
            "stream": stream,
            "max_output": max_output,
            "env": env,
            "tty": tty,
            "rows": rows,
            "cols": cols,
            "term": term,
            "background": background,
            "checkpoint": checkpoint,
            "execution_id": execution_id,
        }))

    async def exec_list(self, *, id: str) -> ExecListResult:
        """Lists the commands of a sandbox, including ended ones

        id: the sandbox
        """
        return cast(ExecListResult, await self._call("exec_list", {"id": id}))

    async def exec_get(self, *, id: str, exec: str) -> Exec:
        """Shows a command

        id: the sandbox
        exec: the command
        """
        return cast(Exec, await self._call("exec_get", {"id": id, "exec": exec}))

    async def exec_kill(self, *, id: str, exec: str) -> Exec:
        """Ends a command and all its descendants

        id: the sandbox
        exec: the command
        """
        return cast(Exec, await self._call("exec_kill", {"id": id, "exec": exec}))

    async def exec_screen(self, *, id: str, exec: str) -> ExecScreenResult:
        """Returns where to start drawing a command's terminal, and what to write to it first

        id: the sandbox
        exec: the command
        """
        return cast(ExecScreenResult, await self._call("exec_screen", {"id": id, "exec": exec}))

    async def exec_input(
        self,
        content: Body,
        *,
        id: str,
        exec: str,
        eof: Optional[bool] = None,
        offset: Optional[int] = None,
    ) -> ExecInputResult:
        """Sends the body to the input of a command that was started with open_stdin

        id: the sandbox
        exec: the command
        eof: close the input after this
        offset: where in the command's input the body begins, counted from its first byte: what was given before is skipped, so
            the same request can be sent again when no answer came; the answer's offset is where the next one begins
        """
        return cast(ExecInputResult, await self._call("exec_input", {"id": id, "exec": exec, "eof": eof, "offset": offset}, content))

    async def exec_resize(self, *, id: str, exec: str, rows: int, cols: int) -> Exec:
        """Sets the size of a command's terminal

        id: the sandbox
        exec: the command
        rows: of the terminal
        cols: of the terminal
        """
        return cast(Exec, await self._call("exec_resize", {"id": id, "exec": exec, "rows": rows, "cols": cols}))

    async def exec_signal(self, *, id: str, exec: str, signal: str) -> Exec:
        """Sends a signal to a command

        id: the sandbox
        exec: the command
        signal: a name (TERM, SIGINT) or a number
        """
        return cast(Exec, await self._call("exec_signal", {"id": id, "exec": exec, "signal": signal}))

    async def context_create(
        self,
        *,
        id: str,
        name: Optional[str] = None,
        language: Optional[str] = None,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
    ) -> Context:
        """Starts an interpreter in a sandbox that keeps its variables between runs of code

        id: the sandbox
        name: name of the context; default: one is made up
        language: python (default), javascript or bash
        cwd: working directory; default: the workspace
        env: variables, in addition to the sandbox's own; they are not stored: a restart needs them again
        """
        return cast(Context, await self._call("context_create", {"id": id, "name": name, "language": language, "cwd": cwd, "env": env}))

    async def context_list(self, *, id: str) -> ContextListResult:
        """Lists the contexts of a sandbox, with the cause where one has ended

        id: the sandbox
        """
        return cast(ContextListResult, await self._call("context_list", {"id": id}))

    async def context_run(
        self,
        *,
        id: str,
        context: str,
        code: str,
        timeout: Union[int, float, str, None] = None,
        env: Optional[Mapping[str, str]] = None,
        stream: Optional[bool] = None,
        max_output: Union[int, float, str, None] = None,
        checkpoint: Optional[bool] = None,
    ) -> ContextRun:
        """Runs code in a context: variables of earlier runs are there, and the value of its last expression is a result

        id: the sandbox
        context: the context's name; a language (python, javascript, bash) is a context that is made when it is first used
        code: the code to run
        timeout: interrupt it after this time; default 5 minutes
        env: variables of this run alone; afterwards they are what they were
        stream: answer with events as they come
        max_output: bytes of each stream in the answer; default 1 MiB
        checkpoint: make a step before it, so that it can be undone (a sandbox made with checkpoint always does)
        """
        return cast(ContextRun, await self._call("context_run", {
            "id": id,
            "context": context,
            "code": code,
            "timeout": timeout,
            "env": env,
            "stream": stream,
            "max_output": max_output,
            "checkpoint": checkpoint,
        }))

    async def context_interrupt(self, *, id: str, context: str) -> Context:
        """Interrupts the code that a context runs; its variables stay

        id: the sandbox
        context: the context's name
        """
        return cast(Context, await self._call("context_interrupt", {"id": id, "context": context}))

    async def context_restart(self, *, id: str, context: str, env: Optional[Mapping[str, str]] = None) -> Context:
        """Ends the interpreter of a context and starts a new one, without variables

        id: the sandbox
        context: the context's name
        env: variables, in addition to the sandbox's own; they are not stored: a restart needs them again
        """
        return cast(Context, await self._call("context_restart", {"id": id, "context": context, "env": env}))

    async def context_remove(self, *, id: str, context: str) -> ContextRemoveResult:
        """Ends the interpreter of a context and forgets the context

        id: the sandbox
        context: the context's name
        """
        return cast(ContextRemoveResult, await self._call("context_remove", {"id": id, "context": context}))

    async def desktop_start(self, *, id: str, width: Optional[int] = None, height: Optional[int] = None) -> Desktop:
        """Starts the desktop of a sandbox, or changes the size of the one that runs

        id: the sandbox
        width: of the screen in pixels; default 1280
        height: of the screen in pixels; default 800
        """
        return cast(Desktop, await self._call("desktop_start", {"id": id, "width": width, "height": height}))

    async def desktop_get(self, *, id: str) -> Desktop:
        """Tells whether the desktop of a sandbox runs, its size, and why it has ended

        id: the sandbox
        """
        return cast(Desktop, await self._call("desktop_get", {"id": id}))

    async def desktop_stop(self, *, id: str) -> Desktop:
        """Ends the desktop of a sandbox and its windows

        id: the sandbox
        """
        return cast(Desktop, await self._call("desktop_stop", {"id": id}))

    async def desktop_link(
        self,
        *,
        id: str,
        view_only: Optional[bool] = None,
        expires_in: Union[int, float, str, None] = None,
    ) -> DesktopLinkResult:
        """Makes an address of the desktop's WebSocket for noVNC: it needs no other credential, expires, and is good for this desktop alone. port_url is the same at the host's port, for sandboxes with 16080 in ports

        id: the sandbox
        view_only: only to look at: no pointer, no keys, no clipboard
        expires_in: how long viewers may connect with it; default ten minutes, at most a day
        """
        return cast(DesktopLinkResult, await self._call("desktop_link", {"id": id, "view_only": view_only, "expires_in": expires_in}))

    async def computer_screen(self, *, id: str, scale: Optional[Union[int, float, str]] = None) -> ComputerPosition:
        """Returns the size of a sandbox's desktop and where the pointer is, which is null until somebody has moved it

        id: the sandbox
        scale: scale of the picture, 0.05 to 1 (default): that of the screenshot which points are taken from
        """
        return cast(ComputerPosition, await self._call("computer_screen", {"id": id, "scale": scale}))

    async def computer_move(self, *, id: str, x: int, y: int, scale: Union[int, float, str, None] = None) -> ComputerPosition:
        """Moves the pointer of a sandbox's desktop

        id: the sandbox
        x: pixels from the left of the picture
        y: pixels from the top of the picture
        scale: scale of the picture, 0.05 to 1 (default): that of the screenshot which points are taken from
        """
        return cast(ComputerPosition, await self._call("computer_move", {"id": id, "x": x, "y": y, "scale": scale}))

    async def computer_click(
        self,
        *,
        id: str,
        x: Optional[int] = None,
        y: Optional[int] = None,
        scale: Union[int, float, str, None] = None,
        button: Optional[str] = None,
        count: Optional[int] = None,
        keys: Optional[str] = None,
    ) -> ComputerPosition:
        """Clicks at a point of a sandbox's desktop, or where the pointer is

        id: the sandbox
        x: pixels from the left of the picture
        y: pixels from the top of the picture
        scale: scale of the picture, 0.05 to 1 (default): that of the screenshot which points are taken from
        button: left (default), middle or right
        count: 2: a double click; default 1
        keys: keys that are held meanwhile, like ctrl+shift
        """
        return cast(ComputerPosition, await self._call("computer_click", {"id": id, "x": x, "y": y, "scale": scale, "button": button, "count": count, "keys": keys}))

    async def computer_drag(
        self,
        *,
        id: str,
        x: int,
        y: int,
        to_x: int,
        to_y: int,
        scale: Union[int, float, str, None] = None,
        button: Optional[str] = None,
        keys: Optional[str] = None,
    ) -> ComputerPosition:
        """Drags from one point of a sandbox's desktop to another

        id: the sandbox
        x: pixels from the left of the picture
        y: pixels from the top of the picture
        to_x: where it ends
        to_y: where it ends
        scale: scale of the picture, 0.05 to 1 (default): that of the screenshot which points are taken from
        button: left (default), middle or right
        keys: keys that are held meanwhile, like ctrl+shift
        """
        return cast(ComputerPosition, await self._call("computer_drag", {"id": id, "x": x, "y": y, "to_x": to_x, "to_y": to_y, "scale": scale, "button": button, "keys": keys}))

    async def computer_scroll(
        self,
        *,
        id: str,
        direction: str,
        amount: Optional[int] = None,
        x: Optional[int] = None,
        y: Optional[int] = None,
        scale: Union[int, float, str, None] = None,
        keys: Optional[str] = None,
    ) -> ComputerPosition:
        """Turns the wheel at a point of a sandbox's desktop, or where the pointer is

        id: the sandbox
        direction: up, down, left or right
        amount: notches of the wheel; default 3
        x: pixels from the left of the picture
        y: pixels from the top of the picture
        scale: scale of the picture, 0.05 to 1 (default): that of the screenshot which points are taken from
        keys: keys that are held meanwhile, like ctrl+shift
        """
        return cast(ComputerPosition, await self._call("computer_scroll", {"id": id, "direction": direction, "amount": amount, "x": x, "y": y, "scale": scale, "keys": keys}))

    async def computer_key(self, *, id: str, keys: str, hold: Union[int, float, str, None] = None) -> ComputerPosition:
        """Presses keys on a sandbox's desktop

        id: the sandbox
        keys: keys by their names in X11: Return, Page_Down, ctrl+c; several separated by blanks
        hold: how long each is held; default: a moment
        """
        return cast(ComputerPosition, await self._call("computer_key", {"id": id, "keys": keys, "hold": hold}))

    async def computer_type(self, *, id: str, text: str) -> ComputerPosition:
        """Types text on a sandbox's desktop

        id: the sandbox
        text: any characters; a newline is Return
        """
        return cast(ComputerPosition, await self._call("computer_type", {"id": id, "text": text}))

    async def computer_wait(
        self,
        *,
        id: str,
        still: Union[int, float, str, None] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> ComputerWaitResult:
        """Waits until nothing changes on a sandbox's desktop

        id: the sandbox
        still: nothing has changed for so long; default 0.5 seconds
        timeout: the most that it waits; default 10 seconds
        """
        return cast(ComputerWaitResult, await self._call("computer_wait", {"id": id, "still": still, "timeout": timeout}))

    async def file_write(
        self,
        content: Body,
        *,
        id: str,
        path: str,
        mode: Optional[str] = None,
        offset: Optional[int] = None,
        append: Optional[bool] = None,
        exclusive: Optional[bool] = None,
        parents: Optional[bool] = None,
        if_tag: Optional[str] = None,
        metadata: Optional[str] = None,
        as_root: Optional[bool] = None,
    ) -> FileWriteResult:
        """Writes the body to a file. A replaced file is unchanged until the body is complete

        id: the sandbox
        path: file; below the workspace unless it starts with /
        mode: permission bits of a new file in octal; default 0644
        offset: write from this byte on and keep the rest; default: replace the file
        append: append to the file
        exclusive: fail if it exists
        parents: create missing parent folders
        if_tag: write only if the file still has this tag (from file_stat or file_list); otherwise 409
        metadata: all the metadata that the file shall have: key=value pairs with & between them, encoded (%20), of printable
            ASCII; file_stat and file_list show it
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(FileWriteResult, await self._call("file_write", {
            "id": id,
            "path": path,
            "mode": mode,
            "offset": offset,
            "append": append,
            "exclusive": exclusive,
            "parents": parents,
            "if_tag": if_tag,
            "metadata": metadata,
            "as_root": as_root,
        }, content))

    async def file_remove(
        self,
        *,
        id: str,
        path: str,
        recursive: Optional[bool] = None,
        as_root: Optional[bool] = None,
    ) -> FileRemoveResult:
        """Removes a file, a link or a folder

        id: the sandbox
        path: file or folder to remove
        recursive: remove a folder with its content
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(FileRemoveResult, await self._call("file_remove", {"id": id, "path": path, "recursive": recursive, "as_root": as_root}))

    async def file_list(
        self,
        *,
        id: str,
        path: str,
        recursive: Optional[bool] = None,
        offset: Optional[int] = None,
        limit: Optional[int] = None,
        sorted: Optional[bool] = None,
        metadata: Optional[bool] = None,
        as_root: Optional[bool] = None,
    ) -> FileListResult:
        """Lists a folder

        id: the sandbox
        path: folder
        recursive: list everything below it; names are then paths
        offset: skip this many entries
        limit: at most this many; default 1000
        sorted: sort by name, with a folder's content after it; at most 50000 entries
        metadata: show the metadata that files were written with
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(FileListResult, await self._call("file_list", {
            "id": id,
            "path": path,
            "recursive": recursive,
            "offset": offset,
            "limit": limit,
            "sorted": sorted,
            "metadata": metadata,
            "as_root": as_root,
        }))

    async def file_find(
        self,
        *,
        id: str,
        pattern: str,
        path: Optional[str] = None,
        offset: Optional[int] = None,
        limit: Optional[int] = None,
        as_root: Optional[bool] = None,
    ) -> FileFindResult:
        """Finds files and folders whose path matches a glob

        id: the sandbox
        pattern: glob that a path must match: *.py matches names in any folder, src/**/*.{c,h} matches paths
        path: folder to search with everything below it; default: the workspace
        offset: skip this many
        limit: at most this many; default 1000
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(FileFindResult, await self._call("file_find", {"id": id, "pattern": pattern, "path": path, "offset": offset, "limit": limit, "as_root": as_root}))

    async def file_search(
        self,
        *,
        id: str,
        pattern: str,
        path: Optional[str] = None,
        glob: Optional[str] = None,
        ignore_case: Optional[bool] = None,
        literal: Optional[bool] = None,
        limit: Optional[int] = None,
        max_bytes: Optional[int] = None,
        as_root: Optional[bool] = None,
    ) -> FileSearchResult:
        """Finds lines of files that match a pattern

        id: the sandbox
        pattern: regular expression that a line must match: . * + ? {2,5} [a-z] (a|b) ^ $ \\d \\w \\s \\b; no references, no
            looking around
        path: folder to search with everything below it, or a file; default: the workspace
        glob: search only files whose path matches, like *.py or src/**/*.{c,h}
        ignore_case: ignore case
        literal: take the pattern as plain text
        limit: at most this many lines; default 200
        max_bytes: at most this many bytes of names and lines; default 262144
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(FileSearchResult, await self._call("file_search", {
            "id": id,
            "pattern": pattern,
            "path": path,
            "glob": glob,
            "ignore_case": ignore_case,
            "literal": literal,
            "limit": limit,
            "max_bytes": max_bytes,
            "as_root": as_root,
        }))

    async def file_stat(
        self,
        *,
        id: str,
        path: str,
        follow: Optional[bool] = None,
        metadata: Optional[bool] = None,
        as_root: Optional[bool] = None,
    ) -> File:
        """Shows the attributes of a file

        id: the sandbox
        path: file or folder; below the workspace unless it starts with /
        follow: follow a symbolic link
        metadata: show the metadata that files were written with
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(File, await self._call("file_stat", {"id": id, "path": path, "follow": follow, "metadata": metadata, "as_root": as_root}))

    async def file_mkdir(
        self,
        *,
        id: str,
        path: str,
        parents: Optional[bool] = None,
        mode: Optional[str] = None,
        as_root: Optional[bool] = None,
    ) -> FileMkdirResult:
        """Creates a folder

        id: the sandbox
        path: folder to create
        parents: create missing parent folders, and succeed if it exists
        mode: permission bits in octal; default 0755
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(FileMkdirResult, await self._call("file_mkdir", {"id": id, "path": path, "parents": parents, "mode": mode, "as_root": as_root}))

    async def file_move(
        self,
        *,
        id: str,
        path: str,
        to: str,
        no_replace: Optional[bool] = None,
        as_root: Optional[bool] = None,
    ) -> FileMoveResult:
        """Moves or renames a file or folder

        id: the sandbox
        path: file or folder to move
        to: its new path
        no_replace: fail if the target exists
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(FileMoveResult, await self._call("file_move", {"id": id, "path": path, "to": to, "no_replace": no_replace, "as_root": as_root}))

    async def archive_put(
        self,
        content: Body,
        *,
        id: str,
        path: str,
        format: Optional[str] = None,
        parents: Optional[bool] = None,
        as_root: Optional[bool] = None,
    ) -> ArchivePutResult:
        """Unpacks the body, a tar archive (plain, gzip or zstd), into a folder

        id: the sandbox
        path: folder to unpack into
        format: tar, tar.gz or tar.zst; default: detected
        parents: create the folder and its missing parents
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(ArchivePutResult, await self._call("archive_put", {"id": id, "path": path, "format": format, "parents": parents, "as_root": as_root}, content))

    async def test_results(
        self,
        *,
        id: str,
        path: Optional[str] = None,
        exec: Optional[str] = None,
        format: Optional[str] = None,
        limit: Optional[int] = None,
        as_root: Optional[bool] = None,
    ) -> TestResults:
        """Reads results of tests (JUnit XML or TAP) from a file or a command's output

        id: the sandbox
        path: file with the results; below the workspace unless it starts with /
        exec: instead of path: the command whose standard output has the results
        format: junit, tap or auto (default)
        limit: at most this many cases that did not pass, and as many that did; default 1000
        as_root: work as root of the sandbox instead of as its user
        """
        return cast(TestResults, await self._call("test_results", {"id": id, "path": path, "exec": exec, "format": format, "limit": limit, "as_root": as_root}))

    async def process_list(self, *, id: str) -> ProcessListResult:
        """Lists the processes of a sandbox, with processor time and memory of each

        id: the sandbox
        """
        return cast(ProcessListResult, await self._call("process_list", {"id": id}))

    async def port_list(self, *, id: str) -> PortListResult:
        """TCP ports that are listened on in a sandbox; each is reached below /api/sandboxes/{id}/ports/{port}/. The lowest 1,024 are listed; count says how many there are, more that some are left out

        id: the sandbox
        """
        return cast(PortListResult, await self._call("port_list", {"id": id}))

    async def port_link(self, *, id: str, port: int) -> PortLinkResult:
        """Makes a link to a port of a sandbox that a browser can open for ten minutes; there it stays signed in for an hour. Clients with a token need none: they name the host {port}-{id}.localhost

        id: the sandbox
        port: of a server in it
        """
        return cast(PortLinkResult, await self._call("port_link", {"id": id, "port": port}))

    async def mcp_link(self, *, id: Optional[str] = None) -> McpLinkResult:
        """Makes an address for clients of MCP over WebSocket that can send no header: good for an hour, for nothing else

        id: only this sandbox; default: all that the caller may see
        """
        return cast(McpLinkResult, await self._call("mcp_link", {"id": id}))

    async def health_live(self) -> HealthLiveResult:
        """Says whether the daemon is alive; needs no token"""
        return cast(HealthLiveResult, await self._call("health_live", {}))

    async def health_ready(self) -> HealthReadyResult:
        """Can it make sandboxes? Answered to anybody; with figures of one's own for those who say who they are, of everything for admin"""
        return cast(HealthReadyResult, await self._call("health_ready", {}))

    async def metrics_get(self) -> Metrics:
        """What was made and run since the start, how long it took (p50 and p99 of the last hour), how it ended, and what live sandboxes use: one's own, and everybody's for admin and the setting metrics_owner's"""
        return cast(Metrics, await self._call("metrics_get", {}))

    async def version_get(self) -> VersionGetResult:
        """Returns the daemon's version"""
        return cast(VersionGetResult, await self._call("version_get", {}))

    async def engine_list(self) -> EngineListResult:
        """The engines: which run here, what each can do, and why others do not run; reasons in full for admin"""
        return cast(EngineListResult, await self._call("engine_list", {}))

    async def browser_get(self, *, id: str) -> Browser:
        """Shows the browser of a sandbox: its tabs, its downloads and where its control channel is

        id: the sandbox
        """
        return cast(Browser, await self._call("browser_get", {"id": id}))

    async def browser_start(
        self,
        *,
        id: str,
        width: Optional[int] = None,
        height: Optional[int] = None,
        ignore_certificate_errors: Optional[bool] = None,
        isolate_sites: Optional[bool] = None,
        profile: Optional[str] = None,
        copy: Optional[bool] = None,
        logs: Optional[bool] = None,
    ) -> Browser:
        """Starts the browser of a sandbox, and answers when it has a tab; one that runs stays as it is

        id: the sandbox
        width: of a tab, in pixels; default 1280
        height: of a tab, in pixels; default 800
        ignore_certificate_errors: open pages whose certificate is not valid
        isolate_sites: frames of other sites in processes of their own: one that hangs or crashes leaves the page alone; takes
            more memory and processes
        profile: folder for its profile (cookies, logins, storage), below /: in a volume it outlives the sandbox; one browser at
            a time; default: one that ends with the sandbox
        copy: with profile: begin with a copy of it, and leave it as it is
        logs: note requests and consoles of all pages from the start (browser_logs)
        """
        return cast(Browser, await self._call("browser_start", {
            "id": id,
            "width": width,
            "height": height,
            "ignore_certificate_errors": ignore_certificate_errors,
            "isolate_sites": isolate_sites,
            "profile": profile,
            "copy": copy,
            "logs": logs,
        }))

    async def browser_stop(self, *, id: str) -> BrowserStopResult:
        """Closes the browser of a sandbox; its profile with cookies stays until the sandbox is destroyed

        id: the sandbox
        """
        return cast(BrowserStopResult, await self._call("browser_stop", {"id": id}))

    async def browser_run(
        self,
        *,
        url: str,
        until: Optional[str] = None,
        expression: Optional[str] = None,
        full: Optional[bool] = None,
        format: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
        template: Optional[str] = None,
        network: Optional[str] = None,
        allow: Optional[Sequence[str]] = None,
        limits: Optional[BrowserRunLimits] = None,
        execution_id: Optional[str] = None,
    ) -> BrowserPage:
        """Opens a page in a sandbox made for it and returns what it is: a picture, its HTML, its requests and console, the value of an expression; then the sandbox is destroyed

        url: where to go
        until: load (default), domcontentloaded, networkidle or commit
        expression: JavaScript to run in the page before it is looked at
        full: a picture of the whole page
        format: of the picture: png (default), jpeg or webp
        timeout: for everything behind the sandbox's start; default 60 seconds
        template: default: browser
        network: as of sandbox_create; default: the template's
        allow: hosts that it may reach, as of sandbox_create
        limits: limits; default: the template's
        execution_id: single-use id: a second request with it opens nothing and gets 409
        """
        return cast(BrowserPage, await self._call("browser_run", {
            "url": url,
            "until": until,
            "expression": expression,
            "full": full,
            "format": format,
            "timeout": timeout,
            "template": template,
            "network": network,
            "allow": allow,
            "limits": limits,
            "execution_id": execution_id,
        }))

    async def browser_navigate(
        self,
        *,
        id: str,
        url: str,
        until: Optional[str] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserNavigateResult:
        """Goes to an address in the browser of a sandbox, and answers when the page has loaded; the browser is started if none runs

        id: the sandbox
        url: where to go; without a scheme it is https
        until: load (default), domcontentloaded, networkidle or commit
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserNavigateResult, await self._call("browser_navigate", {"id": id, "url": url, "until": until, "tab": tab, "timeout": timeout}))

    async def browser_history(
        self,
        *,
        id: str,
        go: str,
        until: Optional[str] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserHistoryResult:
        """Goes back or forward in a tab, or loads its page again

        id: the sandbox
        go: back, forward or reload
        until: load (default), domcontentloaded, networkidle or commit
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserHistoryResult, await self._call("browser_history", {"id": id, "go": go, "until": until, "tab": tab, "timeout": timeout}))

    async def browser_click(
        self,
        *,
        id: str,
        target: Optional[str] = None,
        x: Optional[int] = None,
        y: Optional[int] = None,
        button: Optional[str] = None,
        count: Optional[int] = None,
        keys: Optional[str] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserClickResult:
        """Clicks an element, when it is visible and nothing covers it, and waits for the page that it leads to

        id: the sandbox
        target: an element: its reference in an outline (e12), a CSS selector, or text=… for what has this text
        x: in place of a target: pixels from the left of the page's view
        y: pixels from the top
        button: left (default), middle or right
        count: 2: a double click; default 1
        keys: keys that are held meanwhile, like ctrl+shift
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserClickResult, await self._call("browser_click", {
            "id": id,
            "target": target,
            "x": x,
            "y": y,
            "button": button,
            "count": count,
            "keys": keys,
            "tab": tab,
            "timeout": timeout,
        }))

    async def browser_type(
        self,
        *,
        id: str,
        text: str,
        target: Optional[str] = None,
        clear: Optional[bool] = None,
        submit: Optional[bool] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Types a text into a field

        id: the sandbox
        text: what to type
        target: an element: its reference in an outline (e12), a CSS selector, or text=… for what has this text; default: what
            has the focus
        clear: in place of what is there
        submit: press Enter afterwards
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_type", {"id": id, "text": text, "target": target, "clear": clear, "submit": submit, "tab": tab, "timeout": timeout}))

    async def browser_press(
        self,
        *,
        id: str,
        keys: str,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Presses keys in a tab

        id: the sandbox
        keys: keys one after the other, with blanks between: Enter, ctrl+a, Tab Tab Enter
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_press", {"id": id, "keys": keys, "tab": tab, "timeout": timeout}))

    async def browser_scroll(
        self,
        *,
        id: str,
        direction: Optional[str] = None,
        amount: Optional[int] = None,
        target: Optional[str] = None,
        x: Optional[int] = None,
        y: Optional[int] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Scrolls the page, or brings an element into view

        id: the sandbox
        direction: down (default without target), up, left or right
        amount: pixels; default 600
        target: an element that is brought into view; with direction, the wheel turns over it
        x: in place of a target: pixels from the left of the page's view
        y: pixels from the top
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_scroll", {
            "id": id,
            "direction": direction,
            "amount": amount,
            "target": target,
            "x": x,
            "y": y,
            "tab": tab,
            "timeout": timeout,
        }))

    async def browser_select(
        self,
        *,
        id: str,
        target: str,
        values: Sequence[str],
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserSelectResult:
        """Selects options of a list (<select>), and no others

        id: the sandbox
        target: an element: its reference in an outline (e12), a CSS selector, or text=… for what has this text
        values: values or labels of options
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserSelectResult, await self._call("browser_select", {"id": id, "target": target, "values": values, "tab": tab, "timeout": timeout}))

    async def browser_upload(
        self,
        *,
        id: str,
        target: str,
        files: Sequence[str],
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Gives files of the sandbox to a file field of a page

        id: the sandbox
        target: an element: its reference in an outline (e12), a CSS selector, or text=… for what has this text
        files: paths in the sandbox
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_upload", {"id": id, "target": target, "files": files, "tab": tab, "timeout": timeout}))

    async def browser_wait(
        self,
        *,
        id: str,
        target: Optional[str] = None,
        state: Optional[str] = None,
        text: Optional[str] = None,
        url: Optional[str] = None,
        until: Optional[str] = None,
        delay: Union[int, float, str, None] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Waits for an element, a text, an address or the end of loading

        id: the sandbox
        target: an element: a CSS selector or text=…
        state: of the element: visible (default), hidden or attached
        text: that the page, or the element, shows
        url: a part of the tab's address
        until: of the page: load, domcontentloaded or networkidle
        delay: and so long after that
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_wait", {
            "id": id,
            "target": target,
            "state": state,
            "text": text,
            "url": url,
            "until": until,
            "delay": delay,
            "tab": tab,
            "timeout": timeout,
        }))

    async def browser_dialog(
        self,
        *,
        id: str,
        accept: Optional[bool] = None,
        text: Optional[str] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Answers the dialog that a page shows (alert, confirm, prompt)

        id: the sandbox
        accept: press OK; otherwise it is dismissed
        text: the answer to a prompt
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_dialog", {"id": id, "accept": accept, "text": text, "tab": tab, "timeout": timeout}))

    async def browser_text(
        self,
        *,
        id: str,
        target: Optional[str] = None,
        limit: Optional[int] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserTextResult:
        """Returns the text that a page or an element shows

        id: the sandbox
        target: an element: its reference in an outline (e12), a CSS selector, or text=… for what has this text; default: the
            page
        limit: characters; default all
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserTextResult, await self._call("browser_text", {"id": id, "target": target, "limit": limit, "tab": tab, "timeout": timeout}))

    async def browser_outline(
        self,
        *,
        id: str,
        limit: Optional[int] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserOutlineResult:
        """Returns a page as lines for language models: roles, names and states, with references (e12) of what can be acted on

        id: the sandbox
        limit: characters; default all
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserOutlineResult, await self._call("browser_outline", {"id": id, "limit": limit, "tab": tab, "timeout": timeout}))

    async def browser_dom(
        self,
        *,
        id: str,
        target: Optional[str] = None,
        limit: Optional[int] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserDomResult:
        """Returns the HTML of a page or an element, as it is now

        id: the sandbox
        target: an element: its reference in an outline (e12), a CSS selector, or text=… for what has this text; default: the
            document
        limit: characters; default all
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserDomResult, await self._call("browser_dom", {"id": id, "target": target, "limit": limit, "tab": tab, "timeout": timeout}))

    async def browser_evaluate(
        self,
        *,
        id: str,
        expression: str,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserEvaluateResult:
        """Runs JavaScript in a page and answers with its value

        id: the sandbox
        expression: JavaScript, run in the page; a promise is awaited
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserEvaluateResult, await self._call("browser_evaluate", {"id": id, "expression": expression, "tab": tab, "timeout": timeout}))

    async def browser_tabs(self, *, id: str, timeout: Optional[Union[int, float, str]] = None) -> BrowserTabsResult:
        """Lists the tabs of a browser, with dialogs that are open

        id: the sandbox
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserTabsResult, await self._call("browser_tabs", {"id": id, "timeout": timeout}))

    async def browser_tab_open(
        self,
        *,
        id: str,
        url: Optional[str] = None,
        until: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserTabOpenResult:
        """Opens a tab, which is then the one that is used

        id: the sandbox
        url: default: an empty page
        until: load (default), domcontentloaded, networkidle or commit
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserTabOpenResult, await self._call("browser_tab_open", {"id": id, "url": url, "until": until, "timeout": timeout}))

    async def browser_tab_close(self, *, id: str, tab: str, timeout: Union[int, float, str, None] = None) -> BrowserTabCloseResult:
        """Closes a tab

        id: the sandbox
        tab: its number or id
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserTabCloseResult, await self._call("browser_tab_close", {"id": id, "tab": tab, "timeout": timeout}))

    async def browser_tab_select(self, *, id: str, tab: str, timeout: Union[int, float, str, None] = None) -> BrowserAct:
        """Brings a tab to the front, which is then the one that is used

        id: the sandbox
        tab: its number or id
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_tab_select", {"id": id, "tab": tab, "timeout": timeout}))

    async def browser_cookies(
        self,
        *,
        id: str,
        url: Optional[str] = None,
        tab: Optional[str] = None,
        timeout: Optional[Union[int, float, str]] = None,
    ) -> BrowserCookiesResult:
        """Lists cookies of a browser

        id: the sandbox
        url: only those that would be sent there
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserCookiesResult, await self._call("browser_cookies", {"id": id, "url": url, "tab": tab, "timeout": timeout}))

    async def browser_cookie_set(
        self,
        *,
        id: str,
        name: str,
        value: str,
        url: Optional[str] = None,
        domain: Optional[str] = None,
        path: Optional[str] = None,
        expires: Optional[int] = None,
        http_only: Optional[bool] = None,
        secure: Optional[bool] = None,
        same_site: Optional[str] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Sets a cookie

        id: the sandbox
        name: of the cookie
        value: of the cookie
        url: an address that it is for; this or domain
        domain: example.com, or .example.com with all below it
        path: default /
        expires: Unix time in seconds; default: with the browser
        http_only: not for the page's own code
        secure: for https alone
        same_site: Strict, Lax or None
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_cookie_set", {
            "id": id,
            "name": name,
            "value": value,
            "url": url,
            "domain": domain,
            "path": path,
            "expires": expires,
            "http_only": http_only,
            "secure": secure,
            "same_site": same_site,
            "tab": tab,
            "timeout": timeout,
        }))

    async def browser_cookies_clear(
        self,
        *,
        id: str,
        name: Optional[str] = None,
        url: Optional[str] = None,
        domain: Optional[str] = None,
        tab: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
    ) -> BrowserAct:
        """Removes cookies of a browser

        id: the sandbox
        name: only this one; default: all
        url: with name: that it is for
        domain: with name: the same
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserAct, await self._call("browser_cookies_clear", {"id": id, "name": name, "url": url, "domain": domain, "tab": tab, "timeout": timeout}))

    async def browser_requests(
        self,
        *,
        id: str,
        type: Optional[str] = None,
        from_: Optional[int] = None,
        url: Optional[str] = None,
        limit: Optional[int] = None,
        tab: Optional[str] = None,
        timeout: Optional[Union[int, float, str]] = None,
    ) -> BrowserRequestsResult:
        """Lists what the pages of a browser asked of the network, since it was first used by an op browser_*: the newest 1,000

        id: the sandbox
        type: only these: Document, XHR, Fetch, Script, Image …
        from_: the first number to list
        url: only those with this in their address
        limit: at most so many; default 100: the last ones, or the first ones from `from`
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserRequestsResult, await self._call("browser_requests", {"id": id, "type": type, "from": from_, "url": url, "limit": limit, "tab": tab, "timeout": timeout}))

    async def browser_request(self, *, id: str, number: str, timeout: Optional[Union[int, float, str]] = None) -> BrowserRequestResult:
        """Returns a request of a page with headers and bodies; the body is null when the browser does not have it any more

        id: the sandbox
        number: of the list
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserRequestResult, await self._call("browser_request", {"id": id, "number": number, "timeout": timeout}))

    async def browser_console(
        self,
        *,
        id: str,
        level: Optional[str] = None,
        from_: Optional[int] = None,
        url: Optional[str] = None,
        limit: Optional[int] = None,
        tab: Optional[str] = None,
        timeout: Optional[Union[int, float, str]] = None,
    ) -> BrowserConsoleResult:
        """Lists what pages wrote to their consoles, with exceptions, since the browser was first used by an op browser_*: the newest 500

        id: the sandbox
        level: only these: log, info, warning, error, exception …
        from_: the first number to list
        url: only those with this in their address
        limit: at most so many; default 100: the last ones, or the first ones from `from`
        tab: number or id of a tab; default: the one used last
        timeout: the most that it may take, with the start of the browser; default 30 seconds
        """
        return cast(BrowserConsoleResult, await self._call("browser_console", {"id": id, "level": level, "from": from_, "url": url, "limit": limit, "tab": tab, "timeout": timeout}))

    async def browser_link(self, *, id: str, expires_in: Union[int, float, str, None] = None) -> BrowserLinkResult:
        """Makes an address for Playwright, Puppeteer and other clients of the DevTools protocol: it needs no other credential, expires, and is good for this browser alone

        id: the sandbox
        expires_in: how long clients may connect with it; default one hour, at most a day
        """
        return cast(BrowserLinkResult, await self._call("browser_link", {"id": id, "expires_in": expires_in}))

    async def browser_list(self, *, sandbox: Optional[str] = None) -> BrowserListResult:
        """Lists browsers of sandboxes: those that run, and of other sandboxes the last one that ended

        sandbox: only of this sandbox
        """
        return cast(BrowserListResult, await self._call("browser_list", {"sandbox": sandbox}))

    async def browser_downloads(self, *, id: str) -> BrowserDownloadsResult:
        """Lists what a browser has downloaded, also for five minutes after its end; of a file that is not complete, error says why

        id: the sandbox
        """
        return cast(BrowserDownloadsResult, await self._call("browser_downloads", {"id": id}))

    async def browser_logs(self, *, id: str) -> BrowserLogsResult:
        """Shows what pages of a browser asked of the network and printed, also for five minutes after its end; noted since it was first used by an op browser_*, or from its start (browser_start with logs)

        id: the sandbox
        """
        return cast(BrowserLogsResult, await self._call("browser_logs", {"id": id}))

    async def browser_live_link(
        self,
        *,
        id: str,
        view_only: Optional[bool] = None,
        expires_in: Union[int, float, str, None] = None,
    ) -> BrowserLiveLinkResult:
        """Makes an address of a page that shows this browser live to whoever opens it, without another credential, until it expires; they may take over mouse and keys unless view_only is set. url is the WebSocket of the same

        id: the sandbox
        view_only: only to look at: whoever has the link cannot take over
        expires_in: how long it is good, also for who is connected by then; default one hour, at most a day
        """
        return cast(BrowserLiveLinkResult, await self._call("browser_live_link", {"id": id, "view_only": view_only, "expires_in": expires_in}))

    async def browser_record_start(
        self,
        *,
        id: str,
        time: Union[int, float, str, None] = None,
        size: Union[int, float, str, None] = None,
        gap: Union[int, float, str, None] = None,
    ) -> BrowserRecording:
        """Begins to record what the browser of a sandbox shows, as frames with times; the browser is started if none runs

        id: the sandbox
        time: the most that it records; default 10 minutes, at most 6 hours
        size: the most bytes that it keeps, which count as the owner's disk; default 64 MiB, at most 1 GiB
        gap: the least time between two frames; default 0.1 seconds
        """
        return cast(BrowserRecording, await self._call("browser_record_start", {"id": id, "time": time, "size": size, "gap": gap}))

    async def browser_record_list(self, *, id: str) -> BrowserRecordListResult:
        """Lists the recordings of a sandbox's browser, oldest first

        id: the sandbox
        """
        return cast(BrowserRecordListResult, await self._call("browser_record_list", {"id": id}))

    async def browser_record_get(self, *, id: str, recording: str) -> BrowserRecording:
        """Shows a recording of a browser: how long it is, how many frames it has, and why it ended

        id: the sandbox
        recording: the recording's id
        """
        return cast(BrowserRecording, await self._call("browser_record_get", {"id": id, "recording": recording}))

    async def browser_record_remove(self, *, id: str, recording: str) -> BrowserRecordRemoveResult:
        """Removes a recording of a browser; one that is under way ends

        id: the sandbox
        recording: the recording's id
        """
        return cast(BrowserRecordRemoveResult, await self._call("browser_record_remove", {"id": id, "recording": recording}))

    async def browser_record_stop(self, *, id: str, recording: str) -> BrowserRecording:
        """Ends a recording of a browser, which is kept until its sandbox is destroyed

        id: the sandbox
        recording: the recording's id
        """
        return cast(BrowserRecording, await self._call("browser_record_stop", {"id": id, "recording": recording}))

    async def network_get(self, *, id: str) -> Network:
        """The network of a sandbox: its rules, and what went over it since its last start

        id: the sandbox
        """
        return cast(Network, await self._call("network_get", {"id": id}))

    async def network_update(
        self,
        *,
        id: str,
        network: Optional[str] = None,
        allow: Optional[Sequence[str]] = None,
        deny: Optional[Sequence[str]] = None,
        add_allow: Optional[Sequence[str]] = None,
        remove_allow: Optional[Sequence[str]] = None,
        add_deny: Optional[Sequence[str]] = None,
        remove_deny: Optional[Sequence[str]] = None,
        private_network: Optional[str] = None,
        private_name: Optional[str] = None,
        limits: Optional[NetworkUpdateLimits] = None,
    ) -> Network:
        """Changes what a sandbox may reach: its rules or its limits. Connections that are not allowed any more end. Stored before it is answered; a stopped sandbox has it at its next start

        id: the sandbox
        network: none, list, bridge, learn or private; default: list with allow, else as it is
        allow: what it may reach, instead of its rules so far
        deny: what it may not reach, instead of its rules so far
        add_allow: rules to add to allow
        remove_allow: rules to take out of allow
        add_deny: rules to add to deny
        remove_deny: rules to take out of deny
        private_network: the private network that it is in from now on; "": none
        private_name: its name in the private network
        limits: limits of its network
        """
        return cast(Network, await self._call("network_update", {
            "id": id,
            "network": network,
            "allow": allow,
            "deny": deny,
            "add_allow": add_allow,
            "remove_allow": remove_allow,
            "add_deny": add_deny,
            "remove_deny": remove_deny,
            "private_network": private_network,
            "private_name": private_name,
            "limits": limits,
        }))

    async def network_log(
        self,
        *,
        id: str,
        from_: Optional[int] = None,
        limit: Optional[int] = None,
        follow: Optional[bool] = None,
    ) -> NetworkLogResult:
        """What a running sandbox looked up and connected to, and what was refused; the newest is last

        id: the sandbox
        from_: the first number to list; default: the last ones
        limit: at most this many; default 100
        follow: a stream: the last ones, then new ones as they come
        """
        return cast(NetworkLogResult, await self._call("network_log", {"id": id, "from": from_, "limit": limit, "follow": follow}))

    async def network_suggest(self, *, id: str) -> NetworkSuggestion:
        """The rules that would allow what a running sandbox connected to, from the last 500 entries of its log: as rules, as options of cay, and as a template has them; what was refused apart

        id: the sandbox
        """
        return cast(NetworkSuggestion, await self._call("network_suggest", {"id": id}))

    async def network_presets(self) -> NetworkPresetsResult:
        """Lists the presets that network rules may name (preset:python), and the hosts and ports of each"""
        return cast(NetworkPresetsResult, await self._call("network_presets", {}))

    async def secret_set(self, *, name: str, host: str, value: str, header: Optional[str] = None) -> Secret:
        """Sets a secret of the caller, for requests of sandboxes to one host; its value is never shown again

        name: its name, and that of the variable in sandboxes: A-Z, 0-9 and _
        host: the only host that gets it, over HTTPS: api.example.com
        value: the secret itself; never shown again
        header: the only header in which it is put; default: Authorization
        """
        return cast(Secret, await self._call("secret_set", {"name": name, "host": host, "value": value, "header": header}))

    async def secret_list(self) -> SecretListResult:
        """Lists the caller's secrets: names, hosts and headers, never values"""
        return cast(SecretListResult, await self._call("secret_list", {}))

    async def secret_remove(self, *, name: str) -> Secret:
        """Removes a secret; running sandboxes lose it at once

        name: its name, and that of the variable in sandboxes: A-Z, 0-9 and _
        """
        return cast(Secret, await self._call("secret_remove", {"name": name}))

    async def remote_add(self, *, name: str, url: Optional[str] = None) -> MachineAdded:
        """Adds a machine of the caller and answers with the pairing code for its agent, which is shown once

        name: a name for the machine: 1 to 63 characters a-z, 0-9 or '-'
        url: where its agent listens (`cay agent --listen`), like wss://HOST: the daemon dials it. Without: the agent dials
        """
        return cast(MachineAdded, await self._call("remote_add", {"name": name, "url": url}))

    async def remote_list(self) -> RemoteListResult:
        """Lists the caller's machines for sandboxes: waiting for their agent, ready, or away"""
        return cast(RemoteListResult, await self._call("remote_list", {}))

    async def remote_get(self, *, name: str) -> Machine:
        """Shows one of the caller's machines for sandboxes

        name: the machine's name: 1 to 63 characters a-z, 0-9 or '-'
        """
        return cast(Machine, await self._call("remote_get", {"name": name}))

    async def remote_remove(self, *, name: str) -> Machine:
        """Removes a machine: its agent is disconnected and not let in again, and the sandboxes on it are lost

        name: the machine's name: 1 to 63 characters a-z, 0-9 or '-'
        """
        return cast(Machine, await self._call("remote_remove", {"name": name}))

    async def remote_disconnect(self, *, name: str) -> Machine:
        """Disconnects a machine until it is connected again: its agent is kept away. The sandboxes on it live on there and cannot be reached

        name: the machine's name: 1 to 63 characters a-z, 0-9 or '-'
        """
        return cast(Machine, await self._call("remote_disconnect", {"name": name}))

    async def remote_connect(self, *, name: str) -> Machine:
        """Lets a machine in again that was disconnected: its agent comes by itself, or is dialled

        name: the machine's name: 1 to 63 characters a-z, 0-9 or '-'
        """
        return cast(Machine, await self._call("remote_connect", {"name": name}))

    async def config_get(self) -> Dict[str, Setting]:
        """Returns the daemon's settings without secrets"""
        return cast(Dict[str, Setting], await self._call("config_get", {}))

    async def recover_list(self) -> RecoverListResult:
        """Lists files of sandboxes that the database has no record of: it was lost or damaged"""
        return cast(RecoverListResult, await self._call("recover_list", {}))

    async def recover_adopt(
        self,
        *,
        files: str,
        owner: str,
        name: Optional[str] = None,
        template: Optional[str] = None,
        limits: Optional[RecoverAdoptLimits] = None,
    ) -> Sandbox:
        """Makes a stopped sandbox of files that had no record; a start goes on with them

        files: the id of the sandbox that they were of, as recover_list says it
        owner: whose it becomes
        name: a name for it: 1 to 63 of a-z, 0-9 and -; unique among the owner's sandboxes
        template: the template that it was made from (default: host)
        limits: limits, as for a new one; the disk keeps the size that it was made with
        """
        return cast(Sandbox, await self._call("recover_adopt", {"files": files, "owner": owner, "name": name, "template": template, "limits": limits}))

    async def recover_remove(self, *, files: str) -> RecoverRemoveResult:
        """Removes files that have no record, for good

        files: the id of the sandbox that they were of, as recover_list says it
        """
        return cast(RecoverRemoveResult, await self._call("recover_remove", {"files": files}))

    async def whoami(self) -> WhoamiResult:
        """Who is calling, as this daemon sees it: owner, scope, and by which credential"""
        return cast(WhoamiResult, await self._call("whoami", {}))

    async def login_make(self, *, owner: Optional[str] = None, scope: Optional[str] = None) -> LoginMakeResult:
        """Makes a link that signs a browser in, once and within ten minutes

        owner: whom it speaks for (default: default)
        scope: read, exec (default) or admin
        """
        return cast(LoginMakeResult, await self._call("login_make", {"owner": owner, "scope": scope}))

    async def login_use(self, *, login: str) -> LoginUseResult:
        """Spends a one-time login: the answer sets the page's cookie

        login: what stands behind #login= in the link
        """
        return cast(LoginUseResult, await self._call("login_use", {"login": login}))

    async def logout(self) -> LogoutResult:
        """Ends the page's session at once; its cookie is good for nothing any more"""
        return cast(LogoutResult, await self._call("logout", {}))

    async def token_make(
        self,
        *,
        owner: str,
        scope: Optional[str] = None,
        lifetime: Union[int, float, str, None] = None,
    ) -> TokenMakeResult:
        """Makes a bearer token for an owner

        owner: whom it speaks for
        scope: read, exec (default) or admin
        lifetime: how long it is good for; at most a day
        """
        return cast(TokenMakeResult, await self._call("token_make", {"owner": owner, "scope": scope, "lifetime": lifetime}))

    async def key_make(
        self,
        *,
        owner: str,
        scope: Optional[str] = None,
        label: Optional[str] = None,
        form: Optional[str] = None,
    ) -> KeyMakeResult:
        """Makes a long-lived API key; it is shown once

        owner: whom it speaks for
        scope: read, exec (default) or admin
        label: what it is for
        form: cay (default), or e2b: the shape that clients of E2B ask for
        """
        return cast(KeyMakeResult, await self._call("key_make", {"owner": owner, "scope": scope, "label": label, "form": form}))

    async def key_list(self) -> KeyListResult:
        """Lists API keys: what they are for, never the keys themselves"""
        return cast(KeyListResult, await self._call("key_list", {}))

    async def key_revoke(self, *, key: str) -> Key:
        """Revokes an API key at once and for good

        key: its key_id
        """
        return cast(Key, await self._call("key_revoke", {"key": key}))

    async def containers_list(self) -> ContainersListResult:
        """Lists the environments of the registry"""
        return cast(ContainersListResult, await self._call("containers_list", {}))

    async def containers_start(
        self,
        *,
        container: Optional[str] = None,
        name: Optional[str] = None,
        template: Optional[str] = None,
        trigger: Optional[str] = None,
        task: Optional[str] = None,
        code: Optional[str] = None,
        language: Optional[str] = None,
        command: Union[str, Sequence[str], None] = None,
        timeout: Union[int, float, str, None] = None,
        env: Optional[Mapping[str, str]] = None,
        workdir: Optional[str] = None,
        stdin: Optional[str] = None,
        keep: Optional[bool] = None,
        stream: Optional[bool] = None,
        confirm: Optional[str] = None,
        execution_id: Optional[str] = None,
    ) -> ContainerStart:
        """Starts a container and runs code or a command in it; without either it stays for exec

        container: which environment of the registry
        name: the same
        template: the same
        trigger: or: words that choose it
        task: the same as trigger
        code: code to run
        language: of the code
        command: or: a command
        timeout: of the run; default: the environment's
        env: environment
        workdir: folder to run in
        stdin: what a command reads
        keep: the container stays after the run
        stream: live output
        confirm: the token of a confirmation
        execution_id: single-use id
        """
        return cast(ContainerStart, await self._call("containers_start", {
            "container": container,
            "name": name,
            "template": template,
            "trigger": trigger,
            "task": task,
            "code": code,
            "language": language,
            "command": command,
            "timeout": timeout,
            "env": env,
            "workdir": workdir,
            "stdin": stdin,
            "keep": keep,
            "stream": stream,
            "confirm": confirm,
            "execution_id": execution_id,
        }))

    async def containers_exec(
        self,
        *,
        command: Union[str, Sequence[str]],
        container_id: Optional[str] = None,
        container: Optional[str] = None,
        name: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
        env: Optional[Mapping[str, str]] = None,
        workdir: Optional[str] = None,
        stdin: Optional[str] = None,
        stream: Optional[bool] = None,
        execution_id: Optional[str] = None,
    ) -> ContainerRun:
        """Runs a command in a container that stays

        command: the command
        container_id: the container
        container: the same
        name: the same
        timeout: end it after this time
        env: environment
        workdir: folder to run in
        stdin: what it reads
        stream: live output
        execution_id: single-use id
        """
        return cast(ContainerRun, await self._call("containers_exec", {
            "command": command,
            "container_id": container_id,
            "container": container,
            "name": name,
            "timeout": timeout,
            "env": env,
            "workdir": workdir,
            "stdin": stdin,
            "stream": stream,
            "execution_id": execution_id,
        }))

    async def containers_stop(
        self,
        *,
        container_id: Optional[str] = None,
        container: Optional[str] = None,
        name: Optional[str] = None,
    ) -> ContainersStopResult:
        """Stops a container and removes it

        container_id: the container
        container: the same
        name: the same
        """
        return cast(ContainersStopResult, await self._call("containers_stop", {"container_id": container_id, "container": container, "name": name}))

    async def containers_status(self, *, cursor: Optional[str] = None) -> ContainersStatusResult:
        """Lists the containers that are alive, page by page

        cursor: where the next page begins
        """
        return cast(ContainersStatusResult, await self._call("containers_status", {"cursor": cursor}))

    async def containers_cleanup(self) -> ContainersCleanupResult:
        """Removes all of one's containers"""
        return cast(ContainersCleanupResult, await self._call("containers_cleanup", {}))

    async def service_health(self) -> ServiceHealth:
        """Whether the service is up; with a token also figures"""
        return cast(ServiceHealth, await self._call("service_health", {}))

    async def service_healthz(self) -> ServiceHealth:
        """Whether the service is up; with a token also figures"""
        return cast(ServiceHealth, await self._call("service_healthz", {}))

    async def service_sandbox_health(self) -> ServiceHealth:
        """Whether the service is up; with a token also figures"""
        return cast(ServiceHealth, await self._call("service_sandbox_health", {}))

    async def service_execute(
        self,
        *,
        sandbox_type: Optional[str] = None,
        action: Optional[str] = None,
        code: Optional[str] = None,
        url: Optional[str] = None,
        language: Optional[str] = None,
        timeout: Union[int, float, str, None] = None,
        read_only: Optional[bool] = None,
        on_timeout: Optional[str] = None,
        sleep_after_s: Optional[int] = None,
        checkpoint: Optional[bool] = None,
        font_cache: Optional[bool] = None,
        record: Optional[bool] = None,
        machine: Optional[str] = None,
        browser_seconds: Optional[int] = None,
        browser_follows: Optional[bool] = None,
        metadata: Any = None,
        execution_id: Optional[str] = None,
        confirm: Optional[str] = None,
    ) -> ServiceRun:
        """Runs code, or opens a page in a browser, in a sandbox made for it, within the service's own limits (SANDBOX_MAX_...)

        sandbox_type: code (default) or browser
        action: execute (default); browser: also navigate, screenshot, dom, network, which do the same
        code: what to run; browser: JavaScript in the page, may be left out
        url: browser: where to go; code does not look at it
        language: of the code; default: python
        timeout: seconds; default: 30
        read_only: make the root read-only; /workspace, /tmp and /dev/shm stay writable
        on_timeout: what the end of its time to live does: destroy (default), pause, or stop; a paused or stopped one stays
            until it is destroyed
        sleep_after_s: let it sleep when it was not used for so many seconds: all in it is frozen and its memory given back; the
            next request wakes it
        checkpoint: make a step before each command, so that it can be undone (`cay log`, `cay undo`)
        font_cache: show the machine's cache of fonts in it, so that browsers and desktops start sooner (template `host`, engine
            native)
        record: keep what is asked of it, encrypted, so that it can be run again (`cay replay`) and its terminals shown (`cay
            cast`)
        machine: make it on this machine of yours, which `cay agent` connects (engine: remote)
        browser_seconds: let its browser start once and live at most so many seconds; five minutes after the browser's end the
            sandbox is destroyed
        browser_follows: with browser_seconds: close the browser when its last client has left, or when none came for five
            minutes
        metadata: comes back with the answer
        execution_id: single-use id
        confirm: the token of a confirmation
        """
        return cast(ServiceRun, await self._call("service_execute", {
            "sandbox_type": sandbox_type,
            "action": action,
            "code": code,
            "url": url,
            "language": language,
            "timeout": timeout,
            "read_only": read_only,
            "on_timeout": on_timeout,
            "sleep_after_s": sleep_after_s,
            "checkpoint": checkpoint,
            "font_cache": font_cache,
            "record": record,
            "machine": machine,
            "browser_seconds": browser_seconds,
            "browser_follows": browser_follows,
            "metadata": metadata,
            "execution_id": execution_id,
            "confirm": confirm,
        }))

    async def service_metrics(self) -> ServiceMetrics:
        """Figures: executions, causes, latencies, what is in use"""
        return cast(ServiceMetrics, await self._call("service_metrics", {}))

    async def service_cleanup(self, *, idle_for: Union[int, float, str, None] = None) -> ServiceCleanupResult:
        """Destroys one's sandboxes that nobody has used for a while

        idle_for: without use for so long (at least 1 s); default: 60
        """
        return cast(ServiceCleanupResult, await self._call("service_cleanup", {"idle_for": idle_for}))
