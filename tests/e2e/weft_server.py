"""The built program, serving the demo model on a free port of the loopback address."""

import json
import os
import re
import signal
import ssl
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from waiting import PATIENCE_S, eventually

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples/demo_model/model"

# What a sanitizer begins its reports with.
SANITIZER_REPORT = re.compile(r"runtime error:|ERROR: \w+Sanitizer|WARNING: ThreadSanitizer")

# For what the tests themselves look at; test_tls.py has clients that look closer.
ANY_CERTIFICATE = ssl.create_default_context()
ANY_CERTIFICATE.check_hostname = False
ANY_CERTIFICATE.verify_mode = ssl.CERT_NONE

# Small, so that several servers run beside each other: a quarter of the rows can be as long as the context.
ENGINE: dict[str, dict[str, Any]] = {"memory": {"max_rows": 256, "max_pages": 4096}}


def program() -> str:
    return os.environ["WEFT_PROGRAM"]


def write_config(path: Path, tables: dict[str, dict[str, Any]]) -> None:
    lines: list[str] = []
    for table in {**ENGINE, **tables}:
        lines.append(f"[{table}]")
        # JSON's texts, numbers and truth values are TOML's too.
        for key, value in {**ENGINE.get(table, {}), **tables.get(table, {})}.items():
            lines.append(f"{key} = {json.dumps(value)}")
    path.write_text("\n".join(lines) + "\n")


class WeftServer:
    def __init__(self, folder: Path, config: dict[str, dict[str, Any]], key: str = "") -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._ended = False
        self._key = key or config.get("auth", {}).get("api_key", "")
        folder.mkdir(parents=True, exist_ok=True)
        write_config(folder / "weft.toml", config)
        self.process = subprocess.Popen(
            [program(), "serve", str(MODEL), "--port", "0", "--config", str(folder / "weft.toml")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
            errors="surrogateescape")
        threading.Thread(target=self._read_log, daemon=True).start()
        try:
            listening = self.wait_for_log(r"listening on (https?)://127\.0\.0\.1:(\d+)")
            self.port = int(listening[2])
            self.url = f"{listening[1]}://127.0.0.1:{self.port}"
            eventually(self._healthy, "the server is healthy")
        except BaseException:
            self.process.kill()
            raise

    def _read_log(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _healthy(self) -> bool:
        assert self.process.poll() is None, self.log()
        try:
            return self.get("/health") == {"status": "ok"}
        except OSError:  # refused, or 503 while the model loads
            return False

    def log(self) -> str:
        with self._news:
            return "\n".join(self.lines)

    def wait_for_log(self, pattern: str, seconds: float = PATIENCE_S) -> re.Match[str]:
        """The first line of the log, old or new, that has `pattern` in it."""
        end, seen = time.monotonic() + seconds, 0
        with self._news:
            while True:
                for line in self.lines[seen:]:
                    if found := re.search(pattern, line):
                        return found
                seen = len(self.lines)
                left = end - time.monotonic()
                assert not self._ended and left > 0, f"no '{pattern}' in:\n" + "\n".join(self.lines)
                self._news.wait(left)

    def get(self, path: str) -> dict[str, Any]:
        request = urllib.request.Request(self.url + path)
        if self._key:
            request.add_header("Authorization", "Bearer " + self._key)
        with urllib.request.urlopen(request, timeout=PATIENCE_S, context=ANY_CERTIFICATE) as answer:
            return json.load(answer)

    def running(self) -> list[dict[str, Any]]:
        return self.get("/requests")["requests"]

    def is_idle(self) -> bool:
        now = self.get("/requests")
        engine = now["engine"]
        return (not now["requests"] and engine["requests"] == engine["running"] == engine["waiting"] == 0
                and engine["pages_free"] == engine["pages"])

    def wait_until_idle(self) -> None:
        try:
            eventually(self.is_idle, "no request is left and all pages are free")
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{self.get('/requests')}\n{self.log()}") from None

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def is_connected_to(self, port: int) -> bool:
        """Whether it still has the other end of this port's connection."""
        ends = [f"0100007F:{number:04X}" for number in (self.port, port)]
        rows = [line.split() for line in Path(f"/proc/{self.process.pid}/net/tcp").read_text().splitlines()]
        return any(row[1:3] == ends and row[9] != "0" for row in rows)  # 0: no process has it any more

    def memory(self) -> int:
        """KiB of memory that no file stands behind, in RAM or swapped out."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return sum(int(found) for found in re.findall(r"^(?:RssAnon|VmSwap):\s*(\d+) kB$", status, re.MULTILINE))

    def is_sanitized(self) -> bool:
        """Whether freed memory is kept back to find who still uses it."""
        return "san.so" in Path(f"/proc/{self.process.pid}/maps").read_text()

    def kill(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    def expect_clean_log(self) -> None:
        assert not SANITIZER_REPORT.search(self.log()), self.log()

    def stop(self) -> None:
        """SIGTERM, after which a server ends by itself and without complaint."""
        if self.process.poll() is None:
            self.kill()
        try:
            assert self.wait() == 0, self.log()
        finally:
            self.process.kill()
        with self._news:
            self._news.wait_for(lambda: self._ended, PATIENCE_S)
        self.expect_clean_log()
