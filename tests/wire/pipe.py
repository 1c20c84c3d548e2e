"""An MCP server that is a pipe: what it reads goes to a socket, what the socket says it writes."""
import os
import socket
import sys
import threading

peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))


def upward():
    while chunk := os.read(0, 1 << 20):
        peer.sendall(chunk)
    peer.shutdown(socket.SHUT_WR)


threading.Thread(target=upward, daemon=True).start()
while chunk := peer.recv(1 << 20):
    view = memoryview(chunk)
    while view:
        view = view[os.write(1, view):]
