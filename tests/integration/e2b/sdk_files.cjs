// SPDX-License-Identifier: Apache-2.0
// envd: files and folders.
const { Readable } = require('node:stream')
const { Sandbox } = require('e2b')
const { assert, run, fails, until } = require('./check.cjs')

let s

run({
  async write_and_read() {
    s = await Sandbox.create({ timeoutMs: 300000 })
    const info = await s.files.write('a.txt', 'hello é€😀')
    assert.equal(info.path, '/home/user/a.txt')
    assert.equal(info.name, 'a.txt')
    assert.equal(await s.files.read('a.txt'), 'hello é€😀')
    assert.equal(await s.files.read('/home/user/a.txt'), 'hello é€😀')
    assert.equal((await s.commands.run('stat -c "%U %a" a.txt; cat a.txt')).stdout.slice(-10), 'hello é€😀'.slice(-10))
    await s.files.write('a.txt', '') // and a shorter one
    assert.equal(await s.files.read('a.txt'), '')
    await s.files.write('deep/er/b "c".txt', 'x')
    assert.equal(await s.files.read('deep/er/b "c".txt'), 'x')
    assert.equal((await s.commands.run('stat -c %u /root/r', { user: 'root' }).catch(() => null)), null)
    await s.files.write('r', 'of root', { user: 'root' })
    assert.equal((await s.commands.run('stat -c %u /root/r', { user: 'root' })).stdout, '0\n')
    const long = `${'d'.repeat(200)}/${'e'.repeat(200)}/f`
    await s.files.write(long, 'far', { user: 'user' })
    assert.equal(await s.files.read(long), 'far')
    assert.equal(await (await fetch(await s.downloadUrl(long, { user: 'user' }))).text(), 'far')
    assert.equal((await s.files.write('./deep//../near', 'n')).path, '/home/user/near')
    assert.equal(await s.files.read('~/./near/'), 'n')
    assert.ok((await s.files.list('.')).some((e) => e.path === '/home/user/near'))
    assert.ok((await s.files.list('/home/./user//')).some((e) => e.path === '/home/user/near'))
    assert.equal((await s.files.getInfo('../../..')).path, '/')
    await fails(s.files.read('nothing'), 'FileNotFoundError')
    await fails(s.files.read('deep'), 'InvalidArgumentError')
    await fails(s.files.write('deep', 'x'), 'InvalidArgumentError')
    await fails(s.files.write('x', 'x', { user: 'nobody-here' }), 'AuthenticationError')
  },

  async bytes_and_streams() {
    const bytes = new Uint8Array(3_000_001).map((_, i) => (i * 7 + (i >> 8)) & 255)
    await s.files.write('big', bytes.buffer)
    assert.deepEqual(Buffer.from(await s.files.read('big', { format: 'bytes' })), Buffer.from(bytes))
    const parts = []
    for await (const p of await s.files.read('big', { format: 'stream' })) parts.push(Buffer.from(p))
    assert.deepEqual(Buffer.concat(parts), Buffer.from(bytes))
    await s.files.write('streamed', Readable.toWeb(Readable.from([Buffer.from('one '), Buffer.from('two')])))
    assert.equal(await s.files.read('streamed'), 'one two')
    await s.files.write('packed', 'p'.repeat(500000), { gzip: true })
    assert.equal((await s.files.read('packed')).length, 500000)
    const many = await s.files.writeFiles([{ path: 'm/1', data: 'one' }, { path: 'm/2', data: 'two\r\n--' }, { path: 'm/3', data: '' }])
    assert.deepEqual(many.map((m) => m.name), ['1', '2', '3'])
    assert.equal(await s.files.read('m/2'), 'two\r\n--')
    assert.equal(await s.files.read('m/3'), '')
  },

  async folders() {
    assert.equal(await s.files.makeDir('d/e/f'), true)
    assert.equal(await s.files.makeDir('d/e/f'), false)
    await s.files.write('d/z', '1')
    await s.files.write('d/e/y', '22')
    await s.commands.run('ln -s z d/link')
    const one = await s.files.list('d')
    assert.deepEqual(one.map((e) => e.name), ['e', 'link', 'z'])
    assert.deepEqual(one.find((e) => e.name === 'z').path, '/home/user/d/z')
    assert.equal(one.find((e) => e.name === 'e').type, 'dir')
    assert.deepEqual((await s.files.list('d', { depth: 2 })).map((e) => e.path.slice(13)), ['e', 'e/f', 'e/y', 'link', 'z'])
    const info = await s.files.getInfo('d/e/y')
    assert.equal(info.size, 2)
    assert.equal(info.mode, 0o644)
    assert.equal(info.permissions, '-rw-r--r--')
    assert.equal(info.owner, 'user')
    assert.ok(Math.abs(info.modifiedTime - Date.now()) < 600000)
    assert.equal(await s.files.exists('d/z'), true)
    const moved = await s.files.rename('d/z', 'new/place/zz')
    assert.equal(moved.path, '/home/user/new/place/zz')
    assert.equal(await s.files.exists('d/z'), false)
    await fails(s.files.rename('d/z', 'other'), 'FileNotFoundError')
    await s.files.remove('d')
    await s.files.remove('d') // nothing is there: fine
    await fails(s.files.list('d'), 'FileNotFoundError')
    await fails(s.files.list('a.txt'), 'InvalidArgumentError')
    await fails(s.files.getInfo('d'), 'FileNotFoundError')
  },

  async watch() {
    await s.files.makeDir('w/sub')
    const seen = []
    const handle = await s.files.watchDir('w', (e) => seen.push(`${e.type} ${e.name}`), { recursive: true })
    await s.commands.run('echo 1 > w/a; echo 2 > w/sub/b; chmod 600 w/a; mv w/a w/c; rm w/c')
    for (const e of ['create a', 'write a', 'create sub/b', 'chmod a', 'rename a', 'create c', 'remove c'])
      await until(e, async () => seen.includes(e))
    await handle.stop()
    const entries = {}
    const events = []
    const more = await s.files.watchDir('w', (e) => { events.push(`${e.type} ${e.name}`); if (e.entry) entries[`${e.type} ${e.name}`] = e.entry },
      { recursive: true, includeEntry: true })
    await s.commands.run('echo text > w/d; chmod 640 w/d; echo 2 > w/sub/e; mkdir w/f; mv w/d w/g; rm w/g')
    await until('the last', async () => events.includes('remove g'))
    assert.equal(events.indexOf('remove g'), events.length - 1, events.join()) // in order, whatever waits for its attributes
    const dir = entries['create f']
    assert.deepEqual([dir.path, dir.name, dir.type], ['/home/user/w/f', 'f', 'dir'])
    assert.equal(entries['create sub/e'].path, '/home/user/w/sub/e')
    for (const gone of ['remove g', 'rename d']) assert.equal(entries[gone], undefined, gone)
    await more.stop()
    await fails(s.files.watchDir('nothing', () => {}), 'FileNotFoundError')
    await fails(s.files.watchDir('a.txt', () => {}), 'InvalidArgumentError')
  },

  // As clients in Python do it: unary requests, asked again and again.
  async polled_watchers() {
    const call = async (method, body) => {
      const answer = await fetch(`${process.env.E2B_SANDBOX_URL}/filesystem.Filesystem/${method}`, {
        method: 'POST', body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', 'connect-protocol-version': '1', 'e2b-sandbox-id': s.sandboxId,
                   'e2b-sandbox-port': '49983', 'x-access-token': s.envdAccessToken ?? s.connectionConfig.headers['X-Access-Token'],
                   authorization: `Basic ${Buffer.from('user:').toString('base64')}` },
      })
      return { status: answer.status, ...(await answer.json()) }
    }
    await s.files.makeDir('polled/sub')
    const { watcherId } = await call('CreateWatcher', { path: 'polled', recursive: true })
    assert.match(watcherId, /^[0-9a-f]{32}$/)
    assert.deepEqual((await call('GetWatcherEvents', { watcherId })).events, [])
    await s.commands.run('echo 1 > polled/a; echo 2 > polled/sub/b; mv polled/a polled/c; rm polled/c')
    const seen = []
    for (const e of ['CREATE a', 'WRITE a', 'CREATE sub/b', 'RENAME a', 'CREATE c', 'REMOVE c']) {
      await until(e, async () => {
        const { events } = await call('GetWatcherEvents', { watcherId })
        seen.push(...events.map((f) => `${f.type.replace('EVENT_TYPE_', '')} ${f.name}`))
        return seen.includes(e)
      })
    }
    assert.equal((await call('RemoveWatcher', { watcherId })).status, 200)
    const gone = await call('GetWatcherEvents', { watcherId })
    assert.deepEqual([gone.status, gone.code], [404, 'not_found'])
    assert.equal((await call('RemoveWatcher', { watcherId })).status, 404)
    const full = await call('CreateWatcher', { path: 'polled', includeEntry: true })
    await s.commands.run('echo text > polled/with')
    await until('its attributes', async () => {
      const { events } = await call('GetWatcherEvents', { watcherId: full.watcherId })
      return events.some((e) => e.entry?.path === '/home/user/polled/with' && Number(e.entry.size) === 5)
    })
    await call('RemoveWatcher', { watcherId: full.watcherId })
    assert.equal((await call('CreateWatcher', { path: 'nothing' })).code, 'not_found')
    assert.equal((await call('CreateWatcher', { path: 'a.txt' })).code, 'invalid_argument')
    const made = []
    for (let i = 0; i < 32; i++) made.push((await call('CreateWatcher', { path: 'polled' })).watcherId)
    assert.equal((await call('CreateWatcher', { path: 'polled' })).code, 'resource_exhausted')
    for (const id of made.slice(1)) await call('RemoveWatcher', { watcherId: id })
    await s.files.remove('polled') // the one that is left ends with its folder
    await until('its end', async () => (await call('GetWatcherEvents', { watcherId: made[0] })).status === 404)
  },

  async signed_addresses() {
    await s.files.write('dir/my file.txt', 'signed')
    const get = await fetch(await s.downloadUrl('dir/my file.txt'))
    assert.equal(await get.text(), 'signed')
    const late = await s.downloadUrl('dir/my file.txt', { useSignatureExpiration: -10 })
    const refused = await fetch(late)
    assert.equal(refused.status, 401)
    assert.equal((await refused.json()).message, 'signature is already expired')
    const form = new FormData()
    form.append('file', new Blob(['by form']))
    const put = await fetch(await s.uploadUrl('up.txt', { useSignatureExpiration: 60 }), { method: 'POST', body: form })
    assert.equal(put.status, 200)
    assert.equal(await s.files.read('up.txt'), 'by form')
    const wrong = (await s.downloadUrl('dir/my file.txt')).replace('my', 'your')
    assert.equal((await fetch(wrong)).status, 401)
    assert.equal((await fetch(await s.downloadUrl('up.txt'), { method: 'POST', body: form })).status, 401)
  },

  async metadata() {
    const metadata = { source: 'a test', 'content-kind': 'x=y&z%20 "q"' }
    const written = await s.files.write('meta/one', 'x', { metadata })
    assert.deepEqual(written.metadata, metadata)
    assert.deepEqual((await s.files.getInfo('meta/one')).metadata, metadata)
    await s.files.write('meta/two', 'x')
    const listed = await s.files.list('meta')
    assert.deepEqual(listed.map((e) => e.metadata), [metadata, undefined])
    const moved = await s.files.rename('meta/one', 'meta/three')
    assert.deepEqual(moved.metadata, metadata)
    await s.commands.run('echo more >> meta/three') // what a command writes leaves it
    assert.deepEqual((await s.files.getInfo('meta/three')).metadata, metadata)
    await s.files.write('meta/three', 'y', { metadata: { other: '1' } })
    assert.deepEqual((await s.files.getInfo('meta/three')).metadata, { other: '1' })
    await s.files.write('meta/three', 'z')
    assert.equal((await s.files.getInfo('meta/three')).metadata, undefined)
    await s.files.write('meta/stream', Readable.toWeb(Readable.from([Buffer.from('s')])), { metadata })
    const many = await s.files.writeFiles([{ path: 'meta/a', data: '1' }, { path: 'meta/b', data: '2' }], { metadata })
    assert.deepEqual(many.map((m) => m.metadata), [metadata, metadata])
    assert.deepEqual((await s.files.list('meta')).filter((e) => e.metadata).map((e) => e.name), ['a', 'b', 'stream'])
    for (const bad of [{ key: 'é' }, { key: 'x'.repeat(4096) }]) await fails(s.files.write('meta/bad', 'x', { metadata: bad }), 'InvalidArgumentError')
    assert.equal(await s.files.exists('meta/bad'), false)
    const seen = []
    const handle = await s.files.watchDir('meta', (e) => seen.push(e), { includeEntry: true })
    await s.files.write('meta/watched', 'x', { metadata })
    await until('its metadata', async () => seen.some((e) => e.entry?.metadata?.source === 'a test'))
    await handle.stop()
    const shot = await s.createSnapshot()
    const copy = await Sandbox.create(shot.snapshotId)
    assert.deepEqual((await copy.files.getInfo('meta/a')).metadata, metadata)
    await copy.kill()
    await Sandbox.deleteSnapshot(shot.snapshotId)
    const refused = await s.commands.run(`python3 -c "import os; os.setxattr('meta/a', 'user.e2b.own', b'x')"`).catch((e) => e)
    assert.match(refused.stderr, /not supported/) // commands cannot
  },

  async killed() {
    await s.kill()
    await fails(s.files.read('a.txt'), 'TimeoutError')
  },
})
