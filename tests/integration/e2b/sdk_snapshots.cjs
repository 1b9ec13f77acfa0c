// SPDX-License-Identifier: Apache-2.0
// Snapshots and forks: the files of a sandbox, for others.
const { Sandbox } = require('e2b')
const { assert, run, fails } = require('./check.cjs')

async function all(options) {
  const pages = Sandbox.listSnapshots(options)
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()))
  return found
}

async function only(sandboxes) {
  for (const s of sandboxes) assert.equal(await s.kill(), true)
}

run({
  async a_snapshot_outlives_its_sandbox() {
    const s = await Sandbox.create({ envs: { COLOUR: 'green' } })
    await s.files.write('note.txt', 'first')
    const shot = await s.createSnapshot()
    assert.match(shot.snapshotId, /^[a-z0-9]+:default$/)
    assert.deepEqual(shot.names, [])
    await s.files.write('note.txt', 'second')
    await s.kill()
    const one = await Sandbox.create(shot.snapshotId)
    const two = await Sandbox.create(shot.snapshotId)
    assert.equal(await one.files.read('note.txt'), 'first')
    assert.equal((await one.commands.run('echo $COLOUR')).stdout, 'green\n')
    assert.equal((await one.getInfo()).templateId, shot.snapshotId)
    await one.files.write('note.txt', 'third')
    assert.equal(await two.files.read('note.txt'), 'first')
    await only([one, two])
    assert.equal(await Sandbox.deleteSnapshot(shot.snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(shot.snapshotId), false)
    assert.equal((await fails(Sandbox.create(shot.snapshotId), 'SandboxError')).statusCode ?? 404, 404)
  },

  async names_mean_the_newest() {
    const s = await Sandbox.create()
    await s.files.write('v', '1')
    const first = await Sandbox.createSnapshot(s.sandboxId, { name: 'e2b-test' })
    assert.deepEqual(first.names, ['e2b-test:default'])
    await s.files.write('v', '2')
    const second = await s.createSnapshot({ name: 'e2b-test' })
    const third = await s.createSnapshot({ name: 'e2b-test:old' })
    assert.deepEqual(third.names, ['e2b-test:old'])
    const made = await Sandbox.create('e2b-test')
    assert.equal(await made.files.read('v'), '2')
    const old = await Sandbox.create('e2b-test:old')
    assert.deepEqual((await all({ name: 'e2b-test' })).map((f) => f.snapshotId), [second.snapshotId])
    assert.deepEqual(await all({ name: 'nobody' }), [])
    await fails(s.createSnapshot({ name: 'python' }), 'SandboxError') // a template of the registry
    await fails(s.createSnapshot({ name: 'no spaces' }), 'SandboxError')
    await only([s, made, old])
    for (const shot of await all()) assert.equal(await Sandbox.deleteSnapshot(shot.snapshotId), true)
  },

  async lists_have_pages() {
    const s = await Sandbox.create()
    const other = await Sandbox.create()
    const ids = []
    for (let i = 0; i < 3; i++) ids.unshift((await s.createSnapshot()).snapshotId)
    const last = await other.createSnapshot()
    assert.deepEqual((await all()).map((f) => f.snapshotId), [last.snapshotId, ...ids])
    assert.deepEqual((await all({ sandboxId: s.sandboxId })).map((f) => f.snapshotId), ids)
    const pages = s.listSnapshots({ limit: 2 })
    assert.equal((await pages.nextItems()).length, 2)
    assert.equal(pages.hasNext, true)
    assert.equal((await pages.nextItems()).length, 1)
    assert.equal(pages.hasNext, false)
    await only([s, other])
    assert.equal((await all()).length, 4)
    for (const shot of await all()) await Sandbox.deleteSnapshot(shot.snapshotId)
    assert.deepEqual(await all(), [])
    await fails(Sandbox.createSnapshot(s.sandboxId), 'SandboxNotFoundError')
    await fails(Sandbox.listSnapshots({ limit: 1000 }).nextItems(), 'SandboxError')
  },

  async a_paused_sandbox_has_snapshots() {
    const s = await Sandbox.create()
    await s.files.write('f', 'x')
    await s.pause()
    const shot = await Sandbox.createSnapshot(s.sandboxId)
    assert.equal((await Sandbox.getInfo(s.sandboxId)).state, 'paused')
    const made = await Sandbox.create(shot.snapshotId)
    assert.equal(await made.files.read('f'), 'x')
    await Sandbox.kill(s.sandboxId)
    await made.kill()
    await Sandbox.deleteSnapshot(shot.snapshotId)
  },

  async forks() {
    const s = await Sandbox.create({ metadata: { team: 'red' }, lifecycle: { onTimeout: 'pause' } })
    await s.files.write('f', 'of the source')
    const forks = await s.fork({ count: 3, timeoutMs: 120000 })
    assert.equal(forks.length, 3)
    for (const [i, f] of forks.entries()) {
      assert.ok(f instanceof Sandbox, String(f))
      assert.equal(await f.files.read('f'), 'of the source')
      await f.files.write('f', `of fork ${i}`)
      const info = await f.getInfo()
      assert.deepEqual(info.metadata, { team: 'red' })
      assert.equal(info.lifecycle.onTimeout, 'pause')
      assert.ok(info.endAt - Date.now() > 60000 && info.endAt - Date.now() < 125000)
    }
    assert.equal(await forks[0].files.read('f'), 'of fork 0')
    assert.equal(await s.files.read('f'), 'of the source')
    const [one] = await Sandbox.fork(s.sandboxId)
    assert.equal(await one.isRunning(), true)
    await fails(s.fork({ count: 0 })) // 2.45 says so itself
    await fails(s.fork({ count: 101 }), 'SandboxError')
    assert.equal((await all()).length, 0) // what the forks were made of is gone
    await only([s, one, ...forks])
    await fails(Sandbox.fork(s.sandboxId), 'SandboxNotFoundError')
  },
})
