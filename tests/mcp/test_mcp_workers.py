"""Threads that answer requests: kept, and no more than allowed."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
import time

import pytest

from rag.mcp.workers import Workers


def test_work_that_comes_one_after_the_other_is_done_by_one_thread():
    workers, threads = Workers(8, 1), set[int]()
    for _ in range(20):
        done = threading.Event()
        workers.do(lambda done=done: (threads.add(threading.get_ident()), done.set()))  # type: ignore[misc]
        assert done.wait(30)
        while not workers._idle:  # until it has said that it is free
            time.sleep(0.001)
    assert len(threads) == 1


def test_work_that_comes_at_once_is_done_at_once():
    workers, barrier = Workers(4, 1), threading.Barrier(5)
    for _ in range(4):
        workers.do(lambda: barrier.wait(30) and None)
    barrier.wait(30)


def test_work_that_comes_when_all_are_busy_is_done_later_and_in_order():
    workers, free, done = Workers(1, 3), threading.Event(), threading.Event()
    workers.do(lambda: free.wait(30) and None)
    order: list[int] = []
    for number in range(2):
        workers.do(lambda number=number: order.append(number))  # type: ignore[misc]
    workers.do(done.set)
    assert order == []
    free.set()
    assert done.wait(30)
    assert order == [0, 1]


def test_who_comes_when_too_many_wait_waits():
    workers, free, later = Workers(1, 1), threading.Event(), threading.Event()
    workers.do(lambda: free.wait(30) and None)
    workers.do(lambda: None)
    thread = threading.Thread(target=lambda: workers.do(later.set))
    thread.start()
    assert not later.wait(0.1)
    free.set()
    assert later.wait(30)
    thread.join()


_ALLOCATING = """
import ctypes, threading
from rag.support.memory_limits import limit_arenas
limit_arenas()
barrier = threading.Barrier(8)
def allocate():
    kept = [bytes(1000 + number) for number in range(1000)]
    barrier.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only glibc tells of its arenas"
)
def test_threads_share_two_arenas():
    told = subprocess.run([sys.executable, "-c", _ALLOCATING], capture_output=True, text=True)
    assert told.stdout.count("<heap nr=") == 2
