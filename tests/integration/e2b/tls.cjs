// SPDX-License-Identifier: Apache-2.0
// A domain and a certificate of our own, as docs/e2b.md has it: E2B_DOMAIN is all that the client knows (test_e2b.py).
const dns = require('node:dns')
const https = require('node:https')

// The domain's wildcard record, which a real one has in its zone.
const domain = process.env.E2B_DOMAIN.split(':')[0]
const { lookup } = dns
dns.lookup = (host, options, done) => {
  if (typeof options === 'function') [done, options] = [options, {}]
  if (!host.endsWith('.' + domain)) return lookup(host, options, done)
  return process.nextTick(() => (options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)))
}

const { WebSocket } = require('undici')
const { Sandbox } = require('@e2b/code-interpreter')
const { assert, run, fails, until } = require('./check.cjs')

function get(url, headers = {}) {
  return new Promise((done, failed) => {
    https.get(url, { headers }, (res) => {
      let body = ''
      res.on('data', (d) => { body += d })
      res.on('end', () => done({ status: res.statusCode, body }))
    }).on('error', failed)
  })
}

const ECHO = `
import base64, hashlib, socket
s = socket.create_server(('127.0.0.1', 4000))
print('ready', flush=True)
c, _ = s.accept()
f = c.makefile('rwb')
head = list(iter(f.readline, b'\\r\\n'))
key = next(l.split()[1] for l in head if l.lower().startswith(b'sec-websocket-key:'))
accept = base64.b64encode(hashlib.sha1(key + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
f.write(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + b'\\r\\n\\r\\n')
f.flush()
size = f.read(2)[1] & 127
mask, text = f.read(4), f.read(size)
f.write(bytes([0x81, size + 5]) + b'echo ' + bytes(b ^ mask[i % 4] for i, b in enumerate(text)))
f.flush()
c.recv(100)
`

run({
  async by_domain_alone() {
    assert.equal(process.env.E2B_API_URL, undefined)
    assert.equal(process.env.E2B_SANDBOX_URL, undefined)
    const s = await Sandbox.create()
    assert.equal((await s.commands.run('echo by name')).stdout, 'by name\n')
    assert.equal((await s.runCode('6 * 7')).text, '42')
    await s.files.write('note.txt', 'over TLS')
    assert.equal(await s.files.read('note.txt'), 'over TLS')
    const url = await s.downloadUrl('note.txt')
    assert.ok(url.startsWith(`https://49983-${s.sandboxId}.${process.env.E2B_DOMAIN}/`), url)
    assert.equal((await get(url)).body, 'over TLS')
    assert.equal(await s.isRunning(), true)

    await s.commands.run('python3 -m http.server 3000', { background: true })
    const headers = { 'E2B-Traffic-Access-Token': s.trafficAccessToken }
    const host = s.getHost(3000)
    assert.equal(host, `3000-${s.sandboxId}.${process.env.E2B_DOMAIN}`)
    const answer = await until('the server', async () => {
      const a = await get(`https://${host}/note.txt`, headers)
      return a.status === 200 ? a : null
    })
    assert.equal(answer.body, 'over TLS')
    assert.equal((await get(`https://${host}/note.txt`)).status, 401)

    await s.files.write('echo.py', ECHO)
    await new Promise((done) => { s.commands.run('python3 echo.py', { background: true, onStdout: done }) })
    const said = await new Promise((done, failed) => {
      const ws = new WebSocket(`wss://${s.getHost(4000)}/`, { headers })
      ws.addEventListener('open', () => ws.send('hello'))
      ws.addEventListener('message', (m) => { done(m.data); ws.close() })
      ws.addEventListener('error', (e) => failed(e.error ?? new Error('the WebSocket failed')))
    })
    assert.equal(said, 'echo hello')

    const stream = await s.commands.run('echo on; sleep 300', { background: true })
    await s.kill()
    await fails(stream.wait(), 'TimeoutError')
    assert.equal(await s.isRunning(), false)
  },

  async a_certificate_that_is_not_trusted() {
    const plain = await new Promise((done) => {
      https.get(`https://api.${process.env.E2B_DOMAIN}/sandboxes`, { ca: [] }, () => done(null)).on('error', done)
    })
    assert.equal(plain.code, 'DEPTH_ZERO_SELF_SIGNED_CERT')
  },
})
