// SPDX-License-Identifier: Apache-2.0
// The front is killed (by test_e2b.py, when it reads "running") while a command's output streams: the client sees a cut stream,
// and finds the same process again.
const { Template } = require('e2b')
const { Sandbox } = require('@e2b/code-interpreter')
const { assert, run, fails, until } = require('./check.cjs')

run({
  async front_restarts_in_a_stream() {
    const s = await Sandbox.create({ timeoutMs: 300000 })
    let lines = 0
    const command = await s.commands.run('read x; echo got $x', { background: true, stdin: true, onStdout: () => lines++ })
    const build = await Template.buildInBackground(Template().fromBaseImage().runCmd('sleep 300'), 'e2b-lost')
    await until('the build', async () => (await Template.getBuildStatus(build)).logEntries.length > 0)
    let said
    const heard = new Promise((done) => { said = done })
    const code = assert.rejects(s.runCode('import time\nkept = 1\nprint("begun", flush=True)\ntime.sleep(300)', { onStdout: () => said() }))
    await heard
    let left
    const watch = new Promise((done) => { left = done })
    await s.files.watchDir('.', () => {}, { onExit: left })
    console.log('running')
    await fails(command.wait())
    await code
    await watch
    await until('the next front', async () => s.isRunning().catch(() => false))
    const again = await s.commands.connect(command.pid)
    await s.commands.sendStdin(command.pid, 'word\n')
    assert.equal((await again.wait()).stdout, 'got word\n')
    assert.equal((await s.runCode('1 + 1', { language: 'javascript' })).text, '2')
    await fails(Template.getBuildStatus(build), 'BuildError') // a build is lost with its front
    await Template.build(Template().fromBaseImage().runCmd('true'), 'e2b-lost') // and its name is free
    assert.equal(await Sandbox.deleteSnapshot('e2b-lost'), true)
    const pages = Sandbox.list()
    for (const other of await pages.nextItems()) if (other.sandboxId !== s.sandboxId) await Sandbox.kill(other.sandboxId)
    assert.equal(await s.kill(), true)
  },
})
