# SPDX-License-Identifier: Apache-2.0
"""
What a waiting Python runs until it has its command; the theory is in warm.h.

Python is started as `python3 -m cay_command`, with this file as `sitecustomize` in a zip archive that PYTHONPATH names by its
descriptor. Here an object is put in the place of `runpy`, which the interpreter asks for the function that runs the
module. The question is answered when there is a command: with a function in C that calls exec() with the command's
code. So no frame of ours is below the code, and all that follows (uncaught exceptions, exit codes, threads, atexit) is
the interpreter's own work, as for any program.

What cannot be done exactly as a fresh interpreter would do it is left to one: `python3` is executed, in this process.

Its arguments are "one" or "many", and the modules to import ahead. With "many" it forks the processes that wait, where it can, and never has a command itself.
"""
import sys


def _cay():
    import posix

    ask, archive = 4, 5  # descriptors: the socket to cay-init, this file
    here = sys.path.pop(0)
    modules = sys.modules
    start = dict(posix.environ)
    os, site = modules["os"], modules["site"]

    # Traces of ourselves
    sys.path_importer_cache.pop(here, None)
    modules["zipimport"]._zip_directory_cache.pop(here, None)
    start.pop(b"PYTHONPATH", None)
    os.environ.pop("PYTHONPATH", None)
    posix.environ.pop(b"PYTHONPATH", None)
    posix.close(archive)
    modules.pop("sitecustomize", None)

    # Variables that a Python reads when it starts
    early = (b"PYTHON", b"LD_", b"LC_", b"LANG", b"MALLOC_", b"GLIBC_", b"GCONV_", b"LOCPATH", b"TZ")

    # All that a start takes from HOME is where the user's own modules are. Where there are none, only the names change.
    def moves_home(env):
        home = env.get(b"HOME", b"")
        if home == start.get(b"HOME"):
            return True
        base, folder = site.getuserbase(), site.getusersitepackages()
        new = os.fsdecode(home).rstrip("/") + "/.local"
        if not home.startswith(b"/") or not base.endswith("/.local") or sign(folder) or sign(new + folder[len(base):]):
            return False
        site.USER_BASE, site.USER_SITE = new, new + folder[len(base):]
        return True

    # Modules that were imported ahead, by the first part of their names; what they asked the environment for; and
    # what their parts in C may have asked.
    ahead, asked, asked_in_c = set(), set(), (b"OMP_", b"OPENBLAS_", b"GOTO_", b"MKL_", b"KMP_", b"BLIS_", b"NPY_")

    def differs(env):
        return not moves_home(env) or any(
            start.get(name) != env.get(name) for name in {**start, **env} if name.startswith(early) or name == b"PATH"
            or ahead and (name in asked or None in asked or name.startswith(asked_in_c)))

    # A program's own module of that name comes first.
    def shadows(folder):
        try:
            return any(name.partition(".")[0] in ahead for name in posix.listdir(folder)) if ahead else False
        except OSError:
            return False

    def import_ahead(names):
        if not names:
            return

        class Recorder(type(os.environ)):
            def __getitem__(self, key):
                asked.add(self.encodekey(key))
                return super().__getitem__(key)

            def __iter__(self):
                asked.add(None)  # all of them
                return super().__iter__()

        plain, had, place = type(os.environ), set(modules), sys.path.pop(0)
        saved = posix.dup(1), posix.dup(2), posix.open("/dev/null", posix.O_RDWR)
        posix.dup2(saved[2], 1)
        posix.dup2(saved[2], 2)
        os.environ.__class__ = os.environb.__class__ = Recorder
        for name in names:
            try:
                __import__(name)
            except BaseException:  # a command that imports it sees why
                pass
        os.environ.__class__ = os.environb.__class__ = plain
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        for fd, number in zip(saved, (1, 2)):
            posix.dup2(fd, number)
        for fd in saved:
            posix.close(fd)
        sys.path.insert(0, place)
        ahead.update(name.partition(".")[0] for name in set(modules) - had)

    # What modules set when they were imported, and is each process's own.
    def renew():
        threading, numpy = modules.get("threading"), modules.get("numpy.random")
        process = modules.get("multiprocessing.process")
        if threading:
            threading.main_thread()._native_id = threading.get_native_id()
        if numpy:
            numpy.seed()
        if process:
            process._current_process._config["authkey"] = process.AuthenticationString(posix.urandom(32))

    def search(name, env):
        if b"/" in name:
            return [name]
        return [(folder or b".") + b"/" + name
                for folder in env.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin").split(b":")]

    def sign(path):
        try:
            s = posix.stat(path)
        except OSError:
            return None
        return s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns

    def list_pth(folder):
        try:
            return [folder + "/" + name for name in posix.listdir(folder) if name.endswith(".pth")]
        except OSError:
            return []

    # Files that decide how a Python starts: what it was found by, what it has loaded, where it looks first.
    def read_first():
        paths = []
        for path in search(b"python3", start):
            path = os.fsdecode(path)
            paths.append(path)
            if path == sys.executable:
                break
        folder = os.path.dirname(sys.executable)
        paths += [folder + "/pyvenv.cfg", os.path.dirname(folder) + "/pyvenv.cfg"]
        folders = site.getsitepackages() + [site.getusersitepackages()]
        for folder in folders:
            paths += list_pth(folder)
        paths += folders + sys.path[1:]  # the first one is the working directory
        for module in list(modules.values()):
            for name in ("__file__", "__cached__"):
                path = getattr(module, name, None)
                if isinstance(path, str):
                    paths.append(path)
        return {path: sign(path) for path in paths}

    # Code of the sandbox that runs at every start has to run at the command's.
    def is_plain():
        threads = modules.get("threading")
        return (sys.implementation.name == "cpython" and (3, 9) <= sys.version_info < (3, 13)
                and "usercustomize" not in modules and not list_pth(site.getusersitepackages())
                and (threads is None or threads.active_count() == 1))

    def run_cold(argv, env):
        import _signal
        for signal in (_signal.SIGPIPE, _signal.SIGXFSZ):  # ignored by Python, and inherited
            _signal.signal(signal, _signal.SIG_DFL)
        for path in search(argv[0], env):
            try:
                posix.execve(path, argv, env)
            except OSError:
                pass
        posix._exit(127)

    def read_all(fd):
        pieces = []
        while True:
            piece = posix.read(fd, 1 << 16)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)

    def have_no_input():
        fd = posix.open("/dev/null", posix.O_RDWR)
        posix.dup2(fd, 0)
        posix.close(fd)
        io, old = modules["io"], sys.stdin
        if old is None:
            return
        bytes_in = io.open(0, "rb", -1, None, None, None, False)
        bytes_in.raw.name = "<stdin>"
        new = io.TextIOWrapper(bytes_in, old.encoding, old.errors, "\n")
        new.mode = "r"
        sys.stdin = sys.__stdin__ = new

    # What the compiler warns of is said if it succeeds; otherwise a fresh interpreter says it all.
    def compiled(code, name):
        said, old = [], sys.stderr

        class Said:
            write = said.append
            flush = staticmethod(lambda: None)

        if b"\0" in code:
            return None
        sys.stderr = Said
        try:
            program = compile(code, name, "exec", 0, True)
        except BaseException:
            return None
        finally:
            sys.stderr = old
        if said and old is not None:
            old.write("".join(said))
        return program

    def give_back(code):
        """The code as standard input, again: from a pipe, if it fits into one."""
        if len(code) <= 1 << 16:
            fd, into = posix.pipe()
            posix.write(into, code)
            posix.close(into)
        else:
            fd, done = posix.memfd_create("stdin"), 0
            while done < len(code):
                done += posix.write(fd, code[done:])
            posix.lseek(fd, 0, 0)
        posix.dup2(fd, 0)
        posix.close(fd)

    def take_command(words, main):
        """The code, and the name of its file; no code: a fresh interpreter has to run it."""
        word = words[0] if words else b"-"
        if word in (b"-c", b"-") and shadows("."):
            return None
        if word == b"-c":
            try:
                return words[1].decode() if len(words) > 1 else None
            except UnicodeDecodeError:
                return None
        if word == b"-":
            code = read_all(0)
            first = b"".join(code.split(b"\n", 2)[:2]).lower()
            # Some encodings can be read from files only.
            program = None if b"coding" in first and b"utf" not in first else compiled(code, "<stdin>")
            main["__file__"], main["__cached__"] = "<stdin>", None
            if program is None:
                give_back(code)
            return program
        if word.startswith(b"-") or not word or word.endswith(b".pyc"):
            return None
        try:
            fd = posix.open(word, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
            try:
                code = read_all(fd) if posix.fstat(fd).st_mode >> 12 == 8 else None
            finally:
                posix.close(fd)
        except OSError:
            return None
        if code is None or b"PK\5\6" in code[-65557:]:
            return None
        name = os.fsdecode(word)
        path = name if name.startswith("/") else posix.getcwd() + "/" + name
        sys.path[0] = os.path.dirname(os.path.realpath(name))
        if shadows(sys.path[0]):
            return None
        main["__file__"], main["__cached__"] = path, None
        main["__loader__"] = modules["_frozen_importlib_external"].SourceFileLoader("__main__", path)
        return compiled(code, path)

    def set_environment(env):
        for name in list(posix.environ):
            posix.unsetenv(name)
        data = os.environ._data
        posix.environ.clear()
        data.clear()
        for name, value in env.items():
            posix.putenv(name, value)
            posix.environ[name] = data[name] = value

    # To init, which may have closed its end.
    def say(fd, what):
        try:
            posix.write(fd, what)
        except OSError:
            pass

    # Imports that leave no trace: the command's own import of the same module is its first one.
    def borrow(*names):
        had, cached, place = set(modules), set(sys.path_importer_cache), sys.path.pop(0)
        try:
            return [__import__(name) for name in names]
        except ImportError:
            return None
        finally:
            sys.path.insert(0, place)
            for name in set(modules) - had:
                del modules[name]
            for path in set(sys.path_importer_cache) - cached:
                del sys.path_importer_cache[path]

    # At its end an interpreter searches all objects for cycles, several times; that takes longer than a short program. Those that
    # exist before the command is known are left out, except what belongs to __main__: its end is the command's.
    def freeze():
        gc, = borrow("gc")
        gc.collect()
        gc.freeze()
        old, new = modules["__main__"], type(sys)("__main__")
        new.__dict__.clear()
        new.__dict__.update(old.__dict__)
        modules["__main__"] = new

    # In a new process: its place, before it waits. The descriptors are in the order of warm_slot.c.
    def settle(fds, enter_rules, new_socket):
        if enter_rules(fds[4]) != 0:
            posix._exit(1)
        posix.setpgid(0, 0)
        for fd, number in zip(fds, (0, 1, 2, ask)):
            posix.dup2(fd, number)
        for fd in fds:
            posix.close(fd)
        while posix.getppid() != 1:  # the one between is about to end
            modules["time"].sleep(0.0001)
        renew()
        posix.write(ask, b"R")
        place = new_socket()
        if place.recv(1) != b"G":  # init has moved us to our node
            posix._exit(1)
        place.detach()

    def serve():
        """Forks whenever init asks for it. True: in each process that was forked; False: there is no way to do it."""
        lent = borrow("_socket", "ctypes") if sys.argv[1] == "many" else None
        if lent is None:
            return False
        _socket, ctypes = lent
        call = ctypes.CDLL(None).syscall
        rules_nr = 446  # landlock_restrict_self

        def new_socket():
            return _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, ask)

        server = new_socket()
        posix.write(ask, b"F")
        while True:
            said, rest, _, _ = server.recvmsg(1, _socket.CMSG_SPACE(5 * 4))
            if not said:
                posix._exit(0)
            fds = [int.from_bytes(rest[0][2][i:i + 4], sys.byteorder) for i in range(0, 20, 4)]
            try:
                between = posix.fork()
            except OSError:  # too many processes
                between = None
                say(fds[3], b"E")
            if between == 0:
                try:
                    if posix.fork() != 0:
                        posix._exit(0)
                except OSError:
                    say(fds[3], b"E")
                    posix._exit(1)
                server.detach()
                try:
                    settle(fds, lambda rules: call(rules_nr, rules, 0), new_socket)
                except BaseException:  # init hears that its socket is closed
                    posix._exit(1)
                return True
            if between is not None:
                posix.waitpid(between, 0)
            for fd in fds:
                posix.close(fd)

    def wait(first):
        import _signal
        # Before there is a command, an interrupt ends the process and prints nothing; init then starts another.
        old = _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        if serve():  # a fork: what a command needs is copied by the kernel when it is touched, so it is touched now
            any(sign(path) != was for path, was in first.items())
            exec(compile("0", "<string>", "exec", 0, True), {})
        else:
            posix.write(ask, b"R")
        message = posix.read(ask, 1 << 18)
        if not message:
            posix._exit(0)
        _signal.signal(_signal.SIGINT, old)
        has_input, folder, count, *words = message[:-1].split(b"\0")
        argv, env = words[:int(count)], {}
        for variable in words[int(count):]:
            name, _, value = variable.partition(b"=")
            env.setdefault(name, value)
        if folder:
            try:
                posix.chdir(folder)
            except OSError as e:
                posix.write(ask, e.errno.to_bytes(4, sys.byteorder))
                posix._exit(127)
        old_files = any(sign(path) != was for path, was in first.items())
        if old_files:
            say(ask, b"S")
        posix.close(ask)
        if has_input == b"0":
            have_no_input()
        if old_files or differs(env):
            run_cold(argv, env)
        main = modules["__main__"].__dict__
        sys.path[0] = ""
        code = take_command(argv[1:], main)
        if code is None:
            run_cold(argv, env)
        set_environment(env)
        if "logging" in modules:
            modules["logging"]._startTime = modules["time"].time()
        words = [os.fsdecode(word) for word in argv]
        if hasattr(sys, "orig_argv"):
            sys.orig_argv[:] = words
        sys.argv[:] = words[1:] or [""]
        if sys.argv[0] == "-c":
            del sys.argv[1]
        for finder in list(sys.path_importer_cache.values()):
            if hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()
        return code, main

    class Runpy:
        __slots__ = ()

        @property
        def _run_module_as_main(self):
            if not is_plain():
                posix._exit(0)
            import_ahead([name for name in sys.argv[2].split(",") if name])
            if not is_plain():  # a module has started a thread
                posix._exit(0)
            first = read_first()
            had = "_functools" in modules
            import _functools
            if not had:
                del modules["_functools"]
            del modules["runpy"]
            freeze()
            code, main = wait(first)
            # print() calls flush() of its file, without arguments, and lets every exception pass.
            sink = type(sys.implementation)(write=len, flush=_functools.partial(exec, code, main))
            return _functools.partial(print, file=sink, flush=True)

    modules["runpy"] = Runpy()


_cay()
del _cay
# The machine's own, if it has one
try:
    import sitecustomize  # noqa: F401
except ImportError as e:
    if e.name != "sitecustomize":
        raise
    raise ImportError(name="sitecustomize") from None
