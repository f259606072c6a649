"""Connections between the ranks of a training: frames over TCP.

    frame = length (8 bytes, little-endian) · bytes

A length above what the receiver expects ends the connection. Nothing is pickled.
"""

import select
import socket
import struct
from contextlib import suppress

LENGTH = struct.Struct("<Q")
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


def shut(connection):
    """Close a socket, and wake whoever waits for it in another thread."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class OutgoingFrame:
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


class IncomingFrame:
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
    moving = {to: (select.POLLOUT, OutgoingFrame(to, data))}
    receiving = IncomingFrame(source, most)
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
