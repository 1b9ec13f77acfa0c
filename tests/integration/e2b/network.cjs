// SPDX-License-Identifier: Apache-2.0
// With e2b_network = bridge (test_e2b.py): what a sandbox may reach is changed, and forks have the same.
const { Sandbox } = require('e2b')
const { assert, run, fails } = require('./check.cjs')

async function fork(s) {
  const [f] = await s.fork()
  assert.ok(f instanceof Sandbox, String(f))
  return f
}

const open = async (s) => (await s.getInfo()).allowInternetAccess

run({
  async internet_as_there() {
    const s = await Sandbox.create()
    assert.equal(await open(s), true)
    const f = await fork(s)
    assert.equal(await open(f), true)
    await f.updateNetwork({ allowInternetAccess: false })
    assert.equal(await open(f), false)
    assert.equal(await open(s), true)
    const g = await fork(f)
    assert.equal(await open(g), false)
    await s.updateNetwork({ allowOut: ['pypi.org'], denyOut: ['0.0.0.0/0'] })
    assert.equal(await open(s), true)
    const h = await fork(s)
    assert.equal(await open(h), true)
    await fails(s.updateNetwork({ allowOut: ['not a host'], denyOut: ['0.0.0.0/0'] }), 'SandboxError')
    for (const b of [s, f, g, h]) assert.equal(await b.kill(), true)
  },
})
