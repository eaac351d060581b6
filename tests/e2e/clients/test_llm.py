"""Simon Willison's llm, with a server among its models as its documentation has it."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from prompts import MODEL
from script_model import ANSWER
from waiting import PATIENCE_S
from weft_server import WeftServer

if importlib.util.find_spec("llm") is None:
    pytest.skip("llm is not installed", allow_module_level=True)

TOOLS = '''
def get_weather(city: str, days: int) -> str:
    "Says the weather"
    return "sunny"

def get_time(zone: str) -> str:
    "Says the time"
    return "noon"
'''


def llm(server: WeftServer, home: Path, *arguments: str) -> str:
    (home / "extra-openai-models.yaml").write_text(
        f"- model_id: weft\n  model_name: {MODEL}\n  api_base: {server.url}/v1\n  supports_tools: true\n"
        "  supports_schema: true\n")
    ran = subprocess.run([sys.executable, "-m", "llm", "-m", "weft", "--no-log", *arguments], check=False,
                         capture_output=True, encoding="utf-8", timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                         env={**os.environ, "LLM_USER_PATH": str(home), "OPENAI_API_KEY": "none"})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_question_is_answered(server, tmp_path):
    assert "Weft" in llm(server, tmp_path, "What is Weft?", "-o", "temperature", "0", "--no-stream")


def test_tools_are_called(script_server, tmp_path):
    assert ANSWER in llm(script_server, tmp_path, "What is the weather?", "--functions", TOOLS)
