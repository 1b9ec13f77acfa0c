# SPDX-License-Identifier: Apache-2.0
"""A bad network between a client and a daemon: relays on loopback that cut connections, for the tests of SDKs."""
import contextlib
import select
import socket
import threading

PIECE = 65536
WAIT_S = 60


class Relay:
    """cut_after: bytes of answers after which a connection is cut. lose_posts: every second POST is passed on and its answer is lost."""

    def __init__(self, port, cut_after=None, lose_posts=False):
        self.target, self.cut_after, self.lose_posts = port, cut_after, lose_posts
        self.posts = self.cuts = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def loses(self, piece):
        """A request comes in one piece, or its head does: what begins with POST is the beginning of one."""
        if not self.lose_posts or not piece.startswith(b"POST "):
            return False
        with self.lock:
            self.posts += 1
            return self.posts % 2 == 1

    def serve(self, client):
        answered, is_lost = 0, False
        with client, socket.create_connection(("127.0.0.1", self.target)) as daemon, contextlib.suppress(OSError):
            while True:
                ready, _, _ = select.select([client, daemon], [], [], WAIT_S)
                if not ready:
                    return
                if client in ready:
                    piece = client.recv(PIECE)
                    if not piece:
                        return
                    is_lost = is_lost or self.loses(piece)
                    daemon.sendall(piece)
                if daemon in ready:
                    piece = daemon.recv(PIECE)
                    if not piece or is_lost:
                        self.cuts += is_lost
                        return
                    answered += len(piece)
                    if self.cut_after is not None and answered >= self.cut_after:
                        client.sendall(piece[:len(piece) - (answered - self.cut_after)])
                        self.cuts += 1
                        return
                    client.sendall(piece)

    def close(self):
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
