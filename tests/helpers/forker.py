"""Import once what a worker imports, then fork a worker for each socket that comes in on stdin.

The modules that are named as arguments hold the datasets of the workers; the others' cards, which
would be read again by each of them, are left out.
"""

import gc
import os
import signal
import socket
import sys

# What a worker imports sooner or later, so that no forked one has to.
import threadpoolctl  # noqa: F401 - see above

import harness.data.loading
import harness.data.preparation
import harness.trees.check
import harness.worker.prepared_trial  # noqa: F401 - see above
from harness.plugins.registry import load_registry
from harness.worker import loading
from harness.worker.affinity import pin
from harness.worker.loop import serve


def main():
    data = sys.argv[1:]
    load_registry(modules=data)  # imports them
    loading._builtin_data = lambda: data
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    with socket.socket(fileno=0) as control:
        while True:
            cpus, ends, *_ = socket.recv_fds(control, 1000, 1)
            if not ends:
                return
            if os.fork():
                os.close(ends[0])
                continue
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pin([int(cpu) for cpu in cpus.decode().split(",") if cpu.strip()])
            end = socket.socket(fileno=ends[0])
            serve(end.makefile("rb"), end.makefile("wb"))
            os._exit(0)


if __name__ == "__main__":
    main()
