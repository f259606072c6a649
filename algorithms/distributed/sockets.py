"""TCP connections between the ranks of a training, which exchange frames.

    frame = length (8 bytes, little-endian) · bytes

A frame longer than the receiver expects ends the connection. Frames are not pickles.
"""

import select
import socket
import struct
from contextlib import suppress

LENGTH = struct.Struct("<Q")
KEEP_ALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 11_000}


class LinkError(ConnectionError):
    """A rank cannot be reached, is lost, or fails authentication."""


def listen(host):
    """Return a listening socket on a free port of an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, 0))
    listener.listen(64)
    return listener


def tune(connection):
    """Set socket options: send small frames at once, and detect a lost host within seconds."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):  # not every system has all of them
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def shut(connection):
    """Close a socket, and wake threads that wait for it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class OutgoingFrame:
    """A frame that is being sent."""

    def __init__(self, connection, data):
        self.connection = connection
        self.parts = [memoryview(LENGTH.pack(len(data))), memoryview(data)]

    def step(self):
        """Send as much as possible without blocking; return whether all is sent."""
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
    """A frame that is being received, of at most ``most`` bytes."""

    def __init__(self, connection, most):
        self.connection, self.most = connection, most
        self.data = bytearray(LENGTH.size)
        self.left = memoryview(self.data)
        self.has_length = False

    def step(self):
        """Receive as much as possible without blocking; return whether the frame is complete."""
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
                raise LinkError("a neighbor closed the connection")
            self.left = self.left[count:]

    def make_room(self):
        """Read the length, and allocate the buffer."""
        (length,) = LENGTH.unpack(self.data)
        if length > self.most:
            raise LinkError(f"a neighbor announced {length} bytes; {self.most} is the limit")
        self.has_length = True
        self.data = bytearray(length)
        self.left = memoryview(self.data)


def swap(to, data, source, most, patience):
    """Send a frame to one rank and receive one from another, at the same time.

    Parameters
    ----------
    to, source : sockets of `connect` and `accept`
    data : bytes-like
    most : maximum length of the received frame, in bytes
    patience : seconds without progress after which to give up

    Returns
    -------
    bytearray

    Raises
    ------
    LinkError
        If a neighbor is lost, is silent for too long, or announces too long a frame.
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
                raise LinkError(f"a neighbor has sent nothing for {patience:g} s")
    except OSError as error:
        raise error if isinstance(error, LinkError) else LinkError(str(error)) from error
    return receiving.data
