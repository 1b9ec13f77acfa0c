// SPDX-License-Identifier: Apache-2.0
// The JavaScript kernel of a context: runs one piece of code after the other in one realm. docs/contexts.md describes what it reads
// and writes. It is evaluated by a loader that has read it from descriptor 3; requests follow there.
'use strict';
(function () {
        const fs = require('fs'), vm = require('vm'), util = require('util'), path = require('path');
        const { createRequire } = require('module');
        const INTERRUPT = Buffer.from('interrupt\n'), SIGNALLED = Buffer.from('signalled\n'), enter = new vm.Script('__cayWatched()');
        const CHUNK = 4096 - 38; // with its header it fits into one write that a pipe never splits (PIPE_BUF)
        const RESULT_MAX = 2000000, RESULTS_MAX = 64;
        const MIMES = { 'text/plain': 'text', 'text/html': 'html', 'text/markdown': 'markdown', 'image/svg+xml': 'svg',
                'text/latex': 'latex', 'application/json': 'json', 'application/javascript': 'javascript',
                'image/png': 'png', 'image/jpeg': 'jpeg', 'application/pdf': 'pdf' };
        let mark = '', sent = 0, count = 0, stop = null, wasInterrupted = false, signalsTold = 0, signalsSeen = 0;
        let input = globalThis.__cayRest || Buffer.alloc(0), busy = false;
        delete globalThis.__cayRest;

        function writeAll(fd, data) {
                while (data.length) {
                        try {
                                data = data.subarray(fs.writeSync(fd, data));
                        } catch (e) {
                                if (e.code !== 'EAGAIN')
                                        throw e;
                                Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2); // the pipe is full
                        }
                }
        }

        /* A frame. Its last piece has the kind in upper case. */
        function send(kind, data = Buffer.alloc(0), fd = 1) {
                do {
                        const piece = data.subarray(0, CHUNK);
                        data = data.subarray(CHUNK);
                        const head = '\x1e' + mark + (data.length ? kind : kind.toUpperCase()) + piece.length.toString(16).padStart(4, '0');
                        writeAll(fd, Buffer.concat([Buffer.from(head, 'latin1'), piece]));
                } while (data.length);
        }

        function sendJson(kind, value) {
                let data = Buffer.from(JSON.stringify(value));
                if (data.length > RESULT_MAX)
                        data = Buffer.from(JSON.stringify({ text: `(a result of ${data.length} bytes is too large to be shown)` }));
                send(kind, data);
        }

        function show(result, isMain) {
                if (sent > RESULTS_MAX)
                        return;
                if (++sent > RESULTS_MAX)
                        result = { text: `(more than ${RESULTS_MAX} results: the rest is not shown)` };
                sendJson('r', { ...result, is_main_result: Boolean(isMain) });
        }

        function isData(value) {
                return value !== null && typeof value === 'object' && (Array.isArray(value) || Object.getPrototypeOf(value) === null ||
                        Object.prototype.toString.call(value) === '[object Object]');
        }

        function bundleOf(value) {
                const result = { text: util.inspect(value, { depth: 4, maxArrayLength: 200, maxStringLength: 100000 }) };
                if (value && typeof value === 'object' && typeof value.toMimeBundle === 'function') {
                        for (const [mime, data] of Object.entries(value.toMimeBundle()))
                                if (MIMES[mime])
                                        result[MIMES[mime]] = typeof data === 'string' || MIMES[mime] === 'json' ? data : String(data);
                } else if (isData(value)) {
                        try {
                                const text = JSON.stringify(value);
                                if (text !== undefined)
                                        result.json = JSON.parse(text);
                        } catch { /* circular, or a getter that throws: the text will do */ }
                }
                return result;
        }

        /* What the code prints goes out at once and whole: the process may be ended at any time. */
        for (const [stream, fd] of [[process.stdout, 1], [process.stderr, 2]])
                stream.write = function (data, encoding, done) {
                        writeAll(fd, Buffer.isBuffer(data) ? data : Buffer.from(data, typeof encoding === 'string' ? encoding : 'utf8'));
                        const callback = typeof encoding === 'function' ? encoding : done;
                        if (callback)
                                process.nextTick(callback);
                        return true;
                };

        const space = globalThis;
        space.require = createRequire(path.join(process.cwd(), 'cell.js'));
        space.display = (...values) => values.forEach((v) => show(bundleOf(v)));

        /*
         * const, let and class at the top of a script are bound once for the whole realm, so that a cell cannot be run again. They become
         * var there; the scan below knows strings, templates, comments and brackets, and regular expressions by what stands before them.
         */
        function words(code) {
                const found = [];
                let depth = 0, last = '';
                const templates = [];
                for (let i = 0; i < code.length;) {
                        const c = code[i], two = code.substr(i, 2);
                        if (two === '//') {
                                while (i < code.length && code[i] !== '\n')
                                        i++;
                        } else if (two === '/*') {
                                const end = code.indexOf('*/', i + 2);
                                i = end < 0 ? code.length : end + 2;
                        } else if (c === '"' || c === "'") {
                                for (i++; i < code.length && code[i] !== c && code[i] !== '\n'; i++)
                                        if (code[i] === '\\')
                                                i++;
                                i++;
                                last = 'x';
                        } else if (c === '`' || (c === '}' && templates.length && templates[templates.length - 1] === depth)) {
                                if (c === '}')
                                        templates.pop();
                                for (i++; i < code.length && code[i] !== '`' && code.substr(i, 2) !== '${'; i++)
                                        if (code[i] === '\\')
                                                i++;
                                if (code[i] === '`') {
                                        i++;
                                } else {
                                        i += 2;
                                        templates.push(depth);
                                }
                                last = 'x';
                        } else if (c === '/' && !/[\w$)\]}x]/.test(last)) {
                                let set = false;
                                for (i++; i < code.length && code[i] !== '\n' && (set || code[i] !== '/'); i++) {
                                        if (code[i] === '\\')
                                                i++;
                                        else if (code[i] === '[')
                                                set = true;
                                        else if (code[i] === ']')
                                                set = false;
                                }
                                i++;
                                last = 'x';
                        } else if (/[A-Za-z_$]/.test(c)) {
                                const begin = i;
                                while (i < code.length && /[\w$]/.test(code[i]))
                                        i++;
                                const word = code.slice(begin, i);
                                found.push({ word, at: begin, depth, before: last });
                                last = /^(return|typeof|case|in|of|delete|void|throw|new|await)$/.test(word) ? '(' : 'x';
                        } else {
                                if ('([{'.includes(c))
                                        depth++;
                                else if (')]}'.includes(c))
                                        depth--;
                                if (!/\s/.test(c))
                                        last = c;
                                i++;
                        }
                }
                return found;
        }

        function declared(code) {
                let out = '', from = 0;
                for (const w of words(code)) {
                        if (w.depth !== 0 || w.before === '.')
                                continue;
                        const rest = code.slice(w.at + w.word.length);
                        const name = /^\s+([A-Za-z_$][\w$]*)/.exec(rest);
                        if ((w.word === 'const' || w.word === 'let') && /^\s+[A-Za-z_$[{]/.test(rest)) {
                                out += code.slice(from, w.at) + 'var';
                                from = w.at + w.word.length;
                        } else if (w.word === 'class' && name && name[1] !== 'extends' && !/[=(,?:x]/.test(w.before)) {
                                out += code.slice(from, w.at) + `var ${name[1]} = class`;
                                from = w.at + w.word.length;
                        }
                }
                return out + code.slice(from);
        }

        const hasAwait = (code) => words(code).some((w) => w.word === 'await' && w.before !== '.');

        function names(code) {
                const found = [];
                for (const w of words(code)) {
                        if (w.depth !== 0 || w.before === '.')
                                continue;
                        const rest = code.slice(w.at + w.word.length);
                        const name = /^(?:\s+|\s*\*\s*)([A-Za-z_$][\w$]*)/.exec(rest);
                        if (['var', 'function', 'class'].includes(w.word) && name)
                                found.push(name[1]);
                        const pattern = w.word === 'var' ? /^\s*[[{]([^=;]*)[\]}]\s*=/.exec(rest) : null;
                        if (pattern)
                                found.push(...pattern[1].split(',').map((p) => /([A-Za-z_$][\w$]*)\s*$/.exec(p.split('=')[0])?.[1])
                                        .filter(Boolean));
                }
                return [...new Set(found)];
        }

        /*
         * Code that awaits is the body of a function: what it declares is copied to the realm afterwards. Its last statement, if that is an
         * expression, is what it returns.
         */
        function compileAsync(code, options) {
                const body = declared(code);
                const copy = names(body).map((n) => `try { globalThis[${JSON.stringify(n)}] = ${n}; } catch {}`).join('');
                const lines = body.trimEnd().replace(/;+$/, '');
                for (let at = lines.length; at > 0;) {
                        at = Math.max(lines.lastIndexOf('\n', at - 1), lines.lastIndexOf(';', at - 1)) + 1;
                        const head = lines.slice(0, at), tail = lines.slice(at);
                        if (tail.trim()) {
                                try {
                                        new vm.Script(`(async () => { (${tail}\n) })`);
                                        return new vm.Script(`(async () => { try {${head}\nreturn (${tail}\n); } finally {${copy}} })()`,
                                                { ...options, columnOffset: -19 });
                                } catch { /* not an expression: more lines belong to it, or it is a statement */ }
                        }
                        at--;
                }
                return new vm.Script(`(async () => { try {${body}\n} finally {${copy}} })()`, options);
        }

        /*
         * Interrupts. A line of input says it first; if the run goes on, SIGINT follows, and then a line that says so. The signal ends what
         * does not return to the event loop; the first line ends what awaits. A signal at the end of a script can count for the next one
         * (Node's watchdog keeps it), or be on its way still: the next run waits until each one that was told has been seen.
         */
        function watched(f) {
                globalThis.__cayWatched = () => {
                        delete globalThis.__cayWatched;
                        return f();
                };
                try {
                        return enter.runInThisContext({ breakOnSigint: true });
                } catch (e) {
                        if (e && e.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED')
                                signalsSeen++;
                        throw e;
                } finally {
                        delete globalThis.__cayWatched;
                }
        }

        /* Node can lose a signal at the end of a script: not waited for long. */
        async function settleSignals() {
                for (const end = Date.now() + 300; signalsSeen < signalsTold && Date.now() < end;) {
                        try {
                                watched(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2));
                        } catch { /* it was there */ }
                        await new Promise((resolve) => setImmediate(resolve)); // or the listener below sees it
                }
                signalsTold = signalsSeen = 0;
        }

        function takeLines() {
                for (; input.length >= 10; input = input.subarray(10)) {
                        const line = input.subarray(0, 10);
                        if (line.equals(INTERRUPT))
                                wasInterrupted = true;
                        else if (line.equals(SIGNALLED))
                                signalsTold++;
                        else
                                return;
                }
        }

        function readAhead() {
                const piece = Buffer.alloc(4096);
                try {
                        input = Buffer.concat([input, piece.subarray(0, fs.readSync(3, piece))]);
                } catch { /* there is nothing */ }
                takeLines();
        }

        async function execute(code, filename) {
                const options = { filename, importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER };
                const isAsync = hasAwait(code);
                const script = isAsync ? compileAsync(code, options) : new vm.Script(declared(code), options);
                const interrupted = new Promise((_, reject) => { // before the code runs: an interrupt may come at once
                        stop = () => reject(Object.assign(new Error('the run was interrupted'), { name: 'Interrupted' }));
                });
                interrupted.catch(() => {});
                const value = watched(() => {
                        readAhead(); // a signal until now did not count, but its line came before it
                        if (wasInterrupted)
                                throw Object.assign(new Error('the run was interrupted'), { name: 'Interrupted' });
                        return script.runInThisContext();
                });
                return isAsync || (value instanceof Promise) ? Promise.race([value, interrupted]) : value;
        }

        function tellError(e, filename) {
                const isError = e !== null && typeof e === 'object' && typeof e.message === 'string';
                const interrupted = isError && (e.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED' || e.name === 'Interrupted');
                const name = interrupted ? 'Interrupted' : isError ? String(e.name) : 'Error';
                const value = interrupted ? 'the run was interrupted' : isError ? e.message : util.inspect(e);
                const lines = isError && typeof e.stack === 'string' ? e.stack.split('\n') : [];
                const own = lines.findIndex((line) => /^\s+at /.test(line) && !line.includes(filename) && !line.includes('<cell '));
                const trace = interrupted || !lines.length ? `${name}: ${value}` : (own > 0 ? lines.slice(0, own) : lines).join('\n');
                sendJson('e', { name, value: value.slice(0, 65536), traceback: trace.slice(0, 262144) });
        }

        /* Returns what they were. */
        function setVariables(values) {
                const before = Object.keys(values).map((name) => [name, process.env[name]]);
                for (const [name, value] of Object.entries(values)) {
                        if (value === undefined)
                                delete process.env[name];
                        else
                                process.env[name] = value;
                }
                return Object.fromEntries(before);
        }

        async function run(code, variables) {
                const filename = `<cell ${++count}>`;
                sent = 0;
                send('b');
                send('b', undefined, 2);
                const before = setVariables(variables);
                try {
                        const value = await execute(code, filename);
                        if (value !== undefined)
                                show(bundleOf(value), true);
                } catch (e) {
                        tellError(e, filename);
                }
                setVariables(before);
                stop = null;
                wasInterrupted = false;
                send('x', undefined, 2);
                send('d', Buffer.from(JSON.stringify({ execution_count: count })));
        }

        const warn = process.emitWarning; // import() in a script counts as an experiment of Node's, which is not the code's concern
        process.emitWarning = (text, ...rest) => {
                if (!String(text).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER'))
                        warn.call(process, text, ...rest);
        };
        process.on('SIGINT', () => signalsSeen++); // without a listener it would end us
        process.on('uncaughtException', (e) => process.stderr.write(`${e && e.stack || e}\n`));
        process.on('unhandledRejection', (e) => process.stderr.write(`${e && e.stack || e}\n`));

        /* Requests, one after the other. Reading is asynchronous: what the code left behind (timers, servers) goes on between them. */
        /* undefined: it is not whole yet. */
        function takeRequest() {
                takeLines(); // for a run that is over
                wasInterrupted = false;
                let at = 0;
                const takeLine = () => {
                        const end = input.indexOf(10, at), words = end < 0 ? [] : input.subarray(at, end).toString('latin1').split(' ');
                        at = end + 1;
                        return words;
                };
                const takeText = (size) => {
                        at += Number(size);
                        return at <= input.length ? input.subarray(at - Number(size), at).toString('utf8') : undefined;
                };
                const [, ofRun, size, count] = takeLine(), variables = {};
                for (let i = 0; i < Number(count || 0); i++) {
                        const [name, length] = takeLine();
                        variables[name] = length === undefined ? undefined : takeText(length);
                        if (variables[name] === undefined)
                                return undefined;
                }
                const code = size === undefined ? undefined : takeText(size);
                if (code === undefined)
                        return undefined;
                input = input.subarray(at);
                return { mark: ofRun, code, variables };
        }

        async function pump() {
                if (busy)
                        return;
                busy = true;
                for (let request; (request = takeRequest());) {
                        mark = request.mark;
                        await settleSignals();
                        await run(request.code, request.variables);
                }
                busy = false;
        }
        const requests = new (require('net').Socket)({ fd: 3, readable: true, writable: false });
        requests.on('data', (data) => {
                input = Buffer.concat([input, data]);
                if (busy)
                        takeLines();
                if (wasInterrupted && stop)
                        stop();
                pump();
        });
        requests.on('end', () => process.exit(0));
        pump();
})();
