"""Worker: the child process that runs algorithms, controlled by JSON requests."""

PROTOCOL = 1  # increased when a request or a reply changes its meaning
LOST_CHANNEL = 97  # exit code of a worker that can no longer reply
