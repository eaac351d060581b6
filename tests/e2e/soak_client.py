"""A client that asks for more than it lives to see. Usage: soak_client.py PORT KIND SEED. Standard library only."""

import base64
import json
import random
import socket
import struct
import sys
from typing import Any

PATHS = {"stream": "/v1/chat/completions", "body": "/v1/chat/completions", "completion": "/v1/completions",
         "response": "/v1/responses"}
KINDS = [*PATHS, "websocket", "half"]


def body_of(kind: str, dice: random.Random) -> dict[str, Any]:
    body: dict[str, Any] = {"ignore_eos": True, "seed": dice.randrange(1000), "temperature": 1.5}
    length = dice.choice([1, 5, 200, 800])
    if kind in ("stream", "body"):
        return {**body, "messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": length,
                "stream": kind == "stream", "n": dice.randint(1, 3)}
    if kind == "completion":
        return {**body, "prompt": ["Once", "Twice"], "max_tokens": length, "stream": dice.random() < 0.5}
    return {**body, "input": "Tell me a story.", "max_output_tokens": length, "stream": True}


def speak_http(connection: socket.socket, kind: str, dice: random.Random) -> None:
    body = json.dumps(body_of(kind, dice)).encode()
    request = f"POST {PATHS[kind]} HTTP/1.1\r\nHost: weft\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    connection.sendall(request * dice.randint(1, 3))


def speak_websocket(connection: socket.socket, dice: random.Random) -> None:
    key = base64.b64encode(dice.randbytes(16)).decode()
    connection.sendall(("GET /v1/responses HTTP/1.1\r\nHost: weft\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
    connection.recv(4096)
    for lane in "abc":
        body = body_of("response", dice)
        del body["stream"]
        text = json.dumps({"type": "response.create", "stream_id": lane, **body}).encode()
        connection.sendall(b"\x81" + bytes([0x80 | 126]) + struct.pack(">H", len(text)) + b"\0" * 4 + text)


def main() -> None:
    port, kind, dice = int(sys.argv[1]), sys.argv[2], random.Random(int(sys.argv[3]))
    with socket.create_connection(("127.0.0.1", port)) as connection:
        if kind == "websocket":
            speak_websocket(connection, dice)
        elif kind == "half":  # of a request
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: weft\r\nContent-Length: 1000\r\n\r\n{")
        else:
            speak_http(connection, kind, dice)
        while connection.recv(65536):
            pass


if __name__ == "__main__":
    main()
