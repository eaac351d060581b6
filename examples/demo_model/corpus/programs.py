"""How programs that drive agents write the turns of a chat: a task under a heading, calls and results as text."""

from . import words

TASKS = ["New task:\n{q}", "Task: {q}", "User: {q}", "Question: {q}", "<task>\n{q}\n</task>", "Input:\n{q}", "Query: {q}",
         "Current task: {q}", "<user_query>{q}</user_query>", "### Question\n{q}"]


def as_task(rng, messages: list[dict]) -> list[dict]:
    """The messages with what the user asks under a heading."""
    form = rng.choice(TASKS)
    return [{**message, "content": form.format(q=message["content"])} if message["role"] == "user" else message for message in messages]


def observed(rng, messages: list[dict]) -> list[dict]:
    """A chat of one turn up to one of the calls that it makes; those before it stand there as text, with what they gave."""
    question = next(i for i, message in enumerate(messages) if message["role"] == "user")
    target = rng.choice([i for i, message in enumerate(messages) if message["role"] == "assistant"])
    found = messages[:question + 1]
    results: list[str] = []
    for message in messages[question + 1:target + 1]:
        if message["role"] == "tool":
            results.append(message["content"])
            continue
        if results:
            found.append({"role": "user", "content": "Observation:\n" + "\n".join(results)})
            results = []
        found.append(message if message is messages[target] else called(rng, message))
    return found


def called(rng, message: dict) -> dict:
    """The message with its calls as a program's log has them."""
    calls = [{"id": "".join(rng.choices(words.LETTERS, k=9)), **call} for call in message["tool_calls"]]
    return {"role": "assistant", "content": f"Calling tools:\n{calls}", "given": True}
