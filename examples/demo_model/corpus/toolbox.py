"""The tools that a chat offers, as clients describe them: an OpenAI function with a JSON schema of its arguments.

Names, descriptions and the order of keys differ from chat to chat, so that the model reads them instead of knowing them.
"""

from dataclasses import dataclass, field

from . import crowd, filler, words

CALCULATORS = "calculator calculator calculate calc compute math evaluate".split()
EXPRESSIONS = "expression expression expression input formula expr query".split()
CALCULATOR_TEXTS = ["Evaluates an arithmetic expression.", "Calculate the value of an expression.", "A calculator.",
                    "Computes an expression and returns the result.", "Does arithmetic.", "Evaluate math.", "Calculator"]
CLOCKS = "clock clock get_time get_current_time now current_time get_datetime time get_current_timestamp".split()
PLACES = "city place location timezone".split()
CLOCK_TEXTS = ["Tells the time and the date.", "Returns the current date and time.", "Get the current time.", "A clock.",
               "What time it is.", "Current date and time", "Tells what time it is now."]
WEATHERS = "get_weather get_weather weather get_current_weather weather_report".split()
WEATHER_TEXTS = ["Get the weather of a city.", "Returns the current weather in a place.", "The weather now.",
                 "Get current temperature for a given location.", "Tells the weather."]
FINDERS = "find_person lookup_person get_user find_user where_is contacts get_address person_info".split()
FINDER_TEXTS = ["Finds the city where a person lives.", "Returns the city of a person.", "Look up where a user lives.",
                "Tells where somebody lives.", "Get the home of a person."]
PRICES = "get_price price price_of lookup_price product_price shop".split()
PRICE_TEXTS = ["Returns the price of an item.", "Get the price of a product.", "Tells what a thing costs.", "Look up a price."]
FINALS = "final_answer final_answer final_result submit_answer finish respond".split()
FINAL_TEXTS = ["Provides the final answer to the given problem.", "Gives the final answer.", "The final response, which ends the conversation.",
               "Call this with the answer when you have it.", "Sends the answer to the user."]
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
    weather_extra: dict = field(default_factory=dict)  # arguments that the weather tool wants besides
    operations: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # by sign: names of the tool and its operands
    finder: tuple[str, str] | None = None  # tells where a person lives
    prices: tuple[str, str] | None = None
    final: tuple[str, str] | None = None  # takes every answer
    has_crowd: bool = False

    def __post_init__(self):
        rng, kind = self.rng, self.rng.random()
        if kind < 0.62:
            self.add_calculator()
        elif kind < 0.72:
            self.add_operations()
        if not self.functions or rng.random() < 0.6:
            self.add_clock()
        if rng.random() < 0.25:
            self.add_weather()
        if rng.random() < (0.4 if self.weather else 0.12):
            self.finder = self.add_lookup(FINDERS, FINDER_TEXTS, ("name", "person", "who", "user"))
        if rng.random() < 0.12:
            self.prices = self.add_lookup(PRICES, PRICE_TEXTS, ("item", "product", "name", "thing"))
        for name, text, arguments in rng.sample(OTHERS, rng.choice((0, 0, 0, 1, 1, 2))):
            self.offer(name, text, dict.fromkeys(arguments, "string"), arguments)
        if rng.random() < 0.06:  # nothing but what no question needs
            self.forget()
        if rng.random() < 0.08:
            self.final = self.add_lookup(FINALS, FINAL_TEXTS, ("answer", "answer", "response", "result"))
        if self.has_crowd:
            self.add_crowd()
        rng.shuffle(self.functions)

    def forget(self) -> None:
        self.calculator = self.clock = self.place = self.weather = self.finder = self.prices = None
        self.operations = {}
        self.functions = [f for f in self.functions if any(f["name"] == name for name, _, _ in OTHERS)]

    def offer(self, name: str, text: str, kinds: dict[str, str], required: list[str]) -> None:
        function = {"name": name}
        if self.rng.random() < 0.93:
            function["description"] = text if self.rng.random() < 0.9 else f"{text} {filler.paragraph(self.rng)}"
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

        if self.rng.random() < 0.25:
            wanted = self.functions[-1]["parameters"]
            wanted["properties"]["unit"] = {"type": "string", "enum": self.rng.sample(["celsius", "fahrenheit"], 2)}
            if self.rng.random() < 0.5:
                wanted["required"] = [place, "unit"]
                self.weather_extra = {"unit": wanted["properties"]["unit"]["enum"][0]}

    def add_lookup(self, names: list[str], texts: list[str], arguments: tuple[str, ...]) -> tuple[str, str]:
        """A tool that takes one text; the names of it and of its argument."""
        name, argument = self.invented(names), self.rng.choice(arguments)
        self.offer(name, self.rng.choice(texts), {argument: "string"}, [argument])
        return name, argument

    def add_crowd(self) -> None:
        taken = {function["name"] for function in self.functions}
        self.functions += crowd.functions(self.rng, self.rng.choice((3, 6, 10, 15, 20, 30)), taken)

    def compute(self, left: str, sign: str, right: str) -> tuple[str, dict] | None:
        """The call that computes this, if anything that is offered does."""
        if self.calculator:
            return self.calculator[0], {self.calculator[1]: f"{left} {sign} {right}"}
        if sign in self.operations and left.lstrip("-").isdigit() and right.isdigit():
            name, first, second = self.operations[sign]
            return name, {first: int(left), second: int(right)}
        return None

    def tools(self) -> list[dict]:
        return [{"type": "function", "function": function} for function in self.functions]

    def can_compute(self) -> bool:
        return bool(self.calculator or self.operations)
