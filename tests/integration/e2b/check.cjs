// SPDX-License-Identifier: Apache-2.0
// A test script is a list of named functions, run one after the other; the first that fails ends it.
const assert = require('node:assert/strict')

async function run(tests) {
  const wanted = process.argv.slice(2)
  for (const [name, test] of Object.entries(tests)) {
    if (wanted.length && !wanted.includes(name)) continue
    const begun = Date.now()
    try {
      await test()
    } catch (error) {
      console.error(`${name} failed: ${error}`, error) // a BuildError's stack has no message
      process.exit(1)
    }
    console.log(`ok ${name} (${Date.now() - begun} ms)`)
  }
  process.exit(0)
}

// The error of a promise, which has to fail, by the name of its class.
async function fails(promise, name) {
  let error
  try {
    await promise
  } catch (e) {
    error = e
  }
  assert.ok(error, `expected ${name}, and nothing failed`)
  if (name) assert.equal(error.constructor.name, name, error.stack)
  return error
}

// Waits for a state, never for a time.
async function until(what, check) {
  for (let i = 0; i < 1200; i++) {
    const found = await check()
    if (found) return found
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error(`waited in vain for ${what}`)
}

module.exports = { assert, run, fails, until }
