// SPDX-License-Identifier: Apache-2.0
// envd: commands and terminals.
const { Sandbox } = require('e2b')
const { assert, run, fails, until } = require('./check.cjs')

let s

run({
  async foreground() {
    s = await Sandbox.create({ envs: { FROM_CREATE: 'one' }, timeoutMs: 300000 })
    const seen = []
    const done = await s.commands.run('echo hi; echo err >&2; pwd; echo $HOME $USER $FROM_CREATE $X $E2B_SANDBOX $E2B_SANDBOX_ID', {
      envs: { X: '1' }, onStdout: (d) => seen.push(d), onStderr: (d) => seen.push(d),
    })
    assert.equal(done.exitCode, 0)
    assert.equal(done.stdout, `hi\n/home/user\n/home/user user one 1 true ${s.sandboxId}\n`)
    assert.equal(done.stderr, 'err\n')
    assert.equal(seen.join('').length, done.stdout.length + done.stderr.length)
    assert.equal((await s.commands.run('printf "é€😀"; printf "\\377"')).stdout.slice(0, 4), 'é€😀')
  },

  async failing() {
    const error = await fails(s.commands.run('echo out; echo bad >&2; exit 3'), 'CommandExitError')
    assert.equal(error.exitCode, 3)
    assert.equal(error.stdout, 'out\n')
    assert.equal(error.stderr, 'bad\n')
    assert.equal((await fails(s.commands.run('no-such-program-here'), 'CommandExitError')).exitCode, 127)
    await fails(s.commands.run('true', { cwd: '/no/such/folder' }), 'InvalidArgumentError')
    await fails(s.commands.run('true', { user: 'nobody-here' }), 'AuthenticationError')
  },

  async users_and_folders() {
    assert.equal((await s.commands.run('id -u; echo $HOME', { user: 'root' })).stdout, '0\n/root\n')
    assert.equal((await s.commands.run('id -u')).stdout, '1001\n')
    assert.equal((await s.commands.run('mkdir -p ~/a/b && cd ~/a/b && pwd')).stdout, '/home/user/a/b\n')
    assert.equal((await s.commands.run('pwd', { cwd: 'a/b' })).stdout, '/home/user/a/b\n')
    assert.equal((await s.commands.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
    assert.equal((await s.commands.run('pwd', { cwd: '/home/user', user: 'root' })).stdout, '/home/user\n') // as a template's steps
  },

  async background_list_kill() {
    const command = await s.commands.run('sleep 300', { background: true })
    assert.ok(command.pid > 0)
    assert.equal((await s.commands.run(`kill -0 ${command.pid} && echo there`)).stdout, 'there\n')
    const listed = (await s.commands.list()).find((p) => p.pid === command.pid)
    assert.equal(listed.cmd, '/bin/bash')
    assert.deepEqual(listed.args, ['-l', '-c', 'sleep 300'])
    assert.equal(await command.kill(), true)
    const error = await fails(command.wait(), 'CommandExitError')
    assert.equal(error.exitCode, -1)
    assert.equal(await s.commands.kill(command.pid), false)
    assert.equal(await s.commands.kill(999999), false)
  },

  async input() {
    const command = await s.commands.run('cat; echo over', { background: true, stdin: true })
    await s.commands.sendStdin(command.pid, 'one\n')
    await command.sendStdin('two é\n')
    await s.commands.closeStdin(command.pid)
    assert.equal((await command.wait()).stdout, 'one\ntwo é\nover\n')
    await fails(s.commands.sendStdin(999999, 'x'), 'NotFoundError')
  },

  async connect() {
    const first = await s.commands.run('read x; echo got $x; sleep 0.1; exit 4', { background: true, stdin: true })
    await first.disconnect()
    const again = await s.commands.connect(first.pid)
    await s.commands.sendStdin(first.pid, 'word\n')
    const error = await fails(again.wait(), 'CommandExitError')
    assert.equal(error.exitCode, 4)
    assert.equal(error.stdout, 'got word\n')
    await fails(s.commands.connect(999999), 'NotFoundError')
  },

  async timeouts() {
    await fails(s.commands.run('sleep 300', { timeoutMs: 500 }), 'TimeoutError')
    const left = (await s.commands.list()).filter((p) => p.args.includes('sleep 300'))
    await until('its end', async () => !(await s.commands.list()).some((p) => p.args.includes('sleep 300')) || left.length === 0)
  },

  async much_output() {
    const done = await s.commands.run('seq 1 200000')
    assert.equal(done.stdout.length, 1288895)
  },

  async terminal() {
    let seen = ''
    const pty = await s.pty.create({ cols: 90, rows: 30, onData: (d) => { seen += Buffer.from(d).toString() } })
    await s.pty.sendInput(pty.pid, Buffer.from('stty size; exit 5\n'))
    await fails(pty.wait(), 'CommandExitError')
    assert.match(seen, /30 90/)
    const other = await s.pty.create({ cols: 80, rows: 24, onData: (d) => { seen += Buffer.from(d).toString() } })
    await s.pty.resize(other.pid, { cols: 101, rows: 41 })
    await s.pty.sendInput(other.pid, Buffer.from('stty size\n'))
    await until('its size', async () => /41 101/.test(seen))
    assert.equal(await s.pty.kill(other.pid), true)
  },

  async paused() {
    const command = await s.commands.run('sleep 300', { background: true })
    await s.pause()
    await fails(s.commands.run('true'), 'SandboxNotFoundError')
    s = await Sandbox.connect(s.sandboxId)
    assert.ok((await s.commands.list()).some((p) => p.pid === command.pid)) // the same process
  },

  async killed() {
    const command = await s.commands.run('sleep 300', { background: true })
    await s.kill()
    await fails(command.wait(), 'TimeoutError')
    await fails(s.commands.run('true'), 'SandboxNotFoundError')
    await fails(s.commands.list(), 'TimeoutError')
  },
})
