"""Tests of links and collectives between ranks, each a thread with its own sockets."""

import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranks_kit import SECRET, run_ranks

from algorithms.distributed import handshake, sockets
from algorithms.distributed.collective import decode, encode, join, skips_of, split_frame, width_of
from algorithms.distributed.sockets import LinkError


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
def test_allgather_returns_all_values_on_every_rank(size):
    results = run_ranks(size, lambda ranks: ranks.gather(b"x" * ranks.rank, "test"))
    assert results == [[b"x" * rank for rank in range(size)]] * size


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
def test_reduce_scatter_returns_the_sum_of_each_block(size):
    rng = np.random.default_rng(size)
    lengths = [3 * rank % 5 for rank in range(size)]
    numbers = [[rng.integers(-(2**30), 2**30, (2, n)) for n in lengths] for _ in range(size)]
    results = run_ranks(size, lambda ranks: ranks.add_up(numbers[ranks.rank], (5, 6), "test"))
    for rank in range(size):
        assert np.array_equal(results[rank], sum(numbers[other][rank] for other in range(size)))


def test_sent_bytes_are_counted_and_minimal():
    size, n = 5, 100
    blocks = [np.ones((2, n), np.int64)] * size

    def task(ranks):
        ranks.add_up(blocks, (1, 4), "sums")
        return ranks.sent["sums"], ranks.calls["sums"]

    steps = len(skips_of(size))
    assert run_ranks(size, task) == [((size - 1) * n * 5 + 8 * steps, steps)] * size


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6])
def test_every_rank_receives_the_best_of_all(size):
    given = [b"%d" % (rank * 7 % size) for rank in range(size)]
    results = run_ranks(size, lambda ranks: ranks.best(given[ranks.rank], max, "test"))
    assert results == [max(given)] * size


def test_tables_of_all_ranks_are_compressed():
    def task(ranks):
        table = np.zeros((2, 500), np.int64)
        table[ranks.rank, 7] = 1 << 60
        return ranks.tables(table, "test"), ranks.sent["test"]

    for tables, sent in run_ranks(2, task):
        assert [table[:, 7].tolist() for table in tables] == [[1 << 60, 0], [0, 1 << 60]]
        assert sent < 200


def test_totals_cover_all_ranks():
    results = run_ranks(3, lambda ranks: ranks.total([[ranks.rank, 1]], "test"))
    assert [total.tolist() for total in results] == [[[3, 3]]] * 3


@given(st.integers(0, 2**62), st.integers(0, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_numbers_survive_compression(largest, count, seed):
    rng = np.random.default_rng(seed)
    block = rng.integers(-largest, largest, (2, count), endpoint=True)
    widths = (width_of(largest), 8)
    (result,) = decode(encode(block, widths), [count], widths)
    assert np.array_equal(result, block)
    assert width_of(127) == 1
    assert width_of(128) == 2
    assert [width_of(2**bits) for bits in (22, 38, 54, 62)] == [4, 5, 8, 8]


@pytest.mark.parametrize("size", [2, 3])
def test_wrong_secret_is_an_error_on_all_ranks_within_seconds(size):
    began = time.monotonic()
    secrets = [SECRET] * (size - 1) + [b"another"]
    results = run_ranks(size, lambda ranks: None, secrets, joining=20.0)
    assert all(isinstance(one, LinkError) for one in results)
    assert any("secret" in str(one) for one in results)
    assert time.monotonic() - began < 15.0


def test_foreign_connections_are_refused_without_disturbance():
    listeners = [sockets.listen("127.0.0.1") for _ in range(2)]
    addresses = [one.getsockname() for one in listeners]
    for noise in (b"", b"GET / HTTP/1.0\r\n\r\n" * 9):
        connection = socket.create_connection(addresses[0])
        connection.sendall(noise)
        connection.close()

    def run(rank):
        with join(rank, addresses, listeners[rank], SECRET) as ranks:
            return ranks.gather(b"%d" % rank, "test")

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == [[b"0", b"1"]] * 2


def test_connection_without_proof_of_the_secret_is_refused():
    listener = sockets.listen("127.0.0.1")
    outcome = []

    def wait():
        try:
            outcome.append(handshake.accept(listener, SECRET, {(1, 1)}, time.monotonic() + 1.0))
        except LinkError as error:
            outcome.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    with socket.create_connection(listener.getsockname()) as connection:
        connection.sendall(handshake.HELLO.pack(handshake.MAGIC, 1, 1, b"n" * 32))
        assert len(handshake.read(connection, 64, time.monotonic() + 5.0)) == 64
        connection.sendall(b"p" * 32)
        thread.join()
    listener.close()
    assert isinstance(outcome[0], LinkError)


def test_silent_and_slow_connections_do_not_delay_ranks():
    listeners = [sockets.listen("127.0.0.1") for _ in range(2)]
    addresses = [one.getsockname() for one in listeners]
    silent = [socket.create_connection(addresses[0]) for _ in range(12)]
    slow = socket.create_connection(addresses[1])
    dripping = threading.Thread(target=drip_into, args=(slow, []))
    dripping.start()

    def run(rank):
        with join(rank, addresses, listeners[rank], SECRET, joining=20.0) as ranks:
            return ranks.gather(b"%d" % rank, "test")

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == [[b"0", b"1"]] * 2
    for one in (*silent, slow):
        sockets.shut(one)
    dripping.join()


def test_whole_handshake_has_one_deadline(monkeypatch):
    monkeypatch.setattr(handshake, "GREETING", 0.3)
    one, other = socket.socketpair()
    with one, other:
        sent = []
        dripping = threading.Thread(target=drip_into, args=(other, sent))
        dripping.start()
        with pytest.raises((OSError, ValueError)):
            handshake.greet(one, SECRET, {(0, 1)})
    dripping.join()
    assert len(sent) < handshake.HELLO.size


def drip_into(connection, sent):
    """Send one byte at a time, each within the time limit of a handshake step."""
    with suppress(OSError):
        for byte in handshake.HELLO.pack(handshake.MAGIC, 0, 1, b"n" * 32):
            connection.send(bytes([byte]))
            sent.append(byte)
            time.sleep(0.1)


def test_lost_rank_ends_all_other_ranks():
    def task(ranks):
        for step in range(1000):
            if ranks.rank == 2 and step == 5:
                ranks.close()
                return "gone"
            ranks.gather(b"here", "test")
        return "done"

    results = run_ranks(4, task)
    assert results[2] == "gone"
    assert all(isinstance(results[rank], LinkError) for rank in (0, 1, 3))


def test_silent_neighbor_is_given_up():
    def task(ranks):
        if ranks.rank == 1:
            time.sleep(1.0)
            return None
        return ranks.gather(b"", "test")

    results = run_ranks(2, task, patience=0.2)
    assert "has sent nothing for 0.2 s" in str(results[0])


def test_oversized_frame_is_refused():
    one, other = socket.socketpair()
    with one, other:
        one.setblocking(False)
        other.sendall(struct.pack("<Q", 1 << 40))
        with pytest.raises(LinkError, match="announced"):
            sockets.swap(one, b"", one, 100, 1.0)


def test_large_frames_are_sent():
    data = np.random.default_rng(0).bytes(3_000_000)
    results = run_ranks(2, lambda ranks: ranks.gather(data, "test"))
    assert results == [[data, data]] * 2


def test_joined_frame_is_split_again():
    assert split_frame(struct.pack("<Q", 2) + b"ab" + struct.pack("<Q", 0)) == [b"ab", b""]
