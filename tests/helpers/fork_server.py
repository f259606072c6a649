"""Import the modules of a worker once, then fork a worker for each socket received on stdin.

The arguments name the modules with the workers' datasets. All other dataset cards are left out,
because each worker would read them again.
"""

import gc
import os
import signal
import socket
import sys

# All modules that a worker imports lazily, so that forked workers import nothing.
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
    loading.builtin_data = lambda: data
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
