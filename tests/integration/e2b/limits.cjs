// SPDX-License-Identifier: Apache-2.0
// A daemon that has little (test_e2b.py): what a client is told when there is no more of it.
const crypto = require('node:crypto')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Sandbox, Template } = require('e2b')
const { assert, run, fails } = require('./check.cjs')

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cay-e2b-'))
process.on('exit', () => fs.rmSync(folder, { recursive: true }))

run({
  async sandboxes() {
    const s = await Sandbox.create()
    const error = await fails(Sandbox.create({ retries: 0 }), 'RateLimitError')
    assert.match(error.message, /1|max_sandboxes/)
    await s.kill()
    await (await Sandbox.create()).kill()
  },

  async files_for_a_build() {
    fs.writeFileSync(path.join(folder, 'large'), crypto.randomBytes(24 << 20))
    const template = Template({ fileContextPath: folder }).fromBaseImage().copy('large', '/tmp/')
    await fails(Template.build(template, 'e2b-large'), 'FileUploadError')
    assert.equal(await Template.exists('e2b-large'), false)
  },
})
