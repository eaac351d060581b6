"""The documents of the training corpus, none of which shows anything held out."""

from . import stories
from .chats import CallChat, Chat, StructuredChat, ToolChat
from .long_texts import lengthened
from .programs import as_task, observed
from .question import shows_held_out

LONG = 0.03  # documents with a text that has nothing to do with their questions


def training_document(rng) -> dict:
    """A chat, {"messages": [...]}, with {"tools": [...]} where it offers some, or a story without one, {"text": ...}."""
    if rng.random() < 0.03:
        return {"text": stories.story(rng).text}
    is_long = rng.random() < LONG
    chat, count = new_chat(rng, 0.6 if is_long else 1)
    if is_long and chat.is_brief:
        chat.system, chat.is_brief = None, False
    grow(chat, max(count, rng.randrange(1, 10)) if is_long else count)
    messages = chat.messages()
    if isinstance(chat, ToolChat) and chat.box.final and len(chat.turns) == 1 and rng.random() < 0.5:
        messages = observed(rng, messages)
    if rng.random() < (0.25 if is_long else 0.02):
        messages = as_task(rng, messages)
    tools = {} if type(chat) in (Chat, StructuredChat) else {"tools": chat.tools()}
    return {**tools, "messages": lengthened(rng, messages) if is_long else messages}


def new_chat(rng, share: float) -> tuple[Chat, int]:
    """A chat, and how many turns it gets; the smaller the share, the fewer are plain."""
    kind = rng.random() * share
    if kind < 0.23:
        return ToolChat(rng), rng.choice((1, 1, 1, 1, 2, 2, 3, 4, 6))
    if kind < 0.26:
        return CallChat(rng), 1
    if kind < 0.38:
        return StructuredChat(rng), rng.choice((1, 1, 1, 2, 3, 4))
    return Chat(rng), rng.choice((1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, 12, 20))


def grow(chat: Chat, count: int) -> None:
    while len(chat.turns) < count and not ends(chat):
        chat.add_topic(shows_held_out)


def ends(chat: Chat) -> bool:
    """Whether no turn can follow."""
    return bool(chat.turns) and (isinstance(chat, CallChat) or chat.turns[-1].system is not None)
