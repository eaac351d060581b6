"""What a clock and a weather tool tell: what is asked, the call, what comes back in many forms, and the answer made of it."""

import datetime
import json

from . import words
from .question import Call, Question, prefixed
from .toolbox import Toolbox

TIME = """What time is it?|What's the time?|Tell me the time.|Do you know what time it is?|Can you tell me the time?
|What is the time now?|What is the current time?|How late is it?|What time is it now?|The time, please.|What time is it right now?
|Could you tell me what time it is?""".replace("\n", "").split("|")
TIME_IN = """What time is it in {x}?|What's the time in {x}?|Tell me the time in {x}.|Do you know what time it is in {x}?
|Can you tell me the time in {x}?|What is the time in {x} now?|What is the current time in {x}?|How late is it in {x}?
""".replace("\n", "").split("|")
DATE = """What is the date today?|What's today's date?|What is today's date?|Which date is it today?|Tell me the date.|What date is it?
|Can you tell me the date?|Do you know the date?|What is the current date?""".replace("\n", "").split("|")
WEEKDAY = """What day is it today?|Which day of the week is it?|What day of the week is it?|What day is today?|What weekday is it?
|Which day is it?|Can you tell me what day it is?""".replace("\n", "").split("|")
YEAR = ["What year is it?", "Which year is it?", "What is the current year?", "Tell me the year.", "Do you know what year it is?"]
WEATHER = """What is the weather in {x}?|What's the weather like in {x}?|How is the weather in {x}?|Tell me the weather in {x}.
|What is the weather in {x} today?|Is it warm in {x}?|Do I need an umbrella in {x}?|weather in {x}|Weather {x}?""".replace("\n", "").split("|")
CITIES = """Paris London Berlin Rome Madrid Vienna Prague Oslo Cairo Moscow Tokyo Lisbon Athens Dublin Warsaw Helsinki Stockholm
Copenhagen Brussels Amsterdam Zurich Munich Hamburg Milan Naples Sydney Melbourne Delhi Mumbai Beijing Shanghai Seoul Singapore
Boston Chicago Seattle Denver Toronto Montreal Lima Bogota Santiago Nairobi Lagos Istanbul Budapest Kyoto Osaka""".split()
CITIES += ["New York", "San Francisco", "Hong Kong", "Cape Town", "Buenos Aires", "Los Angeles", "Europe/Berlin", "America/New_York",
           "Asia/Tokyo", "UTC", "Germany", "France", "Japan", "India", "Brazil", "Canada"]
EPOCH = datetime.datetime(1970, 1, 1)
SKIES = [*words.WEATHER, "clear", "overcast", "hot", "stormy"]
FAILURES = """division by zero|invalid expression|the user did not allow this call|it did not end in time|it ended with code {n}
|number too large|not available|no connection|timeout after {n} seconds|unexpected {w}|{w} not found|internal error {n}
""".replace("\n", "").split("|")


AGAIN = """busy, try again|temporarily unavailable, please retry|too many requests, try again|timeout, please try again
|the service is restarting, try again later|rate limit reached, retry after {n} seconds""".replace("\n", "").split("|")


def passing_failure(rng) -> str:
    """What a tool gives that may work when it is called again."""
    text = rng.choice(AGAIN).format(n=rng.randrange(1, 100))
    return rng.choice((f"error: {text}", json.dumps({"error": text}), f"Error: {text}"))


def failure(rng) -> tuple[str, str]:
    """What a tool that failed gives, and what the model says of it."""
    text = rng.choice(FAILURES).format(n=rng.randrange(1, 100), w=words.invented_word(rng))
    return rng.choice((f"error: {text}", json.dumps({"error": text}), f"Error: {text}")), f"That did not work: {text}."


def moment(rng) -> datetime.datetime:
    return datetime.datetime(2000, 1, 1) + datetime.timedelta(seconds=rng.randrange(60 * 365 * 86400))


def shown(rng, at: datetime.datetime, needs: str) -> str:
    """A moment as a clock may print it, with all that the question needs."""
    day, month = words.DAYS[at.weekday()], words.MONTHS[at.month - 1]
    zone = rng.choice(("UTC", "CET", "EST", "JST"))
    hour = f"{at:%H:%M:%S}" if rng.random() < 0.6 else f"{at:%H:%M}"
    whole = [f"{day[:3]} {month[:3]} {at.day:2} {at:%H:%M:%S} {zone} {at.year}",
             f"{day[:3]}, {at.day:02} {month[:3]} {at.year} {at:%H:%M:%S} +0{rng.randrange(10)}00",
             f"{day}, {at.day} {month} {at.year}, {hour}", f"It is {day}, {at:%Y-%m-%d}, {hour}.",
             json.dumps({"date": f"{at:%Y-%m-%d}", "time": hour, "weekday": day}),
             json.dumps({"time": hour, "date": f"{at:%Y-%m-%d}", "day": day})]
    if needs != "weekday":
        end = rng.choice(("", "", "Z", "+01:00", "+00:00", ".482913"))
        whole += [f"{at:%Y-%m-%dT%H:%M:%S}{end}", f"{at:%Y-%m-%d %H:%M:%S}", f"{at:%Y-%m-%d %H:%M}",
                  json.dumps({"datetime": f"{at:%Y-%m-%dT%H:%M:%S}"}), json.dumps({"time": f"{at:%Y-%m-%dT%H:%M:%S}{end}"}),
                  json.dumps({"current_timestamp": (at - EPOCH) // datetime.timedelta(seconds=1),
                              "current_iso": f"{at:%Y-%m-%dT%H:%M:%S}.482913+00:00"})]
    if needs == "time":
        whole += [hour, f"{at:%H:%M}", json.dumps({"time": hour}), f"It is {hour}."]
    return rng.choice(whole)


def clock(rng, box: Toolbox) -> Question:
    needs = rng.choice(("time", "time", "time", "date", "weekday", "year"))
    at = moment(rng)
    where = ""
    if needs == "time" and box.place and rng.random() < 0.7:
        where = place_name(rng)
        plain = rng.choice(TIME_IN).format(x=where)
    else:
        plain = rng.choice({"time": TIME, "date": DATE, "weekday": WEEKDAY, "year": YEAR}[needs])
    text, keys = prefixed(rng, plain)
    brief = {"time": f"{at:%H:%M}", "date": f"{at.day} {words.MONTHS[at.month - 1]} {at.year}",
             "weekday": words.DAYS[at.weekday()], "year": f"{at.year}"}[needs]
    answer = f"Today is {brief}." if needs in ("date", "weekday") else f"It is {brief}{where and f' in {where}'}."
    keys = keys if where or text != plain else ()
    result = shown(rng, at, needs)
    if rng.random() < 0.03:
        result, answer = failure(rng)
        brief = None
    call = Call(box.clock, {box.place: where} if where else {}, result)
    return Question("clock", text, answer, keys, brief, calls=(call,))


def place_name(rng) -> str:
    return words.invented_name(rng) if rng.random() < 0.3 else rng.choice(CITIES)


def weather(rng, box: Toolbox) -> Question:
    where = place_name(rng)
    text, keys = prefixed(rng, rng.choice(WEATHER).format(x=where))
    result, answer, brief = weather_report(rng, where)
    return Question("weather", text, answer, keys, brief, calls=(weather_call(box, where, result),))


def weather_call(box: Toolbox, where: str, result: str) -> Call:
    name, argument = box.weather
    return Call(name, {argument: where, **box.weather_extra}, result)


def weather_report(rng, where: str) -> tuple[str, str, str]:
    """What the tool gives, and what the model says of it, at length and briefly."""
    sky, degrees = rng.choice(SKIES), rng.randrange(-15, 40)
    if rng.random() < 0.5:
        result = rng.choice((sky, f"It is {sky} in {where}.", f"{sky.capitalize()} in {where}", json.dumps({"weather": sky}),
                             json.dumps({"city": where, "conditions": sky})))
        return result, f"It is {sky} in {where}.", sky
    result = rng.choice((f"{sky}, {degrees} degrees", f"{sky} and {degrees} degrees", f"{degrees} C, {sky}",
                         f"The weather in {where} is {sky}, {degrees} degrees.",
                         json.dumps({"weather": sky, "temperature": degrees}),
                         json.dumps({"city": where, "temperature": degrees, "conditions": sky})))
    return result, f"It is {sky} in {where}, {degrees} degrees.", f"{sky}, {degrees} degrees"
