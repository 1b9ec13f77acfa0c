// SPDX-License-Identifier: Apache-2.0
// Networks that are changed, git, volumes, and a pause without memory.
const { Sandbox, Volume } = require('e2b')
const { assert, run, fails, until } = require('./check.cjs')

const network = async (s) => (await s.getInfo()).allowInternetAccess

run({
  async update_network() {
    const s = await Sandbox.create({ allowInternetAccess: false })
    assert.equal(await network(s), false)
    const wider = await fails(s.updateNetwork({ allowInternetAccess: true, allowOut: ['pypi.org'], denyOut: ['0.0.0.0/0'] }), 'SandboxError')
    assert.match(wider.message, /template/) // it has none, so nobody may give it some
    await s.updateNetwork({ allowInternetAccess: false }) // as it is
    await fails(s.updateNetwork({ allowOut: ['1.2.3.4'], denyOut: ['5.6.7.8'] }), 'SandboxError')
    assert.equal(await network(s), false)
    await s.kill()
    await fails(s.updateNetwork({ allowInternetAccess: false }), 'SandboxNotFoundError')
  },

  async git() {
    const s = await Sandbox.create()
    await s.git.configureUser('Test', 'test@example.org')
    await s.git.init('project', { initialBranch: 'main' })
    await s.files.write('project/a.txt', 'one\n')
    const before = await s.git.status('project')
    assert.equal(before.hasUntracked, true)
    await s.git.add('project')
    await s.git.commit('project', 'first')
    await s.git.createBranch('project', 'side')
    assert.deepEqual((await s.git.branches('project')).branches.sort(), ['main', 'side'])
    await s.git.checkoutBranch('project', 'main')
    // A server of git in the sandbox itself.
    await s.commands.run('git clone -q --bare project served.git && touch served.git/git-daemon-export-ok && git -C served.git config daemon.receivepack true')
    const server = await s.commands.run('git daemon --reuseaddr --listen=127.0.0.1 --port=9418 --base-path=/home/user --enable=receive-pack', { background: true })
    await s.commands.run('for i in $(seq 100); do git ls-remote git://127.0.0.1/served.git >/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1')
    await s.git.clone('git://127.0.0.1/served.git', { path: 'copy' })
    assert.equal(await s.files.read('copy/a.txt'), 'one\n')
    await s.files.write('copy/b.txt', 'two\n')
    await s.git.add('copy', { files: ['b.txt'] })
    await s.git.commit('copy', 'second')
    await s.git.push('copy')
    await s.git.remoteAdd('project', 'origin', 'git://127.0.0.1/served.git')
    await s.git.pull('project', { remote: 'origin', branch: 'main' })
    assert.equal(await s.files.read('project/b.txt'), 'two\n')
    assert.equal((await s.git.status('project')).isClean, true)
    await fails(s.git.clone('/home/user/nothing'), 'CommandExitError')
    await server.kill()
    await s.kill()
  },

  async volumes() {
    const v = await Volume.create('e2b-volume')
    assert.equal(v.name, 'e2b-volume')
    await fails(Volume.create('e2b-volume'), 'VolumeError')
    await fails(Volume.create('no spaces'), 'VolumeError')
    const one = await Sandbox.create({ volumeMounts: { '/mnt/data': v } })
    assert.deepEqual((await one.getInfo()).volumeMounts, [{ name: 'e2b-volume', path: '/mnt/data' }])
    await one.commands.run('echo kept > /mnt/data/f')
    const two = await Sandbox.create({ volumeMounts: { '/opt/other': 'e2b-volume' } })
    assert.equal(await two.files.read('/opt/other/f'), 'kept\n')
    await fails(Volume.destroy('e2b-volume'), 'VolumeError') // two sandboxes have it
    await one.kill()
    await two.kill()
    assert.deepEqual((await Volume.list()).map((w) => w.name), ['e2b-volume'])
    assert.equal((await Volume.getInfo('e2b-volume')).volumeId, 'e2b-volume')
    const again = await Volume.connect('e2b-volume')
    assert.equal(again.token, v.token)
    assert.equal(await again.readFile('/f'), 'kept\n')
    assert.equal(await Volume.destroy('e2b-volume'), true)
    assert.equal(await Volume.destroy('e2b-volume'), false)
    await fails(Volume.getInfo('e2b-volume'), 'VolumeNotFoundError')
  },

  // What is in a volume, without a sandbox of the client's.
  async volumes_content() {
    const v = await Volume.create('e2b-content')
    assert.deepEqual(await v.list('/'), [])
    const made = await v.makeDir('/deep/er', { force: true, mode: 0o750 })
    assert.deepEqual([made.type, made.path, made.name, made.mode & 0o777], ['directory', '/deep/er', 'er', 0o750])
    await fails(v.makeDir('/deep/er'), 'VolumeError')
    await fails(v.makeDir('/no/where'), 'VolumePathNotFoundError')
    const bytes = Buffer.alloc(3_000_001, 'volume ')
    const written = await v.writeFile('/deep/er/big', new Blob([bytes]))
    assert.deepEqual([written.type, written.size, written.path, written.uid], ['file', bytes.length, '/deep/er/big', 1001])
    assert.ok(written.mtime instanceof Date && Math.abs(written.mtime - Date.now()) < 600000)
    assert.deepEqual(Buffer.from(await v.readFile('/deep/er/big', { format: 'bytes' })), bytes)
    await v.writeFile('/deep/er/big', 'é', { mode: 0o600 })
    assert.equal(await v.readFile('deep/er/big'), 'é')
    await v.writeFile('/new/place/file', '', { force: true })
    assert.equal(await v.readFile('/new/place/file'), '')
    assert.deepEqual((await v.list('/')).map((e) => `${e.type} ${e.path}`), ['directory /deep', 'directory /new'])
    assert.deepEqual((await v.list('/', { depth: 3 })).map((e) => e.path), ['/deep', '/deep/er', '/deep/er/big', '/new', '/new/place', '/new/place/file'])
    assert.equal((await v.updateMetadata('/deep/er/big', { mode: 0o640 })).mode & 0o777, 0o640)
    assert.equal((await v.getInfo('/deep/er/big')).mode & 0o777, 0o640)
    await fails(v.updateMetadata('/deep/er/big', { uid: 5 }), 'VolumeError')
    assert.equal(await v.exists('/deep'), true)
    assert.equal(await v.exists('/nothing'), false)
    await fails(v.getInfo('/nothing'), 'VolumePathNotFoundError')
    await fails(v.readFile('/nothing'), 'VolumePathNotFoundError')
    await fails(v.list('/nothing'), 'VolumePathNotFoundError')
    await fails(v.remove('/nothing'), 'VolumePathNotFoundError')
    await fails(v.readFile('/../etc/passwd'), 'VolumeError')
    const s = await Sandbox.create({ volumeMounts: { '/mnt/v': v } })
    assert.equal((await s.commands.run('cat /mnt/v/deep/er/big; echo mine > /mnt/v/mine')).stdout, 'é')
    assert.equal(await v.readFile('/mine'), 'mine\n')
    await v.remove('/deep')
    assert.equal((await s.commands.run('ls /mnt/v')).stdout, 'mine\nnew\n')
    assert.ok((await Sandbox.list().nextItems()).every((one) => one.sandboxId === s.sandboxId)) // that of the volume is not shown
    const read = (token, volume = 'e2b-content') => fetch(`${process.env.E2B_VOLUME_API_URL}/volumecontent/${volume}/file?path=/mine`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
    assert.equal((await read(v.token)).status, 200)
    for (const bad of [undefined, '', '0', v.token.slice(0, 64), '0' + v.token.slice(1), v.token + '61', process.env.E2B_API_KEY])
      assert.deepEqual([(await read(bad)).status, (await (await read(bad)).json()).code], [401, 401], String(bad))
    assert.equal((await read(v.token, 'e2b-other')).status, 401)
    await s.kill()
    const helper = (await (await fetch(`${process.env.E2B_API_URL}/api/sandboxes?label=e2b.volume%3De2b-content`, { headers: { 'X-API-KEY': process.env.E2B_API_KEY } })).json()).sandboxes
    assert.equal(helper.length, 1) // one for all of these
    await Sandbox.pause(helper[0].sandbox_id, { keepMemory: false }) // as after the daemon's machine was restarted
    await v.remove('/mine')
    assert.equal(await Volume.destroy('e2b-content'), true)
    await fails(v.list('/')) // its token alone makes no new one
    assert.deepEqual(await Volume.list(), [])
  },

  async pause_without_memory() {
    const s = await Sandbox.create()
    await s.files.write('f', 'kept')
    const sleeper = await s.commands.run('sleep 1000', { background: true })
    assert.equal(await s.pause({ keepMemory: false }), true)
    assert.equal((await Sandbox.getInfo(s.sandboxId)).state, 'paused')
    const again = await Sandbox.connect(s.sandboxId)
    assert.deepEqual((await again.commands.list()).filter((p) => p.pid === sleeper.pid), [])
    assert.equal(await again.files.read('f'), 'kept')
    await again.commands.run('sleep 1000', { background: true })
    assert.equal(await again.pause(), true) // with memory, which the next connect gives up
    const rebooted = await Sandbox.connect(s.sandboxId, { onResume: 'reboot' })
    await until('its end', async () => (await rebooted.commands.list()).length === 0) // listed until its end is stored
    assert.equal(await rebooted.files.read('f'), 'kept')
    await rebooted.kill()
  },
})
