// SPDX-License-Identifier: Apache-2.0
// A test script is a list of named functions, run one after the other; the first that fails ends it.
// It also notes which public methods the tests called, and which errors they met, in the file CAY_E2B_CALLED: test_e2b.py compares
// that with what the packages declare.
const assert = require('node:assert/strict')
const fs = require('node:fs')
const stock = require('e2b')
const interpreter = require('@e2b/code-interpreter')

const called = new Set()
const watched = new Set([Object.prototype, Function.prototype, Error.prototype, Array.prototype, Promise.prototype])

// Classes that the packages do not export are found when a method returns one of their objects.
function note(value) {
  if (!value || typeof value !== 'object' || value instanceof Error) return
  watch_classes(value)
  for (const part of ['commands', 'files', 'pty', 'git']) if (Object.hasOwn(value, part)) watch_classes(value[part])
  if (Array.isArray(value.results)) value.results.forEach(watch_classes)
  if (Array.isArray(value.logs?.stdout)) value.error && watch_classes(value.error)
}

function watch_classes(value) {
  if (!value || typeof value !== 'object') return
  for (let p = Object.getPrototypeOf(value); p && !watched.has(p) && p.constructor.name !== 'Object'; p = Object.getPrototypeOf(p))
    watch(p, `${p.constructor.name}#`)
}

function watch(object, name) {
  if (watched.has(object)) return
  watched.add(object)
  for (const [key, d] of Object.entries(Object.getOwnPropertyDescriptors(object))) {
    if (key === 'constructor' || !d.configurable) continue
    const { value, get } = d
    if (get) {
      d.get = function () { called.add(name + key); return get.call(this) }
    } else if (typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value))) {
      d.value = function (...args) {
        called.add(name + key)
        const answer = value.apply(this, args)
        if (answer instanceof Promise) answer.then(note, () => {})
        else note(answer)
        return answer
      }
    }
    Object.defineProperty(object, key, d)
  }
}

function watch_packages() {
  for (const exported of [...Object.values(stock), ...Object.values(interpreter)]) {
    for (let c = exported; typeof c === 'function' && !watched.has(c) && c.prototype && !(c.prototype instanceof Error); c = Object.getPrototypeOf(c)) {
      if (!/^class\b/.test(Function.prototype.toString.call(c))) break
      watch(c.prototype, `${c.name}#`)
      watch(c, `${c.name}.`)
    }
  }
  watch(stock.Template, 'TemplateBase.')
}

if (process.env.CAY_E2B_CALLED) {
  watch_packages()
  process.on('exit', () => fs.appendFileSync(process.env.CAY_E2B_CALLED, [...called].map((name) => name + '\n').join('')))
}

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
  if (name) assert.equal(error.constructor.name, name, `${error.stack}\n${error.stderr ?? ''}`)
  called.add(`!${error.constructor.name}`)
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
