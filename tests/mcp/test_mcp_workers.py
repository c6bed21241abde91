"""Threads that answer requests: kept, and no more than allowed."""

from __future__ import annotations

import threading
import time

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
