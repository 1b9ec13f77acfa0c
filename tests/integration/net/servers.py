# SPDX-License-Identifier: Apache-2.0
"""The servers that real clients meet: a package index, a git server, an npm registry, a slow one and a hostile one. One CA signs for all."""
import base64
import hashlib
import http.server
import io
import json
import os
import socket
import ssl
import struct
import subprocess
import tarfile
import threading
import time
import zipfile

from world import NAMES, PUBLIC, Internet, listen_at, run

HOSTS = ('index.example', 'files.example', 'git.example', 'npm.example', 'slow.example', 'hostile.example')
SLOW_BYTES, SLOW_S = 40, 0.02
WHEEL = 'small-1.0-py3-none-any.whl'


def make_ca(folder, hosts=HOSTS):
    """ca.pem, and cert.pem with key.pem, which it signed for all hosts."""
    ec = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes')
    quiet = {'check': True, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    subprocess.run(['openssl', 'req', '-x509', *ec, '-days', '2', '-subj', '/CN=Test CA', '-keyout', f'{folder}/ca.key', '-out', f'{folder}/ca.pem'],
                   **quiet)
    subprocess.run(['openssl', 'req', *ec, '-subj', '/CN=servers', '-keyout', f'{folder}/key.pem', '-out', f'{folder}/csr.pem'], **quiet)
    with open(f'{folder}/names', 'w', encoding='utf-8') as f:
        f.write('subjectAltName=' + ','.join(f'DNS:{h}' for h in hosts))
    subprocess.run(['openssl', 'x509', '-req', '-in', f'{folder}/csr.pem', '-CA', f'{folder}/ca.pem', '-CAkey', f'{folder}/ca.key', '-CAcreateserial',
                    '-days', '2', '-extfile', f'{folder}/names', '-out', f'{folder}/cert.pem'], **quiet)


def make_wheel():
    files = {'small.py': b'answer = 42\n',
             'small-1.0.dist-info/METADATA': b'Metadata-Version: 2.1\nName: small\nVersion: 1.0\n',
             'small-1.0.dist-info/WHEEL': b'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    lines = [f'{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode()},{len(b)}' for n, b in files.items()]
    files['small-1.0.dist-info/RECORD'] = '\n'.join([*lines, 'small-1.0.dist-info/RECORD,,', '']).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w') as z:
        for name, content in files.items():
            z.writestr(name, content)
    return out.getvalue()


def make_npm_package():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w:gz') as t:
        for name, content in (('package.json', json.dumps({'name': 'tiny', 'version': '1.0.0', 'main': 'index.js'}).encode()),
                              ('index.js', b'module.exports = 42;\n')):
            info = tarfile.TarInfo(f'package/{name}')
            info.size = len(content)
            t.addfile(info, io.BytesIO(content))
    return out.getvalue()


def make_repository(folder):
    git = ('git', '-c', 'user.name=test', '-c', 'user.email=test@example', '-c', 'init.defaultBranch=main')
    run(*git, 'init', '-q', f'{folder}/work')
    with open(f'{folder}/work/README', 'w', encoding='utf-8') as f:
        f.write('from the git server\n')
    run(*git, '-C', f'{folder}/work', 'add', 'README')
    run(*git, '-C', f'{folder}/work', 'commit', '-q', '-m', 'one')
    os.mkdir(f'{folder}/git')
    run(*git, 'clone', '-q', '--bare', f'{folder}/work', f'{folder}/git/project.git')


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    folder = wheel = package = None

    def say(self, body, kind='text/html', status=200):
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def index_example(self):
        if self.path != '/simple/small/':
            return self.say(b'no such package', status=404)
        sha = hashlib.sha256(self.wheel).hexdigest()
        return self.say(f'<a href="https://files.example/{WHEEL}#sha256={sha}">{WHEEL}</a>'.encode())

    def files_example(self):
        self.say(self.wheel, 'application/octet-stream')

    def npm_example(self):
        if self.path == '/tiny':
            dist = {'tarball': 'https://npm.example/tiny/-/tiny-1.0.0.tgz',
                    'integrity': 'sha512-' + base64.b64encode(hashlib.sha512(self.package).digest()).decode()}
            document = {'name': 'tiny', 'dist-tags': {'latest': '1.0.0'},
                        'versions': {'1.0.0': {'name': 'tiny', 'version': '1.0.0', 'main': 'index.js', 'dist': dist}}}
            return self.say(json.dumps(document).encode(), 'application/json')
        if self.path.endswith('.tgz'):
            return self.say(self.package, 'application/octet-stream')
        return self.say(b'{}', 'application/json', 404)

    def git_example(self):
        path, _, query = self.path.partition('?')
        env = {'PATH': os.environ['PATH'], 'GIT_PROJECT_ROOT': f'{self.folder}/git', 'GIT_HTTP_EXPORT_ALL': '1', 'PATH_INFO': path,
               'QUERY_STRING': query, 'REQUEST_METHOD': self.command, 'CONTENT_TYPE': self.headers.get('Content-Type', ''),
               'GIT_CONFIG_COUNT': '1', 'GIT_CONFIG_KEY_0': 'safe.directory', 'GIT_CONFIG_VALUE_0': '*',
               'HTTP_CONTENT_ENCODING': self.headers.get('Content-Encoding', ''), 'GIT_PROTOCOL': self.headers.get('Git-Protocol', '')}
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        done = subprocess.run(['git', 'http-backend'], env=env, input=body, capture_output=True, check=False)
        head, _, answer = done.stdout.partition(b'\r\n\r\n')
        fields = dict(line.split(': ', 1) for line in head.decode().split('\r\n'))
        self.say(answer, fields.get('Content-Type', 'text/plain'), int(fields.get('Status', '200').split()[0]))

    def slow_example(self):
        self.send_response(200)
        self.send_header('Content-Length', str(SLOW_BYTES))
        self.end_headers()
        for _ in range(SLOW_BYTES):
            self.wfile.write(b'.')
            self.wfile.flush()
            time.sleep(SLOW_S)

    def hostile_example(self):
        self.close_connection = True
        if self.path == '/reset':
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf')
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            os.close(self.connection.detach())
        elif self.path == '/half':
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf')
        elif self.path.startswith('/to/'):
            self.wfile.write(b'HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: http://' + self.path[4:].encode() + b'/latest\r\n\r\n')
        elif self.path == '/endless':
            self.wfile.write(b'HTTP/1.1 200 OK\r\n')
            try:
                while True:
                    self.wfile.write(b'X-More: ' + b'x' * 1000 + b'\r\n')
            except OSError:
                pass

    def answer(self):
        host = self.headers.get('Host', '').partition(':')[0].replace('.', '_')
        getattr(self, host, lambda: self.say(b'no such host', status=404))()

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, listener, handler, context=None):
        super().__init__(('', 0), handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.context = context

    def finish_request(self, request, client_address):
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        self.RequestHandlerClass(request, client_address, self)

    def handle_error(self, request, client_address):
        pass


class Servers(Internet):
    names = NAMES + ''.join(f'host-record={h},{PUBLIC}\n' for h in HOSTS)

    def serve(self):
        Handler.folder = self.folder
        Handler.wheel, Handler.package = make_wheel(), make_npm_package()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f'{self.folder}/cert.pem', f'{self.folder}/key.pem')
        for port in (80, 443):
            server = Server(listen_at(port), Handler, context if port == 443 else None)
            threading.Thread(target=server.serve_forever, daemon=True).start()


class Noting(http.server.BaseHTTPRequestHandler):
    """Notes every request, and answers with it."""
    protocol_version = 'HTTP/1.1'
    log = None

    def answer(self):
        if self.headers.get('Transfer-Encoding') == 'chunked':
            body = b''
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        seen = json.dumps({'line': self.requestline, 'headers': self.headers.items(), 'body': body.decode('latin-1')}).encode()
        with open(self.log, 'ab') as f:
            f.write(seen + b'\n')
        self.send_response(200)
        self.send_header('Content-Length', str(len(seen)))
        self.end_headers()
        self.wfile.write(seen)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


def noted(folder):
    """The requests that an Echo has seen; headers by their names in lower case."""
    with open(f'{folder}/requests', encoding='utf-8') as f:
        found = [json.loads(line) for line in f]
    for one in found:
        one['headers'] = {k.lower(): v for k, v in one['headers']}
    return found


class Echo(Internet):
    """api.example and other.example over TLS; every request is noted."""
    names = NAMES + f'host-record=api.example,{PUBLIC}\n'

    def serve(self):
        Noting.log = f'{self.folder}/requests'
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f'{self.folder}/cert.pem', f'{self.folder}/key.pem')
        server = Server(listen_at(443), Noting, context)
        threading.Thread(target=server.serve_forever, daemon=True).start()
