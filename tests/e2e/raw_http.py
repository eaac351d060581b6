"""HTTP byte by byte, for what no client library would send."""

import json
import socket
from dataclasses import dataclass
from typing import Any

from waiting import PATIENCE_S


@dataclass
class Answer:
    version: str
    status: int
    headers: dict[str, str]  # by names in lower case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def error(self) -> dict[str, Any]:
        return self.json()["error"]


class RawClient:
    """One connection: to a port, or a socket that is connected already."""

    def __init__(self, to: int | socket.socket) -> None:
        if isinstance(to, int):
            to = socket.create_connection(("127.0.0.1", to), PATIENCE_S)
            to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each send() is a segment
        self.socket = to
        self._input = self.socket.makefile("rb")

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._input.close()
        self.socket.close()

    def send(self, data: bytes | str) -> "RawClient":
        self.socket.sendall(data.encode() if isinstance(data, str) else data)
        return self

    def send_request(self, method: str, path: str, *headers: str, body: bytes = b"") -> "RawClient":
        lines = [f"{method} {path} HTTP/1.1", "Host: weft", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def post(self, path: str, body: Any, *headers: str) -> "RawClient":
        return self.send_request("POST", path, *headers, body=json.dumps(body).encode())

    def read(self, head: bool = False) -> Answer:
        """The next answer; with `head` it has no body, whatever its header says."""
        version, status, headers = self._read_head()
        if head or status < 200 or status == 204:
            body = b""
        elif headers.get("transfer-encoding") == "chunked":
            body = b"".join(self.chunks())
        elif "content-length" in headers:
            body = self._input.read(int(headers["content-length"]))
        else:
            body = self._input.read()
        return Answer(version, status, headers, body)

    def _read_head(self) -> tuple[str, int, dict[str, str]]:
        line = self._input.readline().decode()
        assert line, "the server closed the connection"
        version, status = line.split(" ")[:2]
        headers: dict[str, str] = {}
        while (line := self._input.readline().decode("latin-1")) not in ("\r\n", ""):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return version, int(status), headers

    def read_head(self) -> Answer:
        """Of an answer whose chunks come later."""
        return Answer(*self._read_head(), b"")

    def chunks(self):
        while size := int(self._input.readline(), 16):
            yield self._input.read(size)
            assert self._input.readline() == b"\r\n"
        assert self._input.readline() == b"\r\n"

    def take(self, count: int) -> bytes:
        """As many bytes, or fewer when the connection ends."""
        return self._input.read(count)

    def is_at_end(self) -> bool:
        """Whether the server closes without another byte. A reset is an end too."""
        try:
            return self._input.read(1) == b""
        except ConnectionResetError:
            return True
