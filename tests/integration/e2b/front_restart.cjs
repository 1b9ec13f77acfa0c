// SPDX-License-Identifier: Apache-2.0
// The front is killed (by test_e2b.py, when it reads "running") while a command's output streams: the client sees a cut stream,
// and finds the same process again.
const { Sandbox } = require('e2b')
const { assert, run, fails, until } = require('./check.cjs')

run({
  async front_restarts_in_a_stream() {
    const s = await Sandbox.create({ timeoutMs: 300000 })
    let lines = 0
    const command = await s.commands.run('read x; echo got $x', { background: true, stdin: true, onStdout: () => lines++ })
    console.log('running')
    await fails(command.wait())
    await until('the next front', async () => s.isRunning().catch(() => false))
    const again = await s.commands.connect(command.pid)
    await s.commands.sendStdin(command.pid, 'word\n')
    assert.equal((await again.wait()).stdout, 'got word\n')
    assert.equal(await s.kill(), true)
  },
})
