"""How the ranks of a training find each other: both ends of a link prove that they have its secret.

    who connects and a nonce → a nonce and HMAC(secret, "accepts" · all of it)
    → HMAC(secret, "connects" · all of it)

Each side shows that it has the secret before it reads a frame of the other; the secret itself
never travels.
"""

import hmac
import secrets
import socket
import struct
import threading
import time

from algorithms.distributed.sockets import LinkError, tune

HELLO = struct.Struct("<4sII32s")  # magic, rank of the caller, skip, nonce
MAGIC = b"TH01"  # version of what is said over a link
DIGEST = "sha256"
PROOF = 32  # bytes of a digest, and of a nonce
GREETING = 5.0  # seconds for a whole handshake
AT_ONCE = 64  # callers that are greeted at the same time
LOOK = 0.01  # seconds between two looks at who has come


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
    answer = read(connection, 2 * PROOF, time.monotonic() + patience)
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

    Notes
    -----
    Callers are greeted side by side: one that is silent, or slow, keeps no other waiting.
    """
    acceptor = ConnectionAcceptor(secret, wanted)
    try:
        while not acceptor.full.is_set():
            accept_one(listener, acceptor, deadline)
    except BaseException:
        acceptor.close()
        raise
    return acceptor.found


def accept_one(listener, acceptor, deadline):
    """Wait a moment for a caller, and have a thread greet it."""
    left = deadline - time.monotonic()
    if left <= 0:
        names = sorted({rank for rank, _ in acceptor.missing()})
        raise LinkError(f"ranks {names} did not call with the secret of this training")
    if not acceptor.places.acquire(timeout=min(left, LOOK)):
        return
    try:
        listener.settimeout(min(left, LOOK))
        connection, _ = listener.accept()
    except TimeoutError:
        acceptor.places.release()
        return
    except OSError as error:
        raise LinkError("this training was aborted") from error
    threading.Thread(target=acceptor.receive, args=(connection,), daemon=True).start()


class ConnectionAcceptor:
    """Where callers are greeted, each by a thread.

    Attributes
    ----------
    found : dict, (rank, skip) → connection
    full : threading.Event, set once all that are wanted are there
    """

    def __init__(self, secret, wanted):
        self.secret, self.wanted = secret, wanted
        self.found, self.closed = {}, False
        self.full, self.lock = threading.Event(), threading.Lock()
        self.places = threading.Semaphore(AT_ONCE)
        if not wanted:
            self.full.set()

    def missing(self):
        """Return who has not called yet."""
        with self.lock:
            return self.wanted - self.found.keys()

    def receive(self, connection):
        """Greet a caller; keep the connection unless it is a stranger, or too late."""
        try:
            self.keep(greet(connection, self.secret, self.missing()), connection)
        except (OSError, ValueError):
            connection.close()
        finally:
            self.places.release()

    def keep(self, caller, connection):
        """Keep the connection of a caller that has proved to be one."""
        with self.lock:
            if self.closed or caller in self.found:
                raise ValueError("too late")
            self.found[caller] = connection
            if self.wanted == self.found.keys():
                self.full.set()

    def close(self):
        """Hang up on all who have come, and on those who come late."""
        with self.lock:
            self.closed = True
            for connection in self.found.values():
                connection.close()


def greet(connection, secret, wanted):
    """Answer a caller; return its (rank, skip), or raise ValueError where it is a stranger."""
    deadline = time.monotonic() + GREETING
    hello = read(connection, HELLO.size, deadline)
    magic, rank, skip, _ = HELLO.unpack(hello)
    if magic != MAGIC or (rank, skip) not in wanted:
        raise ValueError("an unknown caller")
    nonce = secrets.token_bytes(PROOF)
    connection.sendall(nonce + prove(secret, b"accepts", hello + nonce))
    proof = read(connection, PROOF, deadline)
    if not hmac.compare_digest(proof, prove(secret, b"connects", hello + nonce)):
        raise ValueError("the caller has another secret")
    tune(connection)
    connection.setblocking(False)
    return rank, skip


def read(connection, count, deadline):
    """Return exactly so many bytes of a blocking socket, until time.monotonic() is so much."""
    data = b""
    while len(data) < count:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        more = connection.recv(count - len(data))
        if not more:
            raise ValueError("it hung up on the greeting, as it does on a wrong secret")
        data += more
    return data
