"""Questions that need a tool twice: a call that depends on what another gave, and one that failed and is tried differently.

Also what these lean on alone: where a person lives, and what a thing costs.
"""

import json
from dataclasses import replace

from . import words
from .question import Call, Question, normalized
from .told_by_tools import CITIES, TIME_IN, WEATHER, moment, passing_failure, place_name, shown, weather_call, weather_report
from .tool_turns import SIGNS, known_keys, operand, reported, tool_turn, value_of
from .toolbox import Toolbox

LIVES = """Where does {x} live?|In which city does {x} live?|Find out where {x} lives.|Where is the home of {x}?|What is {x}'s city?
|Do you know where {x} lives?|Tell me where {x} lives.|Look up where {x} lives.""".replace("\n", "").split("|")
HOME = ["where {x} lives", "in {x}'s city", "at {x}'s home", "in the city where {x} lives"]
WEATHER_THERE = ["What is the weather {h}?", "What's the weather like {h}?", "How is the weather {h}?", "Is it warm {h}?",
                 "Tell me the weather {h}.", "Find out where {x} lives and tell me the weather there.",
                 "Where does {x} live, and what is the weather there?", "I want to know the weather {h}."]
TIME_THERE = ["What time is it {h}?", "What's the time {h}?", "Tell me the time {h}.", "Do you know what time it is {h}?",
              "Find out where {x} lives and tell me the time there.", "Where does {x} live, and what time is it there?"]
PRICE = """What does {x} cost?|How much is {x}?|What is the price of {x}?|How much does {x} cost?|Tell me the price of {x}.
|Look up the price of {x}.""".replace("\n", "").split("|")
PRICE_OF_MANY = """What do {x} cost?|How much are {x}?|What is the price of {x}?|How much do {x} cost?|How much do I pay for {x}?
|I want to buy {x}. How much is that?|What do I pay for {x}?""".replace("\n", "").split("|")
NEXT = {"+": ["add {b} to the result", "add {b} to that", "add {b}", "plus {b}"],
        "-": ["subtract {b} from the result", "subtract {b} from that", "take {b} away", "subtract {b}"],
        "*": ["multiply the result by {b}", "multiply that by {b}", "multiply by {b}", "take the result times {b}"]}
CHAINS = ["{p} Then {q}.", "{p} And then {q}.", "First: {p} Then {q}.", "{p} After that, {q}.", "{p} Use the result and {q}.",
          "{p}\nThen {q}."]
PLAIN_CITIES = [city for city in CITIES if "/" not in city and city != "UTC"]


def person_name(rng) -> str:
    return words.invented_name(rng) if rng.random() < 0.4 else rng.choice(words.GIRLS + words.BOYS)


def found_home(rng, box: Toolbox, who: str) -> tuple[str, Call]:
    """The city and the call that tells it."""
    name, argument = box.finder
    city = rng.choice(PLAIN_CITIES)
    result = rng.choice((city, f"{who} lives in {city}.", json.dumps({"city": city}), json.dumps({"name": who, "city": city}),
                         json.dumps({"name": who, "age": rng.randrange(5, 90), "home": city})))
    return city, Call(name, {argument: who}, result)


def home(rng, box: Toolbox) -> Question:
    who = person_name(rng)
    city, call = found_home(rng, box, who)
    text = rng.choice(LIVES).format(x=who)
    return Question("lookup", text, f"{who} lives in {city}.", (normalized(text),), calls=(call,))


def weather_at_home(rng, box: Toolbox) -> Question:
    who = person_name(rng)
    city, call = found_home(rng, box, who)
    text = rng.choice(WEATHER_THERE).replace("{h}", rng.choice(HOME)).format(x=who)
    result, answer, _ = weather_report(rng, city)
    return Question("steps", text, f"{who} lives in {city}. {answer}", (normalized(text),), calls=(call,),
                    then=(weather_call(box, city, result),))


def time_at_home(rng, box: Toolbox) -> Question:
    who, at = person_name(rng), moment(rng)
    city, call = found_home(rng, box, who)
    text = rng.choice(TIME_THERE).replace("{h}", rng.choice(HOME)).format(x=who)
    return Question("steps", text, f"{who} lives in {city}. It is {at:%H:%M} in {city}.", (normalized(text),), calls=(call,),
                    then=(Call(box.clock, {box.place: city}, shown(rng, at, "time")),))


def price_told(rng, box: Toolbox, thing: str) -> tuple[str, Call]:
    name, argument = box.prices
    price = str(rng.randrange(1, 10 ** rng.choice((1, 2, 3))))
    result = rng.choice((price, json.dumps({"price": int(price)}), json.dumps({"item": thing, "price": int(price)}),
                         f"{thing}: {price}", f"{words.a(thing).capitalize()} costs {price}."))
    return price, Call(name, {argument: thing}, result)


def price(rng, box: Toolbox) -> Question:
    thing = rng.choice(words.THINGS)
    cost, call = price_told(rng, box, thing)
    text = rng.choice(PRICE).format(x=words.a(thing))
    return Question("lookup", text, f"{words.a(thing).capitalize()} costs {cost}.", (normalized(f"{text} {cost}"),), calls=(call,))


def price_of_many(rng, box: Toolbox) -> Question:
    things, count = rng.choice(words.GOODS), str(rng.randrange(2, 10 ** rng.choice((1, 2))))
    cost, call = price_told(rng, box, words.singular(things))
    text = rng.choice(PRICE_OF_MANY).format(x=f"{count} {things}")
    expression = f"{count} * {cost}"
    total = value_of(expression)
    name, arguments = box.compute(count, "*", cost)
    return Question("steps", text, f"{expression} = {total}. The price is {total}.", (normalized(text), *known_keys(count, "*", cost)),
                    calls=(call,), then=(Call(name, arguments, reported(rng, total, expression)),))


def chain(rng, box: Toolbox) -> Question:
    """Two computations, of which the second goes on from the first's result."""
    signs = [sign for sign in NEXT if box.calculator or sign in box.operations]
    first, second = rng.choice(signs), rng.choice(signs)
    a, b, c = (operand(rng).split(".")[0] for _ in range(3))
    text = rng.choice(CHAINS).format(p=rng.choice(SIGNS[first]).format(a=a, b=b), q=rng.choice(NEXT[second]).format(b=c))
    middle = value_of(f"{a} {first} {b}")
    steps = ((a, first, b, middle), (middle, second, c, value_of(f"{middle} {second} {c}")))
    calls = [Call(*box.compute(left, sign, right), reported(rng, value, f"{left} {sign} {right}")) for left, sign, right, value in steps]
    answer = " ".join(f"{left} {sign} {right} = {value}." for left, sign, right, value in steps)
    keys = tuple(key for left, sign, right, _ in steps for key in (f"call {left} {sign} {right}", *known_keys(left, sign, right)))
    return Question("steps", text, answer, keys, calls=(calls[0],), then=(calls[1],))


def misspelled(rng, name: str) -> str:
    """The name with a letter too many, too few or in the wrong place."""
    while True:
        i = rng.randrange(1, len(name) - 1)
        found = rng.choice((name[:i] + name[i + 1:], name[:i] + name[i] + name[i:], name[:i] + name[i + 1] + name[i] + name[i + 2:]))
        if found != name:
            return found


def not_found(rng, wrong: str, right: str) -> str:
    text = rng.choice((f"unknown city {wrong}, did you mean {right}?", f"{wrong} not found. Did you mean {right}?",
                       f"no such place: {wrong}; similar: {right}", f"{wrong} is not known, use {right}"))
    return rng.choice((f"error: {text}", json.dumps({"error": text}), f"Error: {text}"))


def corrected(rng, box: Toolbox) -> Question:
    """A place that the tool does not know, and proposes another for."""
    right = rng.choice(PLAIN_CITIES) if rng.random() < 0.5 else place_name(rng)
    wrong = misspelled(rng, right)
    if box.weather:
        text = rng.choice(WEATHER).format(x=wrong)
        result, answer, _ = weather_report(rng, right)
        calls = weather_call(box, wrong, not_found(rng, wrong, right)), weather_call(box, right, result)
    else:
        at, text = moment(rng), rng.choice(TIME_IN).format(x=wrong)
        answer = f"It is {at:%H:%M} in {right}."
        calls = (Call(box.clock, {box.place: wrong}, not_found(rng, wrong, right)),
                 Call(box.clock, {box.place: right}, shown(rng, at, "time")))
    return Question("retry", text, answer, (normalized(text),), calls=calls[:1], then=calls[1:])


def tried_again(rng, box: Toolbox) -> Question:
    """A tool that is busy at first."""
    while True:
        turn = tool_turn(rng, box)
        if turn is None or (turn.kind != "error" and len(turn.calls) == 1 and not turn.answer.startswith("That did not work")):
            break
    if turn is None:
        return home(rng, box) if box.finder else price(rng, box)
    call = turn.calls[0]
    return replace(turn, kind="retry", brief=None, calls=(replace(call, result=passing_failure(rng)),), then=(call,))


def steps_turn(rng, box: Toolbox) -> Question | None:
    """A question that the box has the tools for, or None where it has none."""
    can_multiply = box.calculator or "*" in box.operations
    makers = [(make, weight) for make, weight, offered in (
        (home, 3, box.finder), (price, 3, box.prices), (weather_at_home, 5, box.finder and box.weather),
        (time_at_home, 4, box.finder and box.clock and box.place), (price_of_many, 4, box.prices and can_multiply),
        (chain, 4, box.can_compute()), (corrected, 3, box.weather or (box.clock and box.place)),
        (tried_again, 2, box.can_compute() or box.clock or box.weather)) if offered]
    if not makers:
        return None
    return rng.choices([make for make, _ in makers], [weight for _, weight in makers])[0](rng, box)
