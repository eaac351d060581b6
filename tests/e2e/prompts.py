"""What the tests ask for."""

from typing import Any

MODEL = "model"  # the demo model's folder
STORY = [{"role": "user", "content": "Tell me a story."}]  # which many texts answer
QUESTION = [{"role": "user", "content": "What is Weft?"}]

# Runs until it is stopped: minutes of work in a sanitizer build, a second in a release on a fast machine.
ENDLESS: dict[str, Any] = {"max_tokens": 900, "n": 16, "temperature": 1.0, "extra_body": {"ignore_eos": True}}
ENDLESS_BODY: dict[str, Any] = {"max_tokens": 900, "n": 16, "ignore_eos": True}
# The same eight times over, for a test that lets time pass.
LONG_BODY: dict[str, Any] = {**ENDLESS_BODY, "prompt": ["Once"] * 8, "stream": True}
