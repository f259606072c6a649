"""Collective communication of ranks: allgather, reduce-scatter and best-of reduction.

With p ranks, rank r has links to r + s and r − s (mod p) for the skips s = ⌈p/2⌉, ⌈p/4⌉ … 1
(Träff: Optimal, non-pipelined reduce-scatter and allreduce algorithms, 2024). All take ⌈log₂ p⌉
steps for any p. To sum, a rank sends (p − 1)/p of the data, which is the minimum.

    sum     rank r holds V[i] for rank r + i, i = 0 … p − 1; from range s' down to skip s:
            send V[s … s'−1] to r + s, and add the blocks received from r − s to V[0 … s'−s−1]
    gather  the same steps in reverse, with the data of the ranks r + i in place of sums
    best    as gather, but each rank sends the better one of its own and the received data

Sums are integers, so their order does not matter. A number is sent in about as many bytes as the
largest possible sum needs, instead of eight.
"""

import struct
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from algorithms.distributed.handshake import accept, connect
from algorithms.distributed.sockets import LinkError, shut, swap

COUNT = struct.Struct("<Q")
MAX_GATHERED = 1 << 32  # bytes
WIDTHS = 1, 2, 4, 5, 6, 8  # sizes in bytes that numpy encodes fast as one or two integers


def skips_of(size):
    """Return pairs (skip, previous range), the widest skip first."""
    skips, last = [], size
    while last > 1:
        skips.append(((last + 1) // 2, last))
        last = (last + 1) // 2
    return skips


def join(rank, addresses, listener, secret, patience=300.0, joining=30.0):
    """Connect to the other ranks and return the `Ranks` of a training.

    Parameters
    ----------
    rank : int
    addresses : list of (host, port), one per rank
    listener : listening socket of this rank's address; it is closed
    secret : bytes
    patience : seconds without data after which a neighbor counts as lost
    joining : seconds within which all ranks must connect

    Raises
    ------
    LinkError
        If a rank cannot be reached in time or has another secret.
    """
    size = len(addresses)
    ranks = Ranks(rank, size, patience)
    deadline = time.monotonic() + joining
    callers = {((rank - skip) % size, skip) for skip, _ in ranks.skips}
    with ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(accept, listener, secret, callers, deadline)
        try:
            for skip, _ in ranks.skips:
                to = addresses[(rank + skip) % size]
                ranks.ahead[skip] = connect(to, secret, rank, skip, deadline)
            ranks.take(accepted.result())
        except BaseException:
            shut(listener)  # wakes the accepting thread
            with suppress(LinkError):
                ranks.take(accepted.result())
            ranks.close()
            raise
    shut(listener)
    return ranks


class Ranks:
    """Connections of one rank to the others, and collective operations.

    All methods raise LinkError if a connection is lost.

    Parameters
    ----------
    rank, size : int
        Number of this rank, and number of ranks.
    patience : float
        Seconds without data after which a neighbor counts as lost.

    Attributes
    ----------
    ahead, behind : dict
        Skip → socket.
    sent, calls : Counter
        Purpose → bytes and messages that this rank has sent.
    """

    def __init__(self, rank=0, size=1, patience=300.0):
        self.rank, self.size, self.patience = rank, size, patience
        self.skips = skips_of(size)
        self.sent, self.calls = Counter(), Counter()
        self.ahead, self.behind = {}, {}

    def take(self, accepted):
        """Store the accepted connections."""
        self.behind = {skip: link for (_, skip), link in accepted.items()}

    def close(self):
        """Close all connections, which neighbors notice at once; another thread may call this."""
        for link in [*self.ahead.values(), *self.behind.values()]:
            shut(link)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def gather(self, data, what):
        """Return the data of all ranks, by rank: a list of bytes (allgather).

        Parameters
        ----------
        data : bytes-like, of any length
        what : purpose, for the counts of bytes
        """
        received = [bytes(data)]  # of the ranks rank, rank + 1, …
        for skip, last in reversed(self.skips):
            frame = b"".join(COUNT.pack(len(one)) + one for one in received[: last - skip])
            self._note(what, frame)
            got = swap(self.behind[skip], frame, self.ahead[skip], MAX_GATHERED, self.patience)
            received += split_frame(got)
        return [received[(rank - self.rank) % self.size] for rank in range(self.size)]

    def best(self, data, better, what):
        """Return the best of the data of all ranks.

        Parameters
        ----------
        data : bytes or uint8 array, of the same length at every rank
        better : callable (bytes, bytearray) → the better one; commutative and idempotent
        what : purpose, for the counts of bytes
        """
        for skip, _ in reversed(self.skips):
            self._note(what, data)
            links = self.behind[skip], data, self.ahead[skip]
            data = better(data, swap(*links, len(data), self.patience))
        return data

    def tables(self, table, what):
        """Return the tables of all ranks, a list of int64 arrays; they are sent compressed."""
        packed = zlib.compress(np.ascontiguousarray(table, np.int64).tobytes(), 1)
        parts = self.gather(packed, what)
        shape, size = np.shape(table), 8 * np.size(table)
        received = [zlib.decompressobj().decompress(part, size) for part in parts]
        return [np.frombuffer(part, np.int64).reshape(shape) for part in received]

    def total(self, numbers, what):
        """Return the sum over ranks of an int64 array."""
        numbers = np.ascontiguousarray(numbers, np.int64)
        parts = self.gather(numbers.tobytes(), what)
        received = [np.frombuffer(part, np.int64) for part in parts]
        return np.sum(received, axis=0).reshape(numbers.shape)

    def add_up(self, blocks, widths, what):
        """Return the sum over ranks of this rank's block (reduce-scatter).

        Parameters
        ----------
        blocks : list of int64 (n_planes, n), one for each rank; n may differ between ranks
        widths : bytes that hold any sum of each plane with its sign, see `width_of`
        what : purpose, for the counts of bytes

        Returns
        -------
        int64 (n_planes, n)
        """
        parts = [blocks[(self.rank + i) % self.size] for i in range(self.size)]
        for skip, last in self.skips:
            frame = b"".join(encode(block, widths) for block in parts[skip:last])
            self._note(what, frame)
            wanted = [block.shape[1] for block in parts[: last - skip]]
            most = sum(wanted) * sum(widths)
            got = swap(self.ahead[skip], frame, self.behind[skip], most, self.patience)
            sums = decode(got, wanted, widths)
            parts = [mine + other for mine, other in zip(parts, sums, strict=False)] + parts[
                last - skip : skip
            ]
        return parts[0]

    def _note(self, what, frame):
        self.sent[what] += COUNT.size + len(frame)
        self.calls[what] += 1


def split_frame(frame):
    """Return the parts of a frame sent by `gather`."""
    parts, at = [], 0
    while at < len(frame):
        (length,) = COUNT.unpack_from(frame, at)
        at += COUNT.size
        parts.append(bytes(frame[at : at + length]))
        at += length
    return parts


def width_of(largest):
    """Return the bytes needed for signed integers of at most this absolute value."""
    needed = min(int(largest).bit_length() // 8 + 1, 8)
    return next(width for width in WIDTHS if width >= needed)


def encode(block, widths):
    """Return a block's numbers as bytes, plane by plane: low 32 bits first, then the rest."""
    pieces = []
    for plane, width in zip(block, widths, strict=True):
        if width > 4:
            pieces += [plane.astype("<u4").tobytes(), (plane >> 32).astype(f"<i{width - 4}")]
        else:
            pieces.append(plane.astype(f"<i{width}"))
    return b"".join(pieces)


def decode(data, lengths, widths):
    """Return the blocks encoded in a frame, int64 (n_planes, n) each."""
    decoded, at = [], 0
    for n in lengths:
        block = np.empty((len(widths), n), np.int64)
        for i, width in enumerate(widths):
            if width > 4:
                block[i] = np.frombuffer(data, f"<i{width - 4}", n, at + 4 * n)
                block[i] <<= 32
                block[i] |= np.frombuffer(data, "<u4", n, at)
            else:
                block[i] = np.frombuffer(data, f"<i{width}", n, at)
            at += n * width
        decoded.append(block)
    return decoded
