// SPDX-License-Identifier: Apache-2.0
// The engine is gone and does not return (test_e2b.py).
const { Sandbox } = require('e2b')
const { assert, run, fails } = require('./check.cjs')

run({
  async no_engine() {
    const error = await fails(Sandbox.create(), 'ServiceBusyError')
    assert.match(error.message, /engine|helper|warden|retry/i)
    assert.deepEqual(await Sandbox.list().nextItems(), [])
  },
})
