"""What a calculator computes: what is asked, the calls, what comes back, and the answer made of it. Also two questions at once.

With a calculator, whatever it can compute is computed by it, however small. Numbers have up to six digits or a fraction;
a held-out sum of the chats without tools is held out here as well.
"""

import json
import re

from . import arithmetic, words
from .question import Call, Question, normalized
from .told_by_tools import clock, failure, weather
from .toolbox import Toolbox

SIGNS = {"+": arithmetic.ADD, "-": arithmetic.SUBTRACT, "*": arithmetic.MULTIPLY,
         "/": ["What is {a} / {b}?", "{a} / {b}", "{a}/{b}", "What is {a} divided by {b}?", "Divide {a} by {b}.", "{a} / {b} =",
               "How much is {a} divided by {b}?", "Calculate {a} / {b}.", "{a} divided by {b}", "Work out {a} / {b}."]}
WITH_TOOL = ["Use the calculator: what is {a} {s} {b}?", "What is {a} {s} {b}? Use the calculator.",
             "Use a tool to compute {a} {s} {b}.", "Please use your tools: {a} {s} {b}",
             "Use the calculator to work out {a} {s} {b}."]
BOTH = ["{p} And {q}", "{p} {Q}", "{Q} {P}", "{P}\n{Q}", "Two questions: {p} {q}"]


def operand(rng) -> str:
    """A number as it is written: mostly whole, of up to six digits."""
    if rng.random() < 0.12:
        return f"{rng.randrange(1000)}.{rng.randrange(1, 100)}"
    return str(rng.randrange(10 ** rng.choice((1, 2, 2, 3, 3, 4, 4, 5, 6))))


def value_of(expression: str) -> str:
    """What a calculator gives for sums, products and quotients of numbers."""
    value = eval(expression, {"__builtins__": {}})  # of our own making: digits and signs
    if isinstance(value, float):
        value = round(value, 10)
        return str(int(value)) if value == int(value) else str(value)
    return str(value)


def known_keys(left: str, sign: str, right: str) -> tuple[str, ...]:
    """The keys that the same problem has where the model computes it alone."""
    if not (left.isdigit() and right.isdigit()):
        return ()
    a, b = int(left), int(right)
    if sign == "*":
        digit, other = min(a, b), max(a, b)
        return (f"{digit} * {other}",) if digit < 10 else ()
    if sign == "/":
        return (f"half {a}",) if b == 2 else ()
    return arithmetic.add_key(a, b) if sign == "+" else arithmetic.subtract_key(a, b)


def reported(rng, value: str, expression: str) -> str:
    """A calculator's result as a program may print it."""
    number = float(value) if "." in value else int(value)
    return rng.choice((value, value, value, json.dumps({rng.choice(("result", "value", "answer")): number}),
                       f"{expression} = {value}", f"The result is {value}.", f"Result: {value}"))


def computed(rng, kind: str, text: str, expression: str, call: tuple[str, dict], keys: tuple[str, ...],
             unit: str = "") -> Question:
    """The turn that asks `text`, which is answered by the value of the expression."""
    name, arguments = call
    is_failing = rng.random() < 0.04
    try:
        value = value_of(expression)
    except ZeroDivisionError:
        is_failing, value = True, ""
    keys = (f"call {expression}", *keys)
    if is_failing:
        result, answer = failure(rng)
        return Question("error", text, answer, keys, calls=(Call(name, arguments, result),))
    answer = f"{expression} = {value}." + (f" The answer is {words.count_of(int(value), unit)}." if unit else "")
    return Question(kind, text, answer, keys, value, calls=(Call(name, arguments, reported(rng, value, expression)),))


def calculation(rng, box: Toolbox) -> Question:
    """One that the calculator of the box makes."""
    name, argument = box.calculator
    kind = rng.random()
    unit, keys = "", ()
    if kind < 0.15:
        text, expression, keys = longer(rng)
    elif kind < 0.3:
        text, expression, unit = word_problem(rng)
    else:
        sign = rng.choice("++--***//")
        left, right = operand(rng), operand(rng)
        if sign == "/" and rng.random() < 0.5 and left.isdigit() and right.isdigit():
            left = str(int(left) * int(right) if int(left) < 1000 else int(left))
        form = rng.choice(SIGNS[sign]) if rng.random() < 0.88 else rng.choice(WITH_TOOL)
        text, expression = form.format(a=left, b=right, s=sign), f"{left} {sign} {right}"
    if match := re.fullmatch(r"(\S+) (\S) (\S+)", expression):
        keys = known_keys(*match.groups())
    return computed(rng, "calculator", text, expression, (name, {argument: expression}), keys, unit)


def longer(rng) -> tuple[str, str, tuple[str, ...]]:
    """Three or four numbers, some in brackets."""
    a, b, c, d = (operand(rng) for _ in range(4))
    s, t, u = (rng.choice("+-*") for _ in range(3))
    expression = rng.choice((f"{a} {s} {b} {t} {c}", f"{a} {s} {b} {t} {c}", f"({a} {s} {b}) {t} {c}", f"{a} {s} ({b} {t} {c})",
                             f"{a} {s} {b} {t} {c} {u} {d}"))
    form = rng.choice(("What is {}?", "{}", "{} =", "Calculate {}.", "How much is {}?", "What's {}?", "Work out {}."))
    dense = expression.replace(" ", "")
    return form.format(expression if rng.random() < 0.7 else dense), expression, (normalized(dense),)


def word_problem(rng) -> tuple[str, str, str]:
    """The text, the expression and the unit of the result."""
    names = rng.sample(words.GIRLS + words.BOYS, 2)
    goods = rng.choice(words.GOODS)
    form = rng.choice((arithmetic.GAIN, arithmetic.LOSS, arithmetic.PRODUCT))
    a, b = (rng.randrange(2, 10 ** rng.choice((2, 3, 4))) for _ in range(2))
    if form is arithmetic.LOSS:
        a, b = max(a, b), min(a, b)
    sign = {id(arithmetic.GAIN): "+", id(arithmetic.LOSS): "-"}.get(id(form), "*")
    text = rng.choice(form).format(N=names[0], M=names[1], a=a if sign == "*" else words.count_of(a, goods), b=b,
                                   bb=words.count_of(b, goods), goods=goods, box=rng.choice(words.CONTAINERS))
    return text, f"{a} {sign} {b}", goods


def follow_up(rng, box: Toolbox, before: str) -> Question:
    """Goes on from `before`, the result of the turn before, with the calculator."""
    name, argument = box.calculator
    b, sign = operand(rng), rng.choice("+-")
    expression = f"{before} {sign} {b}"
    text = rng.choice(arithmetic.PLUS if sign == "+" else arithmetic.MINUS).format(b=b)
    return computed(rng, "follow_up", text, expression, (name, {argument: expression}), known_keys(before, sign, b))


def operation(rng, box: Toolbox) -> Question:
    """One for a tool that has the two operands as arguments of their own."""
    sign = rng.choice(list(box.operations))
    name, left, right = box.operations[sign]
    a, b = (str(rng.randrange(10 ** rng.choice((1, 2, 3, 4, 5)))) for _ in range(2))
    text = rng.choice(SIGNS[sign]).format(a=a, b=b)
    return computed(rng, "function", text, f"{a} {sign} {b}", (name, {left: int(a), right: int(b)}), known_keys(a, sign, b))


def two_calls(rng, box: Toolbox) -> Question:
    """Two questions in one turn, which two calls answer."""
    makers = [make for make, offered in ((calculation, box.calculator), (clock, box.clock), (weather, box.weather)) if offered]
    first, second = (rng.choice(makers)(rng, box) for _ in range(2)) if len(makers) == 1 else (
        make(rng, box) for make in rng.sample(makers, 2))
    p, q = first.text, second.text
    small_q = q if q[1:2].isupper() else q[0].lower() + q[1:]
    form = rng.choice(BOTH)
    text = form.format(p=p, q=small_q, P=p, Q=q)
    pair = (second, first) if form == "{Q} {P}" else (first, second)
    keys = (normalized(text), *first.keys, *second.keys)
    calls = tuple(call for turn in pair for call in turn.calls)
    return Question("two_calls", text, " ".join(turn.answer for turn in pair), keys, calls=calls)


def tool_turn(rng, box: Toolbox) -> Question | None:
    """A question that the box has a tool for, or None where it has none."""
    makers = [(make, weight) for make, weight, offered in (
        (calculation, 6, box.calculator), (operation, 5, box.operations), (clock, 4, box.clock), (weather, 3, box.weather),
        (two_calls, 1, box.calculator or box.weather)) if offered]
    if not makers:
        return None
    return rng.choices([make for make, _ in makers], [weight for _, weight in makers])[0](rng, box)
