"""Training on many machines: links between ranks, collectives over them, and the driver."""
