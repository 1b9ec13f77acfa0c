# SPDX-License-Identifier: Apache-2.0
"""The pages of these tests, served inside a sandbox on 127.0.0.1:8000."""
import http.server
import threading

PAGES = {
    "/": """<title>Shop</title><input id=name><button id=add onclick="
      document.getElementById('cart').textContent = document.getElementById('name').value; document.title = 'Cart'">Add</button>
      <p id=cart></p><iframe src=/frame name=inner></iframe><a id=file href=/file download>file</a>
      <button id=pop onclick="window.open('/frame?popup')">pop</button>
      <button id=ask onclick="document.title = String(confirm('sure?'))">ask</button>
      <input type=file id=up onchange="this.files[0].text().then(t => document.title = 'up:' + t)">""",
    # Frames of this site and of another one (localhost), one of which has a frame of this site in it.
    "/frames": """<title>Frames</title><h1>Outside</h1><iframe src=/near title=Near></iframe><div style="height:1500px"></div>
      <iframe src=http://localhost:8000/far title=Far style="margin-left:40px;width:500px;height:400px;border:7px solid"></iframe>
      <div id=log></div><script>onmessage = e => { log.textContent += e.data + ' '; document.title = e.data }</script>""",
    "/near": "<button onclick=\"top.postMessage('near', '*')\">Press near</button>",
    "/far": """<style>body { height: 900px }</style><p>Far text</p><input aria-label=Word onchange="top.postMessage('word ' + value, '*')">
      <select aria-label=Size onchange="top.postMessage('size ' + value, '*')"><option>S<option>L</select>
      <input type=file id=up onchange="this.files[0].text().then(t => top.postMessage('up ' + t, '*'))">
      <div style="height:500px"></div><button id=far onclick="top.postMessage('far', '*')">Press far</button>
      <iframe src=http://127.0.0.1:8000/deep title=Deep></iframe><script>onmessage = e => { while (e.data === 'hang') ; top.postMessage('at ' + scrollY, '*') }</script>""",
    "/deep": """<style>body { margin: 20px }</style><div style="height:300px"></div><button onclick="top.postMessage('deep', '*')">Press deep</button>
      <script>setTimeout(() => { document.body.insertAdjacentHTML('beforeend', '<b onclick="top.postMessage(`late`, `*`)">Press late</b>') }, 1500)</script>""",
    "/frame": "<title>Frame</title><b id=in>inside</b>",
    "/many": """<title>Many</title><script>
      Promise.all([...Array(200).keys()].map(i => fetch('/n/' + i).then(r => r.text())))
        .then(all => document.title = 'got ' + all.reduce((a, b) => a + Number(b), 0))</script>""",
    "/worker": """<title>Worker</title><script>
      navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready)
        .then(() => document.title = 'ready').catch(e => document.title = String(e))</script>""",
    "/app": """<title>App</title><nav><a href=/app/one>one</a></nav><main></main><script>
      document.querySelector('a').onclick = e => { e.preventDefault(); history.pushState({}, '', '/app/one'); setTimeout(() => {
        document.querySelector('main').innerHTML = '<h2>Number one</h2>' }, 20) }</script>""",
    "/form": """<title>Form</title><h1>Sign up</h1><form action=/frame><label>Name <input name=n></label>
      <label>Born <input type=date name=d></label><select name=s aria-label=Colour><option value=r>Red<option value=g>Green</select>
      <input type=checkbox id=c aria-label=Agree><button id=go>Send it</button><button disabled id=off>Never</button></form>
      <div id=late></div><input type=file id=up onchange="this.files[0].text().then(t => document.title = 'up:' + t)">
      <input id=keys onkeydown="this.dataset.k = (this.dataset.k || '') + '[' + (event.ctrlKey ? 'c-' : '') + event.key + ']'">
      <button id=ask onclick="document.title = String(confirm('sure?'))">ask</button>
      <button id=pop onclick="window.open('/frame?popup')">pop</button><div style="height:3000px"></div><p id=end>The end</p>
      <script>setTimeout(() => { document.getElementById('late').innerHTML = '<button onclick="document.title = `late`">Later</button>' }, 400)
      console.log('hello', {a: 1}, 7); console.error('bad'); setTimeout(() => { throw new Error('thrown') })
      fetch('/n/5', {method: 'POST', body: 'sent'})</script>""",
    "/shadow": """<title>Shadow</title><div id=host></div><iframe srcdoc="<button onclick='parent.document.title = `framed`'>Inner</button>"></iframe><script>
      document.getElementById('host').attachShadow({mode: 'open'}).innerHTML = '<button onclick="document.title = `shadowed`">Dark</button>'
      Element.prototype.getBoundingClientRect = () => { throw new Error('mine') }; document.querySelector = () => null</script>""",
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/slow":
            threading.Event().wait(5)
        kind, body = "text/html", PAGES.get(path)
        if path.startswith("/n/"):
            kind, body = "text/plain", path[3:]
        elif path == "/file":
            kind, body = "application/octet-stream", "downloaded bytes"
        elif path == "/sw.js":
            kind, body = "text/javascript", "onfetch = e => {}"
        elif path.startswith("/cookie"):
            body = "<title>" + (self.headers.get("Cookie") or "none") + "</title>"
        data = (body or "").encode()
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if path == "/file":
            self.send_header("Content-Disposition", "attachment; filename=report.bin")
        if path == "/cookie/set":
            self.send_header("Set-Cookie", "kept=yes; Max-Age=3600; Path=/")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer.request_queue_size = 256
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
print("serves", flush=True)
server.serve_forever()
