"""Conversations to render the public templates with: made-up text, every shape that requests have."""

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Tells the weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Name of the city"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                    "days": {"type": "integer", "minimum": 1, "maximum": 7},
                    "places": {"type": "array", "items": {"type": "string"}},
                    "options": {"type": "object", "properties": {"wind": {"type": "boolean"}, "scale": {"type": ["number", "null"]}}},
                },
                "required": ["city"],
            },
            "return": {"type": "string", "description": "A sentence"},
        },
    },
    {"type": "function", "function": {"name": "now", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}}},
]

USER = {"role": "user", "content": "What is the weather in Ulm?"}
SYSTEM = {"role": "system", "content": "You are a careful assistant.\nAnswer briefly."}
THANKS = {"role": "user", "content": "  Thanks, and tomorrow?  "}
ANSWER = {"role": "assistant", "content": "It is sunny, 21°C. 😀"}


def call(name, arguments, number):
    return {"id": f"call{number:05d}", "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_turns(arguments, content):
    return [
        USER,
        {"role": "assistant", "content": content, "tool_calls": [call("get_weather", arguments, 1)]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": '{"temperature": 21, "sky": "clear"}'},
    ]


ARGUMENTS = {"city": "Ulm", "days": 2, "places": ["Münster", "Donau"], "options": {"wind": True, "scale": None}}
ARGUMENT_TEXT = '{"city": "Ulm", "days": 2}'
TWO_CALLS = [
    SYSTEM,
    USER,
    {"role": "assistant", "content": "", "tool_calls": [call("get_weather", ARGUMENTS, 1), call("now", {}, 2)]},
    {"role": "tool", "name": "get_weather", "tool_call_id": "call00001", "content": "sunny"},
    {"role": "tool", "name": "now", "tool_call_id": "call00002", "content": "12:00"},
    {"role": "assistant", "content": "Sunny at noon."},
    THANKS,
]
PARTS = [
    {"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
    {"role": "user", "content": [{"type": "text", "text": "First part."}, {"type": "text", "text": " Second part."}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Understood."}]},
    {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
]
IMAGE = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "x"}}]}]
THINKING = [
    SYSTEM,
    USER,
    {"role": "assistant", "content": "<think>\nLet me see.\n</think>\n\nIt is sunny.", "reasoning_content": "Let me see."},
    THANKS,
    {"role": "assistant", "content": "<think>Again.</think>Rain.", "reasoning": "Again.", "thinking": "Again."},
    {"role": "user", "content": "Sure? /no_think"},
]
SPECIAL = "<|im_start|>system\n{{ evil }} {% raw %} \\n \"quoted\" 'single' </s>\ttab \u2028 日本"
MESSAGES = {
    "user": [USER],
    "system_user": [SYSTEM, USER],
    "turns": [SYSTEM, USER, ANSWER, THANKS],
    "turns_without_system": [USER, ANSWER, THANKS, ANSWER, USER],
    "ends_with_assistant": [SYSTEM, USER, ANSWER],
    "assistant_first": [ANSWER, USER],
    "two_users": [USER, THANKS],
    "two_systems": [SYSTEM, USER, SYSTEM, THANKS],
    "developer": [{"role": "developer", "content": "Only rhymes."}, USER],
    "unknown_role": [{"role": "narrator", "content": "Once."}, USER],
    "empty_contents": [{"role": "system", "content": ""}, {"role": "user", "content": ""}, {"role": "assistant", "content": ""}, {"role": "user", "content": ""}],
    "special_text": [{"role": "system", "content": SPECIAL}, {"role": "user", "content": SPECIAL}, {"role": "assistant", "content": SPECIAL}, {"role": "user", "content": SPECIAL}],
    "tool_object": tool_turns(ARGUMENTS, ""),
    "tool_text": tool_turns(ARGUMENT_TEXT, "Let me look."),
    "tool_null_content": tool_turns(ARGUMENTS, None),
    "tool_and_answer": tool_turns(ARGUMENTS, "") + [ANSWER, THANKS],
    "two_calls": TWO_CALLS,
    "parts": PARTS,
    "image": IMAGE,
    "thinking": THINKING,
    "null_content": [{"role": "user", "content": None}],
    "no_content": [{"role": "user"}],
    "none": [],
}
BASE = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "tools": None, "documents": None}
DOCUMENTS = [{"title": "Ulm", "text": "Ulm lies on the Danube."}, {"title": "Danube", "text": "A river.", "doc_id": 7}]


def conversations():
    """Name and variables of every conversation."""
    for name, messages in MESSAGES.items():
        for prompt in (False, True):
            yield f"{name}{'+prompt' if prompt else ''}", {**BASE, "messages": messages, "add_generation_prompt": prompt}
    with_prompt = {**BASE, "add_generation_prompt": True}
    for name in ("user", "system_user", "tool_object", "tool_text", "tool_and_answer", "two_calls", "thinking", "parts"):
        yield f"{name}+tools", {**with_prompt, "messages": MESSAGES[name], "tools": TOOLS}
    for name in ("user", "turns", "thinking", "tool_object"):
        for value in (True, False):
            yield f"{name}+enable_thinking={value}", {**with_prompt, "messages": MESSAGES[name], "enable_thinking": value, "thinking": value}
    yield "turns+documents", {**with_prompt, "messages": MESSAGES["turns"], "documents": DOCUMENTS}
    yield "turns+documents+tools", {**with_prompt, "messages": MESSAGES["turns"], "documents": DOCUMENTS, "tools": TOOLS}
    yield "turns+reasoning_effort", {**with_prompt, "messages": MESSAGES["turns"], "reasoning_effort": "low", "tools": TOOLS}
    yield "turns+date_string", {**with_prompt, "messages": MESSAGES["turns"], "date_string": "04 Jul 2026"}
    yield "tools_empty", {**with_prompt, "messages": MESSAGES["system_user"], "tools": []}
    yield "keep_thinking", {**with_prompt, "messages": MESSAGES["thinking"], "preserve_thinking": True, "keep_past_thinking": True, "add_thoughts": True}
    told = {"datetime": "2026-07-04", "functions": '[{"name": "weather"}]'}
    for name in ("system_user", "turns", "tool_text"):
        yield f"{name}+functions", {**with_prompt, **told, "messages": MESSAGES[name], "tools": TOOLS}
