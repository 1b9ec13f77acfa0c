// SPDX-License-Identifier: Apache-2.0
// The control plane: making, finding, pausing and ending sandboxes.
const { Sandbox } = require('e2b')
const old = require('e2b-2-45')
const { assert, run, fails, until } = require('./check.cjs')

async function all(options) {
  const pages = Sandbox.list(options)
  const found = []
  while (pages.hasNext) found.push(...(await pages.nextItems()))
  return found
}

run({
  async create_get_kill() {
    const s = await Sandbox.create({ metadata: { a: 'b c', 'k&1': 'v=2' }, timeoutMs: 60000 })
    assert.match(s.sandboxId, /^[a-z0-9]{20,50}$/)
    const info = await s.getInfo()
    assert.equal(info.sandboxId, s.sandboxId)
    assert.equal(info.templateId, 'base')
    assert.deepEqual(info.metadata, { a: 'b c', 'k&1': 'v=2' })
    assert.equal(info.state, 'running')
    assert.ok(Math.abs(info.endAt - info.startedAt - 60000) < 3000, `${info.startedAt} ${info.endAt}`)
    assert.ok(info.cpuCount >= 1 && info.memoryMB > 0)
    assert.equal(info.allowInternetAccess, false)
    assert.equal(await s.isRunning(), true)
    assert.equal(s.getHost(3000), `3000-${s.sandboxId}.e2b.app`)
    assert.equal(await s.kill(), true)
    assert.equal(await s.isRunning(), false)
    assert.equal(await Sandbox.kill(s.sandboxId), false)
    await fails(Sandbox.getInfo(s.sandboxId), 'SandboxNotFoundError')
    await fails(Sandbox.connect(s.sandboxId), 'SandboxNotFoundError')
    await fails(Sandbox.setTimeout(s.sandboxId, 1000), 'SandboxNotFoundError')
  },

  async keys() {
    await fails(Sandbox.create({ apiKey: 'e2b_' + '0'.repeat(40) }), 'AuthenticationError')
    await fails(Sandbox.create({ apiKey: 'nonsense' }), 'AuthenticationError')
    const s = await Sandbox.create()
    const foreign = await fetch(`${process.env.E2B_SANDBOX_URL}/process.Process/List`, {
      method: 'POST', body: '{}',
      headers: { 'content-type': 'application/json', 'e2b-sandbox-id': s.sandboxId, 'x-access-token': '0'.repeat(64) },
    })
    assert.equal(foreign.status, 401)
    assert.equal((await foreign.json()).code, 401)
    await s.kill()
  },

  async templates() {
    const error = await fails(Sandbox.create('no-such-template'), 'SandboxError')
    assert.equal(error.statusCode ?? 404, 404)
    const s = await Sandbox.create('python')
    assert.equal((await s.getInfo()).templateId, 'python')
    await s.kill()
  },

  async list_and_pages() {
    const mark = { run: `list ${Date.now()} &=%` }
    const made = []
    for (let i = 0; i < 3; i++) made.push(await Sandbox.create({ metadata: { ...mark, nr: String(i) } }))
    const ids = made.map((s) => s.sandboxId)
    const found = await all({ query: { metadata: mark } })
    assert.deepEqual(found.map((f) => f.sandboxId), [...ids].reverse())
    assert.equal(found[0].metadata.nr, '2')
    assert.deepEqual((await all({ query: { metadata: { ...mark, nr: '1' } } })).map((f) => f.sandboxId), [ids[1]])
    assert.deepEqual(await all({ query: { metadata: { run: 'another' } } }), [])
    const pages = Sandbox.list({ query: { metadata: mark }, limit: 2 })
    assert.equal((await pages.nextItems()).length, 2)
    assert.equal(pages.hasNext, true)
    assert.equal((await pages.nextItems()).length, 1)
    assert.equal(pages.hasNext, false)
    await made[1].pause()
    assert.deepEqual((await all({ query: { metadata: mark, state: ['paused'] } })).map((f) => f.sandboxId), [ids[1]])
    assert.equal((await all({ query: { metadata: mark, state: ['running'] } })).length, 2)
    assert.equal((await all({ query: { metadata: mark, state: ['running', 'paused'] } })).length, 3)
    for (const s of made) await Sandbox.kill(s.sandboxId)
  },

  async time_to_live() {
    const s = await Sandbox.create({ timeoutMs: 120000 })
    const first = (await s.getInfo()).endAt.getTime()
    await Sandbox.connect(s.sandboxId, { timeoutMs: 10000 }) // shorter: nothing changes
    assert.equal((await s.getInfo()).endAt.getTime(), first)
    await Sandbox.connect(s.sandboxId, { timeoutMs: 600000 })
    const second = (await s.getInfo()).endAt.getTime()
    assert.ok(second - first > 400000)
    await s.setTimeout(30000)
    assert.ok((await s.getInfo()).endAt.getTime() < first)
    await s.setTimeout(0)
    await until('its end', async () => !(await s.isRunning()))
    await fails(Sandbox.getInfo(s.sandboxId), 'SandboxNotFoundError')
  },

  async pause_and_resume() {
    const s = await Sandbox.create()
    assert.notEqual(await s.pause(), false)
    assert.equal(await s.isRunning(), false)
    assert.equal((await Sandbox.getInfo(s.sandboxId)).state, 'paused')
    assert.equal(await Sandbox.pause(s.sandboxId), false) // it is paused already
    const again = await Sandbox.connect(s.sandboxId, { timeoutMs: 60000 })
    assert.equal(again.sandboxId, s.sandboxId)
    assert.equal(await again.isRunning(), true)
    const info = await again.getInfo()
    assert.ok(info.endAt - Date.now() > 30000 && info.endAt - Date.now() < 70000)
    await s.kill()
    await fails(Sandbox.pause(s.sandboxId), 'SandboxNotFoundError')
  },

  async pause_at_the_end_of_its_time() {
    const s = await Sandbox.create({ timeoutMs: 1000, lifecycle: { onTimeout: 'pause' } })
    await until('its pause', async () => (await Sandbox.getInfo(s.sandboxId)).state === 'paused')
    assert.equal((await Sandbox.getInfo(s.sandboxId)).lifecycle.onTimeout, 'pause')
    const again = await Sandbox.connect(s.sandboxId)
    assert.equal((await again.getInfo()).state, 'running')
    await again.kill()
  },

  async metrics() {
    const s = await Sandbox.create()
    const metrics = await s.getMetrics()
    assert.ok(metrics.length >= 1)
    assert.ok(metrics.at(-1).memTotal > 0 && metrics.at(-1).cpuCount >= 1, JSON.stringify(metrics))
    assert.deepEqual(await s.getMetrics({ start: new Date(0), end: new Date(1000) }), [])
    await s.kill()
    await fails(Sandbox.getMetrics(s.sandboxId), 'SandboxNotFoundError')
  },

  async what_is_not_there() {
    const s = await Sandbox.create()
    const error = await fails(Sandbox.create({ network: { maskRequestHost: 'x.example' } }), 'SandboxError')
    assert.match(error.message, /maskRequestHost/)
    await s.kill()
  },

  async the_generation_before() {
    const s = await old.Sandbox.create({ timeoutMs: 60000 })
    assert.equal(await s.isRunning(), true)
    const again = await old.Sandbox.connect(s.sandboxId)
    assert.equal(again.sandboxId, s.sandboxId)
    assert.equal(await s.kill(), true)
  },
})
