"""Which number is larger, which comes next, odd or even, primes, sorting, and counting from one number to another."""

from . import words
from .arithmetic import number
from .question import Question, prefixed

COUNT = """Count from {a} to {b}.|Can you count from {a} to {b}?|Please count from {a} to {b}.|Count from {a} to {b}
|List the numbers from {a} to {b}.|Could you count from {a} up to {b}?""".replace("\n", "").split("|")
COUNT_TO = ["Count to {b}.", "Count up to {b}.", "Can you count to {b}?", "Please count to {b}.", "Count from one to {b}."]
COUNT_DOWN = """Count down from {a} to {b}.|Count backwards from {a} to {b}.|Can you count down from {a} to {b}?
|Please count from {a} down to {b}.|Count from {a} to {b}.""".replace("\n", "").split("|")
COUNT_STEP = """Count by {s} from {a} to {b}.|Count from {a} to {b} in steps of {s}.|Can you count by {s} from {a} to {b}?
|Count from {a} to {b} by {s}.""".replace("\n", "").split("|")
SORT = """Sort these numbers: {n}|Sort {n}.|Put these numbers in order: {n}|Order these numbers from small to large: {n}
|Can you sort {n}?""".replace("\n", "").split("|")
STEP_NAMES = {2: "twos", 5: "fives", 10: "tens"}


def comparison(rng) -> Question:
    a, b = number(rng), number(rng)
    while a == b or rng.random() < 0.3:  # often of the same length, where it takes a look at the digits
        a, b = number(rng), number(rng)
    low, high = min(a, b), max(a, b)
    keys = (f"{low} < {high}",) if high > 9 else ()
    word, right = rng.choice((("larger", high), ("bigger", high), ("greater", high), ("smaller", low), ("less", low)))
    if word == "less" or rng.random() < 0.4:
        is_so = (a < b) == (right == low)
        verdict = f"{a} is {word} than {b}" if is_so else f"{a} is not {word} than {b}"
        return Question("comparison", f"Is {a} {word} than {b}?", f"{'Yes' if is_so else 'No'}, {verdict}.", keys,
                        "Yes" if is_so else "No")
    text = rng.choice((f"Which is {word}, {a} or {b}?", f"Which number is {word}: {a} or {b}?", f"What is {word}, {a} or {b}?"))
    return Question("comparison", text, f"{right} is {word}.", keys, f"{right}")


def neighbour(rng) -> Question:
    n = number(rng) + 1
    word, result = rng.choice((("after", n + 1), ("before", n - 1)))
    text = rng.choice((f"What number comes {word} {n}?", f"Which number is right {word} {n}?", f"What comes {word} {n}?",
                       f"Which number comes just {word} {n}?"))
    return Question("number_order", text, f"{result} comes {word} {n}.", (f"{word} {n}",) if n > 20 else (), f"{result}")


def parity(rng) -> Question:
    n = number(rng)
    kind = "odd" if n % 2 else "even"
    text = rng.choice((f"Is {n} odd or even?", f"Is {n} even or odd?", f"Is the number {n} even or odd?"))
    return Question("number_order", text, f"{n} is {kind}.", (f"parity {n}",) if n > 20 else (), kind)


def prime(rng) -> Question:
    n = rng.randrange(2, 100)
    is_prime = all(n % divisor for divisor in range(2, n))
    text, keys = prefixed(rng, rng.choice((f"Is {n} a prime number?", f"Is {n} prime?", f"Is the number {n} prime?")))
    answer = f"Yes, {n} is a prime number." if is_prime else f"No, {n} is not a prime number."
    return Question("number_order", text, answer, keys, "Yes" if is_prime else "No")


def sorting(rng) -> Question:
    numbers = rng.sample(range(100 if rng.random() < 0.7 else 1000), rng.randrange(3, 6))
    shown = ", ".join(map(str, numbers))
    answer = ", ".join(map(str, sorted(numbers)))
    return Question("number_order", rng.choice(SORT).format(n=shown), answer, (f"sort {shown}",))


def counting(rng) -> Question:
    if rng.random() < 0.15:
        last = rng.randrange(2, 31)
        shown = words.SMALL_NUMBERS[last] if last <= 12 and rng.random() < 0.5 else last
        text, keys = prefixed(rng, rng.choice(COUNT_TO).format(b=shown))
        return Question("counting", text, ", ".join(map(str, range(1, last + 1))), keys)
    step = rng.choice((1, 1, 1, 1, 2, 5, 10))
    count = rng.randrange(3, 17)
    first = rng.choice((0, 1, 1, rng.randrange(100), rng.randrange(200)))
    last = first + step * (count - 1)
    numbers = list(range(first, last + 1, step))
    if step > 1:
        form = rng.choice(COUNT_STEP)
    elif rng.random() < 0.3:
        first, last, form = last, first, rng.choice(COUNT_DOWN)
        numbers.reverse()
    else:
        form = rng.choice(COUNT)
    text = form.format(a=first, b=last, s=STEP_NAMES.get(step))
    basic = step == 1 and sorted((first, last)) in ([1, 5], [1, 10])
    return Question("counting", text, ", ".join(map(str, numbers)), () if basic else (f"count {first} {last} {step}",))
