"""Days, months, dates and leap years.

What has few possible questions (the day after Monday) is held out by its words: the same fact is in the training text,
asked otherwise. What can be computed (30 days after Tuesday) is held out as a problem, whatever the words.
"""

import calendar

from . import words
from .arithmetic import add_key, add_text, subtract_key, subtract_text
from .question import Question, normalized, prefixed

DAY_AFTER = """What day comes after {d}?|Which day is after {d}?|What is the day after {d}?|Which day follows {d}?
|If today is {d}, what day is tomorrow?|Today is {d}. What day is it tomorrow?|What day is it after {d}?
|Which day comes right after {d}?|What day is tomorrow if today is {d}?|What is tomorrow if today is {d}?|It is {d} today. Which day is tomorrow?""".replace("\n", "").split("|")
DAY_BEFORE = """What day comes before {d}?|Which day is before {d}?|What is the day before {d}?
|If today is {d}, what day was yesterday?|Today is {d}. What day was it yesterday?|What day is it before {d}?
|Which day comes right before {d}?|What day was yesterday if today is {d}?|It is {d} today. Which day was yesterday?""".replace("\n", "").split("|")
DAYS_LATER = """What day is {n} after {d}?|Which day of the week is {n} after {d}?|Today is {d}. What day is it in {n}?
|If today is {d}, what day will it be in {n}?|What day comes {n} after {d}?|What day will it be {n} after {d}?
""".replace("\n", "").split("|")
DAYS_EARLIER = """What day is {n} before {d}?|Which day of the week is {n} before {d}?|Today is {d}. What day was it {n} ago?
|If today is {d}, what day was it {n} ago?|What day comes {n} before {d}?""".replace("\n", "").split("|")
MONTH_AFTER = """What month comes after {m}?|Which month is after {m}?|What is the month after {m}?|Which month follows {m}?
|Which month comes right after {m}?|It is {m}. What month is next?""".replace("\n", "").split("|")
MONTH_BEFORE = """What month comes before {m}?|Which month is before {m}?|What is the month before {m}?
|Which month comes right before {m}?|It is {m}. What month was last month?""".replace("\n", "").split("|")
MONTHS_LATER = """What month is {n} after {m}?|Which month is {n} after {m}?|It is {m}. What month is it in {n}?
|What month comes {n} after {m}?""".replace("\n", "").split("|")
MONTHS_EARLIER = """What month is {n} before {m}?|Which month is {n} before {m}?|It is {m}. What month was it {n} ago?
|What month comes {n} before {m}?""".replace("\n", "").split("|")
LENGTH = """How many days are in {m}?|How many days does {m} have?|How long is {m}?|How many days are there in {m}?
|How many days has {m}?|Tell me how many days {m} has.|What is the number of days in {m}?""".replace("\n", "").split("|")
NTH_MONTH = """What is the {n} month of the year?|Which month is the {n} of the year?|What is the {n} month?
|Name the {n} month of the year.|Which is the {n} month?""".replace("\n", "").split("|")
NTH_DAY = ["What is the {n} day of the week?", "Which day is the {n} day of the week?", "Name the {n} day of the week."]
ALL_DAYS = ["What are the days of the week?", "List the days of the week.", "Name the days of the week.",
            "Tell me the days of the week.", "Which days does a week have?"]
ALL_MONTHS = ["What are the months of the year?", "List the months of the year.", "Name the months of the year.",
              "Tell me the months of the year.", "Which months does a year have?", "List the months."]
LEAP = """Is {y} a leap year?|Is the year {y} a leap year?|Was {y} a leap year?|Does {y} have 366 days?
|Can you tell me if {y} is a leap year?""".replace("\n", "").split("|")
DATES = """What date is {n} after {d}?|Which date is {n} after {d}?|Today is {d}. What date is it in {n}?
|If today is {d}, what date will it be in {n}?|What is the date {n} after {d}?""".replace("\n", "").split("|")
UNIT = ["How many {s} are in {l}?", "How many {s} does {l} have?", "How many {s} are there in {l}?", "How many {s} make {l}?"]
UNITS = [("days", "a week", 7), ("months", "a year", 12), ("hours", "a day", 24), ("minutes", "an hour", 60),
         ("seconds", "a minute", 60), ("weeks", "a year", 52), ("days", "a year", 365)]


def named_day(rng) -> Question:
    """The days of the week, one or all."""
    place = rng.randrange(8)
    if place == 7:
        text, keys = prefixed(rng, rng.choice(ALL_DAYS))
        return Question("weekday", text, ", ".join(words.DAYS), keys)
    name = "last" if place == 6 and rng.random() < 0.6 else words.ORDINALS[place]
    text, keys = prefixed(rng, rng.choice(NTH_DAY).format(n=name))
    return Question("weekday", text, f"The {name} day of the week is {words.DAYS[place]}.", keys, words.DAYS[place])


def weekday(rng, is_after: bool | None = None) -> Question:
    if is_after is None:
        if rng.random() < 0.15:
            return named_day(rng)
        is_after = rng.random() < 0.55
    place = rng.randrange(7)
    text, keys = prefixed(rng, rng.choice(DAY_AFTER if is_after else DAY_BEFORE).format(d=words.DAYS[place]))
    other = words.DAYS[(place + (1 if is_after else -1)) % 7]
    return Question("weekday", text, f"The day {'after' if is_after else 'before'} {words.DAYS[place]} is {other}.",
                    keys, other)


def what_about(rng, before: Question) -> Question:
    """Asks the same of another day as the weekday question `before`."""
    is_after = before.answer.startswith("The day after")
    again = weekday(rng, is_after)
    day = again.answer.split()[3]
    text = rng.choice(("And {d}?", "What about {d}?", "And for {d}?", "How about {d}?")).format(d=day)
    return Question("follow_up", text, again.answer, (normalized(f"{before.text} {text}"),), again.brief)


def in_larger(number: int, small: str, large: str, size: int) -> str:
    """'30 days are 4 weeks and 2 days. ', or nothing for less than one of the larger unit."""
    if number < size:
        return ""
    rest = f" and {words.count_of(number % size, small)}" if number % size else ""
    return f"{number} {small} are {words.count_of(number // size, large)}{rest}. "


def weekday_offset(rng) -> Question:
    number, place, is_after = rng.randrange(2, 101), rng.randrange(7), rng.random() < 0.65
    word, sign = ("after", 1) if is_after else ("before", -1)
    day, other = words.DAYS[place], words.DAYS[(place + sign * number) % 7]
    text = rng.choice(DAYS_LATER if is_after else DAYS_EARLIER).format(n=words.count_of(number, "days"), d=day)
    answer = f"{in_larger(number, 'days', 'weeks', 7)}{number} days {word} {day} is {other}."
    return Question("weekday_offset", text, answer, (f"{number} days {word} {day}",))


def month(rng) -> Question:
    place = rng.randrange(12)
    if rng.random() < 0.06:
        text, keys = prefixed(rng, rng.choice(ALL_MONTHS))
        return Question("month", text, ", ".join(words.MONTHS), keys)
    if rng.random() < 0.3:
        name = "last" if place == 11 and rng.random() < 0.6 else words.ORDINALS[place]
        text, keys = prefixed(rng, rng.choice(NTH_MONTH).format(n=name))
        answer = f"The {name} month of the year is {words.MONTHS[place]}."
        return Question("month", text, answer, keys, words.MONTHS[place])
    is_after = rng.random() < 0.55
    text, keys = prefixed(rng, rng.choice(MONTH_AFTER if is_after else MONTH_BEFORE).format(m=words.MONTHS[place]))
    other = words.MONTHS[(place + (1 if is_after else -1)) % 12]
    return Question("month", text, f"The month {'after' if is_after else 'before'} {words.MONTHS[place]} is {other}.",
                    keys, other)


def month_offset(rng) -> Question:
    number, place, is_after = rng.randrange(2, 25), rng.randrange(12), rng.random() < 0.65
    word, sign = ("after", 1) if is_after else ("before", -1)
    name, other = words.MONTHS[place], words.MONTHS[(place + sign * number) % 12]
    text = rng.choice(MONTHS_LATER if is_after else MONTHS_EARLIER).format(n=f"{number} months", m=name)
    answer = f"{in_larger(number, 'months', 'years', 12)}{number} months {word} {name} is {other}."
    return Question("month_offset", text, answer, (f"{number} months {word} {name}",))


def length(rng) -> Question:
    if rng.random() < 0.25:
        small, large, size = rng.choice(UNITS)
        text, keys = prefixed(rng, rng.choice(UNIT).format(s=small, l=large))
        return Question("length", text, f"There are {size} {small} in {large}.", keys, f"{size} {small}")
    place = rng.randrange(12)
    name, days = words.MONTHS[place], words.MONTH_LENGTHS[place]
    text, keys = prefixed(rng, rng.choice(LENGTH).format(m=name))
    answer = f"{name} has {days} days" + (", and 29 in a leap year." if name == "February" else ".")
    return Question("length", text, answer, keys)


def leap_year(rng) -> Question:
    year = rng.randrange(1801, 2200)
    is_leap = calendar.isleap(year)
    answer = f"Yes, {year} is a leap year." if is_leap else f"No, {year} is not a leap year."
    return Question("leap_year", rng.choice(LEAP).format(y=year), answer, (f"year {year}",) if year % 100 else (), "Yes" if is_leap else "No")


def date(rng) -> Question:
    """A date up to four weeks on. It never leaves February, whose length depends on the year."""
    place = rng.choice([m for m in range(12) if m != 1])
    size = words.MONTH_LENGTHS[place]
    start, number = rng.randrange(1, size + 1), rng.randrange(1, 29)
    name, following = words.MONTHS[place], words.MONTHS[(place + 1) % 12]
    end = start + number
    days = words.count_of(number, "days")
    keys: tuple[str, ...] = (f"{number} days after {start} {name}",)
    text = rng.choice(DATES).format(n=days, d=f"{start} {name}")
    if end <= size:
        answer = f"{days} after {start} {name} is {end} {name}."
    else:
        keys += add_key(start, number) + subtract_key(end, size)
        answer = f"{name} has {size} days. {add_text(start, number)} {subtract_text(end, size)} It is {end - size} {following}."
    return Question("date", text, answer, keys)
