// SPDX-License-Identifier: Apache-2.0
// Servers inside a sandbox, by host name; and many sandboxes at once.
const http = require('node:http')
const { Sandbox } = require('e2b')
const { assert, run, until } = require('./check.cjs')

// localhost's names need no name server here: the address is the daemon's, the name is in Host.
function get(host, headers = {}) {
  const at = new URL(process.env.E2B_API_URL)
  return new Promise((done, failed) => {
    http.get({ host: at.hostname, port: at.port, path: '/', headers: { Host: host, ...headers } }, (res) => {
      let body = ''
      res.on('data', (d) => { body += d })
      res.on('end', () => done({ status: res.statusCode, body }))
    }).on('error', failed)
  })
}

run({
  async port_by_host_name() {
    const s = await Sandbox.create({ domain: 'localhost', network: { maskRequestHost: 'localhost:${PORT}' } })
    const host = s.getHost(3000)
    assert.equal(host, `3000-${s.sandboxId}.localhost`)
    await s.commands.run('mkdir site && echo inside > site/index.html')
    await s.commands.run('python3 -m http.server 3000 --directory site', { background: true })
    const token = { 'E2B-Traffic-Access-Token': s.trafficAccessToken }
    const answer = await until('the server', async () => {
      const a = await get(host, token)
      return a.status === 200 ? a : null
    })
    assert.equal(answer.body, 'inside\n')
    await s.files.write('host.py', `
from http.server import BaseHTTPRequestHandler, HTTPServer
class H(BaseHTTPRequestHandler):
    def do_GET(self):
        told = (self.headers['Host'] + ' ' + self.headers['X-Forwarded-Host']).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(told)))
        self.end_headers()
        self.wfile.write(told)
server = HTTPServer(('127.0.0.1', 3001), H)
print('ready', flush=True)
server.serve_forever()
`)
    await new Promise((done) => { s.commands.run('python3 host.py', { background: true, onStdout: done }) })
    assert.equal((await get(s.getHost(3001), token)).body, `localhost:3001 ${s.getHost(3001)}`)
    const open = process.env.PORTS_ARE_PUBLIC === 'yes'
    assert.equal((await get(host)).status, open ? 200 : 401)
    assert.equal((await get(host, { 'E2B-Traffic-Access-Token': '0'.repeat(64) })).status, open ? 403 : 401)
    assert.equal((await get(`49983-${s.sandboxId}.localhost`)).status, 404)
    await s.kill()
    assert.equal((await get(`49983-${s.sandboxId}.localhost`)).status, 502)
  },

  async fifty_at_once() {
    const made = await Promise.all(Array.from({ length: 50 }, () => Sandbox.create()))
    const said = await Promise.all(made.map((s, i) => s.commands.run(`echo ${i}; echo ${i} > mine; cat mine`)))
    said.forEach((r, i) => assert.equal(r.stdout, `${i}\n${i}\n`))
    assert.ok((await Promise.all(made.map((s) => s.kill()))).every(Boolean))
  },
})
