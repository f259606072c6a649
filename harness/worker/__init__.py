"""The child process: the only place where an algorithm runs. It speaks JSON and writes files."""

PROTOCOL = 1  # raised when a request or a reply changes its meaning
LOST_CHANNEL = 97  # exit code of a worker that can no longer reply
