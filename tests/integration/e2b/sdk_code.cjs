// SPDX-License-Identifier: Apache-2.0
// The code interpreter: npm @e2b/code-interpreter.
const { Sandbox } = require('@e2b/code-interpreter')
const { assert, run, fails } = require('./check.cjs')

let s

run({
  async state_and_results() {
    s = await Sandbox.create({ envs: { FROM_CREATE: 'one' }, timeoutMs: 300000 })
    assert.equal((await s.getInfo()).templateId, 'code-interpreter-v1')
    const first = await s.runCode('x = 41; import os; print(os.getcwd(), os.environ["FROM_CREATE"])')
    assert.equal(first.logs.stdout.join(''), '/home/user one\n')
    const second = await s.runCode('import sys\nprint("é€😀"); print("e", file=sys.stderr)\nx + 1')
    assert.equal(second.text, '42')
    assert.equal(second.executionCount, 2)
    assert.equal(second.logs.stdout.join(''), 'é€😀\n')
    assert.equal(second.logs.stderr.join(''), 'e\n')
    assert.equal((await s.runCode('"a text"')).text, 'a text')
    assert.equal((await s.runCode('"é€😀" * 20000')).text.length, 80000)
  },

  async callbacks() {
    const seen = []
    await s.runCode('print(1, flush=True)\ndisplay(2)\nprint(3, flush=True)\n1/0', {
      onStdout: (m) => seen.push(m.line), onResult: (r) => seen.push(r.text), onError: (e) => seen.push(e.name),
    })
    assert.deepEqual(seen.map((t) => String(t).trim()), ['1', '2', '3', 'ZeroDivisionError'])
  },

  async errors() {
    const done = await s.runCode('def f():\n    raise ValueError("no")\nf()')
    assert.equal(done.error.name, 'ValueError')
    assert.equal(done.error.value, 'no')
    assert.match(done.error.traceback, /line 2, in f/)
    assert.equal((await s.runCode('x')).text, '41')
    await fails(s.runCode('1', { language: 'cobol' }), 'SandboxError')
  },

  async variables_of_one_run() {
    const read = { python: 'import os; [os.environ.get("FROM_CREATE"), os.environ.get("OWN")]', js: '[process.env.FROM_CREATE, process.env.OWN ?? null]' }
    for (const [language, code] of Object.entries(read)) {
      const envs = { OWN: 'é "x"\n$y', FROM_CREATE: 'two' }
      assert.deepEqual((await s.runCode(code, { language, envs })).results[0].json, ['two', 'é "x"\n$y'])
      assert.deepEqual((await s.runCode(code, { language })).results[0].json, ['one', null])
      assert.equal((await s.runCode('1/0; throw new Error()', { language, envs })).results.length, 0)
      assert.deepEqual((await s.runCode(code, { language })).results[0].json, ['one', null])
    }
    const bash = async (code, envs) => (await s.runCode(code, { language: 'bash', envs })).logs.stdout.join('')
    await bash('plain=kept; export LC_ALL=C.UTF-8 name=mine')
    const envs = { OWN: 'é "x"\n$y \'', FROM_CREATE: '', plain: '1', name: '2', LC_ALL: 'C' }
    const shown = 'printf "[%s]" "$OWN" "$FROM_CREATE" "$plain" "$name" "$LC_ALL"; env | grep -c ^plain='
    assert.equal(await bash(shown, envs), '[é "x"\n$y \'][][1][2][C]1\n')
    assert.equal(await bash(shown), '[][one][kept][mine][C.UTF-8]0\n')
    await fails(s.runCode('while true; do :; done', { language: 'bash', envs, timeoutMs: 500 }), 'TimeoutError')
    assert.equal(await bash(shown), '[][one][kept][mine][C.UTF-8]0\n')
    await fails(s.runCode('1', { envs: { 'not a name': '1' } }), 'SandboxError')
  },

  async languages() {
    assert.equal((await s.runCode('let y = 6; y * 7', { language: 'js' })).text, '42')
    assert.equal((await s.runCode('echo $((6 * 7))', { language: 'bash' })).logs.stdout.join(''), '42\n')
  },

  async contexts() {
    const c = await s.createCodeContext({ cwd: '/tmp' })
    assert.equal(c.language, 'python')
    assert.equal(c.cwd, '/tmp')
    assert.equal((await s.runCode('import os; os.getcwd()', { context: c })).text, '/tmp')
    assert.equal((await s.runCode('x', { context: c })).error.name, 'NameError')
    const listed = (await s.listCodeContexts()).map((l) => l.id)
    for (const id of ['python', 'javascript', c.id]) assert.ok(listed.includes(id), listed.join())
    await s.runCode('z = 1', { context: c })
    await s.restartCodeContext(c)
    assert.equal((await s.runCode('z', { context: c })).error.name, 'NameError')
    await s.removeCodeContext(c)
    await fails(s.runCode('1', { context: c }), 'NotFoundError')
    await fails(s.removeCodeContext('nothing-here'), 'NotFoundError')
  },

  async at_the_same_time() {
    const all = await Promise.all([1, 2, 3, 4, 5].map((n) => s.runCode(`import time; time.sleep(0.05); ${n}`)))
    assert.deepEqual(all.map((e) => e.text), ['1', '2', '3', '4', '5'])
  },

  async timeout_interrupts() {
    await fails(s.runCode('while True: pass', { timeoutMs: 500 }), 'TimeoutError')
    assert.equal((await s.runCode('x')).text, '41') // the same interpreter
  },

  async killed_while_it_runs() {
    const running = fails(s.runCode('print("on", flush=True)\nimport time; time.sleep(300)', {
      onStdout: () => s.kill(),
    }), 'TimeoutError')
    await running
  },
})
