// SPDX-License-Identifier: Apache-2.0
// One sandbox after the other, each from Sandbox.create() to the first result of runCode; then 100 at once. For bench_e2b.py: prints JSON.
// e2b_run.cjs ROUNDS CROWD
const { spawn, spawnSync } = require('node:child_process')
const { Sandbox } = require('@e2b/code-interpreter')

const [rounds, crowd] = process.argv.slice(2).map(Number)
const ms = () => Number(process.hrtime.bigint()) / 1e6

async function one() {
  const begun = ms()
  const sandbox = await Sandbox.create()
  const made = ms()
  const run = await sandbox.runCode('1 + 1')
  const done = ms()
  if (run.text !== '2') throw new Error(`1 + 1 is ${run.text}: ${run.error?.value}`)
  return { sandbox, created: made - begun, first: done - begun }
}

function bare() {
  const begun = ms()
  if (spawnSync('python3', ['-c', 'print(1 + 1)']).status !== 0) throw new Error('python3 does not run')
  return ms() - begun
}

// The same number of bare interpreters at once.
async function bare_crowd(count) {
  const begun = ms()
  await Promise.all(Array.from({ length: count }, () => new Promise((done, failed) => {
    spawn('python3', ['-c', 'print(1 + 1)'], { stdio: 'ignore' }).on('error', failed).on('exit', done)
  })))
  return ms() - begun
}

async function main() {
  const rows = { created: [], first: [], bare: [] }
  for (let i = 0; i < rounds + 3; i++) {
    const { sandbox, created, first } = await one()
    await sandbox.kill()
    const alone = bare()
    if (i < 3) continue // connections, the pool
    rows.created.push(created)
    rows.first.push(first)
    rows.bare.push(alone)
    await new Promise((done) => setTimeout(done, 30)) // the pool gets its next box
  }
  rows.crowd = []
  rows.crowd_first = []
  rows.crowd_bare = []
  for (let i = 0; i < 3; i++) {
    const begun = ms()
    const all = await Promise.all(Array.from({ length: crowd }, one))
    rows.crowd.push(ms() - begun)
    rows.crowd_first.push(...all.map((o) => o.first))
    await Promise.all(all.map((o) => o.sandbox.kill()))
    rows.crowd_bare.push(await bare_crowd(crowd))
  }
  console.log(JSON.stringify(rows))
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1) })
