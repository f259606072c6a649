"""Handshake of two ranks: both ends of a connection prove that they know the training's secret.

    caller:   rank, skip and a nonce
    listener: a nonce and HMAC(secret, "accepts" · all bytes so far)
    caller:   HMAC(secret, "connects" · all bytes so far)

Each side proves that it knows the secret before the other reads a frame. The secret itself is
never sent.
"""

import hmac
import secrets
import socket
import struct
import threading
import time

from algorithms.distributed.sockets import LinkError, tune

HELLO = struct.Struct("<4sII32s")  # magic, rank of the caller, skip, nonce
MAGIC = b"TH01"  # protocol version
DIGEST = "sha256"
PROOF = 32  # bytes of a digest, and of a nonce
GREETING = 5.0  # seconds for a whole handshake
AT_ONCE = 64  # maximum number of concurrent handshakes
POLL_SECONDS = 0.01  # seconds between two checks for new connections


def prove(secret, role, said):
    """Return the HMAC that proves knowledge of the secret."""
    return hmac.digest(secret, role + said, DIGEST)


def connect(address, secret, rank, skip, deadline):
    """Return a connection to a listening rank.

    Parameters
    ----------
    address : (host, port)
    secret : bytes
    rank, skip : number of the calling rank, and its distance to the listening one
    deadline : time.monotonic() at which to give up

    Raises
    ------
    LinkError
        If no rank answers, or it has another secret.
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
    """Do the caller's part of the handshake; return the connection, ready for frames."""
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
    """Return (rank, skip) → connection for all expected callers; other callers are rejected.

    Parameters
    ----------
    listener : socket
    secret : bytes
    wanted : set of (rank, skip)
    deadline : time.monotonic() at which to give up

    Raises
    ------
    LinkError
        If some callers have not connected in time.

    Notes
    -----
    Handshakes run concurrently, so a silent or slow caller does not delay others.
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
    """Wait up to POLL_SECONDS seconds for a caller, and start a thread for its handshake."""
    left = deadline - time.monotonic()
    if left <= 0:
        names = sorted({rank for rank, _ in acceptor.missing()})
        raise LinkError(f"ranks {names} did not call with the secret of this training")
    if not acceptor.places.acquire(timeout=min(left, POLL_SECONDS)):
        return
    try:
        listener.settimeout(min(left, POLL_SECONDS))
        connection, _ = listener.accept()
    except TimeoutError:
        acceptor.places.release()
        return
    except OSError as error:
        raise LinkError("this training was aborted") from error
    threading.Thread(target=acceptor.receive, args=(connection,), daemon=True).start()


class ConnectionAcceptor:
    """Handshakes with callers, one thread each, and the accepted connections.

    Attributes
    ----------
    found : dict
        (rank, skip) → connection.
    full : threading.Event
        Set once all expected callers are connected.
    """

    def __init__(self, secret, wanted):
        self.secret, self.wanted = secret, wanted
        self.found, self.closed = {}, False
        self.full, self.lock = threading.Event(), threading.Lock()
        self.places = threading.Semaphore(AT_ONCE)
        if not wanted:
            self.full.set()

    def missing(self):
        """Return the callers that are not connected yet."""
        with self.lock:
            return self.wanted - self.found.keys()

    def receive(self, connection):
        """Do the handshake with a caller; close the connection if it is unknown or late."""
        try:
            self.keep(greet(connection, self.secret, self.missing()), connection)
        except (OSError, ValueError):
            connection.close()
        finally:
            self.places.release()

    def keep(self, caller, connection):
        """Store the connection of an authenticated caller."""
        with self.lock:
            if self.closed or caller in self.found:
                raise ValueError("too late")
            self.found[caller] = connection
            if self.wanted == self.found.keys():
                self.full.set()

    def close(self):
        """Close all connections, and reject later ones."""
        with self.lock:
            self.closed = True
            for connection in self.found.values():
                connection.close()


def greet(connection, secret, wanted):
    """Do the listener's part of the handshake; return (rank, skip) or raise ValueError."""
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
    """Return exactly ``count`` bytes from a blocking socket, before time.monotonic() `deadline`."""
    data = b""
    while len(data) < count:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        more = connection.recv(count - len(data))
        if not more:
            raise ValueError("it closed the connection, as it does after a wrong secret")
        data += more
    return data
