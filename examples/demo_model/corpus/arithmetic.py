"""Sums, differences and products, as bare problems, in words, in little stories and as follow-ups.

Ranges: both operands of a sum or a difference are 0..999 (a difference may be negative); a product is of one digit and a
number of one or two digits, and its answer shows the two partial products. One-digit sums and differences, the times
table and its multiples of ten, and products with 0 or 1 are basic facts.
"""

from . import words
from .question import Question, normalized

LARGEST = 999
ADD = """What is {a} + {b}?|{a} + {b}|{a} + {b} =|{a}+{b}|{a}+{b}=?|What is {a} plus {b}?|How much is {a} plus {b}?
|Add {a} and {b}.|What is the sum of {a} and {b}?|Calculate {a} + {b}.|Please add {a} and {b}.|What's {a} + {b}?
|Can you add {a} and {b}?|How much is {a} + {b}?|{a} plus {b}|Work out {a} + {b}.|Compute {a} + {b}
|Can you tell me what {a} plus {b} is?|What do you get when you add {a} and {b}?""".replace("\n", "").split("|")
SUBTRACT = """What is {a} - {b}?|{a} - {b}|{a} - {b} =|{a}-{b}|{a}-{b}=?|What is {a} minus {b}?|How much is {a} minus {b}?
|Subtract {b} from {a}.|Take {b} away from {a}.|Calculate {a} - {b}.|Please subtract {b} from {a}.|What's {a} - {b}?
|Can you subtract {b} from {a}?|How much is {a} - {b}?|{a} minus {b}|Work out {a} - {b}.|Compute {a} - {b}
|Can you tell me what {a} minus {b} is?|What is left when you take {b} from {a}?""".replace("\n", "").split("|")
MULTIPLY = """What is {a} x {b}?|{a} x {b}|{a} * {b}|{a} * {b} =|{a}*{b}|{a}x{b}|What is {a} times {b}?|How much is {a} times {b}?
|Multiply {a} by {b}.|What is the product of {a} and {b}?|Calculate {a} * {b}.|What's {a} x {b}?|What is {a} * {b}?
|Can you multiply {a} and {b}?|{a} times {b}|Work out {a} x {b}.|What is {a} multiplied by {b}?""".replace("\n", "").split("|")
GAIN = """{N} has {a}. {M} gives {N} {b} more. How many {goods} does {N} have now?
|{N} has {a} and buys {b} more. How many {goods} does {N} have in all?
|{N} has {a} and {M} has {bb}. How many {goods} do they have together?
|{N} finds {a} in the morning and {b} more in the evening. How many {goods} does {N} have?""".replace("\n", "").split("|")
LOSS = """{N} has {a}. {N} gives {b} to {M}. How many {goods} does {N} have left?
|{N} has {a} and loses {b}. How many {goods} are left?|There are {a} on the table. {N} takes {b}. How many {goods} are left?
|{N} had {a} and sold {b} of them. How many {goods} does {N} still have?""".replace("\n", "").split("|")
PRODUCT = """There are {a} {box} with {bb} in each. How many {goods} are there?
|{N} has {a} {box}. Each holds {bb}. How many {goods} are there?
|{N} fills {a} {box} and puts {bb} into each. How many {goods} are there?""".replace("\n", "").split("|")
DOUBLE = """What is twice {n}?|What is double {n}?|Double {n}.|What is {n} doubled?|What is the double of {n}?""".split("|")
HALF = """What is half of {n}?|Half of {n}?|How much is half of {n}?|What is the half of {n}?|Halve {n}.""".split("|")
PLUS = """And plus {b}?|Now add {b}.|Add {b} to that.|Plus {b}?|And if you add {b}?|Add {b} more.""".split("|")
MINUS = """And minus {b}?|Now subtract {b}.|Take {b} away from that.|Minus {b}?|And if you subtract {b}?""".split("|")


def number(rng, largest: int = LARGEST) -> int:
    """Any number up to `largest`; those of fewer digits come up more often than their share."""
    return rng.randrange(min(10 ** rng.choice((1, 2, 2, 3, 3, 3)), largest + 1))


def add_key(a: int, b: int) -> tuple[str, ...]:
    return () if max(abs(a), abs(b)) < 10 else (f"{min(a, b)} + {max(a, b)}",)


def subtract_key(a: int, b: int) -> tuple[str, ...]:
    return () if max(abs(a), abs(b)) < 10 else (f"{a} - {b}",)


def add_text(a: int, b: int) -> str:
    return f"{a} + {b} = {a + b}."


def subtract_text(a: int, b: int) -> str:
    return f"{a} - {b} = {a - b}."


def sum_or_difference(a: int, sign: str, b: int) -> tuple[int, str, tuple[str, ...]]:
    """The result, the text and the key."""
    if sign == "+":
        return a + b, add_text(a, b), add_key(a, b)
    return a - b, subtract_text(a, b), subtract_key(a, b)


def multiply_text(a: int, b: int) -> tuple[str, tuple[str, ...]]:
    """The product with its steps, and the keys of all that it shows; one of the two has one digit."""
    digit, other = (a, b) if a < 10 else (b, a)
    tens, units = other // 10 * 10, other % 10
    if digit < 2 or tens == 0 or units == 0:
        return f"{a} x {b} = {a * b}.", ()
    parts = digit * tens, digit * units
    keys = (f"{digit} * {other}", *add_key(*parts))
    return f"{a} x {b} = {parts[0]} + {parts[1]} = {a * b}.", keys


def factors(rng) -> tuple[int, int]:
    digit = rng.randrange(10) if rng.random() < 0.2 else rng.randrange(2, 10)
    pair = [digit, rng.randrange(10, 100) if rng.random() < 0.85 else rng.randrange(10)]
    rng.shuffle(pair)
    return pair[0], pair[1]


def ordered(rng) -> tuple[int, int]:
    """Two numbers for a difference; one in five differences is negative."""
    a, b = number(rng), number(rng)
    return (min(a, b), max(a, b)) if rng.random() < 0.2 else (max(a, b), min(a, b))


def addition(rng) -> Question:
    a, b = number(rng), number(rng)
    return Question("addition", rng.choice(ADD).format(a=a, b=b), add_text(a, b), add_key(a, b), f"{a + b}")


def subtraction(rng) -> Question:
    a, b = ordered(rng)
    text = rng.choice(SUBTRACT).format(a=a, b=b)
    if rng.random() < 0.05 and a > b:
        text = f"What is the difference between {a} and {b}?"
    return Question("subtraction", text, subtract_text(a, b), subtract_key(a, b), f"{a - b}")


def multiplication(rng) -> Question:
    a, b = factors(rng)
    answer, keys = multiply_text(a, b)
    return Question("multiplication", rng.choice(MULTIPLY).format(a=a, b=b), answer, keys)


def three_numbers(rng) -> Question:
    """Two steps of plus or minus, one after the other."""
    a, b, c = (number(rng, 99) for _ in range(3))
    signs = rng.choice(("++", "++", "+-", "-+", "--"))
    form = rng.choice(("What is {}?", "{}", "{} =", "Calculate {}.", "How much is {}?", "{}=?", "What's {}?"))
    gap = rng.choice((" ", " ", ""))
    first, first_text, keys = sum_or_difference(a, signs[0], b)
    _, last_text, last_keys = sum_or_difference(first, signs[1], c)
    text = form.format(gap.join((str(a), signs[0], str(b), signs[1], str(c))))
    if signs == "++" and rng.random() < 0.2:
        text = f"What is the sum of {a}, {b} and {c}?"
    return Question("three_numbers", text, f"{first_text} {last_text}", (normalized(f"{a}{signs[0]}{b}{signs[1]}{c}"), *keys, *last_keys))


def half_or_double(rng) -> Question:
    n = number(rng)
    if rng.random() < 0.5:
        text = rng.choice(DOUBLE).format(n=n)
        return Question("half_or_double", text, f"{n} + {n} = {2 * n}.", add_key(n, n), f"{2 * n}")
    n -= n % 2
    text = rng.choice(HALF).format(n=n)
    return Question("half_or_double", text, f"Half of {n} is {n // 2}.", (f"half {n}",) if n > 20 else (), f"{n // 2}")


def word_problem(rng) -> Question:
    names = rng.sample(words.GIRLS + words.BOYS, 2)
    goods = rng.choice(words.GOODS)
    form = rng.choice((GAIN, LOSS, PRODUCT))
    if form is PRODUCT:
        a, b = rng.randrange(2, 10), rng.randrange(2, 100)
        steps, keys = multiply_text(a, b)
        result, shown = a * b, a
    else:
        a, b = sorted((number(rng, 99) + 1, number(rng, 99) + 1), reverse=True)
        result, steps, keys = sum_or_difference(a, "+" if form is GAIN else "-", b)
        shown = words.count_of(a, goods)
    text = rng.choice(form).format(N=names[0], M=names[1], a=shown, b=b, bb=words.count_of(b, goods), goods=goods,
                                   box=rng.choice(words.CONTAINERS))
    return Question("word_problem", text, f"{steps} The answer is {words.count_of(result, goods)}.", keys)


def follow_up(rng, before: int) -> Question:
    """Goes on from `before`, the result of the turn before."""
    b = number(rng, 99) + 1
    sign = rng.choice("+-") if before + b <= 2 * LARGEST else "-"
    result, answer, keys = sum_or_difference(before, sign, b)
    return Question("follow_up", rng.choice(PLUS if sign == "+" else MINUS).format(b=b), answer, keys, f"{result}")


def too_hard(rng) -> Question:
    """What the model says about problems outside its ranges."""
    big = str(rng.randrange(1000, 10 ** rng.randrange(4, 8)))
    kind = rng.randrange(4)
    if kind == 3:
        a, b, c = number(rng), number(rng), number(rng)
        text = rng.choice(("{}", "What is {}?", "{} =", "Calculate {}.")).format(
            rng.choice(("{a} + {b} * {c}", "{a} * {b} + {c}", "{a}*{b}-{c}", "{a} - {b} x {c}", "{a}+{b}*{c}", "{a} x {b} x {c}",
                        "({a} + {b}) * {c}", "{a} + {b} + {c} + {a}"))).format(a=a, b=b, c=c)
        answer = "That is too hard for me. I do one or two small steps at a time."
    elif kind == 0:
        pair = [big, str(number(rng))]
        rng.shuffle(pair)
        text = rng.choice(ADD + SUBTRACT).format(a=pair[0], b=pair[1])
        answer = "Those numbers are too big for me. I add and subtract numbers up to 999."
    elif kind == 1:
        a, b = rng.randrange(11, 1000), rng.randrange(11, 1000)
        text = rng.choice(MULTIPLY).format(a=a, b=b)
        answer = "That is too hard for me. I multiply one digit by one or two digits."
    else:
        a, b = number(rng), rng.randrange(1, 100)
        text = rng.choice(("What is {a} / {b}?", "{a} / {b}", "What is {a} divided by {b}?", "Divide {a} by {b}.")).format(a=a, b=b)
        answer = "I cannot divide. I can add, subtract and multiply."
    return Question("too_hard", text, answer, (text,))
