"""Server: requests and replies over ZeroMQ or files, and the limits of connections."""
