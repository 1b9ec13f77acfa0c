// SPDX-License-Identifier: Apache-2.0
// Methods and errors that the other scripts have no use for: surface.py asks for each.
const stock = require('e2b')
const { Sandbox } = require('@e2b/code-interpreter')
const { assert, run, fails, until } = require('./check.cjs')

const { E2B, Secret, Template, Volume, getSignature } = stock

run({
  async a_bound_client() {
    const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = process.env
    const client = new E2B({ apiKey, apiUrl, sandboxUrl })
    const s = await client.Sandbox.create({ metadata: { by: 'client' } })
    assert.equal((await s.commands.run('echo bound')).stdout, 'bound\n')
    assert.equal(await client.Template.exists('base'), true)
    assert.deepEqual(await client.Volume.list(), [])
    await fails(client.Secret.create('a', 'b'), 'SecretError')
    await s.kill()
    const stranger = new E2B({ apiKey: 'e2b_' + '1'.repeat(40), apiUrl, sandboxUrl })
    await fails(stranger.Sandbox.create(), 'AuthenticationError')
  },

  async one_more_way_to_say_it() {
    const s = await Sandbox.create({ timeoutMs: 60000 })
    assert.equal(s.sandboxDomain, 'e2b.app')
    assert.match(s.trafficAccessToken, /^[0-9a-f]{64}$/)
    const full = await Sandbox.getFullInfo(s.sandboxId)
    assert.equal(full.sandboxId, s.sandboxId)
    assert.equal((await Sandbox.getInfo(s.sandboxId)).envdVersion, full.envdVersion)
    await Sandbox.setTimeout(s.sandboxId, 120000)
    assert.equal((await Sandbox.getMetrics(s.sandboxId)).length >= 1, true)
    assert.equal(await s.betaPause(), true)
    assert.equal(await Sandbox.betaPause(s.sandboxId), false)
    const again = await s.connect({ timeoutMs: 300000 })
    assert.equal(again, s)
    assert.equal(await s.isRunning(), true)
    await Sandbox.updateNetwork(s.sandboxId, { allowInternetAccess: false })
    const pages = Sandbox.list({ limit: 1 })
    assert.equal((await pages.nextItems()).length, 1)
    assert.equal(pages.nextToken, undefined)
    assert.equal(pages.hasNext, false)
    assert.equal(await Sandbox.kill(s.sandboxId), true)
  },

  async signatures() {
    const s = await Sandbox.create()
    await s.files.write('x', 'by hand')
    const envdAccessToken = new URL(await s.downloadUrl('x')).searchParams.get('signature') && s.envdAccessToken
    const { signature } = await getSignature({ path: 'x', operation: 'read', user: undefined, envdAccessToken })
    const url = `${process.env.E2B_SANDBOX_URL}/files?path=x&signature=${encodeURIComponent(signature)}`
    assert.equal(await (await fetch(url)).text(), 'by hand')
    await s.kill()
  },

  async handles() {
    const s = await Sandbox.create()
    assert.equal(s.commands.supportsStdinClose, true)
    const command = await s.commands.run('cat; echo e >&2; exit 3', { background: true, stdin: true })
    await command.sendStdin('text')
    await command.closeStdin()
    await fails(command.wait(), 'CommandExitError')
    assert.deepEqual([command.stdout, command.stderr, command.exitCode, command.error], ['text', 'e\n', 3, 'exit status 3'])
    let seen = ''
    const onData = (d) => { seen += Buffer.from(d).toString() }
    const first = await s.pty.create({ cols: 80, rows: 24, onData: () => {} })
    const second = await s.pty.connect(first.pid, { onData })
    await s.pty.sendInput(first.pid, Buffer.from('echo $((6 * 7))\n'))
    await until('the second', async () => seen.includes('42'))
    await second.disconnect()
    assert.equal(await first.kill(), true)
    await fails(s.pty.connect(999999, { onData }), 'NotFoundError')
    assert.equal(await s.pty.kill(999999), false)
    await fails(s.pty.resize(999999, { cols: 80, rows: 24 }), 'NotFoundError')
    await fails(s.pty.sendInput(999999, Buffer.from('x')), 'NotFoundError')
    await s.kill()
  },

  async results_and_their_forms() {
    const s = await Sandbox.create()
    const done = await s.runCode(`
class Shown:
    def _repr_html_(self): return '<b>x</b>'
    def _repr_markdown_(self): return '**x**'
    def _repr_svg_(self): return '<svg/>'
    def _repr_latex_(self): return '$x$'
    def _repr_javascript_(self): return 'x'
    def _repr_png_(self): return b'png'
    def _repr_jpeg_(self): return b'jpeg'
    def _repr_pdf_(self): return b'pdf'
    def _repr_mimebundle_(self): return {'application/x-own': 'own'}
    def __repr__(self): return 'Shown'
display(Shown())
{'a': [1, 2]}`)
    const [shown, main] = done.results
    assert.equal(shown.isMainResult, false)
    assert.equal(main.isMainResult, true)
    assert.deepEqual([shown.html, shown.markdown, shown.svg, shown.latex, shown.javascript], ['<b>x</b>', '**x**', '<svg/>', '$x$', 'x'])
    assert.deepEqual([shown.png, shown.jpeg, shown.pdf].map((b) => Buffer.from(b, 'base64').toString()), ['png', 'jpeg', 'pdf'])
    assert.deepEqual(shown.extra, { 'application/x-own': 'own' })
    assert.ok(shown.formats().includes('html') && shown.raw.text === 'Shown' && shown.toJSON().html === '<b>x</b>')
    assert.deepEqual(main.json, { a: [1, 2] })
    assert.equal(main.chart, undefined)
    assert.equal(main.data, undefined)
    assert.equal(done.text, "{'a': [1, 2]}")
    assert.deepEqual(done.toJSON().logs, { stdout: [], stderr: [] })
    let heard
    const failed = await s.runCode('print("one")\n1/0', { onStdout: (m) => { heard = m } })
    assert.deepEqual([heard.line, heard.error], ['one\n', false])
    assert.equal(typeof heard.timestamp, 'number')
    assert.deepEqual([failed.error.name, failed.error.value], ['ZeroDivisionError', 'division by zero'])
    assert.match(failed.error.traceback, /1\/0/)
    await s.kill()
  },

  async git_and_its_errors() {
    const s = await Sandbox.create()
    await s.git.configureUser('Test', 'test@example.org')
    assert.equal(await s.git.getConfig('user.name'), 'Test')
    await s.git.setConfig('core.abbrev', '12')
    assert.equal(await s.git.getConfig('core.abbrev'), '12')
    await s.git.init('p', { initialBranch: 'main' })
    await s.files.write('p/a', '1')
    await s.git.add('p')
    await s.git.commit('p', 'first')
    await s.git.createBranch('p', 'side')
    await s.git.checkoutBranch('p', 'main')
    await s.git.deleteBranch('p', 'side', { force: true })
    assert.deepEqual((await s.git.branches('p')).branches, ['main'])
    await s.files.write('p/a', '2')
    await s.git.restore('p', { paths: ['a'] })
    assert.equal(await s.files.read('p/a'), '1')
    await s.files.write('p/a', '3')
    await s.git.add('p')
    await s.git.reset('p', { mode: 'hard' })
    assert.equal(await s.files.read('p/a'), '1')
    await s.files.write('locked.py', `
from http.server import BaseHTTPRequestHandler, HTTPServer
class H(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(401)
        self.send_header('WWW-Authenticate', 'Basic realm="git"')
        self.send_header('Content-Length', '0')
        self.end_headers()
server = HTTPServer(('127.0.0.1', 8000), H)
print('ready', flush=True)
server.serve_forever()
`)
    await new Promise((done) => { s.commands.run('python3 locked.py', { background: true, onStdout: done }) })
    await s.git.remoteAdd('p', 'origin', 'http://127.0.0.1:8000/p.git')
    assert.equal(await s.git.remoteGet('p', 'origin'), 'http://127.0.0.1:8000/p.git')
    await fails(s.git.push('p', { setUpstream: false }), 'GitUpstreamError')
    await fails(s.git.pull('p'), 'GitUpstreamError')
    await fails(s.git.clone('http://127.0.0.1:8000/p.git', { path: 'q' }), 'GitAuthError')
    await s.git.dangerouslyAuthenticate({ username: 'u', password: 'p', host: '127.0.0.1:8000', protocol: 'http' })
    await fails(s.git.push('p', { remote: 'origin', branch: 'main', username: 'u', password: 'wrong' }))
    await s.kill()
  },

  async templates_by_other_words() {
    const ready = [stock.waitForPort(80), stock.waitForURL('http://localhost:80'), stock.waitForProcess('x'), stock.waitForFile('/x'),
      stock.waitForTimeout(1000)]
    for (const r of ready) assert.equal(typeof r.getCmd(), 'string')
    const logs = []
    const template = Template()
      .fromBaseImage()
      .skipCache()
      .makeDir('d')
      .runCmd('echo 1 > d/a; echo 2 > d/b; echo 3 > d/c')
      .rename('d/a', 'd/z')
      .remove('d/b')
      .makeSymlink('c', 'd/link')
      .setReadyCmd(stock.waitForFile('/home/user/d/z'))
    const dockerfile = Template.toDockerfile(Template().fromImage('python:3').runCmd('true'))
    assert.match(dockerfile, /FROM python:3\n/)
    assert.equal(JSON.parse(await Template.toJSON(template)).steps.length, 5)
    await Template.build(template, 'e2b-words', { onBuildLogs: (e) => { logs.push(e); stock.defaultBuildLogger({ minLevel: 'error' })(e) } })
    assert.ok(logs.every((e) => e.timestamp instanceof Date && String(e).includes(e.message.trim().slice(0, 5)) && e.level), String(logs))
    assert.equal(await Template.aliasExists('e2b-words'), true)
    const s = await Sandbox.create('e2b-words')
    assert.equal((await s.commands.run('cat d/z d/link; ls d')).stdout, '1\n3\nc\nlink\nz\n')
    await s.kill()
    await Sandbox.deleteSnapshot('e2b-words')
    // A Dockerfile, step by step.
    await Template.build(Template().fromDockerfile('FROM e2bdev/base\nENV A=1\nWORKDIR /opt/df\nRUN echo $A > a\n'), 'e2b-dockerfile')
    const d = await Sandbox.create('e2b-dockerfile')
    assert.equal(await d.files.read('/opt/df/a'), '1\n')
    await d.kill()
    await Sandbox.deleteSnapshot('e2b-dockerfile')
  },

  // Steps that need a network or a larger image: what they run is the client's matter, that it fails is told.
  async templates_that_need_more() {
    const base = () => Template().fromBaseImage().setEnvs({ PIP_RETRIES: '0', npm_config_fetch_retries: '0' })
    const failing = {
      apt: base().aptInstall(['no-such-package-here']), pip: base().pipInstall(['no-such-package-here']),
      npm: base().npmInstall(['no-such-package-here']), bun: base().bunInstall(['no-such-package-here']),
      git: base().gitClone('http://127.0.0.1:9/p.git', 'p'),
    }
    for (const [name, template] of Object.entries(failing)) {
      const error = await fails(Template.build(template, `e2b-needs-${name}`), 'BuildError')
      assert.match(error.message, /step 2 /, `${name}: ${error.message}`)
    }
    const images = {
      'debian:': (t) => t.fromDebianImage(), 'ubuntu:': (t) => t.fromUbuntuImage(), 'python:': (t) => t.fromPythonImage(),
      'node:': (t) => t.fromNodeImage(), 'bun:': (t) => t.fromBunImage(), 'alpine:': (t) => t.fromAlpineImage(),
      'fedora:': (t) => t.fromFedoraImage(), 'arch': (t) => t.fromArchImage(), 'own/image': (t) => t.fromImage('own/image'),
      '': (t) => t.fromAWSRegistry('x.example/i:1', { accessKeyId: 'a', secretAccessKey: 'b', region: 'c' }),
      'registry': (t) => t.fromGCPRegistry('gcr.example/i:1', { serviceAccountJSON: { type: 'x' } }),
    }
    for (const [name, from] of Object.entries(images)) {
      const error = await fails(Template.build(from(Template()).runCmd('true'), 'e2b-image'), 'BuildError')
      assert.ok(error.message.includes(name) && /^501/.test(error.message), error.message)
    }
    await fails(Promise.resolve().then(() => Template().fromTemplate('mcp-gateway').addMcpServer('exa')).then((t) => Template.build(t, 'e2b-mcp')), 'BuildError')
    const dev = Template().fromTemplate('devcontainer')
    await fails(Promise.resolve().then(() => Template.build(dev.betaDevContainerPrebuild('/w').betaSetDevContainerStart('/w'), 'e2b-dev')), 'BuildError')
  },

  async secrets_are_not_there() {
    for (const ask of [() => Secret.create('a', 'b'), () => Secret.update('a', 'b'), () => Secret.getInfo('a'), () => Secret.list().nextItems(),
      () => Secret.exists('a'), () => Secret.destroy('a')]) {
      const error = await fails(ask(), 'SecretError')
      assert.match(error.message, /501.*secrets/)
    }
    assert.equal(Secret.fill('name'), '${e2b.secrets.name}')
    assert.equal(Secret.iamToken({ audience: 'a', tokenType: 'JWT-SVID' }).audience, 'a')
    if (!stock.ServiceBusyError) return // 2.45 does not send some of these
    for (const more of [{ iam: { tokens: { a: Secret.iamToken({ audience: 'a', tokenType: 'JWT-SVID' }) } } },
      { network: { egressProxy: { address: 'proxy.example:1080' } } }, { network: { httpsPorts: [8443] } },
      { network: { rules: { 'api.example.com': [{ transform: { headers: { A: 'b' } } }] } } }]) {
      assert.match((await fails(Sandbox.create(more), 'SandboxError')).message, /501|not supported/)
    }
  },

  async a_mcp_gateway_is_a_template() {
    const s = await Sandbox.create()
    assert.equal(s.getMcpUrl(), `https://50005-${s.sandboxId}.e2b.app/mcp`)
    await fails(s.getMcpToken(), 'FileNotFoundError')
    await s.commands.run('mkdir -p /etc/mcp-gateway && echo -n secret > /etc/mcp-gateway/.token', { user: 'root' })
    assert.equal(await s.getMcpToken(), 'secret')
    await s.kill()
    const missing = await fails(Sandbox.create({ mcp: { exa: { apiKey: 'x' } } }), 'SandboxError')
    assert.match(missing.message, /mcp-gateway/)
    const gateway = '#!/bin/sh\necho "$GATEWAY_ACCESS_TOKEN $*" > /tmp/started\n'
    await Template.build(Template().fromBaseImage()
      .runCmd(`mkdir -p /opt/mcp && printf %s '${gateway}' > /opt/mcp/mcp-gateway && chmod 755 /opt/mcp/mcp-gateway`, { user: 'root' })
      .runCmd('echo PATH=/opt/mcp:$PATH > /root/.bash_profile', { user: 'root' }), 'mcp-gateway')
    const m = await Sandbox.create({ mcp: { exa: { apiKey: 'x' } } })
    assert.match(await m.files.read('/tmp/started', { user: 'root' }), /^[-\w]+ --config \{"exa":\{"apiKey":"x"\}\}\n$/)
    assert.ok((await m.files.read('/tmp/started')).startsWith(`${await m.getMcpToken()} `))
    await m.kill()
    await Sandbox.deleteSnapshot('mcp-gateway')
  },

  async a_disk_that_is_full() {
    const s = await Sandbox.create()
    await s.commands.run('head -c 900G /dev/zero > fill', { timeoutMs: 0 }).catch(() => {})
    await fails(s.files.write('more', 'x'.repeat(1 << 20)), 'NotEnoughSpaceError')
    await s.kill()
  },

  // What the API has not, in its own form, whatever the path.
  async paths_that_are_not_there() {
    const headers = { 'X-API-KEY': process.env.E2B_API_KEY, 'content-type': 'application/json' }
    const paths = [['GET', '/sandboxes/x/logs', 501], ['GET', '/v2/sandboxes/x/logs', 501], ['GET', '/sandboxes/metrics', 501], ['GET', '/teams', 501],
      ['GET', '/teams/t/metrics', 501], ['GET', '/api-keys', 501], ['POST', '/access-tokens', 501], ['GET', '/templates', 501], ['POST', '/v2/templates', 501],
      ['PATCH', '/templates/x', 501], ['GET', '/secrets', 501], ['GET', '/volumecontent/v/nothing', 404], ['GET', '/v2/nothing', 404], ['PUT', '/v3/nothing', 404],
      ['POST', '/sandboxes/x/nothing', 404], ['PATCH', '/sandboxes/x', 404], ['GET', '/volumes/x/nothing', 404], ['GET', '/snapshots/x', 404]]
    for (const [method, path, status] of paths) {
      const answer = await fetch(process.env.E2B_API_URL + path, { method, headers })
      const body = await answer.json()
      assert.deepEqual([answer.status, body.code, typeof body.message], [status, status, 'string'], `${method} ${path}: ${JSON.stringify(body)}`)
      assert.equal((await fetch(process.env.E2B_API_URL + path, { method })).status, 401, path)
    }
    const s = await Sandbox.create()
    for (const [port, path, body] of [[49983, '/filesystem.Filesystem/Nothing', '{}'], [49983, '/process.Process/StreamInput', '{}'], [49983, '/init', '{}'],
      [49983, '/nothing', null], [49999, '/nothing', null]]) {
      const answer = await fetch(process.env.E2B_SANDBOX_URL + path, {
        method: body ? 'POST' : 'GET', body,
        headers: { 'content-type': 'application/json', 'e2b-sandbox-id': s.sandboxId, 'e2b-sandbox-port': String(port), 'x-access-token': s.envdAccessToken },
      })
      assert.equal(answer.status, 404, path)
      assert.equal((await answer.json()).code, 404, path)
    }
    await s.kill()
  },
})
