# PROBE: multiprocessing with a pool, a manager, shared memory, semaphores and Unix sockets
# GOAL: allow
import multiprocessing
import multiprocessing.managers
import multiprocessing.shared_memory
import socket
import tempfile

from probelib import must_work


def double(number):
    return number * 2


def add(queue, number):
    queue.put(number)


def go():
    with multiprocessing.Pool(2) as pool:
        assert pool.map(double, [1, 2, 3]) == [2, 4, 6]
    with multiprocessing.Manager() as manager:
        shared = manager.dict(a=1)
        assert shared["a"] == 1
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=add, args=(queue, 5))
    child.start()
    assert queue.get(timeout=5) == 5
    child.join()
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=1 << 16)
    memory.buf[0] = 7
    memory.close()
    memory.unlink()
    with tempfile.TemporaryDirectory() as folder:
        server = socket.socket(socket.AF_UNIX)
        server.bind(folder + "/s")
        server.listen()
        client = socket.socket(socket.AF_UNIX)
        client.connect(folder + "/s")


if __name__ == "__main__":
    must_work(go)
