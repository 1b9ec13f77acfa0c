# SPDX-License-Identifier: Apache-2.0
# The Python kernel of a context: runs one piece of code after the other in one namespace. docs/contexts.md describes what it
# reads and writes. It is executed by a loader that has read it from a copy of standard input (_cay_requests); requests follow there.


def _cay_kernel(requests):
    # Only what an interpreter has loaded anyway, or has built in: the first run of a sandbox waits for this. Others are imported
    # where they are used; `ast` alone took a third of the start.
    import _ast as ast
    import os
    import signal
    import sys

    CHUNK = 4096 - 38  # with its header it fits into one write that a pipe never splits (PIPE_BUF)
    COROUTINE = 0x80  # inspect.CO_COROUTINE: importing that module takes longer than all the others
    RESULT_MAX = 2000000
    RESULTS_MAX = 64  # of one run
    ROWS_MAX = 1000  # of a table as data

    state = {"running": False, "mark": b"", "sent": 0, "count": 0}

    # Code that reads standard input finds it empty.
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    # The original standard output and error: code may close or replace its own.
    ends = {1: os.dup(1), 2: os.dup(2)}

    def write_all(fd, data):
        while data:
            try:
                data = data[os.write(fd, data):]
            except BlockingIOError:  # code made the shared pipe non-blocking
                os.set_blocking(fd, True)

    def flush():
        for name in ("stdout", "stderr"):
            try:
                getattr(sys, name).flush()
            except Exception:
                pass

    def send(kind, data=b"", stream=1):
        """A frame. Its last piece has the kind in upper case."""
        flush()
        while True:
            piece, data = data[:CHUNK], data[CHUNK:]
            letter = kind if data else kind.upper()
            write_all(ends[stream], b"\x1e" + state["mark"] + letter.encode() + b"%04x" % len(piece) + piece)
            if not data:
                return

    def quote(text):
        try:
            from _json import encode_basestring_ascii
        except ImportError:
            from json import dumps as encode_basestring_ascii
        return encode_basestring_ascii(str(text)).encode()

    def send_json(kind, value):
        import json
        data = json.dumps(value, ensure_ascii=True, default=repr, allow_nan=False).encode()
        if len(data) > RESULT_MAX:
            data = json.dumps({"text": "(a result of %d bytes is too large to be shown)" % len(data)}).encode()
        send(kind, data)

    # Results

    METHODS = (("html", "_repr_html_"), ("markdown", "_repr_markdown_"), ("svg", "_repr_svg_"), ("latex", "_repr_latex_"),
               ("json", "_repr_json_"), ("javascript", "_repr_javascript_"), ("png", "_repr_png_"), ("jpeg", "_repr_jpeg_"),
               ("pdf", "_repr_pdf_"))
    MIMES = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg",
             "text/latex": "latex", "application/json": "json", "application/javascript": "javascript",
             "image/png": "png", "image/jpeg": "jpeg", "application/pdf": "pdf"}
    BYTES = ("png", "jpeg", "pdf")

    def plain(value):
        """A value that JSON can hold: numbers of other libraries, times and the rest become numbers or text."""
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if value == value and abs(value) != float("inf") else None
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            return plain(value.item())
        if hasattr(value, "isoformat"):
            return value.isoformat()
        if isinstance(value, dict):
            return {str(k): plain(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return str(value)

    def coded(kind, value):
        if kind in BYTES:
            import base64
            return base64.b64encode(value).decode() if isinstance(value, (bytes, bytearray)) else str(value)
        return plain(value) if kind == "json" else str(value)

    def table_of(value):
        """The rows of a pandas or polars data frame, as data."""
        if type(value).__name__ != "DataFrame" or not hasattr(value, "columns"):
            return None
        head = value.head(ROWS_MAX)
        if hasattr(head, "to_dicts"):
            rows = head.to_dicts()
            index = None
        else:
            rows = head.to_dict("records")
            index = [plain(i) for i in head.index]
        data = {"columns": [str(c) for c in value.columns], "rows": [[plain(v) for v in row.values()] for row in rows],
                "row_count": int(len(value))}
        if index is not None:
            data["index"] = index
        return data

    def bundle_of(value):
        """What a value looks like, by kind."""
        result = {}
        try:
            result["text"] = value if isinstance(value, _Text) else repr(value)
        except Exception as e:
            result["text"] = "(repr failed: %s: %s)" % (type(e).__name__, e)
        if isinstance(value, type):
            return result
        if hasattr(value, "_repr_mimebundle_"):
            try:
                bundle = value._repr_mimebundle_()
                bundle = bundle[0] if isinstance(bundle, tuple) else bundle
                for mime, data in (bundle or {}).items():
                    if mime in MIMES:
                        result[MIMES[mime]] = coded(MIMES[mime], data)
                    else:
                        result.setdefault("extra", {})[str(mime)] = plain(data)
            except Exception:
                pass
        for kind, name in METHODS:
            method = getattr(value, name, None)
            if method is None or kind in result:
                continue
            try:
                data = method()
            except Exception:
                continue
            if isinstance(data, tuple):
                data = data[0]
            if data is not None:
                result[kind] = coded(kind, data)
        try:
            data = table_of(value)
        except Exception:
            data = None
        if data is not None:
            result["data"] = data
        elif "json" not in result and isinstance(value, (dict, list)):
            import json
            try:
                result["json"] = plain(value)
                json.dumps(result["json"])
            except Exception:
                result.pop("json", None)
        return result

    class _Text(str):
        pass

    def show(result, is_main=False):
        if state["sent"] > RESULTS_MAX:
            return
        state["sent"] += 1
        if state["sent"] > RESULTS_MAX:
            result = {"text": "(more than %d results: the rest is not shown)" % RESULTS_MAX}
        if len(result) == 1 and len(result["text"]) < CHUNK:
            send("r", b'{"text": %s, "is_main_result": %s}' % (quote(result["text"]), b"true" if is_main else b"false"))
            return
        result["is_main_result"] = is_main
        send_json("r", result)

    def display(*values, **_):
        for value in values:
            if is_figure(value):
                show_figure(value)
            else:
                show(bundle_of(value))

    # Figures of matplotlib

    def is_figure(value):
        return type(value).__name__ == "Figure" and type(value).__module__.startswith("matplotlib")

    def words(axis):
        return [t.get_text() for t in axis.get_ticklabels() if t.get_text()]

    def chart_of(figure):
        """What was drawn, as data: one entry for each pair of axes."""
        charts = []
        for axes in figure.axes:
            chart = {"title": axes.get_title() or None, "x_label": axes.get_xlabel() or None, "y_label": axes.get_ylabel() or None}
            lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 1 or not axes.patches]
            bars = [c for c in axes.containers if type(c).__name__ == "BarContainer"]
            wedges = [p for p in axes.patches if type(p).__name__ == "Wedge"]
            dots = [c for c in axes.collections if type(c).__name__ == "PathCollection"]
            label = lambda artist: None if str(artist.get_label()).startswith("_") else str(artist.get_label())
            if wedges:
                chart["type"] = "pie"
                chart["elements"] = [{"label": label(w), "angle": plain(float(w.theta2 - w.theta1))} for w in wedges]
            elif bars:
                names = words(axes.xaxis)
                chart["type"] = "bar"
                chart["elements"] = []
                for group in bars:
                    patches = list(group.patches)
                    flat = getattr(group, "orientation", "vertical") == "horizontal"
                    if flat:
                        names = words(axes.yaxis)
                    values = [plain(float(p.get_width() if flat else p.get_height())) for p in patches]
                    chart["elements"] += [{"label": names[i] if len(names) == len(patches) else str(i), "group": label(group),
                                           "value": v} for i, v in enumerate(values)]
            elif dots:
                chart["type"] = "scatter"
                chart["elements"] = [{"label": label(c), "points": [[plain(float(x)), plain(float(y))] for x, y in
                                                                     c.get_offsets()[:ROWS_MAX]]} for c in dots]
            elif lines:
                chart["type"] = "line"
                chart["elements"] = [{"label": label(line), "points": [[plain(x), plain(y)] for x, y in list(
                    zip(list(line.get_xdata()), list(line.get_ydata())))[:ROWS_MAX]]} for line in lines]
            else:
                continue
            charts.append(chart)
        if not charts:
            return None
        return charts[0] if len(charts) == 1 else {"type": "superchart", "elements": charts}

    def show_figure(figure, is_main=False):
        import base64
        import io
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight")
        result = {"text": repr(figure), "png": base64.b64encode(out.getvalue()).decode()}
        try:
            chart = chart_of(figure)
        except Exception:
            chart = None
        if chart is not None:
            result["chart"] = chart
        show(result, is_main)

    def show_open_figures():
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not hasattr(pyplot, "get_fignums"):
            return
        for number in pyplot.get_fignums():
            show_figure(pyplot.figure(number))
        pyplot.close("all")

    # Running

    # A line of input says it first, then the signal. One that comes too early for the signal to count finds the line (begin).
    def on_interrupt(signo, frame):
        if state["running"]:
            raise KeyboardInterrupt

    def begin():
        state["running"] = True
        os.set_blocking(requests.fileno(), False)
        try:
            ahead = requests.peek(1)
        finally:
            os.set_blocking(requests.fileno(), True)
        if ahead.startswith(b"interrupt\n"):
            raise KeyboardInterrupt

    # Tracebacks show the lines of runs, which linecache keeps. Whoever imports it gets those of earlier runs.
    cells = {}

    class Lines:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != "linecache":
                return None
            specs = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not Lines)
            spec = next(filter(None, specs), None)
            load = getattr(getattr(spec, "loader", None), "exec_module", None)

            def load_and_fill(module):
                load(module)
                module.cache.update(cells)
            if load:
                spec.loader.exec_module = load_and_fill
            return spec

    def keep_lines(name, code):
        cells[name] = (len(code), None, code.splitlines(True), name)
        linecache = sys.modules.get("linecache")
        if linecache is not None:
            linecache.cache[name] = cells[name]

    def tell_error(kind, value, trace, name):
        frames = trace
        while frames is not None and frames.tb_frame.f_code.co_filename != name:  # our own frames are not the code's
            frames = frames.tb_next
        try:
            text = str(value)
        except Exception:
            text = "(str failed)"
        import traceback
        try:
            told = traceback.TracebackException(kind, value, frames)
            told.stack = traceback.StackSummary.from_list([f for f in told.stack if f.filename != "<kernel>"])
            lines = list(told.format())
        except Exception:
            lines = ["%s: %s\n" % (kind.__name__, text)]
        send_json("e", {"name": kind.__name__, "value": text[:65536], "traceback": "".join(lines)[-262144:]})

    def wait_for(value):
        import asyncio
        if state.get("loop") is None:
            state["loop"] = asyncio.new_event_loop()
            asyncio.set_event_loop(state["loop"])
        return state["loop"].run_until_complete(value)

    def execute(code, name):
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(code, name, "exec", flags | ast.PyCF_ONLY_AST)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        program = compile(tree, name, "exec", flags)
        value = eval(program, space)
        if program.co_flags & COROUTINE:
            wait_for(value)
        if last is None:
            return None
        program = compile(last, name, "eval", flags)
        value = eval(program, space)
        if program.co_flags & COROUTINE:
            value = wait_for(value)
        return value

    def set_variables(values):
        """Returns what they were."""
        before = {name: os.environb.get(name) for name in values}
        for name, value in values.items():
            if value is None:
                os.environb.pop(name, None)
            else:
                os.environb[name] = value
        return before

    def run(code, variables):
        state["count"] += 1
        state["sent"] = 0
        name = "<cell %d>" % state["count"]
        keep_lines(name, code)
        send("b")
        send("b", stream=2)
        before = set_variables(variables)
        try:
            try:
                begin()
                value = execute(code, name)
                space["_"] = value if value is not None else space.get("_")
                if value is not None and is_figure(value):
                    show_figure(value, True)
                    sys.modules["matplotlib.pyplot"].close(value) if "matplotlib.pyplot" in sys.modules else None
                elif value is not None:
                    show(bundle_of(value), True)
                show_open_figures()
            finally:
                state["running"] = False
        except SystemExit as e:
            state["running"] = False
            if e.code not in (None, 0):
                tell_error(SystemExit, e, None, name)
        except BaseException:
            state["running"] = False
            tell_error(*sys.exc_info(), name)
        set_variables(before)
        flush()
        send("x", stream=2)
        send("d", b'{"execution_count": %d}' % state["count"])

    sys.meta_path.insert(0, Lines)
    module = type(sys)("__main__")
    space = module.__dict__
    space["display"] = display
    sys.modules["__main__"] = module
    sys.argv = [""]
    sys.path.insert(0, "")
    sys.stdout.reconfigure(line_buffering=True)
    os.environ.setdefault("MPLBACKEND", "agg")
    # Debian's matplotlib has its settings in /etc, which is not the host's here. Without the file it cannot be imported.
    if os.path.isdir("/usr/share/matplotlib/mpl-data") and not os.path.exists("/etc/matplotlibrc"):
        os.environ.setdefault("MATPLOTLIBRC", os.devnull)
    signal.signal(signal.SIGINT, on_interrupt)
    home = os.getpid()

    while True:
        line = requests.readline(128).split()
        if line == [b"interrupt"]:  # for a run that is over
            continue
        if len(line) not in (3, 4) or line[0] != b"run":
            return
        variables = {}
        for _ in range(int(line[3]) if len(line) == 4 else 0):
            name, size = requests.readline(512).split()
            variables[name] = requests.read(int(size))
        code = requests.read(int(line[2]))
        if len(code) != int(line[2]):
            return
        state["mark"] = line[1]
        run(code.decode("utf-8", "replace"), variables)
        if os.getpid() != home:  # a child that the code forked and that came back here
            os._exit(0)


_cay_kernel(_cay_requests)
