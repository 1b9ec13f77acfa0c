// SPDX-License-Identifier: Apache-2.0
// Templates that clients build: their steps, files, tags, logs and errors.
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Sandbox, Template, waitForFile, waitForPort } = require('e2b')
const { assert, run, fails } = require('./check.cjs')

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cay-e2b-'))
process.on('exit', () => fs.rmSync(folder, { recursive: true }))

function context(files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    fs.writeFileSync(path.join(folder, name), text)
  }
  return Template({ fileContextPath: folder })
}

async function with_sandbox(name, test) {
  const s = await Sandbox.create(name, { timeoutMs: 120000 })
  try {
    return await test(s)
  } finally {
    await s.kill()
  }
}

const said = (s, line, options) => s.commands.run(line, options).then((r) => r.stdout.trim())

run({
  async steps() {
    const template = Template()
      .fromBaseImage()
      .runCmd('echo "[$COLOUR]" > /home/user/before')
      .setEnvs({ COLOUR: 'green', MORE: 'a b' })
      .runCmd('echo "$COLOUR $MORE $(pwd)" > during; echo to stderr >&2')
      .setEnvs({ COLOUR: 'red' })
      .setWorkdir('app')
      .setWorkdir('/opt/x/app')
      .runCmd('pwd > where; id -u > who')
      .makeDir('/opt/made', { mode: 0o700, user: 'root' })
      .runCmd(['touch /opt/made/one', 'chmod 700 /opt/made'], { user: 'root' })
    const logs = []
    const built = await Template.build(template, 'e2b-steps', { onBuildLogs: (e) => logs.push(e), cpuCount: 1, memoryMB: 300 })
    assert.equal(built.name, 'e2b-steps')
    assert.ok(logs.some((e) => e.message === 'to stderr' && e.level === 'warn'), JSON.stringify(logs))
    assert.ok(logs.some((e) => e.message.startsWith('[builder 2/9] ENV')), JSON.stringify(logs))
    await with_sandbox('e2b-steps', async (s) => {
      assert.equal(await s.files.read('/home/user/before'), '[]\n')
      assert.equal(await s.files.read('/home/user/during'), 'green a b /home/user\n')
      assert.equal(await s.files.read('where'), '/opt/x/app\n') // relative: below the template's folder
      assert.equal(await s.files.read('who'), '1001\n')
      assert.equal(await said(s, 'echo $COLOUR $MORE; pwd'), 'red a b\n/opt/x/app')
      assert.equal(await said(s, 'stat -c %a:%u /opt/made', { user: 'root' }), '700:0')
      assert.equal(await said(s, 'pwd', { cwd: '/tmp' }), '/tmp')
      const info = await s.getInfo()
      assert.equal(info.templateId, 'e2b-steps')
      assert.equal(info.memoryMB, 300)
    })
    assert.equal(await Template.exists('e2b-steps'), true)
    assert.equal(await Template.exists('base'), true)
    assert.equal(await Template.exists('e2b-nothing'), false)
    assert.equal(await Sandbox.deleteSnapshot('e2b-steps'), true)
    assert.equal(await Template.exists('e2b-steps'), false)
  },

  async files() {
    const template = context({ 'a.txt': 'A', 'b.txt': 'B', 'src/one.py': '1', 'src/deep/two.py': '2', 'src/.hidden': 'h', 'my file': 'm' })
      .fromTemplate('base')
      .copy('a.txt', '/opt/renamed.txt', { user: 'root', mode: 0o600 })
      .copy('src', '/opt/all')
      .copy('*.txt', 'texts/')
      .copyItems([{ src: 'my file', dest: '/tmp/' }])
      .copy('src/deep/two.py', '/opt/new/place/')
      .runCmd('cat /opt/all/deep/two.py > seen')
    await Template.build(template, 'e2b-files')
    await with_sandbox('e2b-files', async (s) => {
      assert.equal(await said(s, 'stat -c "%a %u" /opt/renamed.txt; cat /opt/renamed.txt', { user: 'root' }), '600 0\nA')
      assert.equal(await said(s, 'cd /opt/all && find . -type f | sort'), './.hidden\n./deep/two.py\n./one.py')
      assert.equal(await said(s, 'stat -c %u /opt/all/one.py texts/a.txt'), '0\n1001') // root cannot give files away here
      assert.equal(await said(s, 'ls texts'), 'a.txt\nb.txt')
      assert.equal(await said(s, 'cat "/tmp/my file"; stat -c %a /tmp'), 'm1777')
      assert.equal(await s.files.read('/opt/new/place/two.py'), '2')
      assert.equal(await s.files.read('seen'), '2')
      assert.equal(await s.files.exists('/tmp/.e2b-copy'), false)
    })
    await Sandbox.deleteSnapshot('e2b-files')
  },

  async a_template_of_a_template_and_its_start_command() {
    await Template.build(Template().fromImage('e2bdev/code-interpreter:latest').setWorkdir('/opt/srv').runCmd('echo base > f'), 'e2b-below')
    const template = Template()
      .fromTemplate('e2b-below')
      .runCmd('cat f > g')
      .setUser('root')
      .setStartCmd('echo $$ > /opt/srv/started; cd /opt/srv && exec python3 -m http.server 8123', waitForPort(8123))
    await Template.build(template, 'e2b-above')
    await with_sandbox('e2b-above', async (s) => {
      assert.equal(await said(s, 'cat g; id -u; pwd'), 'base\n0\n/opt/srv')
      assert.match(await said(s, 'python3 -c "import urllib.request as u; print(u.urlopen(\'http://127.0.0.1:8123/g\').read())"'), /base/)
      assert.equal(await said(s, 'id -u', { user: 'user' }), '1001')
    })
    const never = Template().fromTemplate('e2b-below').setReadyCmd(waitForFile('/tmp/there')).runCmd('touch /tmp/there')
    await Template.build(never, 'e2b-ready')
    await with_sandbox('e2b-ready', async (s) => assert.equal(await s.isRunning(), true))
    for (const name of ['e2b-below', 'e2b-above', 'e2b-ready']) await Sandbox.deleteSnapshot(name)
  },

  async tags() {
    const built = await Template.build(Template().fromBaseImage().runCmd('echo 1 > v'), 'e2b-tags:v1', { tags: ['stable'] })
    assert.deepEqual([...built.tags].sort(), ['stable', 'v1'])
    assert.equal(await Template.exists('e2b-tags:v1'), true)
    assert.equal(await Template.exists('e2b-tags'), false) // nothing is the default yet
    await Template.build(Template().fromBaseImage().runCmd('echo 2 > v'), 'e2b-tags')
    await Template.build(Template().fromBaseImage().runCmd('echo 3 > v'), 'e2b-tags:stable')
    for (const [name, v] of [['e2b-tags', '2'], ['e2b-tags:v1', '1'], ['e2b-tags:stable', '3']]) {
      await with_sandbox(name, async (s) => assert.equal((await s.files.read('v')).trim(), v))
    }
    const assigned = await Template.assignTags('e2b-tags:v1', ['production', 'eu'])
    assert.deepEqual([...assigned.tags].sort(), ['eu', 'production'])
    await with_sandbox('e2b-tags:production', async (s) => assert.equal((await s.files.read('v')).trim(), '1'))
    assert.deepEqual((await Template.getTags('e2b-tags')).map((t) => t.tag).sort(), ['default', 'eu', 'production', 'stable', 'v1'])
    await Template.removeTags('e2b-tags', 'eu')
    assert.equal(await Template.exists('e2b-tags:eu'), false)
    await fails(Template.removeTags('e2b-tags', 'eu'), 'TemplateError')
    await fails(Template.assignTags('e2b-nothing:v1', 'x'), 'TemplateError')
    await fails(Template.getTags('e2b-nothing'), 'TemplateError')
    await Sandbox.deleteSnapshot('e2b-tags')
    assert.equal(await Template.exists('e2b-tags:v1'), false) // a template goes with its tags
  },

  async errors() {
    const failing = Template().fromBaseImage().runCmd('true').runCmd('echo it is broken; exit 7')
    const logs = []
    const error = await fails(Template.build(failing, 'e2b-broken', { onBuildLogs: (e) => logs.push(e.message) }), 'BuildError')
    assert.match(error.message, /step 2 failed: exit status 7/)
    assert.ok(logs.includes('it is broken'), logs.join('\n'))
    assert.equal(await Template.exists('e2b-broken'), false)
    const data = await Template.buildInBackground(failing, 'e2b-broken')
    let status
    do status = await Template.getBuildStatus(data)
    while (status.status === 'building' || status.status === 'waiting')
    assert.equal(status.status, 'error')
    assert.equal(status.reason.step, '2')
    assert.match((await fails(Template.build(Template().fromUbuntuImage('22.04'), 'e2b-no'), 'BuildError')).message, /ubuntu:22.04/)
    assert.match((await fails(Template.build(Template().fromBaseImage().setUser('somebody'), 'e2b-no'), 'BuildError')).message, /somebody/)
    await fails(Template.build(Template().fromTemplate('e2b-nothing'), 'e2b-no'), 'BuildError')
    await fails(Template.build(Template().fromBaseImage(), 'python'), 'BuildError') // the operator's
    await fails(Template.build(Template().fromBaseImage(), 'no spaces'), 'BuildError')
    await fails(Template.getBuildStatus({ templateId: 'e2b-broken', buildId: '0'.repeat(32) }), 'BuildError')
    await fails(Template.build(Template().fromBaseImage(), 'e2b-no', { apiKey: 'e2b_' + '0'.repeat(40) }), 'AuthenticationError')
    await fails(Sandbox.deleteSnapshot('python'), 'SandboxError')
    const upload = await fetch(`${process.env.E2B_API_URL}/templates/.uploads/${'0'.repeat(32)}/${'0'.repeat(64)}`, { method: 'PUT', body: 'x' })
    assert.equal(upload.status, 404)
  },
})
