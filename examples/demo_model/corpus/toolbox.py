"""The tools that a chat offers, as clients describe them: an OpenAI function with a JSON schema of its arguments.

Names, descriptions and the order of keys differ from chat to chat, so that the model reads them instead of knowing them.
"""

from dataclasses import dataclass, field

from . import words

CALCULATORS = "calculator calculator calculate calc compute math evaluate".split()
EXPRESSIONS = "expression expression expression input formula expr query".split()
CALCULATOR_TEXTS = ["Evaluates an arithmetic expression.", "Calculate the value of an expression.", "A calculator.",
                    "Computes an expression and returns the result.", "Does arithmetic.", "Evaluate math.", "Calculator"]
CLOCKS = "clock clock get_time get_current_time now current_time get_datetime time".split()
PLACES = "city place location timezone".split()
CLOCK_TEXTS = ["Tells the time and the date.", "Returns the current date and time.", "Get the current time.", "A clock.",
               "What time it is.", "Current date and time", "Tells what time it is now."]
WEATHERS = "get_weather get_weather weather get_current_weather weather_report".split()
WEATHER_TEXTS = ["Get the weather of a city.", "Returns the current weather in a place.", "The weather now.",
                 "Get current temperature for a given location.", "Tells the weather."]
OPERATIONS = {"+": ("add", ["Add two numbers.", "Adds a and b.", "Returns the sum of two numbers."]),
              "-": ("subtract", ["Subtract b from a.", "Returns the difference of two numbers.", "Subtracts two numbers."]),
              "*": ("multiply", ["Multiply two numbers.", "Multiplies a and b.", "Returns the product of two numbers."])}
OPERANDS = [("a", "b"), ("a", "b"), ("x", "y"), ("first", "second")]
# What no question of the corpus needs: names, descriptions, and their arguments.
OTHERS = [("search", "Search the web.", ["query"]), ("send_email", "Sends an email.", ["to", "subject", "body"]),
          ("read_file", "Reads a file.", ["path"]), ("translate", "Translates a text.", ["text", "language"]),
          ("set_timer", "Sets a timer.", ["minutes"]), ("play_music", "Plays a song.", ["title"]),
          ("get_stock_price", "Get the price of a stock.", ["symbol"]), ("list_files", "Lists the files of a folder.", ["folder"]),
          ("remember", "Stores a note.", ["note"]), ("run_command", "Runs a command.", ["command"]),
          ("create_ticket", "Opens a ticket.", ["title", "text"])]


def titled(name: str) -> str:
    return name.replace("_", " ").title()


def parameters(rng, kinds: dict[str, str], required: list[str], title: str) -> dict:
    """A schema of an object, in one of the shapes that clients and their libraries write."""
    shape = rng.random()
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    if shape < 0.2:  # what pydantic makes of a model or of a function's signature
        properties = {name: {"title": titled(name), "type": kind} for name, kind in kinds.items()}
        wanted = {"required": required} if required else {}
        return {"properties": properties, **wanted, "title": title, "type": "object"}
    if shape < 0.4:
        properties = {name: {"type": kind, "description": rng.choice(("The {}.", "the {}", "A {}", "{}")).format(name)}
                      for name, kind in kinds.items()}
    found = {"type": "object", "properties": properties}
    if required or rng.random() < 0.3:
        found["required"] = required
    return found | ({"additionalProperties": False} if rng.random() < 0.25 else {})


@dataclass
class Toolbox:
    """What a chat offers. A name that is None is not offered; `place` is the name of the clock's argument, if it has one."""

    rng: object
    functions: list[dict] = field(default_factory=list)
    calculator: tuple[str, str] | None = None  # names of the tool and of its argument
    clock: str | None = None
    place: str | None = None
    weather: tuple[str, str] | None = None
    operations: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # by sign: names of the tool and its operands

    def __post_init__(self):
        rng, kind = self.rng, self.rng.random()
        if kind < 0.62:
            self.add_calculator()
        elif kind < 0.72:
            self.add_operations()
        if not self.functions or rng.random() < 0.6:
            self.add_clock()
        if rng.random() < 0.2:
            self.add_weather()
        for name, text, arguments in rng.sample(OTHERS, rng.choice((0, 0, 0, 1, 1, 2))):
            self.offer(name, text, dict.fromkeys(arguments, "string"), arguments)
        if rng.random() < 0.06:  # nothing but what no question needs
            self.forget()
        rng.shuffle(self.functions)

    def forget(self) -> None:
        self.calculator = self.clock = self.place = self.weather = None
        self.operations = {}
        self.functions = [f for f in self.functions if any(f["name"] == name for name, _, _ in OTHERS)]

    def offer(self, name: str, text: str, kinds: dict[str, str], required: list[str]) -> None:
        function = {"name": name}
        if self.rng.random() < 0.93:
            function["description"] = text
        function["parameters"] = parameters(self.rng, kinds, required, titled(name).replace(" ", ""))
        self.functions.append(function)

    def invented(self, names: list[str]) -> str:
        """One of the names, or a word that the description alone explains."""
        return words.invented_word(self.rng) if self.rng.random() < 0.06 else self.rng.choice(names)

    def add_calculator(self) -> None:
        self.calculator = self.invented(CALCULATORS), self.rng.choice(EXPRESSIONS)
        name, argument = self.calculator
        self.offer(name, self.rng.choice(CALCULATOR_TEXTS[:6]), {argument: "string"}, [argument])

    def add_operations(self) -> None:
        left, right = self.rng.choice(OPERANDS)
        kind = self.rng.choice(("number", "integer"))
        for sign in self.rng.sample(list(OPERATIONS), self.rng.choice((1, 2, 3))):
            name, texts = OPERATIONS[sign]
            self.operations[sign] = name, left, right
            self.offer(name, self.rng.choice(texts), {left: kind, right: kind}, [left, right])

    def add_clock(self) -> None:
        self.clock = self.invented(CLOCKS)
        if self.rng.random() < 0.35:
            self.place = self.rng.choice(PLACES)
        self.offer(self.clock, self.rng.choice(CLOCK_TEXTS), {self.place: "string"} if self.place else {}, [])

    def add_weather(self) -> None:
        self.weather = self.rng.choice(WEATHERS), self.rng.choice(PLACES[:3])
        name, place = self.weather
        self.offer(name, self.rng.choice(WEATHER_TEXTS), {place: "string"}, [place])

    def tools(self) -> list[dict]:
        return [{"type": "function", "function": function} for function in self.functions]

    def can_compute(self) -> bool:
        return bool(self.calculator or self.operations)
