"""A booking desk that runs already: the official Python SDK over Streamable HTTP.

    desk.py LEDGER [--token TOKEN] [--tls FOLDER]

Prints its address. With `--token` it lets nobody in without it; with `--tls` it speaks TLS, with a
certificate of an authority of its own that it leaves in FOLDER as `ca.pem`. Every booking is a line of LEDGER.
"""

import argparse
import datetime
import ipaddress
import json
import pathlib
import socket

import uvicorn
from mcp.server import MCPServer
from starlette.responses import PlainTextResponse


def desk(ledger):
    server = MCPServer("desk")

    @server.tool()
    def create_booking(guest: str, room: int, date: str) -> str:
        """Books a room."""
        with open(ledger, "a", encoding="utf-8") as file:
            file.write(json.dumps({"guest": guest, "room": room, "date": date}) + "\n")
        return f"Room {room} is booked for {guest} on {date}."

    return server.streamable_http_app()


def only_with(token, app):
    async def guarded(scope, receive, send):
        headers = dict(scope.get("headers", []))
        if scope["type"] == "http" and headers.get(b"authorization") != f"Bearer {token}".encode():
            return await PlainTextResponse("who are you?", status_code=401)(scope, receive, send)
        await app(scope, receive, send)

    return guarded


def certificate(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def made(subject, key, issuer, issuer_key, extension, critical):
        now = datetime.datetime.now(datetime.timezone.utc)
        name = lambda text: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name(issuer))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(extension, critical=critical)
        )
        return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    is_authority = x509.BasicConstraints(ca=True, path_length=0)
    (folder / "ca.pem").write_bytes(made("authority", authority, "authority", authority, is_authority, True))
    (folder / "desk.pem").write_bytes(made("desk", key, "authority", authority, names, False))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    return {"ssl_certfile": folder / "desk.pem", "ssl_keyfile": folder / "key.pem"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ledger")
    parser.add_argument("--token")
    parser.add_argument("--tls", type=pathlib.Path)
    options = parser.parse_args()
    app = desk(options.ledger)
    if options.token:
        app = only_with(options.token, app)
    tls = certificate(options.tls) if options.tls else {}
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on", **tls)).run(sockets=[listener])


main()
