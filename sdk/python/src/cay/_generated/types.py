# SPDX-License-Identifier: Apache-2.0
# Written by tools/generate from sdk/openapi.json: do not edit.
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict, Union


class _ErrorErrorAlways(TypedDict):
    code: str
    message: str
    field: Optional[str]
    request_id: str


class ErrorError(_ErrorErrorAlways, total=False):
    reason: str
    first: str
    confirm: str
    confirm_why: str


class Error(TypedDict):
    error: ErrorError


class _CreatedSandboxAlways(TypedDict):
    sandbox_id: str
    name: Optional[str]
    project_name: Optional[str]
    owner: str
    template: str
    engine: str
    status: str
    cause: Optional[str]
    cause_text: str
    advice: str
    busy_with: str
    kept: bool
    linked: bool
    labels: Dict[str, str]
    metadata: Dict[str, str]
    limits: Limits
    limits_skipped: List[str]
    limits_watched: List[str]
    network: str
    init: str
    ports: List[PublishedPort]
    volumes: List[Volume]
    workspace: Workspace
    read_only: bool
    on_timeout: Optional[str]
    sleep_after_s: int
    asleep: bool
    checkpoint: bool
    font_cache: bool
    record: bool
    own_user_only: bool
    machine: Optional[str]
    browser_seconds: int
    browser_follows: bool
    created_at: Optional[str]
    started_at: Optional[str]
    changed_at: Optional[str]
    expires_in_ms: Optional[int]
    idle_limit_ms: int
    idle_expires_in_ms: Optional[int]
    idle_ms: int
    execs_running: int
    execs_known: int
    execution_id: str


class CreatedSandbox(_CreatedSandboxAlways, total=False):
    memory_freed_bytes: int


class _SandboxAlways(TypedDict):
    sandbox_id: str
    name: Optional[str]
    project_name: Optional[str]
    owner: str
    template: str
    engine: str
    status: str
    cause: Optional[str]
    cause_text: str
    advice: str
    busy_with: str
    kept: bool
    linked: bool
    labels: Dict[str, str]
    metadata: Dict[str, str]
    limits: Limits
    limits_skipped: List[str]
    limits_watched: List[str]
    network: str
    init: str
    ports: List[PublishedPort]
    volumes: List[Volume]
    workspace: Workspace
    read_only: bool
    on_timeout: Optional[str]
    sleep_after_s: int
    asleep: bool
    checkpoint: bool
    font_cache: bool
    record: bool
    own_user_only: bool
    machine: Optional[str]
    browser_seconds: int
    browser_follows: bool
    created_at: Optional[str]
    started_at: Optional[str]
    changed_at: Optional[str]
    expires_in_ms: Optional[int]
    idle_limit_ms: int
    idle_expires_in_ms: Optional[int]
    idle_ms: int
    execs_running: int
    execs_known: int


class Sandbox(_SandboxAlways, total=False):
    memory_freed_bytes: int


class Limits(TypedDict):
    memory_bytes: int
    swap_bytes: int
    cpu_milli: int
    pids: int
    disk_bytes: int
    inodes: int
    files: int
    output_bytes: int
    wall_ms: int
    cpu_time_ms: int
    network_up: int
    network_down: int
    network_total: int
    network_connections: int
    network_connects: int
    network_queries: int


class PublishedPort(TypedDict):
    inside: int
    host: Optional[int]


class Volume(TypedDict):
    name: str
    at: str
    read_only: bool


class _WorkspaceAlways(TypedDict):
    inside: str
    mapped: bool


class Workspace(_WorkspaceAlways, total=False):
    mode: str
    path: str


class StatsPoint(TypedDict):
    at: Optional[str]
    cpu_milli: int
    memory_bytes: int
    pids: int
    rx_bytes_per_s: int
    tx_bytes_per_s: int
    loopback_bytes_per_s: int


class Event(TypedDict):
    seq: int
    kind: str
    sandbox_id: str
    owner: str
    at: Optional[str]
    detail: Optional[Dict[str, Any]]
    hash: Optional[str]


class JournalCheck(TypedDict):
    sandbox_id: str
    events: int
    unchained: int
    first_seq: int
    last_seq: int
    head: Optional[str]


class Snapshot(TypedDict):
    snapshot_id: str
    name: Optional[str]
    owner: str
    sandbox_id: str
    template: str
    engine: str
    status: str
    bytes: int
    added_bytes: int
    disk_bytes: int
    method: str
    frozen_ms: int
    processes: bool
    created_at: Optional[str]
    expires_in_ms: Optional[int]


class Step(TypedDict):
    step: int
    snapshot_id: str
    before: str
    status: str
    bytes: int
    added_bytes: int
    method: str
    frozen_us: int
    created_at: Optional[str]


class _ChangeAlways(TypedDict):
    change: str
    type: str
    size: int
    mode: str
    uid: int
    gid: int
    modified_at: Optional[str]
    tag: str


class Change(_ChangeAlways, total=False):
    name: str
    name_base64: str
    target: str
    target_base64: str
    metadata: Dict[str, str]


class _FileAlways(TypedDict):
    type: str
    size: int
    mode: str
    uid: int
    gid: int
    modified_at: Optional[str]
    tag: str


class File(_FileAlways, total=False):
    name: str
    name_base64: str
    target: str
    target_base64: str
    metadata: Dict[str, str]


class Recording(TypedDict):
    sandbox_id: str
    snapshot_id: str
    began_at: Optional[str]
    duration_ms: int
    commands: int
    files: int
    bytes: int
    limit: int
    stopped: Optional[str]
    terminals: List[RecordedTerminal]


class RecordedTerminal(TypedDict):
    exec_id: str
    command: str
    started_at: Optional[str]
    duration_ms: int
    bytes: int
    ended: bool


class Replay(TypedDict):
    sandbox_id: str
    snapshot_id: str
    replay_id: Optional[str]
    same: bool
    commands: int
    compared: int
    files: int
    variables_left_out: int
    stopped: Optional[str]
    timed_out: bool
    duration_ms: int
    count: int
    differences: List[Difference]


class Difference(TypedDict):
    exec_id: Optional[str]
    command: str
    what: str
    was: str
    now: str


class _NamedVolumeAlways(TypedDict):
    name: str
    owner: str
    engine: str
    created_at: Optional[str]
    sandboxes: int


class NamedVolume(_NamedVolumeAlways, total=False):
    size_bytes: int
    used_bytes: int


class _TemplateAlways(TypedDict):
    name: str
    description: str
    available: bool
    why: Optional[str]
    root: str
    engine: str
    triggers: Union[str, List[str]]
    network: str
    allow: List[str]
    deny: List[str]
    init: str
    read_only: bool
    on_timeout: Optional[str]
    sleep_after_s: int
    checkpoint: bool
    font_cache: bool
    record: bool
    machine: Optional[str]
    browser_seconds: int
    browser_follows: bool
    needs_confirm: bool
    auto_cleanup: bool
    limits: Limits
    life_time_ms: int
    idle_time_ms: int
    max_concurrent: int
    pool: int
    pool_learned: bool
    warm: List[str]
    warm_modules: List[str]
    env: List[str]
    command: Union[str, List[str]]
    interpreter: Union[str, List[str]]
    has_system: bool


class Template(_TemplateAlways, total=False):
    build: Image


class Image(TypedDict):
    state: str
    image: Optional[str]
    context: Optional[str]
    size_bytes: int
    built_at: Optional[str]
    step: Optional[str]
    error: Optional[str]


class _IntentAlways(TypedDict):
    decision: str
    execute: bool
    needs_confirm: bool
    confidence: int
    reason: str
    obstacle: Optional[str]
    speech: Optional[str]
    phrases: List[IntentPhrase]
    scores: Dict[str, int]


class Intent(_IntentAlways, total=False):
    danger: IntentDanger
    code: IntentCode
    template: IntentTemplate


class IntentDanger(TypedDict):
    what: str
    text: str
    where: str


class IntentCode(TypedDict):
    text: str
    language: Optional[str]
    guessed: bool
    kind: str
    block: int
    blocks: int


class IntentTemplate(TypedDict):
    name: str
    matched_by: str
    available: bool
    needs_confirm: bool


class IntentPhrase(TypedDict):
    text: str
    means: str
    weight: int


class _RunResultAlways(TypedDict):
    exec_id: str
    sandbox_id: str
    status: str
    command: Union[str, List[str]]
    workdir: str
    user: str
    tty: bool
    background: bool
    pid: int
    started_at: Optional[str]
    ended_at: Optional[str]
    exit_code: Optional[int]
    signal: Optional[str]
    cause: Optional[str]
    cause_text: str
    advice: str
    hints: List[str]
    network_blocked: List[NetworkBlocked]
    lacks_network: bool
    network_hints: List[str]
    duration_ms: int
    wall_us: int
    cpu_us: int
    memory_peak_bytes: Optional[int]
    stdout_bytes: int
    stderr_bytes: int
    cut_bytes: int
    output_first: int
    output_end: int
    output_gone: bool
    output_lost: List[OutputLost]
    deadline_in_ms: Optional[int]
    open_stdin: bool
    watchers: int
    idle_limit_ms: int
    idle_ms: int
    execution_id: str
    template: str
    kept: bool
    expires_in_ms: Optional[int]
    sandbox_idle_limit_ms: Optional[int]


class RunResult(_RunResultAlways, total=False):
    stdout: str
    stdout_base64: str
    stderr: str
    stderr_base64: str
    stdout_truncated: bool
    stderr_truncated: bool


class _ExecResultAlways(TypedDict):
    exec_id: str
    sandbox_id: str
    status: str
    command: Union[str, List[str]]
    workdir: str
    user: str
    tty: bool
    background: bool
    pid: int
    started_at: Optional[str]
    ended_at: Optional[str]
    exit_code: Optional[int]
    signal: Optional[str]
    cause: Optional[str]
    cause_text: str
    advice: str
    hints: List[str]
    network_blocked: List[NetworkBlocked]
    lacks_network: bool
    network_hints: List[str]
    duration_ms: int
    wall_us: int
    cpu_us: int
    memory_peak_bytes: Optional[int]
    stdout_bytes: int
    stderr_bytes: int
    cut_bytes: int
    output_first: int
    output_end: int
    output_gone: bool
    output_lost: List[OutputLost]
    deadline_in_ms: Optional[int]
    open_stdin: bool
    watchers: int
    idle_limit_ms: int
    idle_ms: int
    execution_id: str


class ExecResult(_ExecResultAlways, total=False):
    stdout: str
    stdout_base64: str
    stderr: str
    stderr_base64: str
    stdout_truncated: bool
    stderr_truncated: bool


class Exec(TypedDict):
    exec_id: str
    sandbox_id: str
    status: str
    command: Union[str, List[str]]
    workdir: str
    user: str
    tty: bool
    background: bool
    pid: int
    started_at: Optional[str]
    ended_at: Optional[str]
    exit_code: Optional[int]
    signal: Optional[str]
    cause: Optional[str]
    cause_text: str
    advice: str
    hints: List[str]
    network_blocked: List[NetworkBlocked]
    lacks_network: bool
    network_hints: List[str]
    duration_ms: int
    wall_us: int
    cpu_us: int
    memory_peak_bytes: Optional[int]
    stdout_bytes: int
    stderr_bytes: int
    cut_bytes: int
    output_first: int
    output_end: int
    output_gone: bool
    output_lost: List[OutputLost]
    deadline_in_ms: Optional[int]
    open_stdin: bool
    watchers: int
    idle_limit_ms: int
    idle_ms: int


class NetworkBlocked(TypedDict):
    host: str
    port: int
    count: int
    allowed: bool


OutputLost = TypedDict("OutputLost", {
    "from": "int",
    "to": "int",
}, total=False)


class Context(TypedDict):
    context_id: str
    language: str
    cwd: str
    status: str
    busy: bool
    exec_id: str
    started_at: Optional[str]
    cause: Optional[str]
    cause_text: Optional[str]


class _ContextRunAlways(TypedDict):
    context_id: str
    language: str
    execution_count: int
    duration_ms: int
    cause: Optional[str]
    cause_text: Optional[str]
    advice: Optional[str]
    results_truncated: bool
    stdout_truncated: bool
    stderr_truncated: bool
    results: Any
    error: Any


class ContextRun(_ContextRunAlways, total=False):
    stdout: str
    stdout_base64: str
    stderr: str
    stderr_base64: str


class Desktop(TypedDict):
    status: str
    width: Optional[int]
    height: Optional[int]
    exec_id: Optional[str]
    started_at: Optional[str]
    cause: Optional[str]
    cause_text: Optional[str]


class ComputerPosition(TypedDict):
    width: int
    height: int
    x: Optional[int]
    y: Optional[int]


class _MatchAlways(TypedDict):
    line: int
    cut: bool


class Match(_MatchAlways, total=False):
    name: str
    name_base64: str
    text: str
    text_base64: str


class TestResults(TypedDict):
    cases: List[TestCase]
    format: str
    tests: int
    passed: int
    failed: int
    errors: int
    skipped: int
    duration_us: int
    more: bool
    problem: Optional[str]


class TestCase(TypedDict):
    suite: str
    name: str
    class_name: str
    status: str
    message: str
    text: str
    text_cut: bool
    file: str
    line: int
    duration_us: Optional[int]


class _ProcessAlways(TypedDict):
    pid: Union[int, str]
    parent: Union[int, str]
    channel: Union[int, str]
    state: Union[int, str]
    command: Optional[str]


class Process(_ProcessAlways, total=False):
    cpu_ms: int
    memory_bytes: int


class MetricsSandboxes(TypedDict):
    known: int
    alive: int
    links_lost: int
    asleep: int
    states: Dict[str, int]
    engines: Dict[str, int]


class _MetricsCreationsAlways(TypedDict):
    started: int
    failed: int
    latency: Histogram


class MetricsCreations(_MetricsCreationsAlways, total=False):
    waiting: int


class MetricsExecs(TypedDict):
    started: int
    running: int
    ended: int
    causes: Dict[str, int]
    start_latency: Histogram
    duration: Histogram
    cpu_us: int


class MetricsLastHour(TypedDict):
    create: LastHour
    exec_start: LastHour
    exec_run: LastHour


class MetricsResources(TypedDict):
    sandboxes: int
    memory_bytes: int
    memory_limit_bytes: int
    cpu_us: int
    pids: int


class MetricsPool(TypedDict):
    ready: int
    making: int
    wanted: int
    most: int
    warm: int
    memory_bytes: int
    memory_limit_bytes: int
    claimed: int
    missed: int
    failed: int
    dropped: int


class MetricsSnapshots(TypedDict):
    count: int
    steps: int
    added_bytes: int


class MetricsDaemon(TypedDict):
    engine_up: bool
    adoptions: int
    relinks: int
    network_allowed: int
    network_refused: int
    network_failed: int
    network_up_bytes: int
    network_down_bytes: int
    store_bytes: int
    store_queued: int
    started_at: Optional[str]


class _MetricsAlways(TypedDict):
    covers: str
    sandboxes: MetricsSandboxes
    creations: MetricsCreations
    execs: MetricsExecs
    last_hour: MetricsLastHour
    resources: MetricsResources
    pool: MetricsPool
    snapshots: MetricsSnapshots


class Metrics(_MetricsAlways, total=False):
    http_answers: Dict[str, int]
    daemon: MetricsDaemon


class HistogramBucketsItem(TypedDict):
    le_ms: int
    count: int


class Histogram(TypedDict):
    count: int
    sum_us: int
    buckets: List[HistogramBucketsItem]


class LastHourMinutesItem(TypedDict):
    ago: int
    count: int
    p50_us: int
    p99_us: int
    max_us: int


class LastHour(TypedDict):
    count: int
    p50_us: int
    p99_us: int
    max_us: int
    minutes: List[LastHourMinutesItem]


class _EngineAlways(TypedDict):
    name: str
    available: bool
    default: bool
    up: bool
    why: Optional[str]
    chosen: Optional[str]


class Engine(_EngineAlways, total=False):
    isolates: bool
    users: bool
    keeps: bool
    pauses: bool
    bridges: bool
    ports: bool
    volumes: bool
    runs_once: bool
    limits: List[str]
    alive: int


class Browser(TypedDict):
    sandbox_id: str
    status: str
    exec_id: Optional[str]
    product: str
    user_agent: str
    clients: int
    viewers: int
    cdp_path: str
    tabs: List[BrowserTab]
    downloads: List[BrowserDownload]


class BrowserTab(TypedDict):
    id: str
    url: str
    title: str


class BrowserDownload(TypedDict):
    path: str
    name: str
    url: str
    bytes: int
    state: str
    started_at: Optional[str]


class BrowserPage(TypedDict):
    sandbox_id: str
    url: str
    title: str
    load_ms: int
    status: Optional[int]
    download: bool
    value: Any
    type: str
    screenshot_type: str
    screenshot_base64: Optional[str]
    html: str
    length: int
    truncated: bool
    requests: List[BrowserRequest]
    messages: List[BrowserMessage]
    took_ms: int


class BrowserRequest(TypedDict):
    number: int
    tab: int
    method: str
    url: str
    type: str
    state: str
    status: Optional[int]
    mime_type: Optional[str]
    error: Optional[str]
    from_cache: bool
    bytes: int
    started_at: Optional[str]
    duration_ms: int


class BrowserMessage(TypedDict):
    number: int
    tab: int
    level: str
    text: str
    url: Optional[str]
    line: int
    at: Optional[str]


class BrowserActTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserActAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserActTimings


class BrowserAct(_BrowserActAlways, total=False):
    dialog: BrowserDialog


class BrowserDialog(TypedDict):
    type: str
    message: str
    default_text: str


class _BrowserTabStateAlways(TypedDict):
    tab: int
    id: str
    url: str
    title: str
    current: bool
    crashed: bool


class BrowserTabState(_BrowserTabStateAlways, total=False):
    dialog: BrowserDialog


class BrowserState(TypedDict):
    sandbox_id: str
    status: str
    exec_id: Optional[str]
    clients: int
    failed: bool
    timed_out: bool
    cause_text: Optional[str]
    started_at: Optional[str]
    ended_at: Optional[str]
    lived_ms: int


class BrowserDownloadKept(TypedDict):
    id: str
    path: str
    name: str
    url: str
    bytes: int
    state: str
    error: Optional[str]
    started_at: Optional[str]


class BrowserLogRequest(TypedDict):
    number: int
    id: str
    tab_id: str
    loader_id: str
    method: str
    url: str
    type: str
    state: str
    status: Optional[int]
    mime_type: Optional[str]
    error: Optional[str]
    bytes: int
    at_ms: int
    duration_ms: int


class BrowserLogMessage(TypedDict):
    number: int
    tab_id: str
    level: str
    text: str
    url: Optional[str]
    line: int
    at_ms: int


class BrowserRecording(TypedDict):
    recording_id: str
    sandbox_id: str
    status: str
    cause_text: Optional[str]
    started_at: Optional[str]
    duration_ms: int
    frames: int
    bytes: int


class Network(TypedDict):
    network: str
    allow: List[str]
    deny: List[str]
    private_network: Optional[str]
    private_name: Optional[str]
    up_bytes: int
    down_bytes: int
    connections: int
    connections_all: int
    refused: int
    queries: int
    queries_refused: int


class NetworkEntry(TypedDict):
    number: int
    at: Optional[str]
    kind: str
    verdict: str
    name: Optional[str]
    address: Optional[str]
    port: int
    rule: Optional[str]
    why: Optional[str]
    connection: int
    up_bytes: int
    down_bytes: int
    duration_ms: int


class NetworkSuggestion(TypedDict):
    allow: List[str]
    refused: List[str]
    flags: str
    yaml: str


class NetworkPreset(TypedDict):
    name: str
    rules: List[str]


class Secret(TypedDict):
    name: str
    host: str
    header: str
    created_at: Optional[str]


class MachineAdded(TypedDict):
    name: str
    state: str
    code: str
    code_expires_at: Optional[str]
    daemon_fingerprint: str
    command: str


class Machine(TypedDict):
    name: str
    state: str
    url: str
    problem: str
    next_try_at: Optional[str]
    about: str
    fingerprint: str
    created_at: Optional[str]
    paired_at: Optional[str]
    connected_at: Optional[str]
    seen_at: Optional[str]
    latency_us: int
    sandboxes: int
    commands: str


class Setting(TypedDict):
    value: str
    source: str
    doc: str


class FilesLeft(TypedDict):
    sandbox_id: str
    engine: str
    busy: bool


class Key(TypedDict):
    key_id: str
    owner: str
    scope: str
    label: str
    created_at: Optional[str]
    used_at: Optional[str]
    revoked_at: Optional[str]


class ContainerEnvironmentSecurity(TypedDict):
    network_mode: str
    read_only: bool
    needs_confirm: bool


class ContainerEnvironment(TypedDict):
    name: str
    description: str
    triggers: Union[str, List[str]]
    available: bool
    reason: Optional[str]
    build: str
    source: str
    security: ContainerEnvironmentSecurity
    limits: Limits
    auto_cleanup: bool
    max_concurrent: int
    has_system: bool


class _ContainerStartAlways(TypedDict):
    container: str
    container_id: str
    status: str
    exec_id: str
    execution_id: str
    exit_code: Optional[int]
    signal: Optional[str]
    cause: Optional[str]
    cause_text: str
    advice: str
    network_hints: List[str]
    duration_ms: int
    stdout_truncated: bool
    stderr_truncated: bool
    removed: bool
    expires_in_ms: Optional[int]
    idle_limit_ms: Optional[int]


class ContainerStart(_ContainerStartAlways, total=False):
    stdout: str
    stdout_base64: str
    stderr: str
    stderr_base64: str


class _ContainerRunAlways(TypedDict):
    container_id: str
    status: str
    exec_id: str
    execution_id: str
    exit_code: Optional[int]
    signal: Optional[str]
    cause: Optional[str]
    cause_text: str
    advice: str
    network_hints: List[str]
    duration_ms: int
    stdout_truncated: bool
    stderr_truncated: bool


class ContainerRun(_ContainerRunAlways, total=False):
    stdout: str
    stdout_base64: str
    stderr: str
    stderr_base64: str


class ContainerMade(TypedDict):
    container: str
    container_id: str
    status: str
    execution_id: str
    expires_in_ms: Optional[int]
    idle_limit_ms: Optional[int]
    idle_expires_in_ms: Optional[int]
    removed: bool


class Container(TypedDict):
    container_id: str
    container: str
    name: Optional[str]
    status: str
    limits: Limits
    created_at: Optional[str]
    idle_ms: int
    execs_running: int
    expires_in_ms: Optional[int]
    idle_limit_ms: Optional[int]
    idle_expires_in_ms: Optional[int]


class ServiceHealthResources(TypedDict, total=False):
    sandboxes: Optional[int]
    alive: Optional[int]
    execs_running: Optional[int]
    creates: Optional[int]
    execs: Optional[int]
    engine_up: Optional[bool]
    started_at: Optional[str]


class ServiceHealth(TypedDict):
    status: str
    service: str
    version: str
    timestamp: Optional[str]
    resources: ServiceHealthResources


class _ServiceRunAlways(TypedDict):
    success: bool
    status: str
    sandbox_type: str
    sandbox_id: str
    metadata: Any


class ServiceRun(_ServiceRunAlways, total=False):
    cpu_us: int
    memory_peak_bytes: Optional[int]
    execution_id: str
    exit_code: Optional[int]
    signal: Optional[str]
    cause: Optional[str]
    cause_text: str
    advice: str
    network_hints: List[str]
    duration_ms: int
    stdout_truncated: bool
    stderr_truncated: bool
    stdout: str
    stdout_base64: str
    stderr: str
    stderr_base64: str
    url: str
    title: str
    status_code: Optional[int]
    result: Any
    screenshot_type: str
    screenshot_base64: Optional[str]
    dom: str
    network_requests: List[BrowserRequest]
    console: List[BrowserMessage]


class ServiceMetricsExecutions(TypedDict):
    started: int
    ended: int
    running: int


class ServiceMetricsLatencies(TypedDict):
    create: Histogram
    start: Histogram
    run: Histogram


class ServiceMetricsSandboxes(TypedDict):
    known: int
    alive: int
    links_lost: int
    asleep: int
    states: Dict[str, int]
    engines: Dict[str, int]


class ServiceMetricsResources(TypedDict):
    sandboxes: int
    memory_bytes: int
    memory_limit_bytes: int
    cpu_us: int
    pids: int


class ServiceMetrics(TypedDict):
    service: str
    timestamp: Optional[str]
    executions: ServiceMetricsExecutions
    causes: Dict[str, int]
    latencies: ServiceMetricsLatencies
    sandboxes: ServiceMetricsSandboxes
    resources: ServiceMetricsResources


class SandboxCreateLimits(TypedDict, total=False):
    memory: Union[int, float, str, None]
    swap: Union[int, float, str, None]
    cpus: Union[int, float, str, None]
    pids: Union[int, float, str, None]
    disk: Union[int, float, str, None]
    inodes: Union[int, float, str, None]
    files: Union[int, float, str, None]
    output: Union[int, float, str, None]
    wall_time: Union[int, float, str, None]
    cpu_time: Union[int, float, str, None]
    network_up: Union[int, float, str, None]
    network_down: Union[int, float, str, None]
    network_total: Union[int, float, str, None]
    network_connections: Union[int, float, str, None]
    network_connects: Union[int, float, str, None]
    network_queries: Union[int, float, str, None]


class SandboxCreateWorkspace(TypedDict, total=False):
    path: Optional[str]
    mode: Optional[str]


class SandboxListResult(TypedDict):
    sandboxes: List[Sandbox]
    next: Optional[str]


class SandboxDestroyResult(TypedDict):
    sandbox_id: str
    status: str


class SandboxCleanupResult(TypedDict):
    dry_run: bool
    sandboxes: List[str]
    destroyed: int
    failed: int
    first_failure: Optional[str]
    more: bool


class _SandboxStatsResultAlways(TypedDict):
    memory_bytes: int
    memory_peak_bytes: int
    oom_kills: int
    pids: int
    pids_refused: int
    cpu_us: int
    rx_bytes: int
    tx_bytes: int
    loopback_bytes: int


class SandboxStatsResult(_SandboxStatsResultAlways, total=False):
    history: List[StatsPoint]


class SandboxEventsResult(TypedDict):
    events: List[Event]


class EventListResult(TypedDict):
    events: List[Event]


class SandboxForkResult(TypedDict):
    sandboxes: List[Sandbox]
    count: int
    frozen_ms: int
    processes: bool


class SandboxForkLimits(TypedDict, total=False):
    memory: Union[int, float, str, None]
    swap: Union[int, float, str, None]
    cpus: Union[int, float, str, None]
    pids: Union[int, float, str, None]
    disk: Union[int, float, str, None]
    inodes: Union[int, float, str, None]
    files: Union[int, float, str, None]
    output: Union[int, float, str, None]
    wall_time: Union[int, float, str, None]
    cpu_time: Union[int, float, str, None]
    network_up: Union[int, float, str, None]
    network_down: Union[int, float, str, None]
    network_total: Union[int, float, str, None]
    network_connections: Union[int, float, str, None]
    network_connects: Union[int, float, str, None]
    network_queries: Union[int, float, str, None]


class SnapshotListResult(TypedDict):
    snapshots: List[Snapshot]
    count: int
    next_cursor: Optional[str]


class SnapshotRemoveResult(TypedDict):
    snapshot_id: str
    status: str


class StepListResult(TypedDict):
    sandbox_id: str
    steps: List[Step]
    count: int


class StepDiffResult(TypedDict):
    sandbox_id: str
    changes: List[Change]
    count: int
    looked_at: int
    more: bool
    why: Optional[str]


class SandboxUndoResult(TypedDict):
    sandbox_id: str
    step: int
    kept_as: int
    commands_ended: int
    status: str
    processes: bool


class _VolumeListResultAlways(TypedDict):
    volumes: List[NamedVolume]
    count: int
    more: bool


class VolumeListResult(_VolumeListResultAlways, total=False):
    unavailable: List[str]


class VolumeRemoveResult(TypedDict):
    name: str
    owner: str
    status: str


class TemplateListResult(TypedDict):
    templates: List[Template]
    default_template: str
    origin: str
    loaded_at: Optional[str]
    max_concurrent: int
    auto_cleanup: bool
    waiting: int


class _TemplateGetResultAlways(TypedDict):
    name: str
    description: str
    available: bool
    why: Optional[str]
    root: str
    engine: str
    triggers: Union[str, List[str]]
    network: str
    allow: List[str]
    deny: List[str]
    init: str
    read_only: bool
    on_timeout: Optional[str]
    sleep_after_s: int
    checkpoint: bool
    font_cache: bool
    record: bool
    machine: Optional[str]
    browser_seconds: int
    browser_follows: bool
    needs_confirm: bool
    auto_cleanup: bool
    limits: Limits
    life_time_ms: int
    idle_time_ms: int
    max_concurrent: int
    pool: int
    pool_learned: bool
    warm: List[str]
    warm_modules: List[str]
    env: List[str]
    command: Union[str, List[str]]
    interpreter: Union[str, List[str]]
    has_system: bool
    system: Optional[str]


class TemplateGetResult(_TemplateGetResultAlways, total=False):
    build: Image


class _TemplateBuildResultAlways(TypedDict):
    template: str
    state: str
    image: Optional[str]
    context: Optional[str]
    size_bytes: int
    built_at: Optional[str]
    step: Optional[str]
    error: Optional[str]
    up_to_date: bool
    took_ms: int


class TemplateBuildResult(_TemplateBuildResultAlways, total=False):
    output: str
    output_base64: str


class TemplateRemoveResult(TypedDict):
    template: str
    removed: int


class CodeRunLimits(TypedDict, total=False):
    memory: Union[int, float, str, None]
    swap: Union[int, float, str, None]
    cpus: Union[int, float, str, None]
    pids: Union[int, float, str, None]
    disk: Union[int, float, str, None]
    inodes: Union[int, float, str, None]
    files: Union[int, float, str, None]
    output: Union[int, float, str, None]
    wall_time: Union[int, float, str, None]
    cpu_time: Union[int, float, str, None]
    network_up: Union[int, float, str, None]
    network_down: Union[int, float, str, None]
    network_total: Union[int, float, str, None]
    network_connections: Union[int, float, str, None]
    network_connects: Union[int, float, str, None]
    network_queries: Union[int, float, str, None]


class CodeRunWorkspace(TypedDict, total=False):
    path: Optional[str]
    mode: Optional[str]


class ExecListResult(TypedDict):
    execs: List[Exec]


class ExecScreenResult(TypedDict):
    cursor: int
    end: int
    begin: str


class _ExecInputResultAlways(TypedDict):
    bytes: int


class ExecInputResult(_ExecInputResultAlways, total=False):
    offset: int


class ContextListResult(TypedDict):
    contexts: List[Context]


class ContextRemoveResult(TypedDict):
    context_id: str
    removed: bool


class DesktopLinkResult(TypedDict):
    url: str
    port_url: Optional[str]
    expires_at: Optional[str]


class ComputerWaitResult(TypedDict):
    still: bool
    waited_ms: int
    changes: int


class _FileWriteResultAlways(TypedDict):
    bytes: int
    tag: str


class FileWriteResult(_FileWriteResultAlways, total=False):
    path: str
    path_base64: str


class _FileRemoveResultAlways(TypedDict):
    entries: int


class FileRemoveResult(_FileRemoveResultAlways, total=False):
    path: str
    path_base64: str


class _FileListResultAlways(TypedDict):
    entries: List[File]
    more: bool


class FileListResult(_FileListResultAlways, total=False):
    path: str
    path_base64: str


class FileFindResult(TypedDict):
    path: str
    entries: List[File]
    more: bool
    why: Optional[str]


class FileSearchResult(TypedDict):
    path: str
    matches: List[Match]
    files: int
    bytes: int
    more: bool
    why: Optional[str]


class _FileMkdirResultAlways(TypedDict):
    entries: int


class FileMkdirResult(_FileMkdirResultAlways, total=False):
    path: str
    path_base64: str


class _FileMoveResultAlways(TypedDict):
    entries: int


class FileMoveResult(_FileMoveResultAlways, total=False):
    path: str
    path_base64: str


class _ArchivePutResultAlways(TypedDict):
    format: str
    bytes: int
    entries: int


class ArchivePutResult(_ArchivePutResultAlways, total=False):
    path: str
    path_base64: str


class ProcessListResult(TypedDict):
    processes: List[Process]


class PortListResult(TypedDict):
    ports: List[int]
    count: int
    more: bool


class PortLinkResult(TypedDict):
    url: str
    port: int
    expires_at: Optional[str]


class McpLinkResult(TypedDict):
    url: str
    expires_at: Optional[str]


class HealthLiveResult(TypedDict):
    status: str
    version: str


class _HealthReadyResultAlways(TypedDict):
    status: str
    version: str


class HealthReadyResult(_HealthReadyResultAlways, total=False):
    engine_up: bool
    engine_why: Optional[str]
    sandboxes: int
    alive: int
    links_lost: int
    execs_running: int
    channels: int
    watchers: int
    creates: int
    create_failures: int
    execs: int
    adoptions: int
    relinks: int
    store_queued: int
    store_full: bool
    store_damaged: bool
    files_unclaimed: int
    store_bytes: int
    started_at: str
    engines_down: List[str]


class VersionGetResult(TypedDict):
    name: str
    version: str


class EngineListResult(TypedDict):
    engines: List[Engine]


class BrowserStopResult(TypedDict):
    sandbox_id: str
    stopped: bool


class BrowserRunLimits(TypedDict, total=False):
    memory: Union[int, float, str, None]
    swap: Union[int, float, str, None]
    cpus: Union[int, float, str, None]
    pids: Union[int, float, str, None]
    disk: Union[int, float, str, None]
    inodes: Union[int, float, str, None]
    files: Union[int, float, str, None]
    output: Union[int, float, str, None]
    wall_time: Union[int, float, str, None]
    cpu_time: Union[int, float, str, None]
    network_up: Union[int, float, str, None]
    network_down: Union[int, float, str, None]
    network_total: Union[int, float, str, None]
    network_connections: Union[int, float, str, None]
    network_connects: Union[int, float, str, None]
    network_queries: Union[int, float, str, None]


class BrowserNavigateResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserNavigateResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserNavigateResultTimings
    status: Optional[int]
    download: bool


class BrowserNavigateResult(_BrowserNavigateResultAlways, total=False):
    dialog: BrowserDialog


class BrowserHistoryResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserHistoryResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserHistoryResultTimings
    status: Optional[int]
    download: bool


class BrowserHistoryResult(_BrowserHistoryResultAlways, total=False):
    dialog: BrowserDialog


class BrowserClickResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserClickResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserClickResultTimings
    x: int
    y: int


class BrowserClickResult(_BrowserClickResultAlways, total=False):
    dialog: BrowserDialog


class BrowserSelectResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserSelectResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserSelectResultTimings
    selected: List[str]


class BrowserSelectResult(_BrowserSelectResultAlways, total=False):
    dialog: BrowserDialog


class BrowserTextResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserTextResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserTextResultTimings
    text: str
    length: int
    truncated: bool


class BrowserTextResult(_BrowserTextResultAlways, total=False):
    dialog: BrowserDialog


class BrowserOutlineResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserOutlineResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserOutlineResultTimings
    outline: str
    lines: int
    truncated: bool


class BrowserOutlineResult(_BrowserOutlineResultAlways, total=False):
    dialog: BrowserDialog


class BrowserDomResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserDomResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserDomResultTimings
    html: str
    length: int
    truncated: bool


class BrowserDomResult(_BrowserDomResultAlways, total=False):
    dialog: BrowserDialog


class BrowserEvaluateResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserEvaluateResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserEvaluateResultTimings
    value: Any
    type: str


class BrowserEvaluateResult(_BrowserEvaluateResultAlways, total=False):
    dialog: BrowserDialog


class BrowserTabsResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserTabsResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserTabsResultTimings
    tabs: List[BrowserTabState]


class BrowserTabsResult(_BrowserTabsResultAlways, total=False):
    dialog: BrowserDialog


class BrowserTabOpenResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserTabOpenResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserTabOpenResultTimings
    status: Optional[int]
    download: bool


class BrowserTabOpenResult(_BrowserTabOpenResultAlways, total=False):
    dialog: BrowserDialog


class BrowserTabCloseResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserTabCloseResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserTabCloseResultTimings
    tabs: List[BrowserTabState]


class BrowserTabCloseResult(_BrowserTabCloseResultAlways, total=False):
    dialog: BrowserDialog


class BrowserCookiesResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserCookiesResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserCookiesResultTimings
    cookies: Any


class BrowserCookiesResult(_BrowserCookiesResultAlways, total=False):
    dialog: BrowserDialog


class BrowserRequestsResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserRequestsResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserRequestsResultTimings
    requests: List[BrowserRequest]


class BrowserRequestsResult(_BrowserRequestsResultAlways, total=False):
    dialog: BrowserDialog


class BrowserRequestResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserRequestResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserRequestResultTimings
    request: BrowserRequest
    request_headers: Dict[str, str]
    response_headers: Dict[str, str]
    request_body: Optional[str]


class BrowserRequestResult(_BrowserRequestResultAlways, total=False):
    dialog: BrowserDialog
    body: Optional[str]
    body_base64: Optional[str]


class BrowserConsoleResultTimings(TypedDict):
    ready_ms: int
    act_ms: int
    settle_ms: int


class _BrowserConsoleResultAlways(TypedDict):
    tab: Optional[int]
    url: str
    title: str
    opened_tab: Optional[int]
    took_ms: int
    timings: BrowserConsoleResultTimings
    messages: List[BrowserMessage]


class BrowserConsoleResult(_BrowserConsoleResultAlways, total=False):
    dialog: BrowserDialog


class BrowserLinkResult(TypedDict):
    url: str
    expires_at: Optional[str]


class BrowserListResult(TypedDict):
    browsers: List[BrowserState]
    more: bool


class BrowserDownloadsResult(TypedDict):
    sandbox_id: str
    downloads: List[BrowserDownloadKept]


class BrowserLogsResult(TypedDict):
    sandbox_id: str
    requests: List[BrowserLogRequest]
    messages: List[BrowserLogMessage]


class BrowserLiveLinkResult(TypedDict):
    page_url: str
    url: str
    view_only: bool
    expires_at: Optional[str]


class BrowserRecordListResult(TypedDict):
    recordings: List[BrowserRecording]


class BrowserRecordRemoveResult(TypedDict):
    recording_id: str
    removed: bool


class NetworkUpdateLimits(TypedDict, total=False):
    network_up: Union[int, float, str, None]
    network_down: Union[int, float, str, None]
    network_total: Union[int, float, str, None]
    network_connections: Union[int, float, str, None]
    network_connects: Union[int, float, str, None]
    network_queries: Union[int, float, str, None]


class NetworkLogResult(TypedDict):
    entries: List[NetworkEntry]


class NetworkPresetsResult(TypedDict):
    presets: List[NetworkPreset]


class SecretListResult(TypedDict):
    secrets: List[Secret]


class RemoteListResult(TypedDict):
    machines: List[Machine]


class RecoverListResult(TypedDict):
    files: List[FilesLeft]


class RecoverAdoptLimits(TypedDict, total=False):
    memory: Union[int, float, str, None]
    swap: Union[int, float, str, None]
    cpus: Union[int, float, str, None]
    pids: Union[int, float, str, None]
    disk: Union[int, float, str, None]
    inodes: Union[int, float, str, None]
    files: Union[int, float, str, None]
    output: Union[int, float, str, None]
    wall_time: Union[int, float, str, None]
    cpu_time: Union[int, float, str, None]
    network_up: Union[int, float, str, None]
    network_down: Union[int, float, str, None]
    network_total: Union[int, float, str, None]
    network_connections: Union[int, float, str, None]
    network_connects: Union[int, float, str, None]
    network_queries: Union[int, float, str, None]


class RecoverRemoveResult(TypedDict):
    sandbox_id: str
    status: str


class WhoamiResult(TypedDict):
    owner: str
    scope: str
    credential: str
    id: Optional[str]


class LoginMakeResult(TypedDict):
    login: str
    link: str
    owner: str
    scope: str
    expires_in_ms: int


class LoginUseResult(TypedDict):
    owner: str
    scope: str
    expires_at: Optional[str]


class LogoutResult(TypedDict):
    pass


class TokenMakeResult(TypedDict):
    token: str
    owner: str
    scope: str
    expires_at: Optional[str]


class KeyMakeResult(TypedDict):
    key_id: str
    owner: str
    scope: str
    label: str
    created_at: Optional[str]
    used_at: Optional[str]
    revoked_at: Optional[str]
    key: str


class KeyListResult(TypedDict):
    keys: List[Key]


class ContainersListResultSettings(TypedDict):
    auto_cleanup: bool
    max_concurrent: int


class ContainersListResult(TypedDict):
    containers: List[ContainerEnvironment]
    settings: ContainersListResultSettings


class ContainersStopResult(TypedDict):
    container_id: str
    status: str


class ContainersStatusResult(TypedDict):
    containers: List[Container]
    active: int
    next: Optional[str]


class ContainersCleanupResult(TypedDict):
    cleaned: int
    failed: int
    containers: List[str]
    more: bool


class ServiceCleanupResult(TypedDict):
    status: str
    cleaned: int
    failed: int
    sandboxes: List[str]
