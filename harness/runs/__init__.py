"""One run from request to stored result, and the commands that repeat or extend a run."""
