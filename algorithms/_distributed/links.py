"""Connections between the ranks of a training: frames over TCP, opened with a shared secret.

    frame      = length (8 bytes, little-endian) · bytes
    handshake  = who connects and a nonce → a nonce and HMAC(secret, "accepts" · all of it)
                 → HMAC(secret, "connects" · all of it)

Each side shows that it has the secret before it reads a frame of the other; the secret itself
never travels. A length above what the receiver expects ends the connection. Nothing is pickled.
"""

import hmac
import secrets
import select
import socket
import struct
import time
from contextlib import suppress

LENGTH = struct.Struct("<Q")
HELLO = struct.Struct("<4sII32s")  # magic, rank of the caller, skip, nonce
MAGIC = b"TH01"  # version of what is said over a link
DIGEST = "sha256"
PROOF = 32  # bytes of a digest, and of a nonce
GREETING = 5.0  # seconds for each step of a handshake
KEEP_ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 11_000}


class LinkError(ConnectionError):
    """A rank cannot be reached, has gone, or is not who it should be."""


def listen(host):
    """Return a listening socket on a free port of one address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.bind((host, 0))
    found.listen(64)
    return found


def tune(connection):
    """Send small frames at once, and find out within seconds that a host has gone."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):  # not every system has all of them
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def prove(secret, role, said):
    """Return what only an owner of the secret can say."""
    return hmac.digest(secret, role + said, DIGEST)


def connect(address, secret, rank, skip, deadline):
    """Return a connection to a rank that listens.

    Parameters
    ----------
    address : (host, port)
    secret : bytes
    rank, skip : who calls, and over how many ranks
    deadline : time.monotonic() at which to give up

    Raises
    ------
    LinkError
        Where nobody answers, or whoever does has another secret.
    """
    where = f"{address[0]}:{address[1]}"
    patience = max(deadline - time.monotonic(), 0.001)
    try:
        connection = socket.create_connection(address, timeout=patience)
    except OSError as error:
        raise LinkError(f"no rank answers at {where}: {error}") from error
    try:
        return call(connection, secret, rank, skip, patience)
    except (OSError, ValueError) as error:
        connection.close()
        raise LinkError(f"no link to the rank at {where}: {error}") from error


def call(connection, secret, rank, skip, patience):
    """Greet the listener of a fresh connection; return it, ready for frames."""
    connection.settimeout(patience)
    hello = HELLO.pack(MAGIC, rank, skip, secrets.token_bytes(PROOF))
    connection.sendall(hello)
    answer = read(connection, 2 * PROOF)
    nonce, proof = answer[:PROOF], answer[PROOF:]
    if not hmac.compare_digest(proof, prove(secret, b"accepts", hello + nonce)):
        raise ValueError("the listener has another secret")
    connection.sendall(prove(secret, b"connects", hello + nonce))
    tune(connection)
    connection.setblocking(False)
    return connection


def accept(listener, secret, wanted, deadline):
    """Return (rank, skip) → connection for all that are wanted; strangers are turned away.

    Parameters
    ----------
    listener : socket
    secret : bytes
    wanted : set of (rank, skip)
    deadline : time.monotonic() at which to give up

    Raises
    ------
    LinkError
        Where some have not called in time.
    """
    found = {}
    try:
        while wanted - found.keys():
            accept_one(listener, secret, wanted, found, deadline)
    except BaseException:
        for connection in found.values():
            connection.close()
        raise
    return found


def accept_one(listener, secret, wanted, found, deadline):
    """Wait for one caller, and add it to those found unless it is a stranger."""
    missing = wanted - found.keys()
    left = deadline - time.monotonic()
    if left <= 0:
        names = sorted({rank for rank, _ in missing})
        raise LinkError(f"ranks {names} did not call with the secret of this training")
    try:
        listener.settimeout(left)
        connection, _ = listener.accept()
    except TimeoutError:
        return
    except OSError as error:
        raise LinkError("this training was aborted") from error
    try:
        found[greet(connection, secret, missing)] = connection
    except (OSError, ValueError):
        connection.close()


def greet(connection, secret, wanted):
    """Answer a caller; return its (rank, skip), or raise ValueError where it is a stranger."""
    connection.settimeout(GREETING)
    hello = read(connection, HELLO.size)
    magic, rank, skip, _ = HELLO.unpack(hello)
    if magic != MAGIC or (rank, skip) not in wanted:
        raise ValueError("an unknown caller")
    nonce = secrets.token_bytes(PROOF)
    connection.sendall(nonce + prove(secret, b"accepts", hello + nonce))
    if not hmac.compare_digest(read(connection, PROOF), prove(secret, b"connects", hello + nonce)):
        raise ValueError("the caller has another secret")
    tune(connection)
    connection.setblocking(False)
    return rank, skip


def shut(connection):
    """Close a socket, and wake whoever waits for it in another thread."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def read(connection, count):
    """Return exactly so many bytes of a blocking socket."""
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ValueError("it hung up on the greeting, as it does on a wrong secret")
        data += more
    return data


class Sending:
    """A frame on its way out."""

    def __init__(self, connection, data):
        self.connection = connection
        self.parts = [memoryview(LENGTH.pack(len(data))), memoryview(data)]

    def step(self):
        """Send what can be sent now; return whether all is."""
        try:
            sent = self.connection.sendmsg(self.parts)
        except BlockingIOError:
            return False
        while self.parts and sent >= len(self.parts[0]):
            sent -= len(self.parts.pop(0))
        if self.parts:
            self.parts[0] = self.parts[0][sent:]
        return not self.parts


class Receiving:
    """A frame on its way in, of at most so many bytes."""

    def __init__(self, connection, most):
        self.connection, self.most = connection, most
        self.data = bytearray(LENGTH.size)
        self.left = memoryview(self.data)
        self.has_length = False

    def step(self):
        """Take what has come; return whether all has."""
        while True:
            if not len(self.left):
                if self.has_length:
                    return True
                self.make_room()
                continue
            try:
                count = self.connection.recv_into(self.left)
            except BlockingIOError:
                return False
            if not count:
                raise LinkError("a neighbour has hung up")
            self.left = self.left[count:]

    def make_room(self):
        """Read the length, and prepare for the rest."""
        (length,) = LENGTH.unpack(self.data)
        if length > self.most:
            raise LinkError(f"a neighbour announced {length} bytes; {self.most} are the most")
        self.has_length = True
        self.data = bytearray(length)
        self.left = memoryview(self.data)


def swap(to, data, source, most, patience):
    """Send a frame to one rank and receive one from another, at the same time.

    Parameters
    ----------
    to, source : sockets of `connect` and `accept`
    data : bytes-like
    most : bytes that the other frame may have
    patience : seconds without any progress after which to give up

    Returns
    -------
    bytearray

    Raises
    ------
    LinkError
        Where a neighbour has gone, is silent for too long, or says too much.
    """
    moving = {to: (select.POLLOUT, Sending(to, data))}
    receiving = Receiving(source, most)
    waiting = [moving[to], (select.POLLIN, receiving)]
    try:
        while waiting := [one for one in waiting if not one[1].step()]:
            poll = select.poll()
            for event, one in waiting:
                poll.register(one.connection, event)
            if not poll.poll(patience * 1000.0):
                raise LinkError(f"a neighbour has been silent for {patience:g} s")
    except OSError as error:
        raise error if isinstance(error, LinkError) else LinkError(str(error)) from error
    return receiving.data
